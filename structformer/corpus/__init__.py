"""The corpus on disk: shards of documents, listed by a manifest."""

from structformer.corpus.corpus import FORMAT_VERSION, Corpus, corpus_language, manifest_value, write_other_files
from structformer.corpus.rows import document_rows, rows_document

__all__ = [
    "FORMAT_VERSION", "Corpus", "corpus_language", "document_rows", "manifest_value", "rows_document",
    "write_other_files",
]  # fmt: skip
