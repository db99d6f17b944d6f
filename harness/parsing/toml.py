"""Read TOML of bounded size and depth, because scenario files and `--set` values may come from untrusted sources.

`tomllib` takes quadratic time and memory for a dotted key with many parts (8000 parts: 1 s and 250 MB), and it recurses
into nested lists until Python raises RecursionError. So the size of a file, the parts of a key and the depth of nesting
are limited. This module imports only the standard library, so that `ckrr status` starts fast. (Cluster files are read
by `cluster.config.files`, which is independent of the harness and has a smaller size limit instead.)
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from harness.parsing.files import read_regular_file

LARGEST = 1 << 18
"""Largest file in bytes, and longest text in characters."""
DEEPEST = 16
"""Largest depth of nested tables and lists, and largest number of parts of a dotted key."""
_LONGEST_REASON = 200
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Lone surrogates: bytes of a command line that are not valid UTF-8."""
_PART = r"""(?:[A-Za-z0-9_-]{1,99}+|"(?:[^"\\\n]|\\.){0,99}+"|'[^'\n]{0,99}+')"""
_DOT = r"[ \t]{0,99}+\.[ \t]{0,99}+"
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-]){_PART}(?:{_DOT}{_PART}){{{DEEPEST}}}")
"""Match a dotted key with too many parts. Keys with parts of 100 characters or more pass: few of them fit in a file."""


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    ValueError
        If the file can't be read, is too large or isn't TOML. The message continues a sentence that begins with the
        file's name.
    """
    try:
        text = read_regular_file(path, LARGEST).decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"is not text in UTF-8 (byte {error.start})") from None
    return parse_toml(text)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a text as TOML.

    Raises
    ------
    ValueError
        If the text is too large, nested too deeply, or not TOML. The message continues a sentence that begins with
        the name of the text.

    Examples
    --------
    >>> parse_toml("n = [25, 50]")
    {'n': [25, 50]}
    >>> parse_toml("n = " + 1000 * "[" + 1000 * "]")
    Traceback (most recent call last):
    ...
    ValueError: is nested more than 16 levels deep
    """
    if len(text) > LARGEST:
        raise ValueError(f"has more than {LARGEST >> 10} kB")
    if _SURROGATE.search(text):
        raise ValueError("is not text in UTF-8")
    if _LONG_KEY.search(text):
        raise ValueError(f"has a key of more than {DEEPEST} parts")
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"is not TOML: {str(error)[:_LONGEST_REASON]}") from None
    except RecursionError:
        raise ValueError(f"is nested more than {DEEPEST} levels deep") from None
    except ValueError:  # Python converts no more than 4300 decimal digits
        raise ValueError("has a whole number of more than 64 bits") from None
    _check_values(plain)
    return plain


def _check_values(plain: dict[str, Any]) -> None:
    """Raise ValueError for deep nesting, and for whole numbers beyond the 64 bits that TOML allows."""
    found: list[tuple[object, int]] = [(plain, 0)]
    while found:
        value, depth = found.pop()
        if isinstance(value, dict | list):
            if depth > DEEPEST:
                raise ValueError(f"is nested more than {DEEPEST} levels deep")
            inner = value.values() if isinstance(value, dict) else value
            found += [(each, depth + 1) for each in inner]
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise ValueError("has a whole number of more than 64 bits")
