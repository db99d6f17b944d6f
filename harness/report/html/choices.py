"""Choices that need no script: radio buttons, and rules of style that hide what isn't chosen.

On paper, and in a browser too old for the rules, everything is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.report.html.markup import Markup, join_markup, tag


@dataclass(frozen=True)
class Choices:
    """Some axes to choose values on, for the parts of one box."""

    box: str
    """The id of the element that has the buttons and the parts."""
    axes: Mapping[str, Sequence[str]]
    """For each axis the texts on its buttons."""
    first: Mapping[str, int]
    """Which of them is chosen at the start."""

    def render_buttons(self) -> Markup:
        """The choice, for axes that have one."""
        rows = [self._render_row(axis, texts) for axis, texts in self.axes.items() if len(texts) > 1]
        return tag("div", *rows, class_="choices") if rows else Markup("")

    def _render_row(self, axis: str, texts: Sequence[str]) -> Markup:
        parts = [
            Markup(self._render_button(axis, i) + tag("label", text, for_=self._make_id(axis, i)))
            for i, text in enumerate(texts)
        ]
        return tag("fieldset", tag("legend", axis), *parts)

    def _render_button(self, axis: str, i: int) -> Markup:
        return tag(
            "input", type="radio", name=f"{self.box}-{axis}", id=self._make_id(axis, i), checked=i == self.first[axis]
        )

    def _make_id(self, axis: str, i: int) -> str:
        return f"{self.box}-{list(self.axes).index(axis)}-{i}"

    def format_classes(self, **places: int) -> str:
        """The classes of a part that is shown when these values are chosen."""
        ids = [(self._make_id(axis, i).rpartition("-")[0], self._make_id(axis, i)) for axis, i in places.items()]
        return " ".join(f"{group} {one}" for group, one in ids)

    def make_style(self) -> str:
        """The rules."""
        rules = [
            f"#{self.box}:has(#{one}:checked) .{one.rpartition('-')[0]}:not(.{one}){{display:none}}"
            for axis, texts in self.axes.items()
            for one in (self._make_id(axis, i) for i in range(len(texts)))
            if len(texts) > 1
        ]
        return f"@media screen{{{''.join(rules)}}}" if rules else ""


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    id: str
    title: str
    body: Markup
    style: str = ""

    def render(self) -> Markup:
        """With its heading."""
        return tag("section", tag("h2", self.title), self.body, id=self.id)


def join_parts(parts: Sequence[str]) -> Markup:
    """One after another, without those that are empty."""
    return join_markup([part for part in parts if part], "\n")
