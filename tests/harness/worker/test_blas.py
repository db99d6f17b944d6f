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


THREADS = """
from threading import Event, Thread
import scipy.linalg
import sklearn.ensemble
from threadpoolctl import threadpool_info, threadpool_limits
from harness.worker.blas import limit_threads

entered, left, stop = Event(), Event(), Event()

def threads():
    return sorted({each["num_threads"] for each in threadpool_info()})

def hold(number):
    with limit_threads(number):
        entered.set()
        left.wait()
        print("after the first has left", threads())
        stop.wait()

with threadpool_limits(2):
    second = Thread(target=hold, args=(1,))
    with limit_threads(1):
        second.start()
        entered.wait()
    left.set()
    entered.clear()
    third = Thread(target=hold, args=(2,))
    third.start()
    print("another number waits", not entered.wait(0.2))
    stop.set()
    second.join()
    third.join()
    print("at the end", threads())
    second = Thread(target=hold, args=(1,))
    second.start()
    second.join()
"""


def test_threads_of_a_process_share_a_limit() -> None:
    """The first to leave restores nothing while another computes, and one that wants another number waits.

    OpenMP (of scikit-learn) has a number for each thread. A limit that a thread of the user holds doesn't matter.
    """
    done = subprocess.run(
        [sys.executable, "-c", THREADS],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(done.stdout.splitlines()) == [
        "after the first has left [1]",
        "after the first has left [1]",
        "after the first has left [2]",
        "another number waits True",
        "at the end [2]",
    ]
