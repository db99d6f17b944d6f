"""Make text that comes from files safe to print.

A store may be a stranger's: its messages, host names and logs could carry control characters that move the cursor,
retitle the window or hide lines of a terminal.
"""

from __future__ import annotations

import re

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
"""Control characters but tab and newline, marks that change the direction of text, separators, lone surrogates."""
_IN_TEXT = re.compile(f"[{_CONTROL}]")
_IN_LINE = re.compile(f"[{_CONTROL}\t\n]")


def escape(text: str) -> str:
    r"""Replace control characters by their escapes; newlines and tabs stay.

    Examples
    --------
    >>> print(escape("\x1b[31mred\x07"))
    \x1b[31mred\x07
    """
    return _IN_TEXT.sub(_escaped, text)


def escape_line(text: str, longest: int = 2000) -> str:
    r"""Replace control characters, newlines among them, and shorten: the result is one line.

    Examples
    --------
    >>> print(escape_line("failed\nerror: all is lost"))
    failed\nerror: all is lost
    """
    line = _IN_LINE.sub(_escaped, text)
    return line if len(line) <= longest else f"{line[:longest]}…"


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
