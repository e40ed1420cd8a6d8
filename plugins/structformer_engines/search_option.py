"""`structformer search --engine`."""

from contextlib import closing
from copy import copy
from typing import Any

import click
from structformer.cli import Output, as_text, show_hits


def with_engine(command: click.Command) -> click.Command:
    """Return the command `search`, which searches in an engine if one is named."""
    option = click.Option(
        ["--engine"],
        metavar="NAME:PLACE",
        help="Search in a search engine that `export --engine` has written, by words and meaning.",
    )

    def callback(engine: str | None, **values: Any) -> Any:
        if engine is not None:
            return _search(engine, values)
        return command.callback(**values) if command.callback else None

    extended = copy(command)
    extended.params = [*command.params, option]
    extended.callback = callback
    return extended


def _search(engine: str, values: dict[str, Any]) -> int:
    from structformer_engines.interface import open_engine, without_password
    from structformer_engines.retriever import EngineRetriever

    if any(values[each] for each in ("pipeline", "group", "paths", "settings")):
        raise click.UsageError("--engine searches by words and meaning, and cannot be combined with other options yet")
    text = as_text(values["query"])
    out = Output(values["quiet"], values["verbose"], values["as_json"])
    with closing(open_engine(engine)) as index:
        hits = EngineRetriever(index, values["workspace"]).search(text, values["count"])
    out.json({"query": text, "engine": without_password(engine), "hits": [hit.as_dict() for hit in hits]})
    show_hits(out, hits, scores=values["explain"] or out.verbose)
    return 0
