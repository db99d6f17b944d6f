"""Decide whether code that a store brings may run here.

Opening a store runs nothing. Replaying a replication runs its source and its procedures: those that come with ckrr are
trusted, and so is a file that the user has, too. Anything else is a stranger's code until the user says otherwise.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from harness.backends.base import Place
from harness.core.errors import Mistake
from harness.parsing.files import read_file
from harness.store.manifest import FILES, LARGEST_FILE, Record


def check_trusted(there: Place, record: Record, folder: Path, allowed: bool) -> None:
    """Refuse to run code that only the store knows, unless the user allows it.

    Parameters
    ----------
    there, record : Place, Record
        The store and its manifest.
    folder : Path
        Where the user is: a file there that has the same bytes is the user's own.
    allowed : bool
        Whether the user trusts the store (`--trust`).
    """
    foreign = [each for each in _code(there, record, folder) if not allowed]
    if foreign:
        raise Mistake(f"{there.url}: this would run {'; '.join(foreign)}. If you trust that code, add --trust")


def _code(there: Place, record: Record, folder: Path) -> list[str]:
    """In words, what is neither ours nor the user's."""
    function, family = str(record.scenario["source"]["function"]), str(record.scenario["family"])
    found = [f"the module of the family {family!r}"] if ":" in family else []
    path, colon, _ = function.partition(":")
    if path.endswith(".py"):
        name = Path(path).name
        found += [] if _is_beside(there, name, folder) else [f"{there.url}/{FILES}/{name}"]
    elif colon:
        found.append(f"the module of the source {function!r}")
    return found


def _is_beside(there: Place, name: str, folder: Path) -> bool:
    """Whether the user has the same file, by its hash."""
    try:
        mine = read_file(str(folder / name), LARGEST_FILE)
    except (OSError, Mistake):
        return False
    theirs = there.get(f"{FILES}/{name}", LARGEST_FILE)
    return theirs is not None and sha256(theirs).digest() == sha256(mine).digest()
