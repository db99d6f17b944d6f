"""Read and write the manifest of a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from harness.backends.base import Place
from harness.core.errors import Mistake
from harness.parsing.json import Malformed, check_table, load_json, require
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
    Record,
    attributes,
    parsed,
)


def load(place: Place) -> Record | None:
    """The record of a store; None where there is none yet. What is not ours is refused."""
    found = _stored(place)
    if found is None and _is_taken(place):
        found = _stored(place)  # a driver may have made it just now
        if found is None:
            raise Mistake(f"{place.url} holds something that is no ckrr store: choose another place")
    return found


def _stored(place: Place) -> Record | None:
    """As the root says, or as its copy says if the root is missing or damaged.

    Without a root, a claim and no receipt mean that a driver was killed while it made the store: there is none yet.
    """
    return stored_as(place, place.get(ROOT, _LARGEST))


def stored_as(place: Place, raw: bytes | None) -> Record | None:
    """The record of a store whose root has these bytes, or none."""
    if raw is None and _is_claim(place.get(CLAIM)) and not place.names("receipts"):
        return None
    try:
        if raw is not None:
            plain = load_json(raw, ROOT)
            found = _checked(place.url, plain)
            require(plain, "consolidated_metadata", "")
            return found
    except Malformed as malformed:
        copy = _copy(place)
        if copy is None:
            why = f"{malformed}; {COPY}, to rebuild it from, is missing or damaged, too"
            raise Mistake(f"{place.url}/{ROOT} is damaged: {why}") from None
        return copy
    return _copy(place)


def _copy(place: Place) -> Record | None:
    """As the copy says; None if there is none that can be read."""
    raw = place.get(COPY, _LARGEST)
    try:
        found = None if raw is None else _checked(place.url, load_json(raw, COPY))
    except Malformed:
        return None
    return None if found is None else replace(found, root_is_lost=True)


def _is_taken(place: Place) -> bool:
    """Whether something is there that no driver of ours is about to make a store of.

    A claim alone proves nothing: everything beside it must be a part of a store, too.
    """
    waiting = {DRIVER, CANCEL, SUBMISSION}
    found = set(place.names("")) if place.exists() else set()
    if found <= waiting:
        return False
    return not (found <= waiting | TOP_LEVEL and _is_claim(place.get(CLAIM)))


def _is_claim(raw: bytes | None) -> bool:
    """Whether a driver of ours wrote this."""
    try:
        return raw is not None and {"name", "host", "pid", "beat"} <= set(check_table(load_json(raw, CLAIM), CLAIM))
    except Malformed:
        return False


def _checked(url: str, plain: object) -> Record:
    """The record in a root or its copy. Another program's Zarr group is no damaged one of ours."""
    root = check_table(plain, "the root")
    attributes = root.get("attributes")
    if "zarr_format" in root and not (isinstance(attributes, dict) and "ckrr_schema" in attributes):
        raise Mistake(f"{url} is no ckrr store: choose another place")
    stored = check_table(attributes, "attributes")
    schema = require(stored, "ckrr_schema", "attributes")
    if isinstance(schema, int) and schema != SCHEMA:
        raise Mistake(
            f"{url} has the format {schema}, this version of ckrr knows {SCHEMA}: install the ckrr that made it"
        )
    if schema != SCHEMA:
        raise Malformed("ckrr_schema", "a whole number")
    return parsed(stored)


def check_readable(url: str, record: Record) -> None:
    """Refuse to write a manifest that couldn't be read again: a name that is too long, say."""
    try:
        parsed(attributes(record))
    except Malformed as malformed:
        raise Mistake(f"{url} can't hold this study: {malformed}") from None


def save(place: Place, record: Record) -> None:
    """Replaces the attributes, first in the copy; everything else at the root stays.

    A root that is lost stays so: making it anew takes more than the attributes (`store.restore`).
    """
    check_readable(place.url, record)
    place.put(COPY, copy_of(record))
    if record.root_is_lost:
        return
    with suppress(Malformed):  # damaged since it was read
        root = check_table(load_json(place.get(ROOT) or b"", ROOT), ROOT)
        root["attributes"] = attributes(record)
        place.put(ROOT, json.dumps(root).encode())


def copy_of(record: Record) -> bytes:
    """The second copy of a record."""
    return json.dumps({"attributes": attributes(record)}).encode()


def add_to_history(place: Place, more: Mapping[str, Any], entry: Mapping[str, Any] | None = None) -> None:
    """What there is to say of the latest run, or of the one whose entry this was when it began."""
    record = load(place)
    if record is None or not record.history:
        return
    history = list(record.history)
    begun = [i for i, one in enumerate(history) if entry is not None and {**one, **entry} == one and "end" not in one]
    at = begun[-1] if begun else -1
    history[at] = {**history[at], **more}
    save(place, replace(record, history=tuple(history)))
