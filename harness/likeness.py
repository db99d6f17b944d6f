"""Whether another process computes as this one would: versions, our own code, the user's code, the store."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.desk import message_of
from harness.receipts import machine
from harness.studies import study_at
from harness.wiring import FAMILIES, Wrong

_PACKAGES = ("numpy", "scipy", "dask", "distributed", "zarr", "ckrr")
_OURS = ("ckrr", "harness", "scenarios")
_HANGS = ("Python", "dask", "distributed")
"""What lets a cluster hang if it differs; the rest changes numbers."""


def facts(names: Iterable[str] = ()) -> dict[str, str]:
    """What must be alike wherever a study is computed; `names` are modules of the user's."""
    return {**_fixed(), **{f"module {name}": _hash_of(name) for name in names}}


@cache
def _fixed() -> Mapping[str, str]:
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python, **{name: _version(name) for name in _PACKAGES}, "code of ckrr": _code()}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _code() -> str:
    """A hash of all our modules that computing needs."""
    hashed = sha256()
    for package in _OURS:
        folder = Path(str(importlib.import_module(package).__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            hashed.update(path.relative_to(folder.parent).as_posix().encode() + path.read_bytes())
    return hashed.hexdigest()[:8]


@cache
def _hash_of(name: str) -> str:
    """A module's text, in short."""
    try:
        file = importlib.import_module(name).__file__
        return sha256(Path(str(file)).read_bytes()).hexdigest()[:8]
    except Exception as error:
        return message_of(error)


def named(source: str, family: str) -> tuple[str, ...]:
    """The modules that a scenario names as "package.module:name"."""
    names = (source, FAMILIES.get(family, family))
    modules = [name.partition(":")[0] for name in names if ":" in name]
    return tuple(name for name in modules if not name.endswith(".py") and name.partition(".")[0] not in _OURS)


def different(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str | None:
    """How they differ, in words; None if they don't.

    Examples
    --------
    >>> different({"numpy": "2.4.6", "dask": "2026.8.0"}, {"numpy": "2.4.5", "dask": "2026.8.0"})
    'numpy is 2.4.5 there and 2.4.6 here (numbers may change)'
    """
    found = [
        f"{name} is {theirs.get(name, 'unknown')} there and {value} here ({_consequence(name)})"
        for name, value in ours.items()
        if theirs.get(name) != value
    ]
    return "; ".join(found) or None


def _consequence(name: str) -> str:
    return "work may hang" if name in _HANGS else "numbers may change"


def looked(url: str, fingerprint: str, generation: int, names: tuple[str, ...]) -> dict[str, object]:
    """What a worker is like, and why it can't compute this study (None if it can)."""
    try:
        study_at(url, fingerprint, generation)
        problem = None
    except Wrong as wrong:
        problem = str(wrong)
    except Exception as error:
        problem = message_of(error)
    return {"facts": facts(names), "problem": problem, "host": platform.node(), "blas": ", ".join(machine()["blas"])}
