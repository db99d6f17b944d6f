"""Whether a store is still the one that a run began with: somebody may have removed it, and made another there."""

from __future__ import annotations

from harness.backends.base import Place
from harness.core.errors import Mistake, Replaced, Unreachable
from harness.store.manifest import ROOT, Record
from harness.store.manifest_io import load

_seen: dict[str, tuple[object, Record]] = {}
"""For each store the mark that its root had when it was looked at, and whose it was."""


def check_still(there: Place, record: Record) -> None:
    """Refuses to go on where another study is, or none. A look at a file, as long as nobody has written to it."""
    mark = there.mark(ROOT)
    known = _seen.get(there.url)
    if mark is not None and known is not None and known[0] == mark and known[1] is record:
        return
    if not is_still(there, record):
        what = "the store was removed or replaced while the run was at work"
        raise Replaced(f"{there.url}: {what}: nothing more is written there")
    _seen[there.url] = (mark, record)


def is_still(there: Place, record: Record) -> bool:
    """Whether the store of a record is there, perhaps grown; where nobody answers it is taken to be."""
    try:
        now = load(there)
    except Unreachable:
        return True
    except Mistake:
        return False
    if now is None:
        return False
    size = len(record.extents)
    return (now.fingerprint, now.extents[:size]) == (record.fingerprint, record.extents)
