"""The key `family` of a scenario: one family or several, with names, parameters and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckrr.baselines import split_level
from harness.core.errors import UserError
from harness.execution import prepare
from harness.scenario.load import check
from tests.harness.execution.test_families import MINE, TOY
from tests.harness.studies import toy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def krr(family: Any, procedures: list[str], **changes: Any) -> dict[str, Any]:
    source = {"function": "heaviside", "test_points": 11}
    return toy(family=family, source=source, grid__procedure=procedures, grid__theta=[10], **changes)


def refuse(plain: dict[str, Any], folder: Path) -> str:
    with pytest.raises(UserError) as told:
        check(plain, "my.toml", folder)
    return str(told.value)


def test_procedures_that_bundled_families_share_belong_to_the_first(folder: Path) -> None:
    one = check(krr(["krr", "baselines"], ["RRCM-loo", "split"]), "my.toml", folder)
    assert [each.labels for each in one.families][1] == ("GPR-t", "split", "jackknife+", "CV+", "J+GP")
    assert {name: each.procedures for name, each in one.records.items()} == {
        "krr": ("RRCM-loo",),
        "baselines": ("split",),
    }


def test_another_name_is_what_procedures_begin_with(folder: Path) -> None:
    forest = {"use": "sklearn:RandomForestRegressor", "name": "forest", "n_estimators": 5}
    families = ["sklearn:Ridge", forest, {"use": "mine.py:mean", "name": "other"}]
    one = check(toy(family=families, grid__procedure=["Ridge-split", "forest-CV+", "other"]), "my.toml", folder)
    assert [each.labels for each in one.families] == [
        ("Ridge-split", "Ridge-CV+", "Ridge-jackknife+"),
        ("forest-split", "forest-CV+", "forest-jackknife+"),
        ("other",),
    ]
    assert one.records["forest"].parameters == {"n_estimators": 5}
    assert one.records["other"].files.keys() == {"mine.py"} == one.files.keys()


@pytest.mark.parametrize(
    ("family", "procedures", "message"),
    [
        (["mine.py:mean", "mine.py:mean"], ["mean"], "family[1] is 'mine.py:mean', which stands there twice: give one"),
        ([], ["mean"], "family must have 1 to 32 families, got 0"),
        (3, ["mean"], "family must be a name, or a list such as"),
        ([{"name": "a"}], ["mean"], "family[0] must have use, the name of a family"),
        ([{"use": "krr", "name": "a\n"}], ["mean"], "family[0].name must begin with a letter or digit"),
        ([TOY, "mine.py:mean"], ["exact"], "family[1] is 'mine.py:mean', of which grid.procedure has nothing: add"),
        ([TOY, "mine.py:maen"], ["exact"], "family[1] names 'maen', which 'mine.py' doesn't define (did you mean"),
        ("none.py:mean", ["mean"], "family names the file "),
        ({"use": "mine.py:mean", "shfit": 1}, ["mean"], "family.shfit is not a parameter of mean (did you mean"),
        ({"use": "mine.py:mean", "shift": "far"}, ["mean"], "family.shift must be a number"),
        ({"use": TOY, "shift": 1}, ["exact"], f"family.shift must be left out: '{TOY}' has no parameters"),
        ({"use": "mine.py:Ridge", "sclae": 1}, ["ridge"], "family 'mine.py:Ridge' can't be made: TypeError: "),
        ("sklearn:RandomForest", ["a"], "family is 'sklearn:RandomForest': 'RandomForest' is not a regressor"),
        ({"use": "sklearn:Ridge", "alpha": -1.0}, ["Ridge-split"], "family.alpha must be a float in the range"),
        ([TOY, "mine.py:mean"], ["exact", "maen"], "grid.procedure[1] must be one of exact, wide"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(family: Any, procedures: list[str], message: str, folder: Path) -> None:
    told = refuse(toy(family=family, grid__procedure=procedures), folder)
    assert f"my.toml: {message}" in told
    assert told.count("my.toml: family") + told.count("my.toml: grid") == len(told.splitlines())


def test_names_that_two_families_have_are_told(folder: Path) -> None:
    twice = MINE + "\n\n@procedure\ndef exact(X, y, X_new, alpha, rng):\n    pass\n"
    (folder / "mine.py").write_text(twice)
    told = refuse(toy(family=[TOY, "mine.py:exact"], grid__procedure=["exact"]), folder)
    assert told == (
        f"my.toml: family[1] is 'mine.py:exact', which has exact, as '{TOY}' has: names must differ; "
        'give one of them another name, as in { use = "mine.py:exact", name = "mine" }'
    )


def test_a_search_must_be_known_to_all_families_that_use_theta(folder: Path) -> None:
    assert check(toy(family=[TOY, "mine.py:mean"], grid__procedure=["exact", "mean"]), "my.toml", folder)
    told = refuse(toy(family=[TOY, "krr"], grid__procedure=["exact", "RRCM"]), folder)
    assert "grid.theta[2] must be a number > 0 or nothing else" in told


WRONG = {
    "shape": (
        "lower=np.zeros((1, 1, m))",
        "lower of shape (1, 1, 10), it must be (1, 1, 10, 2): (targets, procedures,",
    ),
    "dtype": ("hits=lower", "hits of type float64, it must be bool"),
    "nan": ("upper=lower * np.nan", "upper with 20 NaN of 20, in regions that have count > 0"),
    "missing": ("count=None", "scores without count"),
    "order": ("upper=lower - 1", "lower above upper in 20 of 20 regions"),
}
FAMILY = """
import numpy as np
from types import SimpleNamespace


class Wrong:
    procedures, searches, reference, version, axes = ("wrong",), (), None, 1, ()

    def inputs(self, X, X_test):
        return SimpleNamespace(factor=lambda theta, lam: SimpleNamespace(theta=float("nan")))

    def score(self, factors, targets, procedures, alpha, streams):
        m = len(targets[0].Y_test)
        lower = np.zeros((1, 1, m, len(alpha)))
        count = np.ones(lower.shape, int)
        good = dict(hits=lower > 1, hits_f=None, lower=lower, upper=lower, length=lower, count=count)
        return [SimpleNamespace(**{**good, **dict(WRONG)})]

    def level(self, procedure, n, alpha):
        return None

    def flops(self, n, points, targets, searched):
        return None

    def memory(self, n, points):
        return 1e6
"""


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_result_is_told_before_work_starts(what: str, tmp_path: Path) -> None:
    code, message = WRONG[what]
    (tmp_path / "mine.py").write_text(FAMILY.replace("WRONG", code))
    one = check(toy(family="mine.py:Wrong", grid__procedure=["wrong"]), "my.toml", tmp_path)
    line = FAMILY.splitlines().index("    def score(self, factors, targets, procedures, alpha, streams):") + 1
    with pytest.raises(UserError) as told:
        prepare.prepare(one, str(tmp_path / "a.zarr"), workers=1, speed=2e8)
    assert str(told.value).startswith(f"my.toml: family 'mine.py:Wrong' returned {message}")
    assert str(told.value).endswith(f"(mine.py, line {line})")
    assert not (tmp_path / "a.zarr").exists()


def test_an_error_in_a_function_is_told_with_its_line(tmp_path: Path) -> None:
    code = "from harness import procedure\n\n@procedure\ndef bad(X, y, X_new, alpha, rng):\n    return X.nothing\n"
    (tmp_path / "mine.py").write_text(code)
    one = check(toy(family="mine.py:bad", grid__procedure=["bad"]), "my.toml", tmp_path)
    with pytest.raises(
        UserError, match=r"^my.toml: family 'mine.py:bad' can't compute on a sample: .*\(mine.py, line 5\)$"
    ):
        prepare.prepare(one, str(tmp_path / "a.zarr"), workers=1, speed=2e8)


@pytest.mark.parametrize("names", ["'ab'", "()", "('a', 'a')", "('a', 3)", "('a\\n',)"])
def test_wrong_names_are_told(names: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FAMILY.replace('("wrong",)', names).replace("WRONG", ""))
    told = refuse(toy(family="mine.py:Wrong", grid__procedure=["a"]), tmp_path)
    assert "my.toml: family 'mine.py:Wrong' has procedures = " in told


def test_what_draws_other_random_numbers_is_told(tmp_path: Path) -> None:
    code = FAMILY.replace("WRONG", "lower=np.random.random((1, 1, m, len(alpha))) - 1")
    (tmp_path / "mine.py").write_text(code)
    one = check(toy(family="mine.py:Wrong", grid__procedure=["wrong"]), "my.toml", tmp_path)
    with pytest.raises(UserError, match=r"gives other numbers when it is called again on the same sample: draw all"):
        prepare.prepare(one, str(tmp_path / "a.zarr"), workers=1, speed=2e8)


@pytest.mark.parametrize("level", ["90", "'x'", "1 / 0"])
def test_a_level_that_is_no_probability_is_told(level: str, tmp_path: Path) -> None:
    code = FAMILY.replace("WRONG", "").replace("return None\n\n    def flops", f"return {level}\n\n    def flops")
    (tmp_path / "mine.py").write_text(code)
    one = check(toy(family="mine.py:Wrong", grid__procedure=["wrong"]), "my.toml", tmp_path)
    with pytest.raises(UserError, match=r"family 'mine.py:Wrong': level of wrong at n = 10, alpha = 0.05 (ret|rai)"):
        prepare.prepare(one, str(tmp_path / "a.zarr"), workers=1, speed=2e8)


def test_nothing_of_an_object_is_called_before_it_is_a_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = "    def with_parameters(self, **given):\n        raise SystemExit('called')\n"
    (tmp_path / "victim_of_scenarios.py").write_text(f"class Thing:\n{called}\n\nTHING = Thing()\n")
    monkeypatch.syspath_prepend(tmp_path)
    told = refuse(toy(family={"use": "victim_of_scenarios:THING", "a": 1}, grid__procedure=["x"]), tmp_path)
    assert "family.a must be left out: 'victim_of_scenarios:THING' has no parameters" in told


def test_a_procedure_without_theta_has_its_level_where_theta_is_held_out(folder: Path) -> None:
    plain = krr(["krr", "sklearn:Ridge"], ["RRCM-loo", "Ridge-split"])
    plain["grid"]["theta"] = ["holdout"]
    found = prepare.prepare(check(plain, "my.toml", folder), str(folder / "a.zarr"), workers=1, speed=2e8).manifest
    assert found.get_levels("holdout", "Ridge-split")[20][0.1] == split_level(20, 0.1)
    assert found.get_levels("holdout", "RRCM-loo")[20] != found.exact_levels["RRCM-loo"][20]
    assert found.is_independent("holdout", "Ridge-split")
