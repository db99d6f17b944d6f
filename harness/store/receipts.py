"""Write, list and read receipts, which prove that units are on disk. Progress is determined from them alone.

The name of a receipt contains what progress needs: `receipts/n=25/p3_d0.g1.a0.f2.json` is the unit of path block 3 and
draw block 0 at n = 25, written at the store's extent number 1 (generation), at the first attempt, with 2 failed
replications of cells.
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
"""Content of a receipt."""
_END = re.compile(r"g(\d{1,9})\.a(\d{1,9})\.f(\d{1,15})\.json")
_UNIT = re.compile(r"p\d{1,10}_d\d{1,10}")
_NAME = re.compile(rf"({_UNIT.pattern})\.{_END.pattern}")


@dataclass(frozen=True, order=True)
class Receipt:
    """The information in the name of a receipt."""

    generation: int
    """Index of the store's extent at which the unit was written."""
    attempt: int
    """0 for the first write at this generation, then 1, 2, …"""
    failed: int
    """Number of failed replications of cells."""
    unit: str

    @property
    def key(self) -> str:
        """Key of the receipt in the store."""
        return f"{FOLDER}/{self.unit}.g{self.generation}.a{self.attempt}.f{self.failed}.json"


def parse_name(n: str, name: str) -> Receipt | None:
    """Parse the name of a file in the receipts folder of one n; None if it isn't a receipt.

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


def list_receipts(backend: Backend, sizes: Iterable[int]) -> dict[str, Receipt]:
    """Return the newest receipt of each unit that has one, by the name of the unit."""
    found: dict[str, Receipt] = {}
    for n, names in _list_names(backend, {f"n={n}" for n in sizes}):
        for name in names:
            receipt = parse_name(n, name)
            if receipt is not None:
                found[receipt.unit] = max(receipt, found.get(receipt.unit, receipt))
    return found


def list_begun_sizes(backend: Backend, sizes: Iterable[int]) -> list[int]:
    """Return the n, in order, at which a unit has a receipt."""
    folders = ((n, f"n={n}") for n in sorted(sizes))
    return [n for n, name in folders if any(parse_name(name, one) for one in backend.list_names(f"{FOLDER}/{name}"))]


Reach = Callable[[int], tuple[int, int] | None]
"""Function from a generation to the numbers of blocks of paths and of draws that are complete if written then.

None if all blocks are.
"""


def count_done(backend: Backend, reach: Mapping[int, Reach]) -> dict[int, tuple[int, int]]:
    """Count the completed units, and the failed replications of cells in all units with a receipt, at each n.

    Only names are used. Their endings are nearly all the same, so that 200,000 units take a tenth of a second.
    """
    by_folder = {f"n={n}": n for n in reach}
    return {
        by_folder[n]: _count_units(names, reach[by_folder[n]]) for n, names in _list_names(backend, by_folder.keys())
    }


def _count_units(names: Sequence[str], reach: Reach) -> tuple[int, int]:
    """Count completed units and failures from names of receipts; the newest receipt of a unit counts."""
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
    """Count the units within the first `blocks` of paths and draws; all of them if None."""
    if blocks is None:
        return len(units)
    paths, draws = blocks
    places = (map(int, unit[1:].split("_d")) for unit in units)
    return sum(path < paths and draw < draws for path, draw in places)


def _list_names(backend: Backend, folders: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder with the names of its receipts, from one recursive listing unless there is a single folder."""
    if len(folders) == 1:
        (n,) = folders
        yield n, backend.list_names(f"{FOLDER}/{n}")
        return
    found: dict[str, list[str]] = {n: [] for n in folders}
    for key in backend.list_keys(FOLDER):
        n, _, name = key.partition("/")
        if n in found:
            found[n].append(name)
    yield from found.items()


def list_unit_receipts(backend: Backend, unit: Unit) -> list[Receipt]:
    """Return all receipts of one unit, the newest last. A worker that is killed between two writes leaves two."""
    n, name = unit.name.split("/")
    found = [parse_name(n, each) for each in backend.list_names(f"{FOLDER}/{n}", f"{name}.")]
    return sorted(each for each in found if each is not None)


def is_signed(backend: Backend, unit: Unit, generation: int) -> bool:
    """Return whether a unit was written at a generation at the first attempt and without failures. Lists nothing."""
    return backend.get(Receipt(generation, 0, 0, unit.name).key) is not None


def write(backend: Backend, block: Block, generation: int, fingerprint: str) -> Receipt:
    """Write the receipt of a unit whose chunks are written, then delete its older receipts."""
    older = list_unit_receipts(backend, block.unit) if block.unit.signed else []  # a folder may hold very many
    attempt = 1 + max((one.attempt for one in older if one.generation == generation), default=-1)
    receipt = Receipt(generation, attempt, len(block.failures), block.unit.name)
    backend.put(receipt.key, json.dumps(_make_content(block, fingerprint), indent=1).encode())
    for one in older:
        backend.delete(one.key)
    return receipt


def read(backend: Backend, receipt: Receipt) -> Mapping[str, Any]:
    """Read the content of a receipt."""
    return read_all(backend, [receipt])[0]


def read_all(backend: Backend, receipts: Sequence[Receipt]) -> list[Mapping[str, Any]]:
    """Read the content of many receipts."""
    keys = [one.key for one in receipts]
    return [
        parse_content(backend.url, key, raw or b"{}") for key, raw in zip(keys, backend.get_many(keys), strict=True)
    ]


def parse_content(url: str, key: str, raw: bytes) -> Content:
    """Parse the content of a receipt; raise `UserError` if it is invalid."""
    try:
        content = check_table(load_json(raw, "it"), "it", 1000)
        _check(content)
    except MalformedError as malformed:
        mend = f"`ckrr status {url} --verify`, then `ckrr run`, computes its unit again"
        raise UserError(f"{url}/{key} can't be read ({malformed}): {mend}") from None
    return content


def _check(content: Mapping[str, Any]) -> None:
    """Raise `MalformedError` for the first invalid value of a receipt."""
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
    if set(one) | {"family"} != {field.name for field in fields(Failure)}:
        raise MalformedError("failures", f"a list of tables with {', '.join(field.name for field in fields(Failure))}")
    for name in ("path", "draw"):
        check_whole(one[name], f"failures.{name}", 0, 2**31)
    for name in ("gamma", "lam"):
        check_number(one[name], f"failures.{name}")
    if not isinstance(one["theta"], str):
        check_number(one["theta"], "failures.theta")
    for name in ("kind", "message"):
        check_text(one[name], f"failures.{name}")
    check_optional(one, "family", "failures", check_text)


def _make_content(block: Block, fingerprint: str) -> dict[str, Any]:
    return {
        "unit": block.unit.name,
        "paths": [block.unit.paths.start, block.unit.paths.stop],
        "draws": [block.unit.draws.start, block.unit.draws.stop],
        "fingerprint": fingerprint,
        "written": get_timestamp(),
        "seconds": {key: round(value, 6) for key, value in block.seconds.items()},
        "failures": [_describe_failure(failure) for failure in block.failures],
        **describe_machine(),
    }


def _describe_failure(failure: Failure) -> dict[str, Any]:
    """Return a failure as a table; its family is left out where it is that of the study."""
    return {key: value for key, value in asdict(failure).items() if value or key != "family"}
