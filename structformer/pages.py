"""Self-contained pages from templates: nothing is fetched, no script runs, texts are escaped; and charts as SVG."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from structformer._version import __version__
from structformer.text.visible_text import visible

__all__ = ["changes", "curve", "environment", "histogram", "intervals", "queries", "render"]
_QUERY_WIDTH = 14.0
_MARGIN = 12.0
_WIDTH, _NARROW = 720.0, 460.0
_LETTER = 7.2  # width of a letter at the labels' size
_MAX_POINTS = 400  # of a curve
_LEAST_SPAN = 0.05  # of the values: a curve that hardly moves should look like one
_MAX_BARS = 40
_MAX_LABEL = 40  # letters


@cache
def environment(package: str = "structformer", folder: str = "templates/pages") -> Environment:
    """Return the templates in a package's folder, and the frame that they may extend."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package, folder), PackageLoader("structformer", "templates/pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        # Control and bidirectional characters of texts are made visible; markup of ours stays as it is.
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["thousands"] = lambda value: f"{value:,}"
    made.filters["percent"] = lambda value: f"{value:.0%}"
    return made


def render(template: str, *, title: str, about: str, templates: Environment | None = None, **values: Any) -> bytes:
    """Return a page of a template, with time and version. title, about: shown on top; templates: a plugin's."""
    made = time.strftime("%Y-%m-%d %H:%M")
    page = (templates or environment()).get_template(template)
    text = page.render(title=title, about=about, made=made, version=__version__, **values)
    return text.encode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`, which are ticks themselves."""

    name: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    """(value, label) of each."""

    @property
    def room(self) -> float:
        """The room that its labels and its name take beside it."""
        return label_width([label for _, label in self.ticks]) + 34

    @classmethod
    def over(cls, low: float, high: float, name: str, *, count: int = 5, whole: bool = False) -> Axis:
        """Return an axis with about `count` round ticks: multiples of 1, 2 or 5 times a power of ten."""
        span = max(high - low, 1e-12)
        least = span / max(1, count - 1)
        power = 10 ** math.floor(math.log10(least))
        step = float(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9)))
        if whole:
            step = max(1.0, step)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        last = max(last, first + 1)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        values = [number * step for number in range(first, last + 1)]
        largest = max(abs(value) for value in values)
        scientific = largest >= 1e6 or (step < 1e-4 and largest > 0)
        labels = [f"{value:.1e}" if scientific and value else f"{value:,.{decimals}f}" for value in values]
        return cls(name, values[0], values[-1], tuple(zip(values, labels, strict=True)))


@dataclass(slots=True)
class Frame:
    """Where values lie on the drawing."""

    x: Axis
    y: Axis
    height: float
    left: float
    bottom: float
    right: float = 18.0
    top: float = 12.0
    width: float = _WIDTH

    def px(self, value: float) -> float:
        """Return where a value of the x axis lies."""
        share = (value - self.x.low) / (self.x.high - self.x.low)
        return round(self.left + share * (self.width - self.left - self.right), 1)

    def py(self, value: float) -> float:
        """Return where a value of the y axis lies."""
        share = (self.y.high - value) / (self.y.high - self.y.low)
        return round(self.top + share * (self.height - self.top - self.bottom), 1)


def draw(template: str, **values: object) -> Markup:
    """Return the chart of a template."""
    return Markup(environment().get_template(template).render(**values))


def label_width(labels: Sequence[str]) -> float:
    """Return the room that the longest label takes."""
    return max((len(label) for label in labels), default=0) * _LETTER


def curve(points: Sequence[tuple[int, float]], smooth: Sequence[tuple[int, float]], x_name: str, y_name: str) -> Markup:
    """Return a curve over steps: thin the points, bold their smoothed course."""
    low, high = min(value for _, value in points), max(value for _, value in points)
    missing = max(0.0, _LEAST_SPAN * max(abs(low), abs(high), 1e-9) - (high - low))
    y = Axis.over(low - missing / 2, high + missing / 2, y_name, count=4)
    x = Axis.over(points[0][0], max(points[-1][0], points[0][0] + 1), x_name, whole=True)
    frame = Frame(x, y, height=230.0, left=y.room, bottom=42.0)

    def path(values: Sequence[tuple[int, float]]) -> str:
        step = max(1, len(values) // _MAX_POINTS)
        return "M" + "L".join(f"{frame.px(at)} {frame.py(value)}" for at, value in [*values[:-1:step], values[-1]])

    dots = [(frame.px(at), frame.py(value)) for at, value in points] if len(points) < 40 else []
    raw = path(points) if list(smooth) != list(points) else ""
    return draw("curve.svg", frame=frame, raw=raw, line=path(smooth), dots=dots)


def histogram(bars: Sequence[tuple[str, int]], name: str, unit: str) -> Markup:
    """Return a bar for each name, with its count."""
    shown = list(bars[:_MAX_BARS])
    left = max(label_width([label for label, _ in shown]) + 14, 60.0)
    most = max((count for _, count in shown), default=0) or 1
    room = _NARROW - left - label_width([f"{most:,}"]) - 12
    rows = [
        {
            "label": label,
            "count": f"{count:,}",
            "y": 22 * number,
            "length": round(max(1.0 if count else 0.0, room * count / most), 1),
        }
        for number, (label, count) in enumerate(shown)
    ]
    return draw("histogram.svg", rows=rows, left=left, width=_NARROW, height=22 * len(rows) + 26, name=name, unit=unit)


def intervals(rows: Sequence[tuple[str, float, float, float]], name: str) -> Markup:
    """For each (label, score, low, high) a dot on a line from low to high."""
    x = Axis.over(min(low for _, _, low, _ in rows), max(high for _, _, _, high in rows), name)
    left = label_width([_shortened(label) for label, *_ in rows]) + 18
    frame = Frame(x, Axis("", 0.0, float(len(rows)), ()), height=26.0 * len(rows) + 54, left=left, bottom=42.0)
    marks = [
        {
            "label": _shortened(label),
            "y": frame.py(len(rows) - place - 0.5),
            "x": frame.px(score),
            "low": frame.px(low),
            "high": frame.px(high),
        }
        for place, (label, score, low, high) in enumerate(rows)
    ]
    return draw("intervals.svg", frame=frame, marks=marks)


def _shortened(label: str) -> str:
    return label if len(label) <= _MAX_LABEL else label[: _MAX_LABEL - 1] + "…"


def changes(values: Sequence[float], y_name: str) -> Markup:
    """Return every query's change as a bar, from the greatest gain to the greatest loss."""
    ordered = sorted(values, reverse=True)
    reach = max((abs(value) for value in ordered), default=0.0) or 1.0
    y = Axis.over(-reach, reach, y_name, count=5)
    frame = Frame(Axis("queries, by their change", 0.0, float(len(ordered)), ()), y, 230.0, y.room, bottom=30.0)
    width = (frame.width - frame.left - frame.right) / len(ordered)
    bars = [
        {
            "x": round(frame.left + place * width, 2),
            "width": round(max(width - 0.3, 0.3), 2),
            "y": frame.py(max(change, 0.0)),
            "height": round(abs(frame.py(change) - frame.py(0.0)), 1),
            "kind": "win" if change > 0 else "loss",
        }
        for place, change in enumerate(ordered)
        if change
    ]
    return draw("changes.svg", frame=frame, bars=bars)


def queries(names: Sequence[str], scores: Mapping[str, Sequence[float]], y_name: str) -> Markup:
    """For each query a line from lowest to highest score, a dot for each system; the first one's dots are filled."""
    low, high = (reach(reach(values) for values in scores.values()) for reach in (min, max))
    y = Axis.over(min(0.0, low), max(high, 1e-3), y_name, count=5)
    bottom, width = 7.0 * max(map(len, names)) + 12, y.room + _QUERY_WIDTH * len(names) + _MARGIN
    frame = Frame(Axis("", 0.0, float(len(names)), ()), y, 250.0, y.room, bottom, right=_MARGIN, width=width)
    columns = []
    for place, name in enumerate(names):
        reached = [(label, values[place]) for label, values in scores.items()]
        ends = [frame.py(value) for _, value in reached]
        dots = [
            {"label": f"{name}, {label}: {value:.3f}", "y": frame.py(value), "kind": "other" if number else "bar"}
            for number, (label, value) in enumerate(reached)
        ]
        columns.append({"name": name, "x": frame.px(place + 0.5), "top": min(ends), "bottom": max(ends), "dots": dots})
    return draw("queries.svg", frame=frame, columns=columns)
