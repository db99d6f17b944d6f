"""Build HTML from plain text.

Everything that isn't `Markup` is escaped, so that no text in a store can become code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Markup(str):
    """Text that is HTML already.

    Joining it with + or an f-string gives plain text again, which is escaped.
    """

    __slots__ = ()


_VOID = ("meta", "input", "img")
"""Elements without content and end tag."""


def tag(name: str, /, *inside: str, **attributes: str | bool) -> Markup:
    """Render an element.

    Attributes are keyword arguments: `class_` and `for_` avoid Python's keywords, `aria_label` means aria-label. True
    gives an attribute without a value, False none.

    Examples
    --------
    >>> tag("p", "a < b ", tag("b", "bold"), class_="note")
    '<p class="note">a &lt; b <b>bold</b></p>'
    >>> tag("input", type="radio", checked=True, disabled=False)
    '<input type="radio" checked>'
    """
    opened = f"<{name}{''.join(_format_attribute(key, value) for key, value in attributes.items())}>"
    return Markup(opened if name in _VOID else f"{opened}{join_markup(inside)}</{name}>")


def _format_attribute(name: str, value: str | bool) -> str:
    name = name.rstrip("_").replace("_", "-")
    if isinstance(value, bool):
        return f" {name}" if value else ""
    return f' {name}="{escape(value)}"'


def join_markup(parts: Iterable[str], between: str = "") -> Markup:
    """Join parts, escaping plain text."""
    return Markup(escape(between).join(escape_text(part) for part in parts))


def escape_text(part: str) -> Markup:
    """Escape text unless it is `Markup`.

    Examples
    --------
    >>> escape_text("<script>"), escape_text(Markup("<b>"))
    ('&lt;script&gt;', '<b>')
    """
    return part if isinstance(part, Markup) else Markup(escape(part))


def render_list(texts: Iterable[str], **attributes: str | bool) -> Markup:
    """Render an unordered list."""
    return tag("ul", *(tag("li", text) for text in texts), **attributes)


def render_definitions(rows: Iterable[tuple[str, str]], **attributes: str | bool) -> Markup:
    """Render a list of terms and their descriptions."""
    return tag("dl", *(Markup(tag("dt", term) + tag("dd", said)) for term, said in rows), **attributes)


def render_plain_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """Render a small table in a scrollable box, its first column aligned left."""
    head = tag("tr", *(tag("th", text, scope="col") for text in heads))
    body = [tag("tr", *(tag("td", text) for text in row)) for row in rows]
    whole = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body), class_="plain")
    return tag("div", whole, class_="box", tabindex="0", role="region", aria_label=caption)
