"""`structformer ask`."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click
from structformer.cli import Output, common_options, printable
from structformer.extras import require

from structformer_serve.commands.serve import PACKAGES, ask_options


@click.command("ask")
@click.argument("question")
@click.option("--anyway", is_flag=True, help="Ask the model even without a sure match.")
@ask_options
@common_options
def command(question: str, anyway: bool, ask: str, ask_model: str, workspace: Path, out: Output) -> int:
    """Answer QUESTION from the documents with the language model at --ask, citing the sections that it read.

    Exit code 1 if the model cannot be reached, or without a sure match: the model is asked then only with --anyway."""
    require("serving", *PACKAGES)
    from pydantic import ValidationError

    from structformer_serve.asking import Asking, search_request
    from structformer_serve.schemas import AskRequest
    from structformer_serve.service import SearchService
    from structformer_web import language_model

    if not ask:
        raise click.UsageError("--ask URL says which model to ask, for example http://localhost:11434/v1")
    model = language_model(ask, ask_model)
    try:
        asked = AskRequest(q=question, anyway=anyway)
        request = search_request(asked)
    except ValidationError as error:
        raise click.UsageError(f"QUESTION: {error.errors()[0]['msg']}") from None
    view = SearchService(workspace).seen_by()
    answer = view.search(request)
    text, sections, last = "", {}, ("", dict[str, Any]())
    for name, given in Asking(model).answer(asked, answer, view):
        if name == "text":
            text += given["text"]
            if not out.as_json:
                click.echo(printable(given["text"]), nl=False)
        elif name == "sections":
            sections = {each["number"]: each for each in given["sections"]}
        else:
            last = name, given
    ended, given = last
    cited = [sections[number] for number in given.get("cited", ())]
    out.json({"question": question, "answer": text, "sections": cited, "message": given.get("message", "")})
    if text:
        out.result("")
    for each in cited:
        place = each["url"] or unquote(each["read"].removeprefix("/read/"))
        out.result(printable(f"[{each['number']}] {each['title']}  {place}"))
    if message := given.get("message") or given.get("note"):
        out.note(message)
    return 0 if ended == "done" else 1
