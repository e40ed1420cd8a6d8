"""Training a static encoder as users ask for it: with sources and options of their own, under a name of their own."""

from structformer.corpus import Corpus
from structformer.models.registry import ModelRecord
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.index import Index
from structformer.retrieval.learning.structure import Progress, StructureLessons, StructureOptions, save_structure
from structformer.sampling.neighbourhood import WordWeights
from structformer.workspace import Workspace


def train_structure(
    workspace: Workspace,
    name: str,
    options: StructureOptions,
    *,
    force: bool = False,
    weights: WordWeights | None = None,
    progress: Progress | None = None,
) -> ModelRecord:
    """Learn a static encoder of the indexed texts, saved by that name. An earlier one goes to models/earlier, or is
    deleted with `force`. Raises WorkspaceError without an index, ModelError without texts.
    """
    index = Index(workspace)
    units, documents = Units(index.path("units.arrow")), IndexedDocuments(index.path("documents.arrow"))
    lessons = StructureLessons(workspace, units, documents, options, weights=weights)
    learned = lessons.learned(progress=progress)
    return save_structure(workspace, learned, options, Corpus.open(workspace), name, keep=not force)
