"""What makes a user's file another one, and what doesn't."""

from __future__ import annotations

import pytest

from harness.core.hashing import content_hash

CODE = b"""
import numpy as np


class Wave:
    size = 3

    def f(self, x: float, *, y=None, **rest):
        if x > 1:
            return {**rest, "a": [x, -1.5]}
        return None


def source(points: int = 21):
    return Wave()
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"import numpy", b"# a comment\nimport numpy"),
        (b"import numpy", b'"""What this is."""\nimport numpy'),
        (b"    size = 3\n", b'    """A wave."""\n    size = 3\n    """How large."""\n'),
        (b"\n        if x > 1", b'\n        """Rises."""\n\n        if (x > 1)'),
        (b'"a"', b"'a'"),
        (b"[x, -1.5]", b"[\n  x,\n  -1.50,\n]"),
        (b"\n", b"\r\n"),
    ],
)
def test_what_does_nothing_may_change(old: bytes, new: bytes) -> None:
    assert old in CODE
    assert content_hash("mine.py", CODE.replace(old, new)) == content_hash("mine.py", CODE)
    assert content_hash("mine.csv", CODE.replace(old, new)) != content_hash("mine.csv", CODE), "data go by their bytes"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"> 1", b">= 1"),
        (b"> 1", b"> 1.0"),
        (b"> 1", b"> True"),
        (b"-1.5", b"1.5"),
        (b"size = 3", b"size: int = 3"),
        (b"return None", b"return"),
        (b"y=None", b"y"),
        (b"*, y=None", b"y=None"),
        (b"**rest, ", b""),
        (b'"a"', b'b"a"'),
        (b"numpy as np", b"numpy"),
        (b"= 21", b"= 22"),
        (b"def source", b"async def source"),
        (b"x: float", b"x: int"),
        (b"return Wave()", b"return Wave"),
        (b"size = 3", b"text = '3'"),
    ],
)
def test_code_may_not(old: bytes, new: bytes) -> None:
    assert old in CODE
    assert content_hash("mine.py", CODE.replace(old, new)) != content_hash("mine.py", CODE)


def test_no_code_goes_by_its_bytes() -> None:
    assert content_hash("mine.py", b"def (") == content_hash("mine.csv", b"def (")


def test_every_python_has_the_same_hash() -> None:
    """Written down once: a Python that reads this file otherwise would refuse stores made by another."""
    assert content_hash("mine.py", CODE)[:16] == "3fc8526b39eb2348"
