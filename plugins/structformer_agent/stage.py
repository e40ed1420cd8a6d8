"""`agent`: the section-title search agent as a first stage, so that it can be evaluated: `agent:first`."""

from collections.abc import Collection, Sequence
from pathlib import Path

from structformer.errors import UsageError
from structformer.retrieval import OpenedIndex, Ranking, Retriever, Stage, StageKind, read_qrels
from structformer.text import lines_of

from structformer_agent.agent import SearchAgent, merge
from structformer_exports import read_word_vectors

_WITH, _WITHOUT = "with", "without"


def _run(opened: OpenedIndex, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
    agent = _agent(opened, stage)
    pipeline = f"{stage.option('search')}[k={stage.k}]"
    for ranking in rankings:
        asked = agent.rank(ranking.query, pipeline, documents, ranking.name)
        merged = merge(asked[1:] if stage.option("query") == _WITHOUT and len(asked) > 1 else asked)
        ranking.add(stage.name, merged[: stage.k])


def _agent(opened: OpenedIndex, stage: Stage) -> SearchAgent:
    names = ("titles", "vectors", "from", "judged", "descriptions")
    titles, vectors, other, judged, descriptions = (str(stage.option(name)) for name in names)
    return SearchAgent(
        Retriever.of(opened),
        stage.model,
        titles=read_titles(Path(titles)) if titles else (),
        vectors=read_word_vectors(Path(vectors)) if vectors else None,
        titles_from=Retriever.open(other) if other else None,
        judged=read_qrels(Path(judged)) if judged else None,
        descriptions=read_descriptions(Path(descriptions)) if descriptions else None,
    )


def read_titles(path: Path) -> list[str] | dict[str, list[str]]:
    """Return titles, one a line; by query id if every line is `query id<TAB>title`. Raises UsageError."""
    lines = [line.strip() for line in lines_of(path) if line.strip()]
    if not lines:
        raise UsageError(f"{path} has no titles")
    if not all("\t" in line for line in lines):
        return lines
    by_query: dict[str, list[str]] = {}
    for line in lines:
        name, _, title = line.partition("\t")
        by_query.setdefault(name.strip(), []).append(title.strip())
    return by_query


def read_descriptions(path: Path) -> dict[str, str]:
    """Return descriptions by query id of a file whose every line is `query id<TAB>description`. Raises UsageError."""
    descriptions: dict[str, str] = {}
    for number, line in enumerate(lines_of(path), 1):
        name, tab, text = line.partition("\t")
        if line.strip() and not tab:
            raise UsageError(f"{path}, line {number}: not `query id<TAB>description`")
        descriptions[name.strip()] = text.strip()
    return descriptions


AGENT = StageKind(
    "agent",
    _run,
    finds=True,
    options={
        "k": 100,
        "search": "lexical",
        "query": _WITH,
        **dict.fromkeys(("titles", "vectors", "from", "judged", "descriptions"), ""),
    },
    model="embedding",
    choices={"search": ("lexical", "hybrid"), "query": (_WITH, _WITHOUT)},
    needs=_agent,
)
