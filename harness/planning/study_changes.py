"""Say in words how the study of a scenario differs from that of a store. Pure.

Both are given by their fingerprints: everything that results depend on besides grid values, paths and draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness.core.text import escape_line, shorten_repr

_MOST_SHOWN = 8
"""Largest number of differences that are listed; the others are counted."""
_DEFAULTS: Mapping[str, object] = {
    "kernel": "gaussian",
    "mean": "zero",
    "smoothed": False,
    "weights": "exact",
    "sigma": "estimated",
}
"""Values that a fingerprint leaves out."""
_NOTHING = "left out"


def list_study_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return how a scenario's fingerprint differs from a store's, one clause for each difference.

    Parameters
    ----------
    old, new : mapping
        Fingerprints of the store, which may come from an untrusted source, and of the scenario.

    Examples
    --------
    >>> list_study_changes({"seed": 1, "source": {"theta": 100}}, {"seed": 2, "source": {"theta": 10, "pool": 50}})
    ['seed was 1 and is 2', 'source.pool was left out and is 50', 'source.theta was 100 and is 10']
    >>> list_study_changes({"files": {"mine.csv": "sha256:a"}}, {"files": {"mine.csv": "sha256:b"}})
    ['the file mine.csv has other content']
    >>> list_study_changes({"numerics": {"measures": 1}}, {"numerics": {"measures": 2}})
    ['its measures were computed by an older ckrr (numerics version 1, now 2)']
    """
    found: list[str] = []
    for key in sorted({*old, *new}):
        describe = _DESCRIPTIONS.get(key, _describe_values)
        found += describe(key, old.get(key), new.get(key)) if old.get(key) != new.get(key) else []
    more = [f"and {len(found) - _MOST_SHOWN} more differences"] if len(found) > _MOST_SHOWN else []
    return [escape_line(text) for text in (*found[:_MOST_SHOWN], *more)]


def _describe_values(key: str, old: object, new: object) -> list[str]:
    """Describe how a value differs, or the values of a table that differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return [
            text
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
            for text in _describe_values(f"{key}.{name}", old.get(name), new.get(name))
        ]
    return [f"{key} was {_format(key, old)} and is {_format(key, new)}"]


def _format(key: str, value: object) -> str:
    value = _DEFAULTS.get(key) if value is None else value
    if isinstance(value, bool):
        return str(value).lower()
    return _NOTHING if value is None else shorten_repr(value)


def _describe_source(key: str, old: Any, new: Any) -> list[str]:
    """Describe how the parameters of a source differ; another source has others anyway."""
    if old.get("function") != new.get("function"):
        return _describe_values(f"{key}.function", old.get("function"), new.get("function"))
    return _describe_values(key, old, new)


def _describe_kernel(key: str, old: Any, new: Any) -> list[str]:
    """Describe how the options of the kernel differ, which are keys at the top of a scenario."""
    before, now = old or {}, new or {}
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    return [text for name in names for text in _describe_values(name, before.get(name), now.get(name))]


def _describe_files(key: str, old: Any, new: Any) -> list[str]:
    words = {
        "has other content": [name for name in old if name in new and old[name] != new[name]],
        "isn't used any more": [name for name in old if name not in new],
        "is used in addition": [name for name in new if name not in old],
    }
    return [f"the file {name} {what}" for what, names in words.items() for name in sorted(names)]


def _describe_numerics(key: str, old: Any, new: Any) -> list[str]:
    """Describe which parts of ckrr compute other numbers than those that made the store."""
    flat = [dict(_flatten(one)) for one in (old, new)]
    found = []
    for name in sorted({*flat[0], *flat[1]}):
        before, now = (one.get(name) for one in flat)
        if before == now:
            continue
        who = "another ckrr"
        if isinstance(before, int) and isinstance(now, int):
            who = "an older ckrr" if before < now else "a newer ckrr"
        found.append(f"its {name} were computed by {who} (numerics version {before}, now {now})")
    return found


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the leaves of nested tables with their dotted keys."""
    for name, value in table.items():
        yield from _flatten(value, f"{prefix}{name}.") if isinstance(value, Mapping) else [(f"{prefix}{name}", value)]


def _describe_kept(key: str, old: Any, new: Any) -> list[str]:
    return [f"the optional variables were {' and '.join(old) or 'none'} and are {' and '.join(new) or 'none'}"]


def _describe_threads(key: str, old: object, new: object) -> list[str]:
    return [f"threads of a worker was {old} and is {new} (threads = {old} in a cluster file)"]


_DESCRIPTIONS: Mapping[str, Callable[[str, Any, Any], list[str]]] = {
    "blas_threads": _describe_threads,
    "files": _describe_files,
    "keep": _describe_kept,
    "kernel": _describe_kernel,
    "numerics": _describe_numerics,
    "source": _describe_source,
}
"""How differences are described, by key of the fingerprint."""
