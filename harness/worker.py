"""What runs on a worker: plain strings and numbers in, a receipt's name out. Everything else it finds in the store."""

from __future__ import annotations

from functools import lru_cache
from time import perf_counter, time
from typing import Any

from threadpoolctl import threadpool_limits

from harness import receipts, store
from harness.compute import compute
from harness.desk import Study
from harness.hashes import content_hash
from harness.loading import BLAS_THREADS
from harness.mending import Known, merged, todo
from harness.nouns import Block, Failure, Mistake, Unit
from harness.place import place
from harness.receipts import Receipt
from harness.record import Record, load
from harness.seeds import Seeds
from harness.variables import replication_variables
from harness.wiring import family, unpacked


def work(url: str, fingerprint: str, generation: int, retry: bool, unit: Unit, attempt: int = 0) -> dict[str, Any]:
    """Computes what is left of a unit, writes it, signs for it. (The attempt makes the task's name a new one.)"""
    start, began = perf_counter(), time()
    record, study = _study(url, fingerprint, generation)
    known = _known(url, record, unit, retry)
    with threadpool_limits(BLAS_THREADS):
        block = compute(study, unit, None if known is None else todo(known, record.extent, unit.n))
    pure = perf_counter() - start
    receipt = write(url, record, block if known is None else merged(block, known, record.keep), pure)
    return {"unit": unit, "failed": receipt.failed, "compute": pure, "began": began, "ended": time()}


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
    content = receipts.read(place(url), receipt)
    values = {v.name: store.read_unit(url, record, unit, v.name) for v in replication_variables(record.keep)}
    failures = [Failure(**one) for one in content["failures"]]
    return Known(values, failures, len(record.extents[receipt.generation].grid.alpha), retry)


@lru_cache(maxsize=8)
def _study(url: str, fingerprint: str, generation: int) -> tuple[Record, Study]:
    """What a store says is to be computed; read once for each of its extents."""
    record = load(place(url))
    if record is None or record.generation < generation:
        raise Mistake(f"{url} isn't the store that the driver sees: workers must reach it by the same name")
    return record, study_of(url, record)


def study_of(url: str, record: Record) -> Study:
    """From a store alone, its files checked against the fingerprint."""
    scenario, fingerprint = record.scenario, record.fingerprint
    files = {name: _file(url, name, hashed) for name, hashed in fingerprint["files"].items()}
    return Study(
        record.extent,
        unpacked(scenario["source"], files),
        family(scenario["family"]),
        Seeds.of(fingerprint["seed"], fingerprint["source"]),
        record.keep,
    )


def _file(url: str, name: str, hashed: str) -> bytes:
    data = place(url).get(f"{store.FILES}/{name}")
    if data is None or content_hash(name, data) != hashed:
        raise Mistake(f"{url}: {store.FILES}/{name} isn't what the study was made with")
    return data
