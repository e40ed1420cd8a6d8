"""A chart of every query's scores: where each of several systems is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from structformer.pages.charts import Axis, Frame, draw, label_width

_QUERY_WIDTH = 14.0
_MARGIN = 12.0


def queries(names: Sequence[str], scores: Mapping[str, Sequence[float]], y_name: str) -> Markup:
    """For each query a line from its lowest score to its highest, and a dot for each system. scores: by the system's
    name, in the order of the queries; the first system's dots are filled.
    """
    low, high = (reach(reach(values) for values in scores.values()) for reach in (min, max))
    y = Axis.over(min(0.0, low), max(high, 1e-3), y_name, count=5)
    left = label_width([label for _, label in y.ticks]) + 34
    frame = Frame(
        Axis("", 0.0, float(len(names)), ()),
        y,
        250.0,
        left,
        7.0 * max(map(len, names)) + 12,
        right=_MARGIN,
        width=left + _QUERY_WIDTH * len(names) + _MARGIN,
    )
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
