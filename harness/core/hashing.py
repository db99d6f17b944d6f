"""Hash the files that a study's source needs: the fingerprint of the study knows them by their bytes."""

from __future__ import annotations

from hashlib import sha256

_PREFIX = "sha256:"
PATTERN = rf"({_PREFIX})?[0-9a-f]{{64}}"
"""What a hash looks like. Version 0.1 wrote none of the prefix, and hashed the syntax tree of a `.py` file."""


def hash_file(data: bytes) -> str:
    """Return the hash of a file's bytes.

    Examples
    --------
    >>> hash_file(b"x = 1")[:15]
    'sha256:8ff436de'
    """
    return _PREFIX + sha256(data).hexdigest()


def is_hash_of(hashed: str, name: str, data: bytes) -> bool:
    """Return whether a file may be the one that was hashed.

    The hash that version 0.1 made of a `.py` file can't be compared with: there the answer is yes.

    Examples
    --------
    >>> is_hash_of(hash_file(b"x = 1"), "a.py", b"x = 1"), is_hash_of(hash_file(b"x = 1"), "a.py", b"x = 2")
    (True, False)
    """
    if not hashed.startswith(_PREFIX):
        return name.endswith(".py") or _PREFIX + hashed == hash_file(data)
    return hashed == hash_file(data)
