"""Load a study from its store. Doesn't import Zarr, so that a sandbox starts quickly."""

from __future__ import annotations

from functools import lru_cache

from harness.backends.base import open_backend
from harness.compute.study import Study
from harness.core.errors import StoreReplacedError, UserError
from harness.core.hashing import is_hash_of
from harness.core.seeds import Seeds
from harness.scenario.errors import ScenarioError
from harness.scenario.families import find_family, kernel_options, with_kernel, with_smoothing
from harness.scenario.sources import unpack_source
from harness.store.artifacts import attach
from harness.store.manifest import FILES, LARGEST_FILE, Manifest, cache_key
from harness.store.manifest_io import load_manifest


@lru_cache(maxsize=8)
def load_study(url: str, fingerprint: str, generation: int) -> tuple[Manifest, Study]:
    """Return the manifest and the study of a store, cached for each of its extents.

    Parameters
    ----------
    url : str
        Address of the store.
    fingerprint : str
        Short fingerprint of the driver's study.
    generation : int
        Number of the store's extent as seen by the driver.

    Raises
    ------
    UserError
        If the store is missing or older than the driver's, or its scenario can't be used here.
    StoreReplacedError
        If the store holds another study.
    """
    manifest = load_manifest(open_backend(url))
    if manifest is None or manifest.generation < generation:
        raise UserError(f"{url} is not the store that the driver uses: workers must reach it under the same name")
    if manifest.generation == generation and cache_key(manifest) != fingerprint:
        raise StoreReplacedError(f"{url} holds another study than the driver's")
    return manifest, build_study(url, manifest)


def build_study(url: str, manifest: Manifest) -> Study:
    """Build the study of a store from its manifest and files, which are checked against the fingerprint."""
    scenario, fingerprint = manifest.scenario, manifest.fingerprint
    files = {name: _read_file(url, name, hashed) for name, hashed in fingerprint["files"].items()}
    name = scenario["family"]
    try:
        source = unpack_source(scenario["source"], files)
        known = with_kernel(find_family(name), name, kernel_options(scenario), source.dimension)
        known = with_smoothing(known, name, fingerprint.get("smoothed", False))
    except ScenarioError as wrong:
        raise UserError(f"{url}: its scenario can't be used here: {wrong}") from None
    return Study(
        manifest.extent,
        attach(source, open_backend(url)),
        known,
        Seeds.from_source(fingerprint["seed"], fingerprint["source"]),
        manifest.keep,
        int(fingerprint["blas_threads"]),
    )


def _read_file(url: str, name: str, hashed: str) -> bytes:
    data = open_backend(url).get(f"{FILES}/{name}", LARGEST_FILE)
    if data is None or not is_hash_of(hashed, name, data):
        raise UserError(f"{url}: {FILES}/{name} is not the file that the study was made with")
    return data
