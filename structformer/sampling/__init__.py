"""Sampling: document trees and the reference graph to Examples, by task, deterministic whatever the order of work."""

from __future__ import annotations

from structformer.sampling.draw_examples import sample
from structformer.sampling.example import Census, Example, SamplingOptions, SetOptions
from structformer.sampling.held_out import is_held_out
from structformer.sampling.store import Samples
from structformer.sampling.task import Form, Need, Task
from structformer.sampling.tasks import DEFAULT_TASKS, document_examples, needs_attention, tasks

__all__ = [
    "DEFAULT_TASKS",
    "Census",
    "Example",
    "Form",
    "Need",
    "Samples",
    "SamplingOptions",
    "SetOptions",
    "Task",
    "document_examples",
    "is_held_out",
    "needs_attention",
    "sample",
    "tasks",
]
