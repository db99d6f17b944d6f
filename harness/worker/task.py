"""Tasks that run on workers: plain values in, a summary out. They read everything else from the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from time import perf_counter, time
from typing import Any

from harness.backends.base import Backend, open_backend
from harness.backends.retry import retry_call
from harness.compute.resume import StoredUnit, find_pending_cells, merge_block, spread_results
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.compute.watchdog import watch_steps
from harness.core.errors import StoreUnreachableError
from harness.core.protocols import SupportsPreparation
from harness.core.schema.measures import list_variables
from harness.core.types import Block, Bools, Failure, Limits, Preparation, Unit
from harness.store import arrays, artifacts, receipts
from harness.store.identity import check_same_store
from harness.store.manifest import Manifest
from harness.store.receipts import Receipt
from harness.worker.blas import limit_threads
from harness.worker.sandbox import compute_in_sandbox
from harness.worker.study import load_study

_DEFAULT_LIMITS = Limits()


def run_unit(
    url: str,
    fingerprint: str,
    generation: int,
    retry: bool,
    unit: Unit,
    care: Limits = _DEFAULT_LIMITS,
    check: Callable[[Backend, Manifest], None] = check_same_store,
) -> dict[str, Any]:
    """Compute what is left of a unit, write it, and sign a receipt; retry while the store is unreachable.

    A unit that has been signed since it was planned, for example by another driver's worker, is not computed again.

    Parameters
    ----------
    url, fingerprint, generation
        Address of the store, its short fingerprint, and the number of its extent.
    retry : bool
        Whether to compute failed cells again.
    unit : Unit
        The unit to compute.
    care : Limits
        Time and memory limits, and whether to use a sandbox.
    check : callable
        Called before results are written; raises if they must not be.

    Returns
    -------
    dict
        "unit", the key of its "receipt", the number of "failed" cells, the seconds of "compute", and the times at which
        it "began" and "ended".
    """
    start, began = perf_counter(), time()
    where = (url, fingerprint, generation)
    arrays.forget_other_stores(url, fingerprint)
    manifest, study = retry_call(lambda: load_study(*where))
    if manifest.root_is_lost:
        retry_call(lambda: arrays.restore_root(open_backend(url)))
    if not unit.signed and retry_call(lambda: receipts.is_signed(open_backend(url), unit, generation)):
        key = Receipt(generation, 0, 0, unit.name).key
        return {"unit": unit, "receipt": key, "failed": 0, "compute": 0.0, "began": began, "ended": time()}
    known = retry_call(lambda: _load_stored_unit(url, manifest, unit))
    if known is not None and retry:
        known = _retry_failures(known, study, manifest)
    if known is not None:
        spread_results(known.values, manifest.uses, manifest.extent, unit.n)
    left = None if known is None else find_pending_cells(known, manifest.extent, unit.n)
    block = (
        compute_in_sandbox(study, where, unit, left, care) if care.sandboxed else _compute_here(study, unit, left, care)
    )
    pure = perf_counter() - start
    whole = block if known is None else merge_block(block, known, manifest.keep, manifest.extent.grid)
    receipt = retry_call(lambda: _write_checked(url, manifest, whole, pure, check))
    key, failed = receipt.key, receipt.failed
    return {"unit": unit, "receipt": key, "failed": failed, "compute": pure, "began": began, "ended": time()}


def _write_checked(
    url: str, manifest: Manifest, block: Block, seconds: float, check: Callable[[Backend, Manifest], None]
) -> Receipt:
    """Write a unit if it still may be written: much may have happened since an earlier attempt."""
    check(open_backend(url), manifest)
    return write(url, manifest, block, seconds)


def _compute_here(study: Study, unit: Unit, left: Bools | None, care: Limits) -> Block:
    """Compute in this process, with a time limit only if the process may be ended."""
    with limit_threads(study.threads), watch_steps(care.seconds, _open_devnull()) if care.may_end else nullcontext():
        return compute_unit(study, unit, left)


def prepare_artifact(
    url: str, fingerprint: str, generation: int, retry: bool, preparation: Preparation, care: Limits = _DEFAULT_LIMITS
) -> dict[str, Any]:
    """Compute an array that a source needs, write it, and sign a receipt; return its name and the seconds taken."""
    study, start = load_study(url, fingerprint, generation)[1], perf_counter()
    source = study.source
    assert isinstance(source, SupportsPreparation)
    with limit_threads(study.threads), watch_steps(care.seconds, _open_devnull()) if care.may_end else nullcontext():
        array = source.prepare(preparation.name)
    seconds = perf_counter() - start
    retry_call(lambda: artifacts.write(open_backend(url), preparation.name, array, seconds))
    return {"name": preparation.name, "seconds": seconds}


@cache
def _open_devnull() -> int:
    """Open the null device for the watchdog's traceback: a rerun in the sandbox finds where the unit hung."""
    return os.open(os.devnull, os.O_WRONLY)


def write(url: str, manifest: Manifest, block: Block, pure: float) -> Receipt:
    """Write a block with its computing time, and return its receipt."""
    timed = Block(block.unit, block.values, block.failures, {**block.seconds, "compute": pure})
    return arrays.write_unit(url, manifest, timed)


def _retry_failures(known: StoredUnit, study: Study, manifest: Manifest) -> StoredUnit:
    """Return a stored unit whose failed cells are computed again, where the study has the family of the procedure."""
    left_out = manifest.extent.left_out
    names = {one.name for one in study.families} | ({""} if not left_out else set())
    procedures = frozenset(manifest.extent.grid.procedure).difference(left_out)
    return replace(known, retried=procedures, retried_families=frozenset(names))


def _load_stored_unit(url: str, manifest: Manifest, unit: Unit) -> StoredUnit | None:
    """Return the stored results of a unit, or None if it has no receipt or can't be read."""
    found = receipts.list_unit_receipts(open_backend(url), unit) if unit.signed else []
    if not found:
        return None
    receipt = found[-1]
    try:
        content = receipts.read(open_backend(url), receipt)
        values = {v.name: arrays.read_unit(url, manifest, unit, v.name) for v in list_variables(manifest.keep)}
    except StoreUnreachableError:
        raise
    except Exception:  # damaged: the whole unit is computed again
        return None
    failures = [Failure(**one) for one in content["failures"]]
    return StoredUnit(values, failures)
