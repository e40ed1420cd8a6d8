"""Websites by their addresses: fetched into the workspace, as their robots.txt allows, and read from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.ingestion import SourceKind


@hookimpl
def structformer_sources() -> list[SourceKind]:
    from structformer_web.source import Website

    return [Website()]
