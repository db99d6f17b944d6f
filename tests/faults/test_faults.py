"""Every fault, on every executor that it makes sense on: the undisturbed cube, healed as the design says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults import study, table
from tests.faults.executors import EXECUTORS, Shelf
from tests.faults.injector import FAULTS, Fault
from tests.faults.trial import missing, tried


def _cases() -> Iterator[Any]:
    """Each fault once; on its other executors by hand."""
    for fault in FAULTS:
        for i, executor in enumerate(fault.on):
            marks = [pytest.mark.soak] if i or fault.slow else []
            yield pytest.param(fault, executor, id=f"{fault.name}-{executor}", marks=marks)


@pytest.fixture(scope="module")
def shelf() -> Iterator[Shelf]:
    one = Shelf()
    yield one
    one.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study.undisturbed(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize(("fault", "executor"), list(_cases()))
def test_it_heals(fault: Fault, executor: str, whole: Path, shelf: Shelf, tmp_path: Path) -> None:
    why = missing(fault, executor)
    if why is not None:
        pytest.skip(why)
    result = tried(fault, executor, tmp_path, whole, shelf)
    print(result)  # pytest -s
    assert result.healed == fault.on[executor]


def test_the_table_has_what_there_is() -> None:
    """`python -m tests.faults.table` writes it."""
    kept = [(one.fault, one.executor, one.healed) for one in table.read()]
    assert kept == [(fault.name, executor, fault.on[executor]) for fault, executor in table.cases()]


def test_every_executor_is_struck() -> None:
    assert {executor for fault in FAULTS for executor in fault.on} == set(EXECUTORS)
