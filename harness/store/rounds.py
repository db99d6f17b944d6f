"""Record what is known after each round of a study that adds paths until it is decided.

A round is a number of complete paths at one n that were looked at. Its record says how many cells are still open, and
how many paths are wanted next. It follows from the replications alone (`harness.cube.rounds`), so any number of drivers
write the same bytes under the same key, and the record with the most paths counts. Records of earlier runs stay, which
had another aim or fewer cells: they have another `question`. Imports nothing heavy, so that `ckrr status` starts fast.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from harness.backends.base import Backend
from harness.core.extent import to_json
from harness.core.types import FIRST_ROUND
from harness.parsing.json import MalformedError, check_optional, check_table, check_text, check_whole, load_json
from harness.store.manifest import Manifest, hash_fingerprint
from harness.store.requests import get_requested_extent

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
    """Number of paths at which half of the open cells are expected to be decided; None if that isn't known."""
    wanted: int | None
    """Number of paths that are wanted next; None if there is nothing more to do at this n."""
    target: Mapping[str, Any]
    """`until` and `budget` of the scenario that was run."""
    question: str
    """Hash of what was asked (`hash_question`)."""

    @property
    def key(self) -> str:
        """Key of the record in the store."""
        return _make_key(self.n, self.paths)


def _make_key(n: int, paths: int) -> str:
    return f"{FOLDER}/n={n}/{paths:0{_DIGITS}}.json"


def get_target(manifest: Manifest) -> dict[str, Any] | None:
    """Return `until` and `budget` of the latest run; None if its number of paths is given."""
    told = manifest.scenario["replications"]
    if not told.get("until"):
        return None
    return {"until": dict(told["until"]), "budget": dict(told["budget"])}


def hash_question(manifest: Manifest) -> str:
    """Return a hash of what rounds depend on beside replications: the target, the cells asked for, and all cells."""
    asked = to_json(get_requested_extent(manifest))
    cells = {axis: values for axis, values in asked["grid"].items() if axis != "n"}
    extents = [to_json(extent) for extent in manifest.extents]
    return hash_fingerprint({"target": get_target(manifest), "asked": {**asked, "grid": cells}, "extents": extents})


def write_round(backend: Backend, one: Round) -> None:
    """Write the record of a round."""
    backend.put(one.key, json.dumps(asdict(one), sort_keys=True).encode())


def list_rounds(backend: Backend, manifest: Manifest, sizes: Iterable[int]) -> dict[int, Round]:
    """Return the latest round at each n that has one, among those with the present question."""
    if get_target(manifest) is None:
        return {}
    question, found = hash_question(manifest), {}
    for n in sizes:
        keys = (_make_key(n, paths) for paths in sorted(_list_looked(backend, n), reverse=True))
        each = (_parse(backend.get(key), n) for key in keys)  # a damaged one is written again by the next run
        one = next((one for one in each if one is not None and one.question == question), None)
        if one is not None:
            found[n] = one
    return found


def _list_looked(backend: Backend, n: int) -> list[int]:
    """Return the numbers of paths at one n that have a record, whatever was asked."""
    names = (name.removesuffix(".json") for name in backend.list_names(f"{FOLDER}/n={n}"))
    return [int(name) for name in names if len(name) == _DIGITS and name.isascii() and name.isdigit()]


def count_shown_paths(backend: Backend, manifest: Manifest, n: int) -> int:
    """Return how many paths at one n results are made from.

    All of them, unless a run had `until`: then those that are wanted so far, those that an earlier run looked at, and
    those that were asked for by their number, so that a new question takes no result away. Units that workers computed
    in advance don't count, so that results don't depend on how many there are.
    """
    if not manifest.had_rounds:
        return manifest.extent.paths
    shown = max(_list_looked(backend, n), default=0)
    if get_target(manifest) is not None and n in get_requested_extent(manifest).grid.n:
        shown = max(shown, count_wanted_paths(manifest, list_rounds(backend, manifest, [n]), n))
    return min(max(shown, manifest.asked_paths) or manifest.extent.paths, manifest.extent.paths)


def count_wanted_paths(manifest: Manifest, rounds: Mapping[int, Round], n: int) -> int:
    """Return how many paths are wanted at one n so far: all, or those of the latest round."""
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
        target, question = check_table(plain.get("target"), "target"), check_text(plain.get("question"), "question", 16)
        return Round(n, paths, left, near, expected, wanted, target, question)
    except (MalformedError, UnicodeDecodeError):
        return None
