"""Format lines and tables as plain text for terminals, and as HTML for notebooks: the same words in both."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TypeAlias

from harness.core.text import escape, format_table

Rows: TypeAlias = Sequence[Sequence[str]]
"""A table: its rows of cells, the first of which is the head."""
Part: TypeAlias = str | Rows
"""A line, or a table."""


def format_text(parts: Sequence[Part]) -> str:
    """Format lines and tables as plain text.

    Examples
    --------
    >>> print(format_text(["two sizes:", [["n", "units"], ["25", "7"], ["1000", "12"]]]))
    two sizes:
    n     units
    25        7
    1000     12
    """
    return "\n".join(part if isinstance(part, str) else format_table(part) for part in parts)


def format_html(parts: Sequence[Part], above: str = "") -> str:
    """Format lines and tables as HTML that takes its colours and fonts from the page around it.

    All text is escaped, since a store may come from a stranger.

    Parameters
    ----------
    parts : sequence of str or rows
        Lines and tables. The first line is set in bold type.
    above : str
        HTML to put first.

    Examples
    --------
    >>> format_html(["<b>", "0 < 1"])
    '<div><p><strong>&lt;b&gt;</strong></p><p>0 &lt; 1</p></div>'
    """
    first = next((place for place, part in enumerate(parts) if isinstance(part, str)), None)
    made = [
        _format_line(part, place == first) if isinstance(part, str) else _format_table(part)
        for place, part in enumerate(parts)
    ]
    return f"<div>{above}{''.join(made)}</div>"


def _format_line(text: str, is_bold: bool) -> str:
    return f"<p><strong>{_escape(text)}</strong></p>" if is_bold else f"<p>{_escape(text)}</p>"


def _format_table(rows: Rows) -> str:
    """Format rows as a table, with headers of columns and rows that screen readers announce."""
    head, *body = rows
    columns = "".join(f'<th scope="col">{_escape(cell)}</th>' for cell in head)
    lines = "".join(
        f'<tr><th scope="row">{_escape(label)}</th>{"".join(f"<td>{_escape(cell)}</td>" for cell in cells)}</tr>'
        for label, *cells in body
    )
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{lines}</tbody></table>"


def _escape(text: str) -> str:
    """Escape text for HTML, and set what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(escape(text)))


class Displayed:
    """Base class of values that show themselves as text, and as HTML in a notebook."""

    def list_parts(self) -> Sequence[Part]:
        """Return the lines and tables to show."""
        raise NotImplementedError

    def __repr__(self) -> str:
        try:
            return escape(format_text(self.list_parts()))
        except LookupError:  # of a dict that somebody has taken keys out of
            return super().__repr__()

    def _repr_html_(self) -> str | None:
        try:
            return format_html(self.list_parts())
        except LookupError:
            return None
