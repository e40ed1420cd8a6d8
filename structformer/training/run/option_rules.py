"""What each option of training concerns, in one table: by it an option that would mean nothing is refused, and it is
known which options ask for the training of both sides.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from structformer.errors import UsageError
from structformer.models.kinds import RANKERS, RankerKind, ranker_kind
from structformer.models.losses import Loss, Takes
from structformer.training.options import BOTH, QUERY, TrainingOptions
from structformer.training.recipes import read_recipe, recipe_names


@dataclass(frozen=True, slots=True)
class Training:
    """What is to be trained; options are checked against it."""

    options: TrainingOptions
    side: str
    """Either "query" or "both"."""
    judged: bool = False
    """Whether there are judged queries to choose the checkpoint by."""
    drawn: bool = True
    """Whether it learns from Examples of the corpus's structure."""

    @property
    def kind(self) -> RankerKind:
        """The kind of ranker."""
        return ranker_kind(self.options.ranker)

    @property
    def loss(self) -> Loss:
        """The loss, chosen or the kind's first."""
        return self.kind.loss(self.options.loss)

    @property
    def apart(self) -> bool:
        """Whether queries are encoded apart from documents, as one vector."""
        return not self.kind.joint and not self.kind.token_vectors

    @property
    def foreign(self) -> bool:
        """Whether the ranker is a plugin's, whose objective may use any option."""
        return self.options.ranker not in RANKERS


@dataclass(frozen=True, slots=True)
class Concern:
    """Options that mean something in certain trainings only."""

    goes_with: str
    """Those trainings, in words."""
    options: tuple[str, ...]
    holds: Callable[[Training], bool]
    """Whether a training is one of them."""


EVERY_TRAINING = (
    *("ranker", "base_model", "mix", "recipe", "name", "seed", "task_loss"),
    *("max_seconds", "max_steps", "max_epochs", "groups", "accumulation"),
    *("learning_rate", "schedule", "warmup", "weight_decay"),
    *("precision", "gradient_checkpointing", "compile", "batch_tokens", "threads"),
    *("eval_steps", "save_steps", "report_to", "interpolate"),
)
DEVELOPMENT = ("dev_queries", "dev_qrels", "dev_workspace", "dev_candidates")
BOTH_SIDES = (
    *("loss", "margin", "group_size", "mlm", "mask_side", "whole_words", "hard_negatives", "gather"),
    *("teacher", "train_words"),
    *("max_pairs", "pair_query_tokens", "document_tokens", "size", "similarity", "mean_max_sim", "sep_last"),
    *("dimensions", "pooling"),
    *("sampling", "train_from", *DEVELOPMENT),
)
CONCERNS = (
    Concern("the query side alone (side query)", ("questions", "query_log"), lambda its: its.side == QUERY),
    Concern("both sides (side both)", BOTH_SIDES, lambda its: its.side == BOTH),
    Concern("`structformer train`", ("side",), lambda its: its.options.side in (None, its.side)),
    Concern("the base model scratch", ("size",), lambda its: its.options.base_model == "scratch"),
    Concern("the schedule step", ("step_at", "step_factor"), lambda its: its.options.schedule == "step"),
    Concern("eval_steps", ("select_after",), lambda its: its.options.eval_steps is not None),
    Concern("checkpoints without save_steps", ("save_seconds",), lambda its: its.options.save_steps is None),
    Concern("the bi-encoder", ("query_tokens", "pooling"), lambda its: its.foreign or its.apart),
    Concern(
        "late interaction",
        ("similarity", "mean_max_sim", "sep_last", "dimensions"),
        lambda its: its.foreign or its.kind.token_vectors,
    ),
    Concern("rankers that read pairs", ("pair_query_tokens",), lambda its: its.foreign or its.kind.joint),
    Concern("rankers whose word vectors may stay the base's", ("train_words",), lambda its: its.kind.frozen_words),
    Concern("mlm", ("whole_words",), lambda its: bool(its.options.mlm)),
    Concern("mlm of rankers that read pairs", ("mask_side",), lambda its: bool(its.options.mlm) and its.kind.joint),
    Concern("the losses hinge and softmax-hinge", ("margin",), lambda its: its.foreign or its.loss.has_margin),
    Concern(
        "negatives of the batch (a bi-encoder or late interaction with the loss infonce)",
        ("hard_negatives",),
        lambda its: its.foreign or its.loss.takes is Takes.BATCH,
    ),
    Concern(
        "negatives of the batch of rankers with one vector a text",
        ("gather",),
        lambda its: its.apart and its.loss.gathers,
    ),
    Concern(
        "losses over groups",
        ("group_size",),
        lambda its: its.foreign or not its.kind.token_vectors or its.loss.takes is Takes.GROUPS,
    ),
    Concern("the losses margin-mse and kl", ("teacher",), lambda its: its.foreign or its.loss.needs_teacher),
    Concern("Examples drawn from the corpus's structure", ("sampling", "train_from"), lambda its: its.drawn),
    Concern("`structformer train`, or with `development`", DEVELOPMENT, lambda its: its.judged),
)


def refuse_meaningless(training: Training, unasked: Mapping[str, Any]) -> None:
    """Raises UsageError naming an option that is given and has no meaning for what is trained, and what it goes with.
    unasked: values that options may have all the same, as may those of a packaged recipe.
    """
    recipe = training.options.recipe
    excused = {**(read_recipe(recipe).train if recipe in recipe_names() else {}), **unasked}
    for concern in CONCERNS:
        for name, value in asked_for(training.options, concern.options).items():
            if not concern.holds(training) and (name not in excused or excused[name] != value):
                raise UsageError(f"{name} means nothing to what is trained here: it goes with {concern.goes_with}")


def asked_for(options: TrainingOptions, names: Collection[str]) -> dict[str, Any]:
    """Those of the options that ask for something: neither left at their default nor switched off."""
    default = TrainingOptions()
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not False and value != getattr(default, name)}


def asks_for_both_sides(options: TrainingOptions, sources: Collection[str]) -> dict[str, Any]:
    """Those of the options that only the training of both sides takes. sources: those of questions, which a mix for the
    query side names.
    """
    found = asked_for(options, ("ranker", "recipe", *BOTH_SIDES))
    if options.base_model == "scratch":
        found["base_model"] = options.base_model
    if options.mix is not None and not set(options.mix) <= set(sources):
        found["mix"] = options.mix
    return found
