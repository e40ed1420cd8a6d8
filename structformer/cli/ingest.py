"""`structformer ingest`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, Any

import click

from structformer.cli import common
from structformer.cli.brief import BriefCommand
from structformer.errors import UsageError
from structformer.formats.file_names import fields_hint, unread_hint
from structformer.ingestion.sources import SourceKind, kind_of, source_kinds
from structformer.plugins import load_plugins
from structformer.workspace import Workspace

if TYPE_CHECKING:
    from structformer.corpus.site import Site
    from structformer.ingestion.report import Account, IngestReport
    from structformer.ingestion.request import IngestRequest

base_url_option = click.option(
    "--base-url",
    metavar="URL",
    help="Base URL of the published pages, so that hits carry links; none: no links.  [default: from a site "
    "generator's settings, in PATH or up to two folders above it]",
)
_NONE = "none"  # for --base-url
_SHOWN = 20
_MOST_ALIKE = 3  # files with the same message that are all named
_NAMED = 5  # of each kind of file that is not a document


def _options_of_sources(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the options of the kinds of sources that plugins supply."""
    for kind in source_kinds().values():
        function.__click_params__ = [*getattr(function, "__click_params__", []), *reversed(kind.options)]  # type: ignore[attr-defined]
    return function


@click.command(
    "ingest",
    cls=BriefCommand,
    main="--add --replace --dry-run --format --include --exclude --theme --base-url --url-rule --fresh",
)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.UNPROCESSED)
@click.option("--add", is_flag=True, help="Add PATH to what the corpus comes from.")
@click.option("--replace", "replace_sources", is_flag=True, help="Read PATH instead of what the corpus came from.")
@click.option("--remove", is_flag=True, help="Remove PATH and its documents from the corpus.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="List what would be read, in which format and why, and what would be skipped; write nothing.",
)
@click.option(
    "--format", "format_", metavar="NAME", help="Read files as this format only.  [default: detected, file by file]"
)
@click.option("--workers", type=click.IntRange(1), help="Reader processes.  [default: at most one per core]")
@common.engine_option
@common.default_option("--max-file-mb", 32.0, "Skip larger files.", type=common.Number(0, 1e9, min_open=True))
@common.default_option(
    "--timeout", 60.0, "Seconds of CPU time for one file, at most.", type=common.Number(0, 1e9, min_open=True)
)
@common.several_option("--include", "GLOB", "Read only files that match, as in .gitignore; may be repeated.")
@common.several_option(
    "--exclude", "GLOB", "Skip files and folders that match, even if pages include them; may be repeated."
)
@common.default_option("--gitignore/--no-gitignore", True, "Skip what .gitignore files name.")
@common.path_option(
    "--theme", "What is content on your own site, its order, what your own commands mean, in TOML (docs/formats.md)."
)
@common.path_option("--mapping", "A TOML mapping for your own XML vocabulary (see inspect --suggest-mapping).")
@click.option(
    "--option", "-O", "options", multiple=True, metavar="KEY=VALUE", help="An option of a format (docs/formats.md)."
)
@click.option(
    "--fields",
    metavar="PART=NAME,...",
    help="Names of the fields of records, if they are unusual: id=key,title=t,text=html,url=u.",
)
@click.option("--dataset", metavar="ID", help="Read the documents of an ir_datasets id instead of a PATH.")
@_options_of_sources
@base_url_option
@click.option(
    "--url-rule",
    type=click.Choice(["folder", "bare", "html", "file", "mirror"]),
    help="Address of x.md below --base-url: x/, x, x.html, or x.md; mirror: the folders at the top are hosts.  "
    "[default: folder, or what the folder says]",
)
@click.option("--fresh", is_flag=True, help="Read everything again, also what has not changed.")
@common.part_option
@common.common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    add: bool,
    replace_sources: bool,
    remove: bool,
    dry_run: bool,
    format_: str | None,
    workers: int | None,
    engine: str,
    max_file_mb: float,
    timeout: float,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    gitignore: bool,
    theme: Path | None,
    mapping: Path | None,
    options: tuple[str, ...],
    fields: str | None,
    dataset: str | None,
    base_url: str | None,
    url_rule: str | None,
    fresh: bool,
    part: str | None,
    workspace: Path,
    out: common.Output,
    **of_sources: Any,
) -> int:
    """Read the documents under each PATH (a folder or a file) into the workspace's corpus and reference graph.

    Documents of one folder are named by their path in it; those of several folders start with the folder's name. If
    files are among the PATHs (docs/*.md), ids are relative to their folder, whose other files are not
    read. Links between them resolve as they do on disk.

    Run again after edits, with the same PATHs or none, it reads only what changed; after a kill it continues where it
    was. It leaves a corpus from other PATHs alone unless you give --add or --replace.

    A PATH may be a website's address (https://example.org/docs/): the pages below it are fetched into the workspace,
    as robots.txt allows, and read from there. The next run fetches only what changed.

    Outside the PATHs it opens only what pages include from their own folder and, unless --base-url is given, a site
    generator's settings up to two folders above; it names those that it read. Exit code: 0 done, with or without
    warnings; 1 nothing could be read; 2 a usage error."""
    from structformer.corpus.site import Site
    from structformer.engines.job_parts import Part
    from structformer.formats.generators import FOLDER, MIRROR
    from structformer.formats.source import Limits
    from structformer.ingestion.ingesting import build_corpus, ingest_part
    from structformer.ingestion.request import Execution, IngestRequest
    from structformer.ingestion.walk import FileFilter
    from structformer.storage.files import writing_errors

    if add + replace_sources + remove > 1:
        raise click.UsageError("--add, --replace and --remove exclude each other")
    if dataset and dry_run:
        raise click.UsageError("--dry-run looks at files; --dataset has none yet")
    if part is not None and dry_run:
        raise click.UsageError("--dry-run looks at every file: leave --part out")
    if (add or replace_sources or remove) and not paths and not dataset:
        raise click.UsageError("name the PATH to read")
    if url_rule and base_url in (None, "", _NONE) and url_rule != MIRROR:
        raise click.UsageError("--url-rule goes with --base-url")
    address = "" if base_url in (None, _NONE) else base_url
    site = Site(address, url_rule or FOLDER) if base_url is not None or url_rule else None
    limits = Limits(file_bytes=int(max_file_mb * 1_000_000), seconds=timeout)
    given = _options(options, mapping=mapping, theme=theme)
    if fields:
        given["fields"] = fields
    place = Workspace(workspace)
    kinds = {path: kind for path in paths if (kind := kind_of(path)) is not None}
    for kind in kinds.values():
        if dry_run:
            raise click.UsageError(f"--dry-run looks at files; a {kind.name} has none yet")
        if part is not None:
            raise click.UsageError(
                f"--part reads files: fetch the {kind.name} without it, then name the folder of its pages"
            )
    folders = {path: kind.folder(path, place) for path, kind in kinds.items()}
    read = tuple(folders.get(path) or Path(path) for path in paths)
    if dataset:
        from structformer.ingestion.ir_datasets_source import dataset_documents

        with place.writing("structformer ingest"), out.stages() as progress:
            fetching = partial(progress, "fetching")
            read = (*read, dataset_documents(dataset, place.datasets, progress=fetching))
    chosen = Part.parse(part) if part is not None else None
    request = IngestRequest(
        read,
        add=add,
        replace_sources=replace_sources,
        remove=remove,
        format=format_,
        options=given,
        limits=limits,
        wanted=FileFilter(include, exclude, gitignore),
        site=site,
    )
    if dry_run:
        return _dry_run(out, request, place)

    if folders and not remove:
        with place.writing("structformer ingest"):
            for folder in folders.values():
                with writing_errors(folder):
                    folder.mkdir(parents=True, exist_ok=True)
            request.sources(place)  # what is refused is refused before anything is fetched
        for address, kind in kinds.items():
            _fetch(out, kind, address, place, of_sources)

    def slow(path: str, seconds: float) -> None:
        out.note(f"reading {common.printable(path)}: {seconds:.0f} s so far")

    if chosen is not None:
        with out.stages() as progress:
            made = ingest_part(chosen, request, place, Execution(workers, engine, fresh, progress, slow))
        return common.say_part(out, chosen, f"{made} shards made", workspace)
    with out.stages() as progress:
        report = build_corpus(request, place, Execution(workers, engine, fresh, progress, slow))
    return show_report(ctx, out, report, workspace, only=format_)


def show_report(
    ctx: click.Context, out: common.Output, report: IngestReport, workspace: Path, *, only: str | None
) -> int:
    """Say what an ingest has read. only: the one format that was asked for."""
    from structformer.graph import internal_links
    from structformer.ingestion.report import OUTSIDE

    reports = Workspace(workspace).reports
    common.save_config(ctx, reports)
    out.json(report.as_dict())
    # Inclusions that lie outside are one line together, below.
    alike: dict[Any, list[tuple[str, str]]] = {}
    kinds = [re.sub(r"^line \d+: ", "", message) for _, message in report.messages]
    many = {kind for kind, count in Counter(kinds).items() if count > _MOST_ALIKE and not out.verbose}
    for place, ((path, message), kind) in enumerate(zip(report.messages, kinds, strict=True)):
        if out.verbose or OUTSIDE not in message:
            alike.setdefault(kind if kind in many else place, []).append((path, message))
    shown = []
    for (path, message), *others in list(alike.values())[: None if out.verbose else _SHOWN]:
        shown += [(path, message), *others]
        also = f" (as {len(others)} more file{'s' * (len(others) > 1)})" if others else ""
        out.note(f"{common.printable(path)}: {common.printable(message)}{also}")
    if (left := report.message_count - len(shown) - (0 if out.verbose else report.not_followed)) > 0:
        out.note(f"... {left} more in {reports / 'report.jsonl'}")
    if report.not_followed:
        _say_outside(out, report, Workspace(workspace))
    if not report.documents:
        return _nothing(out, report, {path for path, _ in shown}, reports, only=only)
    by_format = ", ".join(f"{count} {name}" for name, count in report.formats.most_common())
    out.result(f"{report.documents} documents, {report.sections} sections from {report.files} files ({by_format})")
    out.result(f"files: {report.account}")
    _name(out, report.account, {path for path, _ in shown})
    if report.unchanged:
        files = "1 file" if report.parsed == 1 else f"{report.parsed} files"
        out.result(f"{files} read, {report.unchanged} unchanged since the last time")
    if report.ignored:
        most = ", ".join(f"{count} {suffix}" for suffix, count in report.ignored_suffixes.most_common(4))
        out.result(f"{report.ignored} other files {'are not ' + only if only else 'skipped'} ({most})")
        _hint(out, report, only)
    inside, nowhere = internal_links(report.links)
    outside, to_files = (sum(counts[each] for counts in report.links.values()) for each in ("external", "file"))
    out.result(
        f"{inside} internal links, {nowhere} lead nowhere; {outside} lead outside, "
        f"{f'{to_files} to files that are not documents, ' if to_files else ''}{report.see_also_edges} see-also edges"
    )
    if report.lossy_files:
        files = "1 file" if report.lossy_files == 1 else f"{report.lossy_files} files"
        path, message = report.lossy[0]
        out.note(
            f"{files} may have been read in part; most of all {common.printable(path)}: {common.printable(message)}"
        )
    _say_site(out, report.site, report.settings_above)
    out.say(f"report: {reports / 'report.html'}")
    out.say(f"\nnext: structformer index -w {workspace}    (or look: structformer inspect -w {workspace} --tree)")
    return 0


def _say_outside(out: common.Output, report: IngestReport, workspace: Workspace) -> None:
    """Count the inclusions that lie outside of what was read, name the first, and offer the command that reads them."""
    from structformer.ingestion.report import OUTSIDE

    outside = ((path, message) for path, message in report.messages if OUTSIDE in message)
    names = [normpath(join(dirname(path), message.partition(OUTSIDE)[0])) for path, message in outside]
    sources = workspace.sources()
    cure = ""
    if names and len(sources) == 1:
        read = Path(sources[0].path).resolve()
        above = read.parents[min(len(read.parents), max(name.count("../") for name in names)) - 1]
        cure = f"; to read both: structformer ingest {above} --include '{read.relative_to(above).as_posix()}/'"
    first = f", as {common.printable(names[0])}" if names else ""
    count = f"{report.not_followed} inclusion{'' if report.not_followed == 1 else 's'}"
    out.note(f"{count} not followed: outside of the folder{first}{cure}")


def _hint(out: common.Output, report: IngestReport, only: str | None) -> None:
    """Say what would read files that were not read."""
    for suffix, count in report.ignored_suffixes.most_common() if only is None else ():
        if hint := unread_hint(suffix) or (fields_hint(suffix) if count > report.documents else ""):
            out.note(f"{count} {suffix} not read: {hint}")


def _nothing(
    out: common.Output, report: IngestReport, reported: Collection[str], reports: Path, *, only: str | None
) -> int:
    """Say that no document was found, why, and what was looked for. reported: files already named."""
    _name(out, report.account, reported)
    _hint(out, report, only)
    formats = load_plugins().formats
    looked_for = [formats[only]] if only else formats.values()
    suffixes = ", ".join(sorted({suffix for each in looked_for for suffix in each.suffixes}))
    seen = report.account.seen
    if seen:
        out.say(f"report: {reports / 'report.html'}")
    what = f"{seen} file{'' if seen == 1 else 's'} seen, none with documents" if seen else "no files are there"
    closed = f" ({report.account.folders} folders not opened)" if report.account.folders else ""
    out.note(f"nothing could be read: {what}{closed}; looked for {suffixes or 'content that a format recognises'}")
    return 1


def _name(out: common.Output, account: Account, reported: Collection[str] = ()) -> None:
    """Name the first files of each kind that is not a document, but for those already reported."""
    counts: Counter[str] = Counter()
    for file in account.named:
        counts[file.fate] += 1
        if file.path not in reported and (out.verbose or counts[file.fate] <= _NAMED):
            out.note(f"{common.printable(file.path)}: {common.printable(file.why)}")


def _say_site(out: common.Output, site: Site, above: Sequence[str]) -> None:
    """Say where the pages are read and what says so, and name what else was read above the PATHs to find that out."""
    from structformer.corpus.site import GIVEN

    if (known := load_plugins().site_generators.get(site.generator)) is not None:
        out.note(f"site generator: {known.title or known.name}")
    if site.is_known and site.said_by not in ("", GIVEN):
        out.note(f"site address {site.base_url or 'by folders of hosts'}, from {site.said_by}")
    if others := [name for name in above if name != site.said_by]:
        out.note(f"no site address in {', '.join(others)}")


def _dry_run(out: common.Output, request: IngestRequest, workspace: Workspace) -> int:
    """Show what an ingest would read."""
    from structformer.ingestion.ingesting import site_of
    from structformer.ingestion.looking import Ignored
    from structformer.ingestion.report import Account, of_ignored, of_surveyed

    ignored = Ignored()
    sources = request.sources(workspace)
    files = request.files(sources, ignored)
    account = Account(closed=[path for path, _ in ignored.folders])
    for each in chain(of_surveyed(files), of_ignored(ignored)):
        account.add(each)
    read = [file for file in files if file.is_read]
    shown = read if out.verbose else read[:_SHOWN]
    for file in shown:
        out.result(f"{common.printable(file.path)}: {file.format} ({file.why})")
    if len(read) > len(shown):
        out.result(f"... {len(read) - len(shown)} more; --verbose shows all")
    for file in files:
        if not file.is_read:
            out.note(f"{common.printable(file.path)}: {common.printable(file.problem or file.place)}")
    for suffix, count in ignored.suffixes.most_common():
        hint = unread_hint(suffix)
        out.result(f"not read: {count} {suffix}" + (f" ({hint})" if hint else ""))
    formats = Counter(file.format for file in read)
    listed = ", ".join(f"{count} {name}" for name, count in formats.most_common())
    size = sum(file.size for file in read)
    out.result(f"{len(read)} files would be read ({listed or 'none'}), {size / 1e6:.1f} MB; {ignored.count} would not")
    out.result(f"files: {account}")
    _name(out, account, {file.path for file in files})
    site, _ = site_of(request, workspace, sources)
    _say_site(out, site.site, site.above)
    out.json(
        {
            "read": [{"path": file.path, "format": file.format, "why": file.why, "size": file.size} for file in read],
            "not_read": dict(ignored.suffixes),
            "parts": [{"path": file.path, "of": list(file.part_of)} for file in files if file.part_of],
            "problems": [{"path": file.path, "problem": file.problem} for file in files if file.problem],
            "account": account.as_dict(),
            "site": {"base_url": site.site.base_url, "said_by": site.site.said_by, "read_above": list(site.above)},
        }
    )
    return 0 if read else 1


def _fetch(out: common.Output, kind: SourceKind, address: str, workspace: Workspace, values: Mapping[str, Any]) -> None:
    """Fetch what a PATH names, and say what came of it."""
    with workspace.writing("structformer ingest"), out.stages() as progress:
        fetched = kind.fetch(address, workspace, values, progress)
    shown = fetched.problems if out.verbose else fetched.problems[:_SHOWN]
    for page, why in shown:
        out.note(f"{common.printable(page)}: {common.printable(why)}")
    if len(fetched.problems) > len(shown):
        out.note(f"... {len(fetched.problems) - len(shown)} more; --verbose shows them")
    if fetched.remark:
        out.note(f"{common.printable(address)}: {fetched.remark}")
    out.result(f"{common.printable(address)}: {fetched.summary}")


def _options(given: tuple[str, ...], **files: Path | None) -> dict[str, str]:
    """Return the options of formats: those given as KEY=VALUE, and those whose text is a file's. Raises UsageError."""
    options: dict[str, str] = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{each!r}: write KEY=VALUE", param_hint="--option")
        options[key.strip()] = value.strip()
    for name, path in files.items():
        if path is not None:
            options[name] = common.read_option_file(name, path)
            try:
                load_plugins().check_options({name: options[name]})
            except UsageError as error:
                raise UsageError(f"{path}: {error}") from error
    return options
