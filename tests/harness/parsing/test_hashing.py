"""Files are known by their bytes, also in stores of version 0.1 as far as that can be."""

from __future__ import annotations

from hashlib import sha256

from harness.parsing.hashing import hash_file, is_hash_of


def test_every_byte_counts() -> None:
    assert is_hash_of(hash_file(b"x = 1\n"), "mine.py", b"x = 1\n")
    assert not is_hash_of(hash_file(b"x = 1\n"), "mine.py", b"x = 1  # one\n")


def test_hashes_of_0_1() -> None:
    """They have no prefix; those of code are of its syntax tree, which nothing can be compared with any more."""
    table = sha256(b"x,y\n1,2\n").hexdigest()
    assert is_hash_of(table, "table.csv", b"x,y\n1,2\n")
    assert not is_hash_of(table, "table.csv", b"x,y\n1,3\n")
    assert is_hash_of(table, "mine.py", b"x = 1\n")
