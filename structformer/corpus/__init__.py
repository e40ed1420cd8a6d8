"""The corpus on disk: shards of documents, listed by a manifest."""

from __future__ import annotations

from structformer.corpus.corpus import FORMAT_VERSION, Corpus, manifest_value, write_other_files

__all__ = ["FORMAT_VERSION", "Corpus", "manifest_value", "write_other_files"]
