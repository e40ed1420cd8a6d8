"""What a training is asked for beside its options, which no record keeps: how it is carried out, and Examples from
elsewhere.
"""

from __future__ import annotations

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
    """How a run is carried out. dry_run: plan, and write nothing; resume: go on from the newest checkpoint of an
    unfinished run of the same options; force: replace a model of the same name, which is else kept in models/earlier;
    development: judged queries to choose the checkpoint by, in the place of held-out structure; unasked: values of
    options that the run's user did not choose for it, and that may so be without meaning to it.
    """

    dry_run: bool = False
    resume: bool = False
    force: bool = False
    development: DevelopmentSet | Judge | None = None
    listener: Listener = field(default_factory=Listener)
    unasked: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """Examples and a development set from elsewhere than the sampled structure, as fine-tuning on judgements has them.
    judged_by: what the development set is made of; objective: made for the ranker in the place of its kind's; passages:
    what goes on encoding passages, where queries' side alone is trained; mix: weights of its tasks, None for those of
    the options; query_model: what queries' side starts from, None where that is the base.
    """

    samples: ExampleSource
    development: DevelopmentSet | Judge | None
    judged_by: str
    objective: Callable[[Any], Objective] | None = None
    passages: Ranker | None = None
    mix: dict[str, float] | None = None
    query_model: BaseModel | None = None
