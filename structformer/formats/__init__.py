"""What format plugins import: the protocol, the source, the tree builder; and what checks a format."""

from __future__ import annotations

from structformer.formats.builder import TreeBuilder
from structformer.formats.limits import Limits
from structformer.formats.protocol import (
    CompositeFormat,
    Format,
    FormatOption,
    FragmentFormat,
    ListingFormat,
    StreamFormat,
)
from structformer.formats.scripts import Script
from structformer.formats.source import Neighbours, SourceFile, decode

__all__ = [
    "CompositeFormat",
    "Format",
    "FormatOption",
    "FragmentFormat",
    "Limits",
    "ListingFormat",
    "Neighbours",
    "Script",
    "SourceFile",
    "StreamFormat",
    "TreeBuilder",
    "decode",
]
