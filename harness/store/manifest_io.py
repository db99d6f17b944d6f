"""Read and write the manifest of a store."""

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
    _LARGEST,
    CANCEL,
    CLAIM,
    COPY,
    DRIVER,
    ROOT,
    SCHEMA,
    SUBMISSION,
    TOP_LEVEL,
    Manifest,
    from_attributes,
    to_attributes,
)


def load_manifest(place: Backend) -> Manifest | None:
    """The record of a store; None where there is none yet. What is not ours is refused."""
    found = _read_manifest(place)
    if found is None and _is_taken(place):
        found = _read_manifest(place)  # a driver may have made it just now
        if found is None:
            raise UserError(f"{place.url} holds something that is no ckrr store: choose another place")
    return found


def _read_manifest(place: Backend) -> Manifest | None:
    """As the root says, or as its copy says if the root is missing or damaged.

    Without a root, a claim and no receipt mean that a driver was killed while it made the store: there is none yet.
    """
    return resolve_manifest(place, place.get(ROOT, _LARGEST))


def resolve_manifest(place: Backend, raw: bytes | None) -> Manifest | None:
    """The record of a store whose root has these bytes, or none."""
    if raw is None and _is_claim(place.get(CLAIM)) and not place.list_names("receipts"):
        return None
    try:
        if raw is not None:
            plain = load_json(raw, ROOT)
            found = _parse_manifest(place.url, plain)
            require(plain, "consolidated_metadata", "")
            return found
    except MalformedError as malformed:
        copy = _read_copy(place)
        if copy is None:
            why = f"{malformed}; {COPY}, to rebuild it from, is missing or damaged, too"
            raise UserError(f"{place.url}/{ROOT} is damaged: {why}") from None
        return copy
    return _read_copy(place)


def _read_copy(place: Backend) -> Manifest | None:
    """As the copy says; None if there is none that can be read."""
    raw = place.get(COPY, _LARGEST)
    try:
        found = None if raw is None else _parse_manifest(place.url, load_json(raw, COPY))
    except MalformedError:
        return None
    return None if found is None else replace(found, root_is_lost=True)


def _is_taken(place: Backend) -> bool:
    """Whether something is there that no driver of ours is about to make a store of.

    A claim alone proves nothing: everything beside it must be a part of a store, too.
    """
    waiting = {DRIVER, CANCEL, SUBMISSION}
    found = set(place.list_names("")) if place.exists() else set()
    if found <= waiting:
        return False
    return not (found <= waiting | TOP_LEVEL and _is_claim(place.get(CLAIM)))


def _is_claim(raw: bytes | None) -> bool:
    """Whether a driver of ours wrote this."""
    try:
        return raw is not None and {"name", "host", "pid", "beat"} <= set(check_table(load_json(raw, CLAIM), CLAIM))
    except MalformedError:
        return False


def _parse_manifest(url: str, plain: object) -> Manifest:
    """The record in a root or its copy. Another program's Zarr group is no damaged one of ours."""
    root = check_table(plain, "the root")
    attributes = root.get("attributes")
    if "zarr_format" in root and not (isinstance(attributes, dict) and "ckrr_schema" in attributes):
        raise UserError(f"{url} is no ckrr store: choose another place")
    stored = check_table(attributes, "attributes")
    schema = require(stored, "ckrr_schema", "attributes")
    if isinstance(schema, int) and schema != SCHEMA:
        raise UserError(
            f"{url} has the format {schema}, this version of ckrr knows {SCHEMA}: install the ckrr that made it"
        )
    if schema != SCHEMA:
        raise MalformedError("ckrr_schema", "a whole number")
    return from_attributes(stored)


def check_readable(url: str, manifest: Manifest) -> None:
    """Refuse to write a manifest that couldn't be read again: a name that is too long, say."""
    try:
        from_attributes(to_attributes(manifest))
    except MalformedError as malformed:
        raise UserError(f"{url} can't hold this study: {malformed}") from None


def save_manifest(place: Backend, manifest: Manifest) -> None:
    """Replaces the attributes, first in the copy; everything else at the root stays.

    A root that is lost stays so: making it anew takes more than the attributes (`store.restore`).
    """
    check_readable(place.url, manifest)
    place.put(COPY, dump_copy(manifest))
    if manifest.root_is_lost:
        return
    with suppress(MalformedError):  # damaged since it was read
        root = check_table(load_json(place.get(ROOT) or b"", ROOT), ROOT)
        root["attributes"] = to_attributes(manifest)
        place.put(ROOT, json.dumps(root).encode())


def dump_copy(manifest: Manifest) -> bytes:
    """The second copy of a record."""
    return json.dumps({"attributes": to_attributes(manifest)}).encode()


def add_to_history(place: Backend, more: Mapping[str, Any], entry: Mapping[str, Any] | None = None) -> None:
    """What there is to say of the latest run, or of the one whose entry this was when it began."""
    manifest = load_manifest(place)
    if manifest is None or not manifest.history:
        return
    history = list(manifest.history)
    begun = [i for i, one in enumerate(history) if entry is not None and {**one, **entry} == one and "end" not in one]
    at = begun[-1] if begun else -1
    history[at] = {**history[at], **more}
    save_manifest(place, replace(manifest, history=tuple(history)))
