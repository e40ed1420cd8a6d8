"""Websites as a kind of source."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
from structformer.cli import Number
from structformer.extras import require
from structformer.ingestion import Fetched
from structformer.workspace import Workspace

_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_option = partial(click.Option, show_default=True)


class Website:
    """The pages of one website, below an address."""

    name = "website"
    options = (
        _option(
            ["--max-pages"], type=click.IntRange(1), default=10_000, help="Of a website, fetch this many pages at most."
        ),
        _option(
            ["--max-hours"],
            type=Number(0, 1e6, min_open=True),
            default=12.0,
            help="Of a website, fetch for this many hours at most; the next run continues.",
        ),
        _option(
            ["--crawl-delay"],
            type=Number(0, 3600),
            default=1.0,
            metavar="SECONDS",
            help="Pause before each request to a website; longer if robots.txt asks for it.",
        ),
    )

    def claims(self, path: str) -> bool:
        """Whether it is the address of a website."""
        return _ADDRESS.match(path) is not None

    def folder(self, path: str, workspace: Workspace) -> Path:
        """Return the folder of its host's pages. Raises UsageError, MissingPackage."""
        require("reading a website", "httpx", "protego")
        from structformer_web.website import website_folder

        return website_folder(path, workspace.websites.resolve())

    def fetch(
        self, path: str, workspace: Workspace, values: Mapping[str, Any], progress: Callable[[str, int, int], None]
    ) -> Fetched:
        """Fetch its pages; those that have not changed are left as they are."""
        from structformer_web.website import website_pages

        crawl = website_pages(
            path,
            workspace.websites.resolve(),
            max_pages=values["max_pages"],
            delay=values["crawl_delay"],
            hours=values["max_hours"],
            progress=lambda done, total: progress("fetching pages", done, total),
        )
        return Fetched(f"{crawl}; in {crawl.folder}", crawl.problems, crawl.stopped)
