"""Requests to others over HTTP: websites by their addresses, fetched into the workspace as their robots.txt allows
and read from there; a language model of the user's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.lazy_names import lazy_names
from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.ingestion import SourceKind

    from structformer_web.model_client import LanguageModel, ModelUnavailable, language_model

__all__ = ["LanguageModel", "ModelUnavailable", "language_model"]
__getattr__ = lazy_names(__name__)


@hookimpl
def structformer_sources() -> list[SourceKind]:
    from structformer_web.source import Website

    return [Website()]
