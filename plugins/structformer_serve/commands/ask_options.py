"""--ask and --ask-model: the language model that answers questions."""

from collections.abc import Callable
from typing import Any

import click


def ask_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of the commands that answer questions."""
    model = click.option(
        "--ask-model", default="", metavar="NAME", help="For --ask: which of its models.  [default: the only one]"
    )
    address = click.option(
        "--ask",
        default="",
        metavar="URL",
        help="Answer questions by the language model at this OpenAI-compatible address, as http://localhost:11434/v1. "
        "Questions and the sections found are sent there, and nothing without it. Its key: STRUCTFORMER_ASK_KEY.",
    )
    return address(model(function))
