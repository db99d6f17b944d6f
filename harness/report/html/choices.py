"""Let readers choose what is shown, without scripts: radio buttons, and CSS rules that hide the rest.

In print, and in browsers that don't support `:has()`, everything is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Button:
    """Radio button of one value."""

    id: str
    text: str
    checked: bool


@dataclass(frozen=True)
class ButtonRow:
    """Radio buttons of one axis."""

    axis: str
    name: str
    """Name of the group in the form."""
    buttons: Sequence[Button]


@dataclass(frozen=True)
class Choices:
    """Axes whose values a reader can choose, for the parts of one box."""

    box: str
    """Id of the element that contains the buttons and the parts."""
    axes: Mapping[str, Sequence[str]]
    """Button texts of each axis."""
    first: Mapping[str, int]
    """Index of the value of each axis that is chosen when the page opens."""

    @property
    def rows(self) -> list[ButtonRow]:
        """Radio buttons of all axes with more than one value."""
        return [self._make_row(axis, texts) for axis, texts in self.axes.items() if len(texts) > 1]

    def _make_row(self, axis: str, texts: Sequence[str]) -> ButtonRow:
        buttons = [Button(self._make_id(axis, i), text, i == self.first[axis]) for i, text in enumerate(texts)]
        return ButtonRow(axis, f"{self.box}-{axis}", buttons)

    def _make_id(self, axis: str, i: int) -> str:
        return f"{self.box}-{list(self.axes).index(axis)}-{i}"

    def format_classes(self, **places: int) -> str:
        """Return the CSS classes of a part that is shown for these indices along the axes."""
        ids = [(self._make_id(axis, i).rpartition("-")[0], self._make_id(axis, i)) for axis, i in places.items()]
        return " ".join(f"{group} {one}" for group, one in ids)

    def make_style(self) -> str:
        """Return the CSS rules that hide the parts that aren't chosen."""
        rules = [
            f"#{self.box}:has(#{one}:checked) .{one.rpartition('-')[0]}:not(.{one}){{display:none}}"
            for axis, texts in self.axes.items()
            for one in (self._make_id(axis, i) for i in range(len(texts)))
            if len(texts) > 1
        ]
        return f"@media screen{{{''.join(rules)}}}" if rules else ""


@dataclass(frozen=True)
class Section:
    """Section of a page."""

    id: str
    title: str
    body: Markup
    style: str = ""
    """CSS rules that the section needs."""
    scripts: Sequence[str] = ()
    """Scripts that the section needs; they run when the page is there."""
    later_scripts: Sequence[str] = ()
    """Texts of scripts that these add to the page: its Content-Security-Policy allows them."""
