"""One cell of each procedure and study is compared, and the user is asked where several are left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import UserError
from harness.results.studies.benchmark import make_benchmark
from harness.results.studies.selection import select_studies
from harness.results.studies.tables import table
from tests.harness.results.studies import stores


def test_each_study_takes_the_values_that_it_has(real: list[str]) -> None:
    jump, sine = select_studies(real, stores.WHERE)
    assert (jump.name, sine.name) == ("jump", "sine")
    assert jump.cell == {"gamma": 0.1, "theta": "100", "lam": 0.1, "n": 39, "alpha": 0.1}
    assert sine.cell == {"gamma": 0.0, "theta": "10", "lam": 0.1, "n": 39, "alpha": 0.1}


def test_the_first_value_that_is_named_counts(real: list[str]) -> None:
    made = table(real, "rank", where="theta=ml,100,10,n=39,19,alpha=0.1,0.05")
    assert "cells: jump: gamma = 0.1, theta = ml; sine: gamma = 0, theta = 10" in made.notes
    assert "jump: theta = 100 isn't compared: the first named value counts" in made.notes
    assert "jump: n = 19 isn't compared: the first named value counts" in made.notes
    assert made.caption.endswith("lam = 0.1, n = 39, alpha = 0.1")
    assert select_studies(real, "theta=100,ml,10,n=19,39,alpha=0.05")[0].cell["theta"] == "100"


def example(caught: pytest.ExceptionInfo[UserError]) -> str:
    """The selection that a message gives as an example."""
    return str(caught.value).rpartition("--where ")[2]


@pytest.mark.parametrize(
    ("where", "misses"),
    [(None, 0), ("n=20", 1), ("n=20,gamma=2,theta=8", 5), ("alpha=0.05", 2), ("theta=8,procedure=random", 3)],
)
def test_the_example_works(where: str | None, misses: int, toys: list[str], tmp_path: Path) -> None:
    """For studies without a common n, with a single common α, and with γ and θ of which one study has several."""
    other = {"grid__n": [12, 30, 90], "grid__gamma": [1.0, 2.0], "grid__theta": ["best", 8], "grid__alpha": [0.2, 0.1]}
    third = stores.toy(tmp_path / "three.zarr", grid__procedure=["exact", "wide"], **other)
    with pytest.raises(UserError) as caught:
        select_studies([*toys, third], where)
    assert str(caught.value).count(" isn't in ") == misses
    assert len(select_studies([*toys, third], example(caught))) == 3
    if where == "n=20":
        assert "n=20,12" in example(caught), "nearest to 20"


def test_all_unknown_values_are_told_at_once(real: list[str]) -> None:
    with pytest.raises(UserError, match=r"theta=mll is in no study: .*; n=40 is in no study: jump has n = 19, 39"):
        select_studies(real, "theta=mll,n=40")


def test_the_user_is_asked_which_cell(real: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        select_studies(real)
    assert str(caught.value) == (
        "select one cell of each study: jump has theta = 100, ml and n = 19, 39 and alpha = 0.05, 0.1; "
        "sine has alpha = 0.05, 0.1: for example --where theta=ml,10,n=39,alpha=0.1"
    )
    assert [study.cell["n"] for study in select_studies(real, example(caught))] == [39, 39]


def test_the_only_common_level_needs_no_selection(toys: list[str]) -> None:
    assert [study.cell["alpha"] for study in select_studies(toys)] == [0.1, 0.1]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            "theta=mll",
            r"theta=mll is in no study: jump has theta = 100, ml; sine has theta = 10 \(did you mean 'ml'\?\)",
        ),
        ("theta=ml", r"theta=ml isn't in sine, which has 10: add one of these, as in --where theta=ml,10,n=39,"),
        ("theat=1", "there is no axis 'theat': it must be one of"),
        (
            "theta=ml,10,alpha=0.05,0.1",
            r"select one cell of each study: jump has n = 19, 39: for example --where theta=ml,10,n=39,",
        ),
        ("procedure=CRR-loo,theta=ml,10,n=39,alpha=0.1,gamma=0", r"gamma=0 isn't in jump, which has 0.1"),
    ],
)
def test_a_selection_that_leaves_nothing_is_a_mistake(where: str, message: str, real: list[str]) -> None:
    with pytest.raises(UserError, match=message):
        select_studies(real, where)


def test_a_store_counts_once(toys: list[str]) -> None:
    with pytest.raises(UserError, match=r"one\.zarr is given twice: name every store once"):
        select_studies([toys[0], os.path.relpath(toys[0])])


def test_equal_names_give_way_to_those_of_files(toys: list[str], tmp_path: Path) -> None:
    assert [study.name for study in select_studies(toys)] == ["one", "two"]
    again = stores.toy(tmp_path / "one.zarr")
    assert [study.name for study in select_studies([*toys, again])] == [toys[0], "two", again]


def test_levels_must_be_common(toys: list[str], tmp_path: Path) -> None:
    other = stores.toy(tmp_path / "three.zarr", grid__alpha=[0.2])
    with pytest.raises(UserError, match=r"no common level: one has alpha = 0.1; three has alpha = 0.2: select or"):
        select_studies([toys[0], other])
    with pytest.raises(UserError, match=r"no common level: two has alpha = 0.05, 0.1; three has alpha = 0.2"):
        select_studies([toys[1], other], "alpha=0.05,0.1,0.2")
    assert select_studies(toys, "alpha=0.05,0.1")[1].cell["alpha"] == 0.1, "the first that both have"


def test_procedures_must_be_common(toys: list[str], tmp_path: Path) -> None:
    one, other = (stores.toy(tmp_path / f"{name}.zarr", grid__procedure=[name, "split"]) for name in ("exact", "wide"))
    with pytest.raises(UserError, match=r"no procedure for y\* in common: exact has procedure = exact; wide has"):
        make_benchmark([one, other], "procedure=exact,wide")
    with pytest.raises(UserError, match=r"procedure 'exact' isn't in wide, which has wide, split: all studies"):
        make_benchmark([one, other], versus="exact")
    assert make_benchmark([one, other]).reference == "split"
    assert make_benchmark([one, other]).procedures == ["exact", "split", "wide"]


def test_the_reference_has_an_exact_level_if_one_has(real: list[str], toys: list[str]) -> None:
    """GPR-f comes first, but RRCM has an exact level."""
    assert make_benchmark(real, stores.WHERE).reference == "RRCM"
    assert make_benchmark(real, f"{stores.WHERE},procedure=GPR-p,GPR-f").reference == "GPR-f"
    assert make_benchmark(real, stores.WHERE, versus="CRR-loo").reference == "CRR-loo"
    assert make_benchmark(toys).reference == "exact"
