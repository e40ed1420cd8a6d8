"""Which options mean something to a training; and those of a run that was stopped, for `--resume` without others."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from structformer.errors import UsageError, WorkspaceError
from structformer.models.kinds import ranker_kind, ranker_kinds
from structformer.models.losses import LOSSES, Loss
from structformer.storage.files import read_json, write_json
from structformer.training.options import BOTH, TrainingOptions
from structformer.training.recipes import read_recipe, recipe_names
from structformer.workspace import Workspace

CONDITIONS: dict[str, Mapping[str, Any]] = {field.name: field.metadata for field in fields(TrainingOptions)}
DEVELOPMENT = tuple(name for name, condition in CONDITIONS.items() if "judged" in condition)
BOTH_SIDES = tuple(name for name, condition in CONDITIONS.items() if condition.get("side") == BOTH)
_IN_WORDS = {
    ("side", "query"): "the query side alone (side query)",
    ("side", "both"): "both sides (side both)",
    ("base_model", "scratch"): "the base model scratch",
    ("schedule", "step"): "the schedule step",
    ("save_steps", None): "checkpoints without save_steps",
    ("drawn", True): "Examples drawn from the corpus's structure",
    ("judged", True): "`structformer train`, or with `development`",
}
_FILE = "run.json"


def refuse_meaningless(
    options: TrainingOptions, side: str, unasked: Mapping[str, Any], *, judged: bool = False, drawn: bool = True
) -> None:
    """Raise UsageError naming an option that is given and has no meaning for what is trained, and what it goes with.

    side: "query" or "both", what is trained. unasked: values that options may have all the same, as may those of a
    packaged recipe. judged: judged queries choose the checkpoint. drawn: Examples of the corpus's structure are learned
    from.
    """
    recipe = options.recipe
    excused = {**(read_recipe(recipe).train if recipe in recipe_names() else {}), **unasked}
    training = {name: getattr(options, name) for name in CONDITIONS} | {"side": side, "judged": judged, "drawn": drawn}
    for name, value in asked_for(options, CONDITIONS).items():
        if (name not in excused or excused[name] != value) and (goes_with := _missing(name, options, training)):
            raise UsageError(f"{name} means nothing to what is trained here: it goes with {goes_with}")


def _missing(name: str, options: TrainingOptions, training: Mapping[str, Any]) -> str:
    """Name what an option needs that this training lacks, "" if nothing. training: also other conditions' values."""
    if name == "side" and options.side != training["side"]:
        return "`structformer train`"
    for other, wanted in CONDITIONS[name].items():
        value = training[other]
        if value in (None, False, 0) if wanted is ... else value != wanted:
            return _IN_WORDS.get((other, wanted), other)
    takers = _takers(name)
    return "" if not takers or ranker_kind(options.ranker).takes_option(name, options.loss) else takers


def _takers(option: str) -> str:
    """Return the kinds of rankers and the losses that declare an option; "" if it is every training's."""
    kinds = ranker_kinds()
    losses: dict[str, Loss] = {**LOSSES, **{loss.name: loss for kind in kinds.values() for loss in kind.own_losses}}
    rankers = [name for name, kind in kinds.items() if kind.options is not None and option in kind.options]
    of_losses = [name for name, loss in losses.items() if option in loss.options]
    parts = []
    for what, names in ((("ranker", "rankers"), rankers), (("loss", "losses"), of_losses)):
        if names:
            listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
            parts.append(f"the {what[len(names) > 1]} {listed}")
    return ", or ".join(parts)


def asked_for(options: TrainingOptions, names: Collection[str]) -> dict[str, Any]:
    """Return those of the options that ask for something: neither left at their default nor switched off."""
    default = TrainingOptions()
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not False and value != getattr(default, name)}


def asks_for_both_sides(options: TrainingOptions, sources: Collection[str]) -> dict[str, Any]:
    """Return the options that only training both sides takes. sources: of questions, for the query side."""
    asked = asked_for(options, ("ranker", "recipe", *BOTH_SIDES))
    if options.base_model == "scratch":
        asked["base_model"] = options.base_model
    if options.mix is not None and not set(options.mix) <= set(sources):
        asked["mix"] = options.mix
    return asked


def write_options(folder: Path, options: TrainingOptions) -> None:
    """Store a run's options beside its checkpoints."""
    write_json(folder / _FILE, asdict(options), digest=True)


def unfinished_options(
    workspace: str | Path | Workspace, asked: TrainingOptions, given: Collection[str] = ()
) -> TrainingOptions:
    """The options of the workspace's unfinished run (the one called `asked.name` if there are several), with those of
    `asked` that are `given` now. Raises UsageError when there is none, or there are several and none is named.
    """
    folders = Workspace(workspace).unfinished(_FILE)
    if asked.name:
        folders = [folder for folder in folders if folder.name == asked.name]
    if len(folders) > 1:
        raise UsageError(
            f"several runs are unfinished: name one with --name ({', '.join(folder.name for folder in folders)})"
        )
    if not folders:
        called = f" called {asked.name}" if asked.name else ""
        raise UsageError(
            f"no unfinished run{called} in {workspace}: give the flags that it was begun with, or "
            "train without --resume"
        )
    try:
        options = _read(folders[0])
    except WorkspaceError as error:
        raise WorkspaceError(f"{error}: give the flags that the run was begun with, with --resume") from error
    return replace(options, **{key: getattr(asked, key) for key in given})


def begun_with(workspace: Workspace, options: TrainingOptions) -> TrainingOptions | None:
    """Return the options of the unfinished run of this name; None if there is none, or they cannot be read."""
    folder = workspace.checkpoints(options.name or options.ranker)
    try:
        return _read(folder) if (folder / _FILE).exists() else None
    except WorkspaceError:
        return None


def _read(folder: Path) -> TrainingOptions:
    value: dict[str, Any] = read_json(folder / _FILE, digest=True)
    known = {field.name for field in fields(TrainingOptions)}
    stored: dict[str, Any] = {key: item for key, item in value.items() if key in known}
    return TrainingOptions(**{**stored, "report_to": tuple(stored["report_to"])})
