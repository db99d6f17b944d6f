"""Read and write the manifest of a store, and its second copy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from harness.backends.base import Backend
from harness.core.errors import UserError
from harness.parsing.json import MalformedError, check_table, load_json, require
from harness.store.manifest import (
    CANCEL,
    CLAIM,
    COPY,
    DRIVER,
    LARGEST_ROOT,
    ROOT,
    SCHEMA,
    SUBMISSION,
    TOP_LEVEL,
    Manifest,
    from_attributes,
    to_attributes,
)


def load_manifest(backend: Backend) -> Manifest | None:
    """Read the manifest of a store; None if there is no store yet.

    Raises
    ------
    UserError
        If there is something other than a ckrr store, or the manifest and its copy are damaged.
    """
    found = _read_manifest(backend)
    if found is None and _is_taken(backend):
        found = _read_manifest(backend)  # a driver may have created it just now
        if found is None:
            if backend.list_names("receipts"):
                lost = f"{ROOT} and {COPY} are both lost or damaged: restore one of them from a backup"
                raise UserError(f"{backend.url}: {lost}; its receipts and replications are still there")
            raise UserError(f"{backend.url} holds something that is not a ckrr store: choose another path or URL")
    return found


def _read_manifest(backend: Backend) -> Manifest | None:
    """Read the manifest from the root, or from its copy if the root is missing or damaged.

    No root, a claim and no receipts mean that a driver was killed while it created the store: there is none yet.
    """
    return resolve_manifest(backend, backend.get(ROOT, LARGEST_ROOT))


def resolve_manifest(backend: Backend, raw: bytes | None) -> Manifest | None:
    """Return the manifest of a store whose root has the bytes `raw` (None if it is missing); None without a store."""
    if raw is None and _is_claim(backend.get(CLAIM)) and not backend.list_names("receipts"):
        return None
    try:
        if raw is not None:
            plain = load_json(raw, ROOT)
            found = _parse_manifest(backend.url, plain)
            require(plain, "consolidated_metadata", "")
            return found
    except MalformedError as malformed:
        copy = _read_copy(backend)
        if copy is None:
            why = f"{malformed}; {COPY}, to rebuild it from, is missing or damaged, too"
            raise UserError(f"{backend.url}/{ROOT} is damaged: {why}") from None
        return copy
    return _read_copy(backend)


def _read_copy(backend: Backend) -> Manifest | None:
    """Read the manifest from the copy; None if it is missing or invalid."""
    raw = backend.get(COPY, LARGEST_ROOT)
    try:
        found = None if raw is None else _parse_manifest(backend.url, load_json(raw, COPY))
    except MalformedError:
        return None
    return None if found is None else replace(found, root_is_lost=True)


def _is_taken(backend: Backend) -> bool:
    """Return whether the backend contains anything but a store in the making.

    A claim alone is no proof of that: everything beside it must be a part of a store, too.
    """
    waiting = {DRIVER, CANCEL, SUBMISSION}
    found = set(backend.list_names("")) if backend.exists() else set()
    if found <= waiting:
        return False
    return not (found <= waiting | TOP_LEVEL and _is_claim(backend.get(CLAIM)))


def _is_claim(raw: bytes | None) -> bool:
    """Return whether these bytes are a claim that a driver wrote."""
    try:
        return raw is not None and {"name", "host", "pid", "beat"} <= set(check_table(load_json(raw, CLAIM), CLAIM))
    except MalformedError:
        return False


def _parse_manifest(url: str, plain: object) -> Manifest:
    """Parse the manifest in a root or its copy.

    Raises
    ------
    UserError
        If it is a Zarr group of another program (rather than a damaged store), or has another store format.
    MalformedError
        If the manifest is damaged.
    """
    root = check_table(plain, "the root")
    attributes = root.get("attributes")
    if "zarr_format" in root and not (isinstance(attributes, dict) and "ckrr_schema" in attributes):
        raise UserError(f"{url} is not a ckrr store: choose another path or URL")
    stored = check_table(attributes, "attributes")
    schema = require(stored, "ckrr_schema", "attributes")
    if isinstance(schema, int) and schema != SCHEMA:
        raise UserError(
            f"{url} has store format {schema}, this version of ckrr reads {SCHEMA}: install the version that wrote it"
        )
    if schema != SCHEMA:
        raise MalformedError("ckrr_schema", "a whole number")
    return from_attributes(stored)


def check_readable(url: str, manifest: Manifest) -> None:
    """Raise `UserError` for a manifest that could not be read back, for instance because a name is too long."""
    try:
        from_attributes(to_attributes(manifest))
    except MalformedError as malformed:
        raise UserError(f"{url} can't hold this study: {malformed}") from None


def save_manifest(backend: Backend, manifest: Manifest) -> None:
    """Replace the manifest, first in the copy, then in the attributes of the root; the rest of the root stays.

    A lost root is not rebuilt here, because that takes more than the attributes (see `arrays.restore_root`).
    """
    check_readable(backend.url, manifest)
    backend.put(COPY, dump_copy(manifest))
    if manifest.root_is_lost:
        return
    with suppress(MalformedError):  # damaged since it was read
        root = check_table(load_json(backend.get(ROOT) or b"", ROOT), ROOT)
        root["attributes"] = to_attributes(manifest)
        backend.put(ROOT, json.dumps(root).encode())


def has_damaged_copy(backend: Backend, manifest: Manifest) -> bool:
    """Return whether the second copy of a manifest is missing or says anything else."""
    copy = _read_copy(backend)
    return copy is None or to_attributes(copy) != to_attributes(manifest)


def dump_copy(manifest: Manifest) -> bytes:
    """Serialise the second copy of a manifest."""
    return json.dumps({"attributes": to_attributes(manifest)}).encode()


def add_to_history(backend: Backend, more: Mapping[str, Any], entry: Mapping[str, Any] | None = None) -> None:
    """Add keys to the history entry of a run.

    Parameters
    ----------
    backend : Backend
        Backend of the store.
    more : Mapping
        Keys to add.
    entry : Mapping, optional
        The entry as it was when the run began. By default, or if no unfinished run matches, the latest run is used.
    """
    manifest = load_manifest(backend)
    if manifest is None or not manifest.history:
        return
    history = list(manifest.history)
    begun = [i for i, one in enumerate(history) if entry is not None and {**one, **entry} == one and "end" not in one]
    at = begun[-1] if begun else -1
    history[at] = {**history[at], **more}
    save_manifest(backend, replace(manifest, history=tuple(history)))
