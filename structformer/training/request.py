"""Requests of a training beside its options, which no record keeps: how it is run, and foreign Examples."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from structformer.models.base import BaseModel
from structformer.models.kinds import Ranker
from structformer.sampling.held_out import DevelopmentSet
from structformer.training.data.example_order import ExampleSource
from structformer.training.judged.judging import Judge
from structformer.training.objectives.objectives import Objective
from structformer.training.options import Listener


@dataclass(frozen=True, slots=True)
class RunMode:
    """How a run is carried out."""

    dry_run: bool = False
    """Plan, and write nothing."""
    resume: bool = False
    """Continue from the newest checkpoint of an unfinished run of the same options."""
    force: bool = False
    """Replace a model of the same name instead of keeping it in models/earlier."""
    development: DevelopmentSet | Judge | None = None
    """Judged queries to choose the checkpoint by, instead of held-out structure."""
    listener: Listener = field(default_factory=Listener)
    unasked: Mapping[str, Any] = field(default_factory=dict)
    """Values of options that the run's user did not choose. They are accepted even if they mean nothing to the run."""


@dataclass(frozen=True, slots=True)
class Source:
    """Examples and a development set from elsewhere than the sampled structure, as in fine-tuning on judgements."""

    samples: ExampleSource
    development: DevelopmentSet | Judge | None
    judged_by: str
    """Source of the development set, in words."""
    objective: Callable[[Any], Objective] | None = None
    """Makes the ranker's objective; None: its kind's."""
    passages: Ranker | None = None
    """The encoder that passages keep if the query side alone is trained; None: both sides are trained."""
    mix: dict[str, float] | None = None
    """Weights of the Examples' tasks; None: those of the options."""
    query_model: BaseModel | None = None
    """The query encoder to start from; None: the base."""
    shares: tuple[float, ...] | None = None
    """Shares of trained weights to try; None: those of the kind of training."""
    taught: Judge | None = None
    """Held-out questions of documents that other questions teach."""
    site: bool = False
    """Whether pages have outlines of their own: see `Judged.site`."""
