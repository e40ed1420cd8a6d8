"""`structformer.upsert` and `structformer.delete`: single documents as objects, beside those that files hold."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from structformer.corpus import Corpus
from structformer.did_you_mean import checked_options
from structformer.document import Document
from structformer.errors import UsageError
from structformer.ingestion.given_documents import Changed, Rows, change_given, given_rows
from structformer.retrieval.index import is_stale
from structformer.retrieval.indexing import build_index, unrepeatable
from structformer.workspace import Workspace


@checked_options(document="documents", docs="documents", reindex="index")
def upsert(
    documents: Document | Iterable[Document], workspace: str | Path | Workspace = ".structformer", *, index: bool = True
) -> Changed:
    """Add documents to the corpus, or replace those of the same ids; no file is read, and what is the same stays.

    Links of all documents are resolved again. An index that is there is brought up to date, unless `index` is False.
    Every later ingest keeps the documents, until `delete` takes them out. A document without `names` is known by its
    id. Raises UsageError where a file of the corpus has a document of the same id, or where its `source.format` is not
    installed; WorkspaceError while another process writes the workspace."""
    rows = given_rows([documents] if isinstance(documents, Document) else documents)
    return _changed(Workspace(workspace), rows, (), index)


@checked_options(id="ids", documents="ids", reindex="index")
def delete(
    ids: str | Iterable[str], workspace: str | Path | Workspace = ".structformer", *, index: bool = True
) -> Changed:
    """Remove documents that `upsert` brought; unknown ids are skipped. Raises UsageError on a document read from a file
    (delete the file and ingest again), WorkspaceError without a corpus.
    """
    workspace = Workspace(workspace)
    Corpus.open(workspace)
    return _changed(workspace, {}, [ids] if isinstance(ids, str) else list(ids), index)


def _changed(workspace: Workspace, rows: Mapping[str, Rows], ids: Sequence[str], index: bool) -> Changed:
    if index and (why := unrepeatable(workspace)):
        raise UsageError(f"{why}; index=False leaves the index as it is")
    with workspace.writing("structformer upsert" if rows else "structformer delete"):
        changed = change_given(workspace, rows, ids)
        if index and workspace.has("index") and is_stale(workspace) and Corpus.open(workspace).document_count:
            build_index(workspace, say=lambda message: None)  # it was said of this index before
    return changed
