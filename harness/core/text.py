"""Format numbers, times, sizes and tables for printing, and make text that comes from files safe to print.

A store may come from an untrusted source: its messages, host names and logs could contain control characters that move
the cursor, retitle the window or hide lines of a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
"""Control characters except tab and newline, directional marks, line separators, lone surrogates."""
_LONGEST_SHOWN = 60
_IN_TEXT = re.compile(f"[{_CONTROL}]")
_IN_LINE = re.compile(f"[{_CONTROL}\t\n]")


def escape(text: str) -> str:
    r"""Replace control characters by escape sequences, except newlines and tabs.

    Examples
    --------
    >>> print(escape("\x1b[31mred\x07"))
    \x1b[31mred\x07
    """
    return _IN_TEXT.sub(_escape_match, text)


def escape_line(text: str, longest: int = 2000) -> str:
    r"""Replace control characters, newlines and tabs by escape sequences, and shorten the result: one line.

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
    """Cut a text after `longest` characters, and append an ellipsis if anything was cut."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def fold_whitespace(text: object) -> str:
    r"""Replace each run of white space, newlines included, by one space.

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
    r"""Return the type and message of an exception on one line.

    Examples
    --------
    >>> format_error(ValueError("no\n  good")), format_error(MemoryError())
    ('ValueError: no good', 'MemoryError')
    """
    return fold_whitespace(f"{type(error).__name__}: {error}").removesuffix(":")


_LONGEST_NAME = 100
"""Longest name, in characters, for which similar names are suggested."""


def shorten_repr(value: object) -> str:
    """Return the repr of a value for a message: on one line, and shortened."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python prints no more than 4300 decimal digits
        return "a number with thousands of digits"
    return shorten(text)


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean …?)" with the most similar known name, or "" if none is similar.

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
    """Format a rate per second, or per minute or hour if it is small.

    Examples
    --------
    >>> format_rate(731.4), format_rate(2.26), format_rate(0.05), format_rate(0.001, " replications")
    ('731/s', '2.3/s', '3/min', '3.6 replications/h')
    """
    unit, size = next((one for one in (("s", 1), ("min", 60)) if rate * one[1] >= 1), ("h", 3600))
    many = rate * size
    return f"{many:.0f}{of}/{unit}" if many >= 10 else f"{many:.2g}{of}/{unit}"


def format_duration(seconds: float) -> str:
    """Format a duration in its two largest units.

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
    """Format rows as aligned columns: the first `left` columns left-aligned, the others right-aligned.

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
    """Format a number of bytes in B, kB, MB or GB.

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
    """Format a count with its noun in the singular or plural.

    Examples
    --------
    >>> format_count(1, "unit"), format_count(12, "unit")
    ('1 unit', '12 units')
    """
    return f"{count} {noun}{'s' * (count != 1)}"
