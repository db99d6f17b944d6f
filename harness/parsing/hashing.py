"""Hash the files that a study's source needs. The study's fingerprint identifies them by these hashes."""

from __future__ import annotations

from hashlib import sha256

_PREFIX = "sha256:"
PATTERN = rf"({_PREFIX})?[0-9a-f]{{64}}"
"""Regular expression of a hash. Version 0.1 wrote no prefix, and hashed the syntax tree of a `.py` file."""


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

    A version 0.1 hash of a `.py` file cannot be compared with bytes: the result is then always True.

    Examples
    --------
    >>> is_hash_of(hash_file(b"x = 1"), "a.py", b"x = 1"), is_hash_of(hash_file(b"x = 1"), "a.py", b"x = 2")
    (True, False)
    """
    if not hashed.startswith(_PREFIX):
        return name.endswith(".py") or _PREFIX + hashed == hash_file(data)
    return hashed == hash_file(data)
