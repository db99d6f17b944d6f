"""Make text that comes from files safe to print.

A store may be a stranger's: its messages, host names and logs could carry control characters that move the cursor,
retitle the window or hide lines of a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

import re
from collections.abc import Iterable
from difflib import get_close_matches

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
"""Control characters but tab and newline, marks that change the direction of text, separators, lone surrogates."""
_LONGEST_SHOWN = 60
_IN_TEXT = re.compile(f"[{_CONTROL}]")
_IN_LINE = re.compile(f"[{_CONTROL}\t\n]")


def escape(text: str) -> str:
    r"""Replace control characters by their escapes; newlines and tabs stay.

    Examples
    --------
    >>> print(escape("\x1b[31mred\x07"))
    \x1b[31mred\x07
    """
    return _IN_TEXT.sub(_escape_match, text)


def escape_line(text: str, longest: int = 2000) -> str:
    r"""Replace control characters, newlines among them, and shorten: the result is one line.

    Examples
    --------
    >>> print(escape_line("failed\nerror: all is lost"))
    failed\nerror: all is lost
    """
    line = _IN_LINE.sub(_escape_match, text)
    return line if len(line) <= longest else f"{line[:longest]}…"


def _escape_match(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def shorten(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """Return the beginning of a long text, with an ellipsis."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def fold_whitespace(text: object) -> str:
    r"""Return a text on one line: white space is folded.

    Examples
    --------
    >>> fold_whitespace("no\n  good ")
    'no good'
    """
    return " ".join(str(text).split())


def get_timestamp() -> str:
    """Return the current time in UTC as ISO 8601 text, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def format_error(error: BaseException) -> str:
    r"""What an exception says, on one line.

    Examples
    --------
    >>> format_error(ValueError("no\n  good")), format_error(MemoryError())
    ('ValueError: no good', 'MemoryError')
    """
    return fold_whitespace(f"{type(error).__name__}: {error}").removesuffix(":")


_LONGEST_NAME = 100
"""Characters of a name to which near ones are looked for."""


def shorten_repr(value: object) -> str:
    """How a value is quoted in a message: its repr, on one line, shortened."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python prints no more than 4300 decimal digits
        return "a number with thousands of digits"
    return shorten(text)


def suggest_name(name: str, known: Iterable[str]) -> str:
    """The question "did you mean …?" in brackets, if a name is near; otherwise nothing.

    Examples
    --------
    >>> suggest_name("RRCM-lo", ["RRCM", "RRCM-loo", "CRR"])
    " (did you mean 'RRCM-loo'?)"
    """
    if len(name) > _LONGEST_NAME:
        return ""
    folded = {each.casefold(): each for each in known}
    near = get_close_matches(name.casefold(), folded, n=1)
    return f" (did you mean {folded[near[0]]!r}?)" if near else ""


def format_rate(rate: float, of: str = "") -> str:
    """How many in a second, or in a minute or an hour if that is more telling.

    Examples
    --------
    >>> format_rate(731.4), format_rate(2.26), format_rate(0.05), format_rate(0.001, " replications")
    ('731/s', '2.3/s', '3/min', '3.6 replications/h')
    """
    unit, size = next((one for one in (("s", 1), ("min", 60)) if rate * one[1] >= 1), ("h", 3600))
    many = rate * size
    return f"{many:.0f}{of}/{unit}" if many >= 10 else f"{many:.2g}{of}/{unit}"


def format_duration(seconds: float) -> str:
    """A time as people say it.

    Examples
    --------
    >>> format_duration(4.2), format_duration(95), format_duration(7300), format_duration(200000)
    ('4 s', '1 min 35 s', '2 h 1 min', '2 d 7 h')
    """
    if seconds != seconds:
        return "?"
    whole = round(seconds)
    for large, small, size, part in (("d", "h", 86400, 3600), ("h", "min", 3600, 60), ("min", "s", 60, 1)):
        if whole >= size:
            return f"{whole // size} {large} {whole % size // part} {small}"
    return f"{whole} s"


def format_table(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Columns that stand under each other, the first ones to the left and the others to the right.

    Examples
    --------
    >>> print(format_table([["n", "units"], ["25", "7"], ["1000", "12"]]))
    n     units
    25        7
    1000     12
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        pairs = enumerate(zip(row, widths, strict=True))
        cells = [cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in pairs]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def format_size(count: float) -> str:
    """Bytes as people say them.

    Examples
    --------
    >>> format_size(512), format_size(20_000), format_size(3.2e9)
    ('512 B', '20 kB', '3.2 GB')
    """
    for unit, power in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= power:
            scaled = count / power
            return f"{scaled:.1f} {unit}" if scaled < 10 else f"{scaled:.0f} {unit}"
    return f"{count:.0f} B"


def format_count(count: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> format_count(1, "unit"), format_count(12, "unit")
    ('1 unit', '12 units')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def format_estimate(value: float, error: float) -> str:
    """A number with its error; without one where it can't be known.

    Examples
    --------
    >>> format_estimate(0.9012, 0.0034), format_estimate(0.9, float("nan")), format_estimate(float("nan"), float("nan"))
    ('0.901 ± 0.003', '0.900', '-')
    """
    if value != value:
        return "-"
    return f"{value:.3f}" if error != error else f"{value:.3f} ± {error:.3f}"
