"""Serving a search: the page, the API, MCP, the box for other sites, answers, feedback, a site without a server. Needs
structformer[serve]."""

from typing import TYPE_CHECKING, Any

from structformer.lazy_names import lazy_names
from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer_serve.http.options import ServerOptions
    from structformer_serve.served import Served, serve, up
    from structformer_serve.static_site import export_site

__all__ = ["Served", "ServerOptions", "export_site", "serve", "up"]
__getattr__ = lazy_names(__name__)

_COMMANDS = {
    "up": ("Serve", "Open a search page on your files; it improves while you use it."),
    "serve": ("Serve", "Serve the search: a page, an API, MCP, a box for other sites."),
    "mcp": ("Serve", "Serve the search to assistants over MCP (stdio)."),
    "ask": ("Search", "Answer a question from the documents, by a language model."),
    "feedback": ("Measure", "Report what people searched for, and write judgements from it."),
    "gaps": ("Measure", "Show what people ask and the documents do not answer."),
}


@hookimpl
def structformer_commands(app: Any) -> None:
    for name, (section, help_line) in _COMMANDS.items():
        app.add_lazy(name, f"structformer_serve.commands.{name}:command", help_line, section)
