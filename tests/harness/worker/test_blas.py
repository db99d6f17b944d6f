"""The threads of BLAS."""

from __future__ import annotations

import os
import subprocess
import sys

CODE = """
from harness.worker.blas import limit_threads
from threadpoolctl import threadpool_info

def threads():
    return sorted(each["num_threads"] for each in threadpool_info())

with limit_threads(1):
    print(threads())
import numpy
with limit_threads(1):
    print(threads())
import scipy.linalg
with limit_threads(1):
    print(threads())
print(threads())
"""


def test_libraries_that_come_later_are_limited_too() -> None:
    """NumPy and SciPy have an OpenBLAS each."""
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:4] == ["[]", "[1]", "[1, 1]", "[2, 2]"]
