"""`structformer judge`."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
from structformer.cli import (
    BriefCommand,
    Number,
    Output,
    OutputPath,
    common_options,
    default_option,
    force_option,
    fresh_index,
    judged,
    judged_option,
    path_option,
    save_config,
    several_option,
    stale_option,
    table,
)

if TYPE_CHECKING:
    from structformer.evaluation import Judgements

_URL_HELP = "OpenAI-compatible address of a model, such as http://localhost:11434/v1. Its key: STRUCTFORMER_ASK_KEY."
_MAIN = "--llm --llm-model --queries --qrels --beir --query-log --written --pipeline --depth --max-queries --dry-run"


@click.command("judge", cls=BriefCommand, main=f"{_MAIN} --output")
@click.option("--llm", metavar="URL", required=True, help=_URL_HELP)
@click.option("--llm-model", metavar="NAME", help="Which of its models.  [default: the only one]")
@judged_option
@path_option("--query-log", "Queries, one a line, as `feedback --write-query-log` writes them.")
@click.option("--written", is_flag=True, help="The questions that `sample --tasks written` keeps.")
@several_option("--pipeline", "SPEC", "A pipeline to judge; may be repeated.  [default: all]", name="pipelines")
@default_option("--depth", 10, "First documents of a query that are judged.", type=click.IntRange(1, 100))
@click.option("--max-queries", type=click.IntRange(1), help="Judge only this many queries, chosen by their ids.")
@default_option("--characters", 3000, "Of a page's best passages that are sent.", type=click.IntRange(100))
@path_option("--prompt", "A TOML file with the prompt's texts `system` and `user`, instead of the package's.")
@click.option("--at-once", type=click.IntRange(1), help="Requests at the same time.  [default: 4]")
@click.option("--patience", type=Number(1), help="Seconds without a word that end a request.  [default: 300]")
@click.option("--allow-remote", is_flag=True, help="Send queries and passages to another machine than this one.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent, but send nothing.")
@click.option("--output", "folder", type=OutputPath(), help="Another folder than WORKSPACE/evaluation/judged-by-model.")
@force_option("earlier judgements in --output")
@partial(stale_option, default="refuse")
@common_options
@click.pass_context
def command(
    ctx: click.Context, /, folder: Path | None, force: bool, if_stale: str, workspace: Path, out: Output, **asked: Any
) -> None:
    """Have your language model judge the first documents of several pipelines, as people do for TREC.

    Grades are 0 (about something else), 1 (does not answer), 2 (answers in part), 3 (answers). Before anything is
    sent, it says how many requests and about how many tokens that are. Answers are kept in the workspace's cache: a
    command that was stopped goes on where it was.

    Writes queries and qrels as `evaluate --beir FOLDER` reads them, the pipelines' scores by them, and judge.json: what
    was asked, and where people's judgements are given how far both agree, as Cohen's kappa and Kendall's tau. Trust a
    model no further than it agrees with people on a set like yours."""
    from structformer.engines import is_loopback
    from structformer.evaluation import Comparison, compare_runs, default_pipelines, write_judgements
    from structformer.retrieval import Retriever
    from structformer.storage import write_json
    from structformer.workspace import Workspace, check_folder, new_folder

    from structformer_lab.judging import Template, make_pool
    from structformer_lab.model_answers import named, patient_model

    own = folder is None
    target = folder or Workspace(workspace).evaluation("judged-by-model")
    check_folder(target, workspace, force=force or own, own=own)  # before the work
    model = patient_model(asked["llm"], asked["llm_model"], asked["patience"])
    if not asked["allow_remote"] and not is_loopback(host := urlsplit(model.address).hostname or ""):
        raise click.UsageError(f"{host} is another machine: --allow-remote sends queries and passages there")
    template = Template.read(asked["prompt"])
    queries, by_people = _queries(workspace, asked)
    fresh_index(out, workspace, if_stale)
    retriever = Retriever.open(workspace)
    pipelines = [retriever.pipeline(each) for each in asked["pipelines"]] or default_pipelines(Workspace(workspace))
    model = model if asked["dry_run"] else named(model)
    size = {"depth": asked["depth"], "characters": asked["characters"]}
    with out.stages() as progress:
        pool = make_pool(retriever, queries, pipelines, model, template, **size, progress=progress)
    cost = pool.cost()
    out.note(
        f"{cost['pages']:,} pages of {cost['queries']:,} queries; to ask about: {cost['requests']:,}, about "
        f"{cost['tokens_sent']:,} tokens to send, {cost['tokens_back']:,} to come back"
    )
    if asked["dry_run"]:
        out.json(cost)
        return
    with out.progress("asking the language model") as report:
        unread = pool.ask(asked["at_once"], report)
    judgements = pool.judgements()
    made_of = {**pool.report(judgements, queries if by_people else None), **size, "unread": unread}
    with new_folder(target, workspace, force=force or own, own=own) as made:
        write_judgements(made, judgements)
        write_json(made / "judge.json", made_of)
        if any(grade for grades in judgements.qrels.values() for grade in grades.values()):
            compared = Comparison(("nDCG@10", "RR(rel=2)@10"), title=f"judged by {pool.model.name}", output=made)
            compare_runs(pool.runs, judgements, compared)
        save_config(ctx, made)
    if unread:
        out.note(unread)
    out.json(made_of)
    _show(out, made_of)
    out.say(f"judgements: {target}")


def _queries(workspace: Path, asked: dict[str, Any]) -> tuple[Judgements, bool]:
    """Return the queries, and whether people have judged them. Raises UsageError."""
    from structformer.corpus import Corpus
    from structformer.evaluation import Judgements, read_queries

    if sum(bool(asked[name]) for name in ("queries", "beir", "dataset", "query_log", "written")) != 1:
        raise click.UsageError("give one of --queries, --beir, --dataset, --query-log and --written")
    if by_people := bool(asked["beir"] or asked["dataset"] or asked["qrels"]):
        names = ("queries", "qrels", "beir", "dataset", "topic_parts")
        [(_, given)] = judged(**{name: asked[name] for name in names})
        if given.are_of_sections(set(Corpus.open(workspace).document_ids())):
            given = given.of_documents()
        given = replace(given, queries=given.asked())
    elif asked["queries"]:
        given = Judgements(read_queries(asked["queries"], asked["topic_parts"].replace(" ", "").split(",")), {})
    else:
        given = Judgements({str(number): text for number, text in enumerate(_texts(workspace, asked), 1)}, {})
    most = asked["max_queries"] or len(given.queries)
    chosen = nsmallest(most, given.queries, key=lambda name: hashlib.sha256(name.encode()).digest())
    return replace(given, queries={name: given.queries[name] for name in sorted(chosen)}), by_people


def _texts(workspace: Path, asked: dict[str, Any]) -> list[str]:
    """Return the queries of the log, or the written questions that are drawn."""
    if asked["query_log"]:
        from structformer.retrieval import read_query_log

        return read_query_log(asked["query_log"])
    from structformer.sampling import Samples

    samples = Samples.open(workspace)
    drawn = range(samples.counts.get("written", 0))
    if not drawn:
        raise click.UsageError("no written questions are drawn: structformer sample --tasks written --llm URL")
    return list(dict.fromkeys(samples.example("written", number).queries[0] for number in drawn))


def _show(out: Output, report: dict[str, Any]) -> None:
    out.result("grades: " + ", ".join(f"{count:,} of {grade}" for grade, count in report["grades"].items()))
    if agreed := report["agreement"]:
        rows = [[name, *(f"{mean:.3f}" for mean in means)] for name, means in agreed["scores"].items()]
        out.result(table(["nDCG@10", "by people", "by the model"], rows))
        kappa, tau = ("none" if agreed[name] is None else f"{agreed[name]:.2f}" for name in ("kappa", "tau"))
        out.result(f"Cohen's kappa of relevant or not: {kappa}; Kendall's tau of the pipelines: {tau}")
