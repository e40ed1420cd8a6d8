"""A MkDocs plugin: structformer's search box on every page of a built site.

    # mkdocs.yml
    plugins:
      - structformer:
          server: https://search.example.org

server: a server's address, or that of a folder written by `structformer export --site`. The button goes where the theme
has its search; own: keep leaves the theme's own search beside it; target: a selector of another place; label: the
button's text; path: only documents whose ids match."""

import html
from typing import Any

from mkdocs.config.base import Config
from mkdocs.config.config_options import Choice, Type
from mkdocs.plugins import BasePlugin


class BoxOptions(Config):  # type: ignore[no-untyped-call]
    """Options in mkdocs.yml."""

    server = Type(str)
    target = Type(str, default="")
    own = Choice(("", "replace", "keep"), default="")
    label = Type(str, default="Search")
    path = Type(str, default="")
    token = Type(str, default="")


class BoxPlugin(BasePlugin[BoxOptions]):  # type: ignore[no-untyped-call]
    """Adds the box's script to every page."""

    def on_post_page(self, output: str, **kwargs: Any) -> str:
        """Return the page with the script at its end."""
        given = {name: self.config[name] for name in ("target", "own", "label", "path", "token") if self.config[name]}
        attributes = "".join(f' data-{name}="{html.escape(value)}"' for name, value in given.items())
        script = f'<script src="{html.escape(self.config.server.rstrip("/"))}/widget.js"{attributes}></script>'
        before, end, after = output.rpartition("</body>")
        return f"{before}{script}{end}{after}" if end else output + script
