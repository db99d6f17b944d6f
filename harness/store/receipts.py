"""Receipts: the proof that a unit is on disk. Listing them is the only way to learn what is done.

The name says what a listing needs to tell: `receipts/n=25/p3_d0.g1.a0.f2.json` is the unit of path block 3 and draw
block 0 at n = 25, written at the store's extent number 1, for the first time, with 2 failed replications of cells.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from harness.backends.base import Backend
from harness.core.environment import describe_machine
from harness.core.errors import UserError
from harness.core.text import get_timestamp
from harness.core.types import Block, Failure, Unit
from harness.parsing.json import (
    MalformedError,
    check_list,
    check_number,
    check_optional,
    check_table,
    check_text,
    check_whole,
    load_json,
)

FOLDER = "receipts"
Content = Mapping[str, Any]
"""What stands in a receipt."""
_END = re.compile(r"g(\d{1,9})\.a(\d{1,9})\.f(\d{1,15})\.json")
_UNIT = re.compile(r"p\d{1,10}_d\d{1,10}")
_NAME = re.compile(rf"({_UNIT.pattern})\.{_END.pattern}")


@dataclass(frozen=True, order=True)
class Receipt:
    """What a receipt's name says."""

    generation: int
    """The number of the store's extent at which the unit was written."""
    attempt: int
    failed: int
    unit: str

    @property
    def key(self) -> str:
        """Its place in the store."""
        return f"{FOLDER}/{self.unit}.g{self.generation}.a{self.attempt}.f{self.failed}.json"


def parse_name(n: str, name: str) -> Receipt | None:
    """From a name in the folder of an n; None for what is no receipt.

    Examples
    --------
    >>> parse_name("n=25", "p3_d0.g1.a0.f2.json")
    Receipt(generation=1, attempt=0, failed=2, unit='n=25/p3_d0')
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    unit, generation, attempt, failed = match.groups()
    return Receipt(int(generation), int(attempt), int(failed), f"{n}/{unit}")


def list_receipts(place: Backend, sizes: Iterable[int]) -> dict[str, Receipt]:
    """For each unit that has one its newest receipt."""
    found: dict[str, Receipt] = {}
    for n, names in _list_names(place, {f"n={n}" for n in sizes}):
        for name in names:
            receipt = parse_name(n, name)
            if receipt is not None:
                found[receipt.unit] = max(receipt, found.get(receipt.unit, receipt))
    return found


Reach = Callable[[int], tuple[int, int] | None]
"""How many blocks of paths and of draws are done if they were written at a generation; None if all of them are."""


def count_done(place: Backend, reach: Mapping[int, Reach]) -> dict[int, tuple[int, int]]:
    """At each n, how many units are done, and how many replications of cells failed in all that have a receipt.

    From names alone, whose ends are nearly all the same: two hundred thousand units take a tenth of a second.
    """
    by_folder = {f"n={n}": n for n in reach}
    return {by_folder[n]: _count_units(names, reach[by_folder[n]]) for n, names in _list_names(place, by_folder.keys())}


def _count_units(names: Sequence[str], reach: Reach) -> tuple[int, int]:
    """Of units by their receipts' names; of several receipts of a unit the newest counts."""
    ends = Counter(name.partition(".")[2] for name in names if name.startswith("p"))
    ages = {end: tuple(map(int, match.groups())) for end in ends if (match := _END.fullmatch(end)) is not None}
    if len(ages) == 1:
        ((end, (generation, _, failed)),) = ages.items()
        if reach(generation) is None:
            return ends[end], failed * ends[end]
    done = failures = 0
    newer = set[str]()
    for end in sorted(ages, key=lambda end: ages[end], reverse=True):
        generation, _, failed = ages[end]
        some = {unit for name in names if name.endswith(f".{end}") and _UNIT.fullmatch(unit := name[: -len(end) - 1])}
        some -= newer
        done, failures = done + _count_within(some, reach(generation)), failures + failed * len(some)
        newer |= some
    return done, failures


def _count_within(units: Collection[str], blocks: tuple[int, int] | None) -> int:
    """How many units are within so many blocks of paths and draws."""
    if blocks is None:
        return len(units)
    paths, draws = blocks
    places = (map(int, unit[1:].split("_d")) for unit in units)
    return sum(path < paths and draw < draws for path, draw in places)


def _list_names(place: Backend, folders: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """The folders and names of all receipts at some n: one listing, unless a single n is asked for."""
    if len(folders) == 1:
        (n,) = folders
        yield n, place.list_names(f"{FOLDER}/{n}")
        return
    found: dict[str, list[str]] = {n: [] for n in folders}
    for key in place.list_keys(FOLDER):
        n, _, name = key.partition("/")
        if n in found:
            found[n].append(name)
    yield from found.items()


def list_unit_receipts(place: Backend, unit: Unit) -> list[Receipt]:
    """All receipts of one unit, the newest last: killed between two writes, a worker leaves two."""
    n, name = unit.name.split("/")
    found = [parse_name(n, each) for each in place.list_names(f"{FOLDER}/{n}", f"{name}.")]
    return sorted(each for each in found if each is not None)


def is_signed(place: Backend, unit: Unit, generation: int) -> bool:
    """Whether a unit was written at a generation in the first attempt, and whole: told without a listing."""
    return place.get(Receipt(generation, 0, 0, unit.name).key) is not None


def write(place: Backend, block: Block, generation: int, fingerprint: str) -> Receipt:
    """Signs for a unit whose chunks are written, then drops its older receipts."""
    older = list_unit_receipts(place, block.unit) if block.unit.signed else []  # a folder may hold very many
    attempt = 1 + max((one.attempt for one in older if one.generation == generation), default=-1)
    receipt = Receipt(generation, attempt, len(block.failures), block.unit.name)
    place.put(receipt.key, json.dumps(_make_content(block, fingerprint), indent=1).encode())
    for one in older:
        place.delete(one.key)
    return receipt


def read(place: Backend, receipt: Receipt) -> Mapping[str, Any]:
    """What stands in it."""
    return read_all(place, [receipt])[0]


def read_all(place: Backend, receipts: Sequence[Receipt]) -> list[Mapping[str, Any]]:
    """What stands in many of them."""
    keys = [one.key for one in receipts]
    return [parse_content(place.url, key, raw or b"{}") for key, raw in zip(keys, place.get_many(keys), strict=True)]


def parse_content(url: str, key: str, raw: bytes) -> Content:
    """Parse what stands in a receipt; what no worker wrote is refused."""
    try:
        content = check_table(load_json(raw, "it"), "it", 1000)
        _check(content)
    except MalformedError as malformed:
        mend = f"`ckrr status {url} --verify`, then `ckrr run`, computes its unit again"
        raise UserError(f"{url}/{key} can't be read ({malformed}): {mend}") from None
    return content


def _check(content: Mapping[str, Any]) -> None:
    """Refuse a receipt that no worker wrote."""
    for name in ("unit", "fingerprint", "written", "host", "python"):
        check_optional(content, name, "it", check_text)
    for name, seconds in (check_optional(content, "seconds", "it", check_table) or {}).items():
        check_number(seconds, f"seconds.{name}")
    for name, version in (check_optional(content, "versions", "it", check_table) or {}).items():
        check_text(version, f"versions.{name}")
    for each in check_optional(content, "blas", "it", check_list) or []:
        check_text(each, "blas")
    for each in check_list(content.get("failures", []), "failures", 10**7):
        _check_failure(check_table(each, "failures"))


def _check_failure(one: Mapping[str, Any]) -> None:
    if set(one) != {field.name for field in fields(Failure)}:
        raise MalformedError("failures", f"a list of tables with {', '.join(field.name for field in fields(Failure))}")
    for name in ("path", "draw"):
        check_whole(one[name], f"failures.{name}", 0, 2**31)
    for name in ("gamma", "lam"):
        check_number(one[name], f"failures.{name}")
    if not isinstance(one["theta"], str):
        check_number(one["theta"], "failures.theta")
    for name in ("kind", "message"):
        check_text(one[name], f"failures.{name}")


def _make_content(block: Block, fingerprint: str) -> dict[str, Any]:
    return {
        "unit": block.unit.name,
        "paths": [block.unit.paths.start, block.unit.paths.stop],
        "draws": [block.unit.draws.start, block.unit.draws.stop],
        "fingerprint": fingerprint,
        "written": get_timestamp(),
        "seconds": {key: round(value, 6) for key, value in block.seconds.items()},
        "failures": [asdict(failure) for failure in block.failures],
        **describe_machine(),
    }
