"""Load a study from its store. Doesn't import Zarr, so that a sandbox starts quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from harness.backends.base import open_backend
from harness.compute.study import Study
from harness.core.errors import StoreReplacedError, UserError
from harness.core.families import StudyFamily, check_version, find_theta_owner
from harness.core.seeds import Seeds
from harness.families.weights import EXACT
from harness.parsing.hashing import is_hash_of
from harness.scenario.code import unpack_files
from harness.scenario.entries import FamilyEntry, parse_entries
from harness.scenario.errors import ScenarioError
from harness.scenario.families import (
    LoadedFamily,
    configure_families,
    kernel_options,
    load_family,
    make_portable_families,
    share_procedures,
    weigh_families,
)
from harness.scenario.sources import build_source, make_portable
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
    """Build the study of a store from its manifest and files, which are checked against their hashes.

    It has the families of the latest scenario. A store may have others, whose code is not run.
    """
    scenario, fingerprint = manifest.scenario, manifest.fingerprint
    try:
        entries = parse_entries(make_portable_families(scenario["family"]))
        with unpack_files(_read_files(url, fingerprint["files"], {})) as folder:
            source = build_source(make_portable(scenario["source"]), folder).source
        loaded = share_procedures([_load_family(url, manifest, entry) for entry in entries])
        smoothed = fingerprint.get("smoothed", False)
        known = fingerprint.get("sigma") == "known"
        loaded = configure_families(loaded, kernel_options(scenario), smoothed, source.dimension, known)
        weights, asked = fingerprint.get("weights", EXACT), manifest.extent.grid.procedure
        loaded = weigh_families(loaded, weights, asked, source, smoothed)
    except ScenarioError as wrong:
        raise UserError(f"{url}: its scenario can't be used here: {wrong}") from None
    families = tuple(one.make_study_family(source.redraws) for one in loaded)
    _check_records(url, manifest, families)
    return Study(
        manifest.extent,
        attach(source, open_backend(url)),
        families,
        Seeds.from_source(fingerprint["seed"], fingerprint["source"]),
        manifest.keep,
        int(fingerprint["blas_threads"]),
        find_theta_owner(manifest.families),
    )


def _check_records(url: str, manifest: Manifest, families: Sequence[StudyFamily]) -> None:
    """Raise UserError if a family here isn't the version that the store has results of."""
    for one in families:
        if one.name in manifest.families:
            check_version(url, one.name, manifest.families[one.name], one.family.version)


def _load_family(url: str, manifest: Manifest, entry: FamilyEntry) -> LoadedFamily:
    """Load a family with the files that the store keeps for it."""
    record = manifest.families.get(entry.name)
    files = {} if record is None else _read_files(url, record.files, record.file_keys)
    with unpack_files(files) as folder:
        return load_family(entry, folder)


def _read_files(url: str, files: Mapping[str, str], keys: Mapping[str, str]) -> dict[str, bytes]:
    """Read files by their hashes; `keys` has the names in the store of those that have another one there."""
    return {name: _read_file(url, keys.get(name, name), hashed) for name, hashed in files.items()}


def _read_file(url: str, name: str, hashed: str) -> bytes:
    data = open_backend(url).get(f"{FILES}/{name}", LARGEST_FILE)
    if data is None or not is_hash_of(hashed, name, data):
        raise UserError(f"{url}: {FILES}/{name} is not the file that the study was made with")
    return data
