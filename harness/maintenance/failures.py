"""List the failures of a store, grouped by message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.store.manifest_io import load_manifest
from harness.store.receipts import list_receipts, read_all

_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")


def group_failures(store: str) -> list[dict[str, Any]]:
    """Return the failures of a store, one entry per message, most frequent first.

    Returns
    -------
    list of dict
        Each has "kind", "message", "count", and "example": a replication that fails so, to replay. Messages that differ
        only in numbers are counted together.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in _iter_failures(store):
        kind, message, family = one.pop("kind"), one.pop("message"), one.pop("family", "")
        message = f"{family}: {message}" if family else message
        key = (kind, _NUMBER.sub("#", message))  # the same cause often appears with different numbers
        group = found.setdefault(key, {"kind": kind, "message": message, "count": 0, "example": one})
        group["count"] += 1
    return sorted(found.values(), key=lambda group: (-group["count"], group["message"]))


def _iter_failures(store: str) -> Iterator[dict[str, Any]]:
    backend = open_backend(store)
    manifest = load_manifest(backend)
    if manifest is None:
        raise UserError(f"{store}: there is no store here")
    some = [one for one in list_receipts(backend, manifest.extent.grid.n).values() if one.failed]
    some.sort(key=lambda one: one.unit)
    for receipt, content in zip(some, read_all(backend, some), strict=True):
        n = int(receipt.unit.partition("/")[0].removeprefix("n="))
        for failure in content["failures"]:
            yield {"n": n, **failure}
