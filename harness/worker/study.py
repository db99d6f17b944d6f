"""A study as its store tells it: all that computing needs. Without Zarr, so that a child starts at once."""

from __future__ import annotations

from functools import lru_cache

from harness.backends.base import place
from harness.compute.study import Study
from harness.core.errors import Mistake, Replaced
from harness.core.hashing import is_hash_of
from harness.core.seeds import Seeds
from harness.scenario.errors import Wrong
from harness.scenario.families import family, kernel_told, on_kernel, smoothed
from harness.scenario.sources import unpacked
from harness.store.artifacts import provided
from harness.store.manifest import FILES, LARGEST_FILE, Record, version
from harness.store.manifest_io import load


@lru_cache(maxsize=8)
def study_at(url: str, fingerprint: str, generation: int) -> tuple[Record, Study]:
    """What a store says is to be computed; read once for each of its extents."""
    record = load(place(url))
    if record is None or record.generation < generation:
        raise Mistake(f"{url} isn't the store that the driver sees: workers must reach it by the same name")
    if record.generation == generation and version(record) != fingerprint:
        raise Replaced(f"{url}: another study is there than the driver's")
    return record, study_of(url, record)


def study_of(url: str, record: Record) -> Study:
    """From a store alone, its files checked against the fingerprint."""
    scenario, fingerprint = record.scenario, record.fingerprint
    files = {name: _file(url, name, hashed) for name, hashed in fingerprint["files"].items()}
    name = scenario["family"]
    try:
        source = unpacked(scenario["source"], files)
        known = on_kernel(family(name), name, kernel_told(scenario), source.dimension)
        known = smoothed(known, name, fingerprint.get("smoothed", False))
    except Wrong as wrong:
        raise Mistake(f"{url}: its scenario can't be used here: {wrong}") from None
    return Study(
        record.extent,
        provided(source, place(url)),
        known,
        Seeds.of(fingerprint["seed"], fingerprint["source"]),
        record.keep,
        int(fingerprint["blas_threads"]),
    )


def _file(url: str, name: str, hashed: str) -> bytes:
    data = place(url).get(f"{FILES}/{name}", LARGEST_FILE)
    if data is None or not is_hash_of(hashed, name, data):
        raise Mistake(f"{url}: {FILES}/{name} isn't what the study was made with")
    return data
