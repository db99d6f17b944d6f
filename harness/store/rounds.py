"""Record what is known after each round of a study that adds paths until it is decided.

A round is a number of complete paths at one n that were looked at. Its record says how many cells are still open, and
how many paths are wanted next. It follows from the replications alone (`harness.cube.rounds`), so any number of drivers
write the same bytes under the same key, and the record with the most paths counts. Imports nothing heavy, so that
`ckrr status` starts fast.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from harness.backends.base import Backend
from harness.core.types import FIRST_ROUND
from harness.parsing.json import MalformedError, check_optional, check_table, check_whole, load_json
from harness.store.manifest import Manifest

FOLDER = "rounds"
"""Folder of the records, one folder for each n in it."""
_DIGITS, _LARGEST, _MOST = 10, 10_000, 10**12
"""Digits of a number of paths in a key, the largest record in bytes, and the largest number in it."""


@dataclass(frozen=True)
class Round:
    """What is known at one n after a number of paths."""

    n: int
    paths: int
    """Number of complete paths that were looked at."""
    open: int
    """Number of cells that aren't decided, or not as precise as asked."""
    borderline: int
    """Number of cells that were found to be at the border."""
    expected: int | None
    """Number of paths at which half of the open cells are expected to be decided; None if there are none."""
    wanted: int | None
    """Number of paths that are wanted next; None if there is nothing more to do at this n."""
    target: Mapping[str, Any]
    """`until` and `budget` of the scenario that was run."""

    @property
    def key(self) -> str:
        """Key of the record in the store."""
        return f"{FOLDER}/n={self.n}/{self.paths:0{_DIGITS}}.json"


def get_target(manifest: Manifest) -> dict[str, Any] | None:
    """Return `until` and `budget` of the latest run; None if its number of paths is given."""
    told = manifest.scenario["replications"]
    if not told.get("until"):
        return None
    return {"until": dict(told["until"]), "budget": dict(told["budget"])}


def write_round(backend: Backend, one: Round) -> None:
    """Write the record of a round."""
    backend.put(one.key, json.dumps(asdict(one), sort_keys=True).encode())


def list_rounds(backend: Backend, manifest: Manifest, sizes: Iterable[int]) -> dict[int, Round]:
    """Return the latest round at each n that has one and was run for the present target."""
    target = get_target(manifest)
    if target is None:
        return {}
    found = {}
    for n in sizes:
        names = [name for name in backend.list_names(f"{FOLDER}/n={n}") if name.removesuffix(".json").isdigit()]
        each = (_parse(backend.get(f"{FOLDER}/n={n}/{name}"), n) for name in sorted(names, reverse=True))
        one = next((one for one in each if one is not None), None)  # a damaged one is written again by the next run
        if one is not None and one.target == target:
            found[n] = one
    return found


def count_wanted_paths(manifest: Manifest, rounds: Mapping[int, Round], n: int) -> int:
    """Return how many paths are wanted at one n so far: all, or those of the latest round.

    Results are made from these paths alone: units of later ones that workers computed in advance don't count, so that
    results don't depend on how many there are.
    """
    target = get_target(manifest)
    if target is None:
        return manifest.extent.paths
    one = rounds.get(n)
    if one is None:
        return min(FIRST_ROUND, int(target["budget"]["paths"]))
    return one.paths if one.wanted is None else one.wanted


def is_over(manifest: Manifest, rounds: Mapping[int, Round], n: int) -> bool:
    """Return whether nothing more is wanted at one n than its latest round has."""
    return get_target(manifest) is None or (n in rounds and rounds[n].wanted is None)


def _check_count(value: object, key: str) -> int:
    return check_whole(value, key, 0, _MOST)


def _parse(raw: bytes | None, n: int) -> Round | None:
    """Parse a record; None if it is damaged: the next run writes it again."""
    try:
        plain = check_table(load_json((raw or b"").decode()[:_LARGEST], "round"), "round")
        paths, left, near = (check_whole(plain.get(name), name, 0, _MOST) for name in ("paths", "open", "borderline"))
        expected, wanted = (check_optional(plain, name, "", _check_count) for name in ("expected", "wanted"))
        return Round(n, paths, left, near, expected, wanted, check_table(plain.get("target"), "target"))
    except (MalformedError, UnicodeDecodeError):
        return None
