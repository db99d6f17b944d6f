"""What runs on a worker: plain strings and numbers in, a receipt's name out. Everything else it finds in the store."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import cache
from time import perf_counter, time
from typing import Any

from harness import preparing, receipts, store
from harness.careful import compute_carefully
from harness.compute import compute
from harness.desk import Study
from harness.mending import Known, merged, todo
from harness.nouns import Block, Bools, Care, Failure, Preparation, Unit, Unreachable
from harness.place import place
from harness.protocols import Preparing
from harness.receipts import Receipt
from harness.record import Record
from harness.remote import patiently
from harness.still import check_still
from harness.studies import study_at
from harness.threads import limited
from harness.variables import replication_variables
from harness.watch import watching

_ORDINARY = Care()
_seen: dict[str, str] = {}
"""The version of each store that this process has written to."""


def work(
    url: str, fingerprint: str, generation: int, retry: bool, unit: Unit, care: Care = _ORDINARY
) -> dict[str, Any]:
    """Computes what is left of a unit, writes it, signs for it; a store that doesn't answer is waited for.

    What was signed for since it was planned, by another driver's worker say, isn't computed again.
    """
    start, began = perf_counter(), time()
    where = (url, fingerprint, generation)
    if _seen.setdefault(url, fingerprint) != fingerprint:
        store.forget_handles()  # its handles are of a store that was here before
        _seen[url] = fingerprint
    record, study = patiently(lambda: study_at(*where))
    if record.root_is_lost:
        patiently(lambda: store.restore(place(url)))
    if not unit.signed and patiently(lambda: receipts.is_signed(place(url), unit, generation)):
        return {"unit": unit, "failed": 0, "compute": 0.0, "began": began, "ended": time()}
    known = patiently(lambda: _known(url, record, unit, retry))
    left = None if known is None else todo(known, record.extent, unit.n)
    block = compute_carefully(study, where, unit, left, care) if care.alone else _computed(study, unit, left, care)
    pure = perf_counter() - start
    whole = block if known is None else merged(block, known, record.keep)
    patiently(lambda: check_still(place(url), record))
    receipt = patiently(lambda: write(url, record, whole, pure))
    return {"unit": unit, "failed": receipt.failed, "compute": pure, "began": began, "ended": time()}


def _computed(study: Study, unit: Unit, left: Bools | None, care: Care) -> Block:
    """Here, with a limit only where this process is replaced if it ends."""
    with limited(study.threads), watching(care.seconds, _nowhere()) if care.replaced else nullcontext():
        return compute(study, unit, left)


def prepare(
    url: str, fingerprint: str, generation: int, retry: bool, preparation: Preparation, care: Care = _ORDINARY
) -> dict[str, Any]:
    """Makes what a source needs, writes it, signs for it."""
    study, start = study_at(url, fingerprint, generation)[1], perf_counter()
    source = study.source
    assert isinstance(source, Preparing)
    with limited(study.threads), watching(care.seconds, _nowhere()) if care.replaced else nullcontext():
        array = source.prepare(preparation.name)
    seconds = perf_counter() - start
    patiently(lambda: preparing.write(place(url), preparation.name, array, seconds))
    return {"name": preparation.name, "seconds": seconds}


@cache
def _nowhere() -> int:
    """Careful computing finds out where it hung."""
    return os.open(os.devnull, os.O_WRONLY)


def write(url: str, record: Record, block: Block, pure: float) -> Receipt:
    """With the time that it took."""
    timed = Block(block.unit, block.values, block.failures, {**block.seconds, "compute": pure})
    return store.write(url, record, timed)


def _known(url: str, record: Record, unit: Unit, retry: bool) -> Known | None:
    """What there is of a unit, if there is a receipt for it."""
    found = receipts.of_unit(place(url), unit) if unit.signed else []
    if not found:
        return None
    receipt = found[-1]
    try:
        content = receipts.read(place(url), receipt)
        values = {v.name: store.read_unit(url, record, unit, v.name) for v in replication_variables(record.keep)}
    except Unreachable:
        raise
    except Exception:  # torn: all of it is computed anew
        return None
    failures = [Failure(**one) for one in content["failures"]]
    return Known(values, failures, len(record.extents[receipt.generation].grid.alpha), retry)
