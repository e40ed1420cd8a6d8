"""Sampling: document trees and the reference graph to Examples, by task, deterministic whatever the order of work."""

from structformer.sampling.collection import (
    CollectionCounts,
    ShardCounts,
    counted_words,
    left_out,
    most_frequent,
    write_collection,
)
from structformer.sampling.draw_examples import sample
from structformer.sampling.example import Census, Example, SamplingOptions, SetOptions
from structformer.sampling.held_out import DevelopmentSet, held_out_share, is_held_out
from structformer.sampling.negatives import PassageTable, write_passages
from structformer.sampling.neighbourhood import (
    AnchoredSentence,
    Neighbourhood,
    PageTexts,
    Reference,
    WordWeights,
    title_and_head,
)
from structformer.sampling.sets import other_flags, parse_mix, set_digest
from structformer.sampling.store import PageTable, Samples, Texts, TextWriter, write_examples, write_pages
from structformer.sampling.tasks import (
    Form,
    Ground,
    Need,
    Survey,
    Task,
    default_tasks,
    document_examples,
    drawn_examples,
    generator,
    needs_attention,
    tasks,
)
from structformer.sampling.view import DocumentView, document_text, holds, in_random_order, nearly_equal, word_set
from structformer.sampling.word_sets import (
    MEAN_SIZE,
    DocumentModel,
    document_model,
    positive_poisson,
    word_set_examples,
)

__all__ = [
    "MEAN_SIZE", "AnchoredSentence", "Census", "CollectionCounts", "DevelopmentSet", "DocumentModel",
    "DocumentView", "Example", "Form", "Ground", "Need", "Neighbourhood", "PageTable", "PageTexts",
    "PassageTable", "Reference", "Samples", "SamplingOptions", "SetOptions", "ShardCounts", "Survey", "Task",
    "TextWriter", "Texts", "WordWeights", "counted_words", "default_tasks", "document_examples",
    "document_model", "document_text", "drawn_examples", "generator", "held_out_share", "holds",
    "in_random_order", "is_held_out", "left_out", "most_frequent", "nearly_equal", "needs_attention",
    "other_flags", "parse_mix", "positive_poisson", "sample", "set_digest", "tasks", "title_and_head",
    "word_set", "word_set_examples", "write_collection", "write_examples", "write_pages", "write_passages",
]  # fmt: skip
