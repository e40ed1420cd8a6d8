"""Places of the search box in a theme."""

from typing import Any


def place(
    beside: str, put: str, look: str, style: str = "", *, above: int = 0, below: int = 0, solid: bool = False
) -> dict[str, Any]:
    """Return a place of `SearchBox.at`. above, below: the widths of the window, in pixels, where it is there."""
    values = {"beside": beside, "put": put, "look": look, "style": style, "from": above, "until": below, "solid": solid}
    return {key: value for key, value in values.items() if value}
