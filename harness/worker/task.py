"""What runs on a worker: plain strings and numbers in, a receipt's name out. Everything else it finds in the store."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import cache
from time import perf_counter, time
from typing import Any

from harness.backends.base import place
from harness.backends.retry import patiently
from harness.compute.resume import Known, merged, todo
from harness.compute.study import Study
from harness.compute.unit import compute
from harness.compute.watchdog import watching
from harness.core.errors import Unreachable
from harness.core.protocols import Preparing
from harness.core.schema import replication_variables
from harness.core.types import Block, Bools, Care, Failure, Preparation, Unit
from harness.store import arrays, artifacts, receipts
from harness.store.identity import check_still
from harness.store.manifest import Record
from harness.store.receipts import Receipt
from harness.worker.blas import limited
from harness.worker.sandbox import compute_carefully
from harness.worker.study import study_at

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
        arrays.forget_handles()  # its handles are of a store that was here before
        _seen[url] = fingerprint
    record, study = patiently(lambda: study_at(*where))
    if record.root_is_lost:
        patiently(lambda: arrays.restore(place(url)))
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
    patiently(lambda: artifacts.write(place(url), preparation.name, array, seconds))
    return {"name": preparation.name, "seconds": seconds}


@cache
def _nowhere() -> int:
    """Careful computing finds out where it hung."""
    return os.open(os.devnull, os.O_WRONLY)


def write(url: str, record: Record, block: Block, pure: float) -> Receipt:
    """With the time that it took."""
    timed = Block(block.unit, block.values, block.failures, {**block.seconds, "compute": pure})
    return arrays.write(url, record, timed)


def _known(url: str, record: Record, unit: Unit, retry: bool) -> Known | None:
    """What there is of a unit, if there is a receipt for it."""
    found = receipts.of_unit(place(url), unit) if unit.signed else []
    if not found:
        return None
    receipt = found[-1]
    try:
        content = receipts.read(place(url), receipt)
        values = {v.name: arrays.read_unit(url, record, unit, v.name) for v in replication_variables(record.keep)}
    except Unreachable:
        raise
    except Exception:  # torn: all of it is computed anew
        return None
    failures = [Failure(**one) for one in content["failures"]]
    return Known(values, failures, len(record.extents[receipt.generation].grid.alpha), retry)
