"""Write the scenario of a store as a TOML file that reproduces it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dump_scenario(scenario: Mapping[str, Any]) -> str:
    """Return a scenario as TOML: plain keys first, then tables. Values that are None or empty lists are omitted.

    Examples
    --------
    >>> source = {"function": "gp", "theta": 1.0}
    >>> print(dump_scenario({"name": "my", "keep": [], "source": source, "exclude": [{"n": [5]}]}))
    name = "my"
    <BLANKLINE>
    [source]
    function = "gp"
    theta = 1.0
    <BLANKLINE>
    [[exclude]]
    n = [5]
    """
    plain = {key: value for key, value in scenario.items() if not _is_table(value)}
    parts = ["\n".join(_format_lines(plain))]
    for key, value in scenario.items():
        if isinstance(value, Mapping):
            parts.append("\n".join([f"[{_format_key(key)}]", *_format_lines(value)]))
        elif _is_table(value):
            parts += ["\n".join([f"[[{_format_key(key)}]]", *_format_lines(one)]) for one in value]
    return "\n\n".join(parts)


def _is_table(value: object) -> bool:
    """Return whether a value is a table or a non-empty list of tables."""
    rows = value if isinstance(value, list | tuple) else [value]
    return bool(rows) and all(isinstance(each, Mapping) for each in rows)


def _format_lines(table: Mapping[str, Any]) -> list[str]:
    return [
        f"{_format_key(key)} = {_format_value(value)}"
        for key, value in table.items()
        if value is not None and value not in ([], ())
    ]


def _format_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _format_text(key)


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _format_text(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_format_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_format_lines(value))} }}"
    return repr(value)


def _format_text(text: str) -> str:
    """Quote a string: JSON and TOML agree, except that TOML requires U+007F to be escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
