"""Read figures back."""

from __future__ import annotations

from matplotlib.figure import Figure


def texts(figure: Figure) -> str:
    return "\n".join(each.get_text() for each in figure.findobj(match=lambda each: hasattr(each, "get_text")))  # type: ignore[attr-defined]
