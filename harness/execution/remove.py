"""Remove the store of an earlier smoke run, after checking that nothing else would be lost.

A command removes only the store of a smoke run, to make room for the next smoke run of the same study. Every key in
it must belong to the store, and no run may be active.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from harness.backends.base import Backend
from harness.core.errors import UserError
from harness.store import receipts
from harness.store.manifest import (
    CANCEL,
    CLAIM,
    COPY,
    DRIVER,
    FILES,
    ROOT,
    SUBMISSION,
    Manifest,
    hash_fingerprint,
    split_fingerprint,
)
from harness.store.manifest_io import load_manifest

_CHUNK = re.compile(r"c([./]\d+)+")
_SUBMITTED = re.compile(r"(submission|handle|starts|ended|cluster)\.json|(driver|workers)\.log|room|driver-[^/]+\.out")
"""Names of the files that a submission leaves."""


def remove_smoke_store(
    backend: Backend, name: str, fingerprint: str | None, find_active: Callable[[Backend], str | None]
) -> None:
    """Remove the store of an earlier smoke run of the same study; do nothing if there is none.

    Parameters
    ----------
    backend : Backend
        Backend of the store to remove.
    name : str
        Name of the study.
    fingerprint : str or None
        Digest that the store's fingerprint must have; None in the default store, whose URL contains the study's name
        and whose scenario may have been edited since.
    find_active : callable
        Returns a description of the driver that is running on a store or about to start; None if no run is active.

    Raises
    ------
    UserError
        If this is not such a store, if it holds anything else, or if a run is active. Nothing is removed then.
    """
    manifest = load_manifest(backend)
    if manifest is None:
        return
    if _is_unmarked(manifest, name):
        raise UserError(
            f"{backend.url} was made by ckrr 0.1, which didn't mark smoke runs: delete it, or choose --store"
        )
    if (
        not manifest.is_smoke
        or manifest.scenario["name"] != name
        or fingerprint not in (None, hash_fingerprint(split_fingerprint(manifest.fingerprint)[0]))
    ):
        raise UserError(f"{backend.url} holds another study, which --smoke never replaces: choose another --store")
    active = find_active(backend)
    if active is not None:
        raise UserError(f"{backend.url} can't be replaced while {active} is running on it: wait until that has ended")
    keys = backend.list_keys("")
    strange = sorted(filter(_make_foreign_filter(backend, manifest), keys))
    if strange:
        what = f"{strange[0]} isn't a part of it"
        raise UserError(f"{backend.url} can't be replaced: {what}. Move that away, or choose another --store")
    backend.remove(sorted([*keys, *backend.list_drafts()], key=lambda key: (key == ROOT, key == COPY)))


def _is_unmarked(manifest: Manifest, name: str) -> bool:
    """Return whether a store has the size and name of a smoke run but lacks the mark, as those of ckrr 0.1 do."""
    extent = manifest.extent
    small = len(extent.grid.n) == 1 and extent.paths * extent.draws <= 2
    return not manifest.is_smoke and small and manifest.scenario["name"] == name


def _make_foreign_filter(backend: Backend, manifest: Manifest) -> Callable[[str], bool]:
    """Return a predicate for keys that no store with this manifest contains."""
    from harness.store import artifacts
    from harness.store.layout import make_template  # imports NumPy and Zarr, which is slow

    meant = {*make_template(manifest), ROOT, COPY, CLAIM, DRIVER, CANCEL}
    arrays = {key.rpartition("/")[0] for key in meant if key.endswith(f"/{ROOT}")}
    files = manifest.files

    def is_foreign(key: str) -> bool:
        folder, _, rest = key.partition("/")
        if folder == receipts.FOLDER:
            n, _, name = rest.partition("/")
            return receipts.parse_name(n, name) is None
        if folder == FILES:
            return re.sub(r"\.[0-9a-f]{8}$", "", rest) not in files and rest not in files
        if folder == SUBMISSION:
            return _SUBMITTED.fullmatch(rest) is None
        if folder == artifacts.FOLDER:
            return artifacts.why_invalid(backend, rest.rpartition(".")[0]) is not None
        return key not in meant and not any(
            _CHUNK.fullmatch(key[len(one) + 1 :]) for one in arrays if key.startswith(f"{one}/")
        )

    return is_foreign
