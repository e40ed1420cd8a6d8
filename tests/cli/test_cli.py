"""The command line, used as a person would."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import structformer
from structformer.cli.main import app, main
from structformer.workspace import Workspace


def test_ingest_names_the_next_command_and_reads_what_is_new(run, pages):
    assert "next: structformer index" in run("ingest", pages).out
    (pages / "more.md").write_text("# More\n\nOne page more.\n")
    assert "1 file read, 3 unchanged since the last time" in run("ingest", pages).out


@pytest.mark.parametrize(
    ("options", "training"),
    [
        ("", ""),
        ("--draws 2", " --set sample.draws=2"),
        ("--tasks srr,ltm --draws 2", " --task-mix srr,ltm --set sample.draws=2"),
        (
            "--tasks srr,rwi,ati,ltm --negatives all --negatives-from siblings --one-child --draws 4 --min-words 20",
            " --recipe wikiformer",
        ),
    ],
)
def test_sample_names_the_training_that_takes_what_it_drew(run, pages, options, training):
    run("ingest", pages)
    drawn = run("sample", *options.split())
    assert drawn.out.splitlines()[-1] == f"next: structformer train -w .structformer{training}"


def test_the_whole_way_from_a_folder_to_a_search_result(run, pages):
    ingested = run("ingest", pages)
    assert ingested.code == 0
    assert "3 documents, 9 sections from 3 files (3 markdown)" in ingested.out
    assert "4 internal links, 0 lead nowhere" in ingested.out
    assert "next: structformer index" in ingested.out
    sampled = run("sample", "--tasks", "srr,ict", "--min-words", 8, "--show", 1)
    assert sampled.code == 0
    assert "srr from knots.md\n + query    Knots Bowline" in sampled.out
    trained = run(
        "train",
        "--base-model",
        "scratch",
        "--size",
        "tiny",
        "--max-steps",
        2,
        "--max-time",
        "none",
        "--task-mix",
        "ict=1",
        "--batch",
        4,
    )
    assert trained.code == 0, trained.err
    assert "Examples: " in trained.err
    assert "(measured)" in trained.err
    assert "2 steps in" in trained.out
    run("index", "--encoder", "none")
    assert "the trained bi-encoder is not indexed yet" in run("search", "knots").err
    assert run("index").out.startswith("7 passages indexed, with vectors of: structure, bi-encoder\n")
    found = run("search", "loop", "that", "does", "not", "slip", "-k", 1)
    assert found.code == 0
    assert "1. " in found.out
    assert " > " in found.out
    lexical = run("search", "loop that does not slip", "--pipeline", "lexical", "--json").json
    assert lexical["hits"][0]["breadcrumb"] == "Knots > Bowline"
    assert lexical["pipeline"] == "lexical"
    assert run("check").out.startswith("3 documents, 9 sections in ")


def test_every_artefact_holds_the_resolved_configuration(run, pages, tmp_path):
    (tmp_path / "here" / "structformer.toml").write_text(
        'workspace = "deep/w"\n[sample]\ntasks = "srr"\nmin-words = 3\nseed = 7\n'
    )
    run("ingest", pages)
    run("sample", "--seed", 8)
    config = json.loads((Workspace(tmp_path / "here" / "deep" / "w").folder("samples") / "command.json").read_text())
    assert config["command"] == "sample"
    assert {key: config["options"][key] for key in ("tasks", "min_words", "seed", "workspace")} == {
        "tasks": "srr",
        "min_words": 3,
        "seed": 8,
        "workspace": "deep/w",
    }


def test_a_config_with_an_unknown_key_or_broken_toml_is_a_usage_error(run, pages, tmp_path):
    (tmp_path / "c.toml").write_text("[ingest]\nformatt = 'markdown'\n")
    wrong = run("ingest", pages, "--config", tmp_path / "c.toml")
    assert (wrong.code, "no option formatt" in wrong.err) == (2, True)
    for text, answer in (
        ("[trian]\nseed = 1\n", "no command 'trian' for the table [trian]; did you mean train?"),
        ("worksapce = 'w'\n", "no command has an option 'worksapce'; did you mean workspace?"),
    ):
        (tmp_path / "c.toml").write_text(text)
        wrong = run("ingest", pages, "--config", tmp_path / "c.toml")
        assert (wrong.code, answer in wrong.err) == (2, True), wrong.err
    (tmp_path / "c.toml").write_text("[ingest\n")
    assert run("ingest", pages, "--config", tmp_path / "c.toml").code == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("k = [3]", "c.toml, [search]: k is [3]: it must be a text or a number"),
        ("k = {a = 1}", "it must be a text or a number"),
        ("k = 2024-01-01", "it must be a text or a number"),
        ("k = true", "it must be a text or a number"),
        ("k = 2.7", "'2.7' is not a valid integer"),
        ("group = 0", "c.toml, [search]: group is 0: it must be true or false"),
    ],
)
def test_a_setting_is_checked_as_a_flag_is(run, tmp_path, line, said):
    (tmp_path / "c.toml").write_text(f"[search]\n{line}\n")
    wrong = run("search", "rope", "--config", tmp_path / "c.toml")
    assert (wrong.code, said in wrong.err) == (2, True), wrong.err


@pytest.mark.parametrize("number", ["nan", "inf", "1e308", "1e11"])
@pytest.mark.parametrize(
    "command", [("ingest", "docs", "--max-file-mb"), ("ingest", "docs", "--timeout"), ("serve", "--rate")]
)
def test_a_number_that_nothing_counts_up_to_is_refused(run, command, number):
    wrong = run(*command, number)
    assert (wrong.code, f"{float(number)} is not" in wrong.err or f"{number} is not" in wrong.err) == (2, True), (
        wrong.err
    )


def test_a_found_config_says_nowhere_where_the_users_words_go(run, pages, tmp_path):
    config = tmp_path / "here" / "structformer.toml"
    config.write_bytes(
        b'\xef\xbb\xbfworkspace = "s3://of-a-stranger/w"\r\n[search]\r\nengine = "pgvector:host=evil.example"\r\nk = 1\r\n'
    )
    run("ingest", pages)
    run("index", "--encoder", "none")
    said = run("search", "knots")
    assert said.out.count("\n   ") >= 1
    assert "structformer.toml: workspace, engine is not taken from it" in said.err
    given = run("search", "knots", "--config", config)
    assert given.code != 0
    assert "is not taken" not in given.err
    config.with_name("recipe.toml").write_text('[train]\nreport_to = ["wandb"]\n')
    config.write_text('[train]\nrecipe = "recipe.toml"\n')
    assert "structformer.toml: recipe is not taken from it" in run("train", "--dry-run").err
    config.with_name("recipe.toml").write_text("[train]\nmlm = 0.1\n")
    assert "is not taken" not in run("train", "--dry-run").err


def test_a_found_config_opens_no_door_of_the_server(run, pages, tmp_path):
    config = tmp_path / "here" / "structformer.toml"
    config.write_text('[serve]\ncors = ["*"]\nhost-name = ["*"]\nhost = "0.0.0.0"\nfeedback = true\nport = 1\n')
    said = run("serve", "-w", tmp_path / "none")
    assert "structformer.toml: cors, host-name, host, feedback is not taken from it" in said.err
    assert "is not taken" not in run("serve", "-w", tmp_path / "none", "--config", config).err


def test_a_folder_that_is_a_workspace_sets_no_options(run, pages, tmp_path):
    run("ingest", pages, "-w", tmp_path / "here")
    (tmp_path / "here" / "structformer.toml").write_text("[search]\nk = 1\n")
    run("index", "--encoder", "none", "-w", tmp_path / "here")
    said = run("search", "knots", "-w", tmp_path / "here")
    assert said.out.count("\n   ") > 1
    assert "structformer.toml is not read: this folder is a workspace" in said.err


def test_a_file_of_no_known_format_needs_its_format_named(run, tmp_path):
    (tmp_path / "notes.xyz").write_text("# Notes\n\ntext\n")
    unknown = run("inspect", tmp_path / "notes.xyz")
    assert (unknown.code, "no installed format recognises it" in unknown.err) == (2, True)
    assert "root Notes" in run("inspect", tmp_path / "notes.xyz", "--format", "markdown").out


def test_exit_codes_and_no_traceback(run, pages, tmp_path):
    assert run("ingest", tmp_path / "nowhere").code == 2
    assert run("ingest", pages, "--format", "docx").code == 2
    assert run("ingest").code == 2
    (tmp_path / "empty").mkdir()
    nothing = run("ingest", tmp_path / "empty", "-w", "w2")
    assert (nothing.code, "nothing could be read" in nothing.err) == (1, True)
    run("ingest", pages)
    none = run("search", "x")
    assert (none.code, none.err) == (1, "error: no index in .structformer: run `structformer index` first\n")
    (tmp_path / "here" / "elsewhere").mkdir()
    none = run("search", "x", "-w", "elsewhere")
    assert none.err == "error: no corpus in elsewhere: run `structformer ingest FOLDER -w elsewhere` first\n"
    assert run("train", "--max-time", "soon").code == 2
    assert run("evaluate", "--pipeline", "lexical").code == 2


def test_warnings_are_printed_and_exit_zero(run, pages):
    (pages / "empty.md").write_text("")
    ingested = run("ingest", pages)
    assert ingested.code == 0
    assert "empty.md: empty: no document" in ingested.err


def test_inspect_shows_files_and_documents_of_the_corpus(run, pages):
    tree = run("inspect", pages / "knots.md")
    assert tree.out.splitlines() == [
        "knots.md  'Knots'  (markdown)",
        "  root Knots #knots  [26 words, 0 links]",
        "    h2 Bowline #bowline  [29 words, 0 links]",
        "    h2 Clove hitch #clove-hitch  [29 words, 0 links]",
        "    h2 Related #related  [1 words, 1 links]",
    ]
    run("ingest", pages)
    links = run("inspect", "parts/sails.md", "--links").out
    assert "paragraph: " in run("inspect", "parts/sails.md", "--blocks").out
    assert "hyperlink: 'reef knots' -> ../knots.md#bowline" in links
    assert [document["id"] for document in run("inspect", "--json").json] == ["index.md", "knots.md", "parts/sails.md"]
    assert run("inspect", "absent.md").code == 1


def test_control_characters_of_a_corpus_do_not_reach_the_terminal(run, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a\x1b[31m.md").write_text("# T\x1b]0;owned\x07\n\nsome \x1b[2J text\n")
    run("ingest", tmp_path / "p")
    run("index", "--encoder", "none")
    for ran in (run("inspect", "--text"), run("search", "text")):
        assert ran.code == 0
        assert "\x1b[2J" not in ran.out
        assert "\x1b]0" not in ran.out


def test_evaluate_compares_and_lists_unknown_documents(run, pages, tmp_path):
    run("ingest", pages)
    run("index", "--encoder", "none")
    (tmp_path / "q.tsv").write_text("1\tloop that does not slip\n2\tsmaller sail\n")
    (tmp_path / "r.txt").write_text("1 0 knots.md 1\n2 0 parts/sails.md 1\n")
    arguments = ("evaluate", "--queries", tmp_path / "q.tsv", "--qrels", tmp_path / "r.txt", "--pipeline", "lexical")
    judged = run(*arguments)
    assert judged.code == 0
    assert "BM25" in judged.out
    [folder] = (Path(".structformer") / "evaluation").iterdir()
    assert (folder / "report.md").exists()
    assert run(*arguments, "--name", folder.name).code == 2  # nothing is written over unasked
    assert run(*arguments, "--name", folder.name, "--force").code == 0
    assert run(*arguments, "--output", folder, "--force").code == 2  # what is written elsewhere is not in the workspace
    assert run(*arguments, "--output", tmp_path / "report").code == 0
    assert run(*arguments, "--output", tmp_path / "report").code == 2
    assert run(*arguments, "--output", tmp_path / "report", "--force").code == 0
    assert run(*arguments, "--name", "second").code == 0
    assert (Path(".structformer") / "evaluation" / "second" / "report.html").exists()
    (tmp_path / "r.txt").write_text("1 0 knots.md 1\n2 0 gone.md 1\n")
    unknown = run(*arguments)
    assert unknown.code == 1
    assert "1 judged documents are not in the corpus: gone.md" in unknown.err


def test_held_out_structure_needs_no_judgements(run, npm):
    run("ingest", npm, "--format", "markdown")
    run("sample", "--held-out", 0.3)
    run("index", "--encoder", "none")
    result = run("evaluate", "--held-out-structure", "--pipeline", "lexical", "--json")
    assert result.code == 0
    titles = [part["title"] for part in result.json["results"]]
    assert titles == ["held-out structure, path queries", "held-out structure, link queries"]
    assert all(0 < part["rows"][0]["scores"]["nDCG@10"] <= 1 for part in result.json["results"])


def test_plugins_list_is_honest(run):
    listed = run("plugins", "list").out
    for name in ("html", "latex", "markdown", "notebook", "records", "rst", "wikitext", "xml"):
        assert name in listed
    assert "complete: CommonMark, GFM" in listed
    assert "complete: pages, MediaWiki dumps" in listed


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["ingest", "--help"], ["train", "--help"], ["search", "--help"]]
)
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys\nfrom structformer.cli.main import main\n"
        f"try: main({arguments!r})\nexcept SystemExit as e: assert e.code in (0, None), e.code\n"
        "heavy = {'torch', 'transformers', 'pyarrow', 'numpy', 'lxml'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_a_lexical_search_needs_neither_torch_nor_pandas(workspace):
    from structformer.retrieval.indexing import build_index

    build_index(workspace, encoders=[])
    code = (
        "import sys\nfrom structformer.cli.main import main\n"
        f"try: main(['search', 'loop', '--workspace', {str(workspace)!r}, '--pipeline', 'lexical'])\n"
        "except SystemExit as e: assert e.code in (0, None), e.code\n"
        "heavy = {'torch', 'pandas', 'pyarrow.compute'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "Knots > Bowline" in found.stdout


def test_a_command_does_not_import_pandas_for_pyarrow(pages, tmp_path):
    pytest.importorskip("pandas")
    command = ["-X", "importtime", "-m", "structformer", "ingest", str(pages), "-w", str(tmp_path / "w")]
    done = subprocess.run([sys.executable, *command], check=True, capture_output=True, text=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pyarrow" in imported
    assert "pandas.core.api" not in imported  # it is looked for, and hidden


def test_samples_are_drawn_and_their_recipe_is_named_without_torch(workspace):
    asked = ["sample", "--tasks", "ict,bfs,wlp", "-w", str(workspace)]
    code = (
        f"import sys\nfrom structformer.cli.main import main\ntry: main({asked!r})\n"
        "except SystemExit as e: assert e.code in (0, None), e.code\nassert 'torch' not in sys.modules\n"
    )
    drawn = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert drawn.returncode == 0, drawn.stderr
    assert f"next: structformer train -w {workspace} --recipe ict\n" in drawn.stdout


def test_every_command_has_help_with_the_common_options(run):
    for command in (
        "ingest",
        "inspect",
        "sample",
        "train",
        "index",
        "search",
        "evaluate",
        "experiment",
        "export",
        "check",
    ):
        shown = run(command, "--help", "--all").out
        for option in ("--workspace", "--config", "--quiet", "--verbose", "--json"):
            assert option in shown, (command, option)


@pytest.mark.parametrize(
    "command", [[], ["ingest"], ["train"], ["sample"], ["evaluate"], ["up"], ["serve"], ["finetune"]]
)
def test_help_fits_a_screen_and_all_of_it_is_a_word_away(run, command):
    brief = run(*command, "--help").out
    assert len(brief.splitlines()) <= 40
    assert len(brief) < len(run(*command, "--help", "--all").out)
    assert "--help --all" in brief


def test_help_groups_the_commands_and_lists_recipes_and_tasks_with_their_sources(run):
    shown = run("--help").out
    assert re.findall(r"^(\w+):", shown, re.MULTILINE) == [
        "Usage", "Options", "Read", "Search", "Serve", "Learn", "Measure", "Share", "More", "Research",
    ]  # fmt: skip
    assert re.search(r"^Research: agent, benchmark, distill, experiment", shown, re.MULTILINE)
    for command in ("train", "sample"):
        assert re.search(r"^  srr +Su et al., Wikiformer", run(command, "--help", "--all").out, re.MULTILINE)


@pytest.mark.parametrize(
    ("command", "wrong", "meant"),
    [
        ("search", "--top-k", "-k"),
        ("search", "--limit", "-k"),
        ("search", "--filter", "--where"),
        ("evaluate", "--metrics", "--measures"),
        ("train", "--batch-size", "--batch"),
        ("serve", "--no-browser", "--no-open"),
    ],
)
def test_an_option_of_other_tools_is_answered_with_ours(run, command, wrong, meant):
    refused = run(command, *(["rope"] if command == "search" else []), wrong, "5")
    assert refused.code == 2
    assert f"No such option '{wrong}'. Did you mean '{meant}'?" in refused.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("train --recipe co", ["cocondenser", "condenser", "cotmae"]),
        ("sample --tasks ict,sr", ["ict,srr"]),
        ("train --ranker cross", ["cross-encoder"]),
    ],
)
def test_values_are_completed(words, expected):
    environment = {"_STRUCTFORMER_COMPLETE": "bash_complete", "COMP_WORDS": f"structformer {words}", "COMP_CWORD": "3"}
    code = "from structformer.cli.main import main; main()"
    shown = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, check=True, capture_output=True, text=True
    )
    assert [line.removeprefix("plain,") for line in shown.stdout.split()] == expected


def test_the_page_of_options_is_the_docstrings_of_the_options():
    from structformer.text.field_docs import options_page

    page = Path(__file__).parents[2] / "docs" / "options.md"
    assert page.read_text() == options_page(), "python -m structformer.text.field_docs > docs/options.md"


def test_every_option_is_described():
    from dataclasses import fields

    from structformer.sampling import SamplingOptions
    from structformer.text.field_docs import field_docs
    from structformer.training import TrainingOptions

    for kind, module in ((TrainingOptions, "training.options"), (SamplingOptions, "sampling.example")):
        assert list(field_docs(module, kind.__name__)) == [field.name for field in fields(kind)]


def test_a_dry_run_says_what_would_be_read_and_writes_nothing(run, tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "a.md").write_text("# A\n")
    (pages / "x.py").write_text("x = 1\n")
    found = run("ingest", pages, "--dry-run", "-w", tmp_path / "w")
    assert found.code == 0
    assert "a.md: markdown (suffix)" in found.out
    assert "not read: 1 .py" in found.out
    assert "1 files would be read (1 markdown)" in found.out
    assert not (tmp_path / "w").exists()
    assert run("ingest", pages, "--dry-run", "--json", "-w", tmp_path / "w").json["not_read"] == {".py": 1}


def test_a_folder_is_taken_out_again(run, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text(f"# {name}\n")
    one, two = tmp_path / "one", tmp_path / "two"
    assert run("ingest", one, two, "-w", tmp_path / "w").code == 0
    assert run("ingest", one, "--remove", "-w", tmp_path / "w").code == 0
    assert "two.md" in run("inspect", "-w", tmp_path / "w").out
    assert "one.md" not in run("inspect", "-w", tmp_path / "w").out
    assert "did not come from" in run("ingest", one, "--remove", "-w", tmp_path / "w").err
    assert "nothing would be left" in run("ingest", two, "--remove", "-w", tmp_path / "w").err


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.\nmore")]
)  # fmt: skip
def test_too_little_memory_is_said_in_one_line(capsys, monkeypatch, error):
    def full(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(app, "invoke", full)
    with pytest.raises(SystemExit) as ended:
        main(["plugins", "list"])
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert said.startswith("error: out of memory")
    assert said.count("\n") == 1


def test_other_errors_of_ours_are_not_taken_for_it(monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(app, "invoke", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["plugins", "list"])


def test_ingest_says_once_that_nothing_could_be_read_and_what_it_looked_for(run, tmp_path):
    (tmp_path / "none").mkdir()
    empty = run("ingest", tmp_path / "none", "-w", tmp_path / "w")
    assert (empty.code, empty.out) == (1, "")
    [line] = empty.err.splitlines()
    assert line.startswith("nothing could be read: no files are there; looked for ")
    assert {".md", ".html", ".rst"} <= set(line.replace(",", "").split())
    (tmp_path / "none" / "tide.bin").write_text("no text")
    (tmp_path / "none" / "blank.md").write_text("")
    files = run("ingest", tmp_path / "none", "-w", tmp_path / "w2")
    assert (files.code, files.out) == (1, f"report: {tmp_path / 'w2' / 'corpus' / 'report.html'}\n")
    assert [line.partition(":")[0] for line in files.err.splitlines()] == [
        "blank.md",
        "tide.bin",
        "nothing could be read",
    ]
    assert "2 files seen, none with documents; looked for " in files.err
    only = run("ingest", tmp_path / "none", "-w", tmp_path / "w3", "--format", "wikitext")
    assert ".md" not in only.err.splitlines()[-1].split("looked for ")[1]


def test_the_ingest_page_is_self_contained_and_escapes_what_it_shows(run, tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.md").write_text('# <script>alert(1)</script>\n\n[x](<gone"><script>alert(2)</script>.md>)\n')
    (tmp_path / "p" / "<script>alert(3)<script>.xml").write_text("<a>")
    run("ingest", tmp_path / "p", "-w", tmp_path / "w")
    page = (tmp_path / "w" / "corpus" / "report.html").read_text()
    assert "<script" not in page
    assert "alert(3)" in page
    assert "default-src 'none'" in page
    assert "http-equiv" in page
    assert "not well-formed" in page
    assert not [part for part in ("src=", "href=", "@import", "url(") if part in page]


def test_a_mapping_from_suggestion_to_corpus(run, tmp_path, monkeypatch):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "h.xml").write_text(
        "<buch><kapitel><ueberschrift>Eins</ueberschrift><absatz>Ein Absatz mit genug Worten, um als Text zu gelten, wirklich und "
        "wahrhaftig.</absatz></kapitel><kapitel><ueberschrift>Zwei</ueberschrift><absatz>Noch einer.</absatz></kapitel></buch>"
    )
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(run("inspect", "p/h.xml", "--suggest-mapping").out)
    assert "h1 Eins" in run("inspect", "p/h.xml", "--mapping", "own.toml").out
    run("ingest", "p", "--mapping", "own.toml", "-w", "w")
    assert "h1 Zwei" in run("inspect", "h.xml", "-w", "w").out
    Path("bad.toml").write_text("nothing = 1")
    wrong = run("inspect", "p/h.xml", "--mapping", "bad.toml")
    assert (wrong.code, "no key 'nothing'" in wrong.err) == (2, True)
    wrong = run("ingest", "p", "--mapping", "none.toml", "-w", "w")
    assert (wrong.code, "cannot be read" in wrong.err) == (2, True)


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal")
@pytest.mark.parametrize(
    "busy",
    [
        pytest.param("time.sleep(600)", id="in Python"),
        pytest.param("threading.Event().wait()", id="waiting"),
        pytest.param("sqlite3.connect(':memory:').execute(ENDLESS)", id="in a library that looks at no signal"),
        pytest.param("Deleted()", id="while an object is deleted, which swallows what is raised"),
    ],
)
def test_ctrl_c_ends_a_command_with_one_line_and_its_code(tmp_path, busy):
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
    (tmp_path / "busy.py").write_text(
        "import signal, sqlite3, sys, threading, time\nfrom structformer.cli import main, search\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which a shell takes from what it runs behind
        f"ENDLESS = {endless!r}\n"
        "class Deleted:\n    def __del__(self):\n        time.sleep(600)\n"
        f"def command():\n    print('begun', flush=True)\n    {busy}\n"
        "search.command.callback = lambda **values: command()\n"
        "sys.argv = ['structformer', 'search', 'x']\nmain.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, tmp_path / "busy.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (said.split(), process.returncode) == (["interrupted"], 130)


def test_any_command_writes_a_log_file(run, pages, monkeypatch):
    log = Path("run.log")
    assert run("--log-file", log, "ingest", pages, "-q").code == 0
    assert run("--log-file", log, "search", "rope", "-w", "none").code != 0
    lines = [line.split(" ", 3) for line in log.read_text().splitlines()]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}", " ".join(line[:2])) for line in lines)
    logged = [(level, text) for _, _, level, text in lines]
    assert logged[0] == ("INFO", f"structformer ingest ({structformer.__version__})")
    assert any(level == "INFO" and "documents" in text for level, text in logged)  # also with --quiet
    assert [level for level, _ in logged[-2:]] == ["ERROR", "INFO"]
    assert logged[-1][1] == "exit code 1"
    monkeypatch.setenv("STRUCTFORMER_LOG_FILE", "named.log")
    before = log.read_text()
    run("check")
    assert "structformer check" in Path("named.log").read_text()
    assert log.read_text() == before
    assert "run.log" in run("--log-file", "none/run.log", "check").err
