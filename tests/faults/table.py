"""The kept table of results: `python -m tests.faults.table` tries every fault on every executor, and writes it anew.

With words, only the faults and executors that have one of them in their name are tried; with `--missing`, those that
have no row. The other rows stay.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import astuple
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults import study
from tests.faults.executors import Shelf
from tests.faults.injector import FAULTS, Fault
from tests.faults.trial import Result, missing, tried

FILE = Path(__file__).parent / "table.md"
_HEAD = ("| fault | executor | healed | units run again | seconds |", "|---|---|---|---:|---:|")


def cases() -> list[tuple[Fault, str]]:
    """All that there is to try, in the order of the table."""
    return [(fault, executor) for fault in FAULTS for executor in fault.on]


def read() -> list[Result]:
    """The results that are kept."""
    rows = [line.strip("| ").split(" | ") for line in FILE.read_text().splitlines() if line.startswith("| ")]
    return [Result(a, b, c, int(d), float(e)) for a, b, c, d, e in rows[1:]]


def write(results: Iterable[Result]) -> None:
    """The table, between what stands before and after it."""
    order = {(fault.name, executor): i for i, (fault, executor) in enumerate(cases())}
    rows = {order[one.fault, one.executor]: one for one in results if (one.fault, one.executor) in order}
    lines = [_row(rows[i]) for i in sorted(rows)]
    before, _, rest = FILE.read_text().partition(_HEAD[0])
    after = rest.partition("\n\n")[2]
    FILE.write_text("\n".join([f"{before}{_HEAD[0]}", *_HEAD[1:], *lines, "", after]))


def _row(one: Result) -> str:
    fault, executor, healed, again, seconds = astuple(one)
    return f"| {fault} | {executor} | {healed} | {again} | {seconds:.0f} |"


def _asked(words: tuple[str, ...], fault: str, executor: str, there: bool) -> bool:
    if words == ("--missing",):
        return not there
    return not words or any(word in f"{fault} {executor}" for word in words)


def main(*words: str) -> int:
    """Tries them; how many went wrong."""
    wrong, kept = 0, {(one.fault, one.executor): one for one in read()}
    with TemporaryDirectory(prefix="ckrr-faults-") as made, closing(Shelf()) as shelf:
        whole = study.undisturbed(Path(made) / "whole")
        for i, (fault, executor) in enumerate(cases()):
            if not _asked(words, fault.name, executor, (fault.name, executor) in kept):
                continue
            if (why := missing(fault, executor)) is not None:
                print(f"{fault.name}, {executor}: {why}")
                continue
            try:
                one = tried(fault, executor, Path(made) / str(i), whole, shelf)
            except Exception as error:  # the others are tried all the same
                wrong += 1
                print(f"{fault.name}, {executor}: {type(error).__name__}: {error}", flush=True)
                continue
            wrong += one.healed != fault.on[executor]
            print(_row(one), flush=True)
            kept[fault.name, executor] = one
            write(kept.values())
    return wrong


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
