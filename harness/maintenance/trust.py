"""Decide whether code that comes with a store may run here.

Opening a store runs no code from it. Replaying a replication runs its source and its procedures. Those bundled with
ckrr are trusted, and so is a file of which the user has an identical copy. All other code is untrusted unless the user
passes `--trust`.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from harness.backends.base import Backend
from harness.core.errors import UserError
from harness.core.packaged import FAMILIES, SOURCES
from harness.parsing.files import read_file
from harness.scenario.code import split_name
from harness.scenario.entries import REGRESSORS, FamilyEntry, parse_entries
from harness.scenario.errors import ScenarioError
from harness.store.manifest import FILES, LARGEST_FILE, Manifest


def check_trusted(backend: Backend, manifest: Manifest, folder: Path, allowed: bool) -> None:
    """Raise UserError if a replay would run untrusted code, unless the user allows it.

    Parameters
    ----------
    backend, manifest : Backend, Manifest
        The store and its manifest.
    folder : Path
        The user's working directory: a file there with the same bytes is trusted.
    allowed : bool
        Whether the user trusts the store (`--trust`).
    """
    foreign = [each for each in _list_foreign_code(backend, manifest, folder) if not allowed]
    if foreign:
        raise UserError(f"{backend.url}: this would run {'; '.join(foreign)}. If you trust that code, add --trust")


def _list_foreign_code(backend: Backend, manifest: Manifest, folder: Path) -> list[str]:
    """Describe the code that is neither bundled nor in the user's folder."""
    try:
        entries = parse_entries(manifest.scenario["family"])
    except ScenarioError as wrong:
        raise UserError(f"{backend.url}: its scenario can't be used: {wrong}") from None
    source = str(manifest.scenario["source"]["function"])
    found = [
        _describe_source(backend, folder, source),
        *(_describe_family(backend, manifest, folder, e) for e in entries),
    ]
    return list(dict.fromkeys(each for each in found if each is not None))


def _describe_source(backend: Backend, folder: Path, name: str) -> str | None:
    """Describe the code of a source; None if it is bundled or in the user's folder."""
    beside = split_name(name)
    if beside is not None:
        return _describe_file(backend, folder, Path(beside[0]).name, Path(beside[0]).name)
    return None if name in SOURCES else f"the module of the source {name!r}"


def _describe_family(backend: Backend, manifest: Manifest, folder: Path, entry: FamilyEntry) -> str | None:
    """Describe the code of a family; None if it is bundled or in the user's folder."""
    beside = split_name(entry.use)
    if beside is not None:
        record = manifest.families.get(entry.name)
        return _describe_file(backend, folder, beside[0], record.file_keys.get(beside[0], "") if record else "")
    is_known = entry.use in FAMILIES or entry.use.startswith(f"{REGRESSORS}:")
    return None if is_known else f"the module of the family {entry.use!r}"


def _describe_file(backend: Backend, folder: Path, name: str, key: str) -> str | None:
    """Describe a file that a store keeps under a key; None if the user's folder has the same file."""
    return None if _is_beside(backend, name, key, folder) else f"{backend.url}/{FILES}/{key or name}"


def _is_beside(backend: Backend, name: str, key: str, folder: Path) -> bool:
    """Return whether the user's folder has the same file, by its hash."""
    try:
        mine = read_file(str(folder / name), LARGEST_FILE)
    except (OSError, UserError):
        return False
    theirs = backend.get(f"{FILES}/{key}", LARGEST_FILE) if key else None
    return theirs is not None and sha256(theirs).digest() == sha256(mine).digest()
