"""A wrong name, answered with the right one: what commands, options, files and Python calls say of it."""

import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

_ALIKE = 0.72  # in difflib's measure; "nonsense" has 0.71 of "condenser"


def nearest(word: str, names: Iterable[str]) -> str:
    """Return the nearest name, "" if none is near; case, and dashes for underscores, make no difference."""
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(_plain(name), name)
    matches = get_close_matches(_plain(word), plain, 1, _ALIKE)
    return plain[matches[0]] if matches else ""


def did_you_mean(words: str | Iterable[str], names: Iterable[str], *, between: str = ", ", more: str = "") -> str:
    """The end of a message on one or more wrong names: the nearest, else all names. more: what else may be given."""
    known = list(names)
    near = [nearest(word, known) for word in ([words] if isinstance(words, str) else words)]
    if near and all(near):
        return f"did you mean {' and '.join(dict.fromkeys(near))}?"
    return f"choose from: {between.join(known) or 'none'}{more}"


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def checked_options(**meant: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Name the option that is meant by another name. meant: our options by the names that other libraries use."""

    return lambda function: _checked(function, function.__name__, meant)


def checked_fields(**meant: str) -> Callable[[C], C]:
    """Return the same for the fields of a dataclass."""

    def decorate(made: C) -> C:
        made.__init__ = _checked(made.__init__, made.__name__, meant)  # type: ignore[misc]
        return made

    return decorate


def _checked(function: Callable[P, R], name: str, meant: dict[str, str]) -> Callable[P, R]:
    """Return the function, which says under that name what options it has where it is given another one."""
    names = [each for each in inspect.signature(function).parameters if each != "self"]

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if wrong := next((each for each in kwargs if each not in names), None):
            raise TypeError(wrong_option(name, wrong, names, meant))
        return function(*args, **kwargs)

    return called


def wrong_option(name: str, wrong: str, names: list[str], meant: dict[str, str] | None = None) -> str:
    """The message that `name` has no option `wrong`, with the one that is meant, else with all that there are."""
    near = (meant or {}).get(wrong) or nearest(wrong, names)
    cure = f"did you mean {near}?" if near else f"it has {', '.join(names)}"
    return f"{name}() has no option {wrong!r}: {cure}"
