"""What differs between a store's study and a scenario's, in words."""

from __future__ import annotations

from typing import Any

import pytest

from harness.core.errors import UserError
from harness.planning.matching import check_fingerprint
from harness.planning.study_changes import list_study_changes
from tests.harness.studies import loaded

OLD = loaded().fingerprint


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"seed": 6}, ["seed was 5 and is 6"]),
        ({"source__test_points": 11}, ["source.test_points was 10 and is 11"]),
        ({"source__fails_at": 0.5}, ["source.fails_at was left out and is 0.5"]),
        (
            {"source": {"function": "f2", "test_points": 20}, "expected_coverage": False},
            ["source.function was 'tests.harness.toy:Toy' and is 'f2'"],
        ),
        ({"keep": ["pointwise"]}, ["the optional variables were none and are pointwise"]),
    ],
)
def test_changes_of_a_scenario(changes: dict[str, Any], expected: list[str]) -> None:
    assert list_study_changes(OLD, loaded(**changes).fingerprint) == expected


@pytest.mark.parametrize(
    ("key", "old", "new", "expected"),
    [
        (
            "files",
            {"mine.csv": "a", "x.py": "b"},
            {"mine.csv": "c", "y.py": "b"},
            [
                "the file mine.csv has other content",
                "the file x.py isn't used any more",
                "the file y.py is used in addition",
            ],
        ),
        (
            "numerics",
            {"procedures": 2, "sources": 1},
            {"procedures": 1, "sources": 1},
            ["its procedures were computed by a newer ckrr (numerics version 2, now 1)"],
        ),
        (
            "numerics",
            {"procedures": {"krr": 1}},
            {"procedures": {"krr": 2}},
            ["its procedures.krr were computed by an older ckrr (numerics version 1, now 2)"],
        ),
        (
            "kernel",
            None,
            {"kernel": "matern52", "features": 500},
            ["features was left out and is 500", "kernel was 'gaussian' and is 'matern52'"],
        ),
        ("smoothed", None, True, ["smoothed was false and is true"]),
        ("weights", None, "estimated", ["weights was 'exact' and is 'estimated'"]),
        ("blas_threads", 1, 4, ["threads of a worker was 1 and is 4 (threads = 1 in a cluster file)"]),
        ("family", "krr", ["krr", "baselines"], ["family was 'krr' and is ['krr', 'baselines']"]),
    ],
)
def test_changes_of_each_part(key: str, old: object, new: object, expected: list[str]) -> None:
    assert list_study_changes({} if old is None else {key: old}, {key: new}) == expected


def test_many_differences_are_counted() -> None:
    """A store may come from anybody: its text is one line, and bounded."""
    old = {"source": {"function": "f\x1b\n", **{f"k{i}\n": "x" * 1000 for i in range(50)}}}
    found = list_study_changes(old, {"source": {"function": "f\x1b\n"}})
    assert len(found) == 9
    assert found[-1] == "and 42 more differences"
    assert all(len(one) < 200 and "\n" not in one for one in found)


def test_the_next_step_is_said() -> None:
    changed = {**OLD, "numerics": {**OLD["numerics"], "sources": 0}}
    with pytest.raises(UserError, match=r"older ckrr .* Choose another --store, or use the version of ckrr that made"):
        check_fingerprint("my.zarr", changed, OLD)
    with pytest.raises(
        UserError, match=r"seed was 1 and is 5. Choose another --store, or another name in the scenario"
    ):
        check_fingerprint("my.zarr", {**OLD, "seed": 1, "files": {"a": "b"}}, OLD, accept_changed=True)
    check_fingerprint("my.zarr", {**OLD, "files": {"a": "b"}}, OLD, accept_changed=True)
