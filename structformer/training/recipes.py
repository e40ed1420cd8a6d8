"""Recipes: named sets of training and sampling options, in TOML files of the package or of the user."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from structformer.did_you_mean import did_you_mean
from structformer.errors import UsageError
from structformer.plugins import load_plugins
from structformer.sampling import SetOptions
from structformer.storage import read_toml
from structformer.training.options import TrainingOptions

_TRAIN = {field.name for field in fields(TrainingOptions)} - {"sampling", "recipe"}
_SAMPLE = {field.name for field in fields(SetOptions)}
_LIMITS = {"max_steps", "max_epochs"}
_hints = cache(get_type_hints)  # which compiles the text of every field's type


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe as it is written."""

    description: str
    train: dict[str, Any]
    """Options of TrainingOptions."""
    sample: dict[str, Any]
    """Options of SetOptions."""


@cache
def _recipes() -> dict[str, Path]:
    """Recipes by name: the package's and those of plugins, which take no name of ours."""
    folders = [Path(str(files("structformer") / "recipes")), *load_plugins().manager.hook.structformer_recipes()]
    return {path.stem: path for folder in reversed(folders) for path in folder.glob("*.toml")}


def recipe_names() -> list[str]:
    """Return the names of the recipes of the package and of plugins."""
    return sorted(_recipes())


def read_recipe(name: str) -> Recipe:
    """Read a recipe by name, or from a TOML file. Raises UsageError naming what is wrong in it."""
    path = _recipes().get(name) or Path(name)
    if not path.is_file():
        raise UsageError(f"no recipe {name!r}; {did_you_mean(name, recipe_names(), more=', or name a TOML file')}")
    value = read_toml(path)
    unknown = sorted(set(value) - {"description", "train", "sample"})
    if unknown:
        raise UsageError(f"recipe {name}: no table {', '.join(unknown)}; {did_you_mean(unknown, ('train', 'sample'))}")
    train, sample = value.get("train", {}), value.get("sample", {})
    _known(train, _TRAIN, f"recipe {name}, [train]")
    _known(sample, _SAMPLE, f"recipe {name}, [sample]")
    return Recipe(value.get("description", ""), train, sample)


def training_options(recipe: str | None, chosen: Mapping[str, Any], settings: Sequence[str] = ()) -> TrainingOptions:
    """Options of a recipe, over it `chosen` (None: untouched), over these "key=value" settings. Raises UsageError."""
    read = read_recipe(recipe) if recipe else Recipe("", {}, {})
    train = {**read.train, **{key: value for key, value in chosen.items() if value is not None}}
    sample = dict(read.sample)
    for setting in settings:
        key, equals, text = setting.partition("=")
        target, known = (sample, _SAMPLE) if key.startswith("sample.") else (train, _TRAIN)
        key = key.removeprefix("sample.").strip().replace("-", "_")
        if not equals:
            raise UsageError(f"--set {setting}: write key=value, such as --set warmup=0.05 or --set sample.negatives=3")
        if key not in known and known is _TRAIN and key in _SAMPLE:
            raise UsageError(f"--set {setting}: no key {key}; did you mean sample.{key}?")
        _known({key: None}, known, f"--set {setting}")
        target[key] = _value(text.strip())
    asked = {key for key in _LIMITS if train.get(key) != read.train.get(key)}
    for key in _LIMITS - asked if asked else ():
        train.pop(key, None)  # the limit that is asked for takes the place of the recipe's
    _resolve_none(train, TrainingOptions)
    _resolve_none(sample, SetOptions)
    train["report_to"] = tuple(trackers) if isinstance(trackers := train.get("report_to", ()), list) else trackers
    _check_types(train, TrainingOptions, "")
    _check_types(sample, SetOptions, "sample.")
    replace(SetOptions(), **sample)  # raises on a value there is not
    return TrainingOptions(**{**train, "sampling": sample, "recipe": recipe})


def _resolve_none(values: dict[str, Any], kind: type) -> None:
    """TOML has no null: "none", and of what is counted "all", mean it where a key may be None."""
    hints = _hints(kind)
    for key, value in values.items():
        if value in ("none", "all") and type(None) in get_args(hints[key]):
            values[key] = None


def _check_types(values: Mapping[str, Any], kind: type, prefix: str) -> None:
    """Raises UsageError naming the first key whose value is of another type than its field's."""
    hints = _hints(kind)
    for key, value in values.items():
        allowed = {
            get_origin(each) or each
            for each in (get_args(hints[key]) if isinstance(hints[key], UnionType) else (hints[key],))
        }
        if float in allowed:
            allowed.add(int)
        if type(value) not in allowed:
            wanted = " or ".join(sorted(each.__name__.replace("NoneType", "none") for each in allowed))
            raise UsageError(f"{prefix}{key} is {value!r}: it must be {wanted}")


def _known(value: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(value) - known) if isinstance(value, dict) else [repr(value)]
    if unknown:
        raise UsageError(f"{where}: no key {', '.join(unknown)}; {did_you_mean(unknown, sorted(known))}")


def _value(text: str) -> Any:
    """Return a TOML value; a word without quotes is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
