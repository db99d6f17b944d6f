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
from harness.scenario.entries import REGRESSORS, parse_entries
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
    names = [("source", str(manifest.scenario["source"]["function"]))]
    names += [("family", one.use) for one in parse_entries(manifest.scenario["family"])]
    found = (_describe_code(backend, folder, what, name) for what, name in names)
    return list(dict.fromkeys(each for each in found if each is not None))


def _describe_code(backend: Backend, folder: Path, what: str, name: str) -> str | None:
    """Describe the code of a source or a family; None if it is bundled or in the user's folder."""
    beside = split_name(name)
    if beside is not None:
        file = Path(beside[0]).name
        return None if _is_beside(backend, file, folder) else f"{backend.url}/{FILES}/{file}"
    is_known = name in SOURCES if what == "source" else name in FAMILIES or name.startswith(f"{REGRESSORS}:")
    return None if is_known else f"the module of the {what} {name!r}"


def _is_beside(backend: Backend, name: str, folder: Path) -> bool:
    """Return whether the user's folder has the same file, by its hash."""
    try:
        mine = read_file(str(folder / name), LARGEST_FILE)
    except (OSError, UserError):
        return False
    theirs = backend.get(f"{FILES}/{name}", LARGEST_FILE)
    return theirs is not None and sha256(theirs).digest() == sha256(mine).digest()
