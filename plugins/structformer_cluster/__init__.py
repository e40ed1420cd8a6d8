"""Dask and Ray for structformer: engines on several machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.engines import Engine


@hookimpl
def structformer_engines() -> list[Engine]:
    # Imported when engines are asked for: plugins are loaded by every command.
    from structformer_cluster.engines import DaskEngine, RayEngine

    return [DaskEngine(), RayEngine()]
