"""Parse JSON, and check its values one at a time, without heavy imports, so that `ckrr status` starts fast.

Each `check_` function takes a value and its key, returns the value if it is valid, and otherwise raises a
`MalformedError` that names the key and the rule.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, TypeVar

from harness.parsing.files import is_base_name

T = TypeVar("T")


class MalformedError(ValueError):
    """A value is invalid. The message has its key and what the value must be."""

    def __init__(self, key: str, rule: str) -> None:
        super().__init__(f"{key} must be {rule}")


def load_json(raw: bytes | str, key: str) -> Any:
    """Parse JSON; raise `MalformedError` if the text is invalid or nested too deeply."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise MalformedError(key, "JSON") from None


def check_table(value: object, key: str, longest: int = 100_000) -> dict[str, Any]:
    """Return a JSON object of bounded size."""
    if not isinstance(value, dict):
        raise MalformedError(key, "a table")
    if len(value) > longest:
        raise MalformedError(key, f"a table of at most {longest} entries")
    return value


def check_list(value: object, key: str, longest: int = 100_000) -> list[Any]:
    """Return a JSON array of bounded length."""
    if not isinstance(value, list):
        raise MalformedError(key, "a list")
    if len(value) > longest:
        raise MalformedError(key, f"a list of at most {longest} values")
    return value


def check_text(value: object, key: str, longest: int = 100_000, pattern: str | None = None) -> str:
    """Return a text of bounded length that matches the regular expression `pattern`, if given."""
    if not isinstance(value, str) or len(value) > longest:
        raise MalformedError(key, f"a text of at most {longest} characters")
    if pattern is not None and re.fullmatch(pattern, value) is None:
        raise MalformedError(key, f"a text that matches {pattern}")
    return value


def check_whole(value: object, key: str, least: int, most: int) -> int:
    """Return a whole number from `least` to `most`, both included."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise MalformedError(key, f"a whole number from {least} to {most}")
    return value


def check_number(value: object, key: str) -> float:
    """Return a finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        raise MalformedError(key, "a finite number")
    return value


def check_flag(value: object, key: str) -> bool:
    """Return a boolean."""
    if not isinstance(value, bool):
        raise MalformedError(key, "true or false")
    return value


def check_base_name(value: object, key: str) -> str:
    """Return the plain name of a file, which cannot lead out of its folder."""
    text = check_text(value, key, 255)
    if not is_base_name(text):
        raise MalformedError(key, "the plain name of a file")
    return text


def check_optional(table: Mapping[str, Any], name: str, key: str, check: Callable[[object, str], T]) -> T | None:
    """Apply `check` to an entry of a table, and return it; None if it is absent or null."""
    value = table.get(name)
    return None if value is None else check(value, f"{key}.{name}")


def require(table: Mapping[str, Any], name: str, key: str) -> Any:
    """Return an entry of a table; raise `MalformedError` if it is absent."""
    if name not in table:
        raise MalformedError(f"{key}.{name}" if key else name, "present")
    return table[name]
