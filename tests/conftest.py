"""Tests run with one BLAS thread: on small matrices and busy machines several threads wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

from harness.planning.machine import count_cores


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: many tests wait for processes, jobs and servers of theirs."""
    return count_cores() + 1


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread() -> Iterator[None]:
    import scipy.linalg  # noqa: F401 - SciPy brings a BLAS of its own, which must be there to be limited

    with threadpool_limits(1, user_api="blas"):
        yield
