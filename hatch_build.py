"""Puts the README that a package index shows into the wheel: its links lead to the files of this version on the forge,
and its commands install from the index."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s]+)\)")
_PICTURES = (".png", ".svg")
_FROM_A_CHECKOUT = {"-c constraints.txt ": "", "'.[": "'structformer[", "from a checkout, with": "with"}


def for_an_index(text: str, repository: str, version: str) -> str:
    """Return a README with absolute links, commands for an installed package, and its name for the registry of MCP."""
    for here, there in _FROM_A_CHECKOUT.items():
        text = text.replace(here, there)

    def absolute(link: re.Match[str]) -> str:
        return f"]({repository}/{'raw' if link[1].endswith(_PICTURES) else 'blob'}/v{version}/{link[1]})"

    owner = repository.removeprefix("https://github.com/").partition("/")[0]
    return f"{_LINK.sub(absolute, text)}\n<!-- mcp-name: io.github.{owner}/structformer -->\n"


class ReadmeHook(MetadataHookInterface):
    """Writes the project's readme, whose links in the repository are relative."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        shown = for_an_index(text, metadata["urls"]["Repository"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}
