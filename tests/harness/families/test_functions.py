"""Functions as procedures: what they are given, what they may return, and what a scenario may set."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ckrr import study
from harness.core.types import Array, Generator
from harness.families.functions import FunctionFamily
from tests.harness.families.scoring import ALPHA, sample, scored, streams


@study.procedure
def shaken(
    X: Array, y: Array, X_new: Array, alpha: Array, rng: Generator, scale: float = 1.0, *, depth: int = 2
) -> tuple[Array, Array]:
    """Intervals around x plus the mean of y, moved by chance."""
    middle = X_new[:, :1] + y.mean() + rng.standard_normal((len(X_new), 1))
    return middle - scale / alpha, middle + depth / alpha


def test_a_function_is_given_the_sample_and_its_stream() -> None:
    found = scored(shaken, ["shaken"], 2)
    for seed, one in enumerate(found):
        _, X_test, target = sample(seed)
        for g, y in enumerate(target.Y.T):  # the same chance for every γ
            chance = streams(seed)("procedure shaken").standard_normal(len(X_test))
            for i, x in enumerate(X_test[:, 0]):
                for k, alpha in enumerate(ALPHA):
                    middle = x + y.mean() + chance[i]
                    assert one.lower[g, 0, i, k] == pytest.approx(middle - 1.0 / alpha)
                    assert one.upper[g, 0, i, k] == pytest.approx(middle + 2 / alpha)
                    inside = middle - 1.0 / alpha <= target.Y_test[i, g] <= middle + 2 / alpha
                    assert one.hits[g, 0, i, k] == inside


def test_it_stays_a_function() -> None:
    rng, X = np.random.default_rng(0), np.zeros((2, 1))
    lower, upper = shaken(X, np.zeros(2), X, np.array([0.5]), rng, depth=3)
    assert upper - lower == pytest.approx(np.full((2, 1), 8.0))
    assert str(inspect.signature(shaken)) == str(inspect.signature(shaken.function))
    assert inspect.unwrap(shaken) is shaken.function


def test_names_levels_and_versions_can_be_given() -> None:
    assert (shaken.procedures, shaken.version, shaken.axes) == (("shaken",), 1, ())
    assert shaken.level("shaken", 10, 0.1) is None
    made = study.procedure(name="mine", level=lambda n, alpha: 1 - alpha / n, version="2b")(shaken.function)
    assert (made.procedures, made.version, made.level("mine", 10, 0.1)) == (("mine",), "2b", 0.99)
    chance = [scored(each, each.procedures, 1)[0].lower for each in (shaken, made)]
    assert not np.array_equal(*chance)


@pytest.mark.parametrize(
    ("returned", "level"), [(None, None), (np.nan, None), (1, 1.0), (np.float64(0.9), 0.9), (0, 0.0)]
)
def test_a_level_is_a_number_or_isn_t_known(returned: Any, level: float | None) -> None:
    assert study.procedure(level=lambda n, alpha: returned)(shaken.function).level("shaken", 10, 0.1) == level


@pytest.mark.parametrize("returned", [1.01, -0.1, np.inf, True, "0.9", np.full(2, 0.9)])
def test_other_levels_are_refused(returned: Any) -> None:
    made = study.procedure(name="lv", level=lambda n, alpha: returned)(shaken.function)
    said = f"lv: level must return a number from 0 to 1, or None if it isn't known, got {returned!r} for n = 10 and"
    with pytest.raises(ValueError, match=f"^{re.escape(said)} alpha = 0.1$"):
        made.level("lv", 10, 0.1)


@pytest.mark.parametrize("level", [0.9, "0.9", lambda n: 0.9, lambda n, alpha, k: 0.9, lambda *, n, alpha: 0.9])
def test_a_level_that_isn_t_a_function_of_n_and_alpha_is_refused(level: Any) -> None:
    said = "lv: level must be a function of n and alpha, such as lambda n, alpha: 1 - alpha, got "
    with pytest.raises(TypeError, match=f"^{re.escape(said)}") as caught:
        study.procedure(name="lv", level=level)(shaken.function)
    assert str(caught.value).endswith("got 0.9") == (level == 0.9)


def test_parameters_are_set_by_their_names() -> None:
    wide = shaken.with_parameters(scale=3, depth=4).with_parameters(depth=5)
    assert (wide.parameters, shaken.parameters) == ({"scale": 3, "depth": 5}, {})
    (before,), (after,) = scored(shaken, ["shaken"], 1), scored(wide, ["shaken"], 1)
    assert after.upper - before.upper == pytest.approx(np.broadcast_to(3 / np.array(ALPHA), before.upper.shape))
    assert before.lower - after.lower == pytest.approx(np.broadcast_to(2 / np.array(ALPHA), before.upper.shape))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"depht": 3}, r"^depht is not a parameter of shaken \(did you mean 'depth'\?\): it has scale, depth$"),
        ({"X": 3}, "^X is not a parameter of shaken"),
        ({"scale": "wide"}, "^scale must be a number, as its default 1.0 is, got 'wide'$"),
        ({"depth": True}, "^depth must be a number, as its default 2 is, got True$"),
    ],
)
def test_wrong_parameters_are_told(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shaken.with_parameters(**parameters)


def test_kinds_of_parameters() -> None:
    def intervals(X: Array, y: Array, X_new: Array, alpha: Array, rng: Generator, fast=False, deep=None, how="a"):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    made = study.procedure(intervals)
    assert made.with_parameters(fast=True, deep=[1], how="b").parameters == {"fast": True, "deep": [1], "how": "b"}
    for wrong, message in (({"fast": 1}, "of type bool"), ({"how": 1.0}, "of type str")):
        with pytest.raises(ValueError, match=message):
            made.with_parameters(**wrong)


GOOD = np.zeros((20, 3))


def put(value: float) -> Array:
    found = GOOD.copy()
    found[4, 1] = value
    return found


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "broken returned one NoneType, it must return two arrays: lower, upper"),
        (GOOD, "broken returned one ndarray, it must return two arrays: lower, upper"),
        ((GOOD,) * 3, "broken returned 3 values, it must return two arrays: lower, upper"),
        (
            (GOOD[:, 0], GOOD),
            "broken returned lower of shape (20,), it must be (20, 3): (test points, levels)",
        ),
        ((GOOD, GOOD.T), "broken returned upper of shape (3, 20), it must be (20, 3): (test points, levels)"),
        ((GOOD, GOOD.tolist()), "broken returned upper of type list, it must be an array"),
        ((GOOD.astype(int), GOOD), "broken returned lower of dtype int64, it must be float64"),
        ((GOOD, GOOD.astype(complex)), "broken returned upper of dtype complex128, it must be float64"),
        (
            (GOOD, put(np.nan)),
            "broken returned NaN at one end only; an empty interval has NaN at both; at test point 4 and alpha = 0.1: "
            "lower 0, upper nan (1 of 60 intervals)",
        ),
        (
            (put(0.5), GOOD),
            "broken returned lower > upper; an empty interval has NaN at both; at test point 4 and alpha = 0.1: "
            "lower 0.5, upper 0 (1 of 60 intervals)",
        ),
        (
            (put(-np.inf), put(-np.inf)),
            "broken returned an end at infinity on the wrong side; at test point 4 and alpha = 0.1: "
            "lower -inf, upper -inf (1 of 60 intervals)",
        ),
    ],
)
def test_wrong_results_are_told(returned: object, message: str) -> None:
    def broken(X: Array, y: Array, X_new: Array, alpha: Array, rng: Generator) -> object:
        return returned

    with pytest.raises(ValueError, match=r"^broken returned") as caught:
        scored(study.procedure(broken), ["broken"], 1)
    assert str(caught.value) == message


def test_empty_unbounded_and_short_floats_are_good() -> None:
    lower, upper = put(np.nan).astype(np.float32), put(np.nan)
    lower[5], upper[5] = -np.inf, np.inf

    def unusual(X: Array, y: Array, X_new: Array, alpha: Array, rng: Generator) -> object:
        return lower, upper

    (found,) = scored(study.procedure(unusual), ["unusual"], 1)
    assert found.lower.dtype == np.float64
    assert (found.count[:, 0, 4, 1] == 0).all()
    assert (found.length[:, 0, 5] == np.inf).all()
    assert found.hits[:, 0, 5].all()
    assert not found.hits[:, 0, 4, 1].any()


def test_a_function_can_t_spoil_the_sample() -> None:
    def spoiling(X: Array, y: Array, X_new: Array, alpha: Array, rng: Generator) -> object:
        ends = np.full((len(X_new), len(alpha)), X.sum() + y.sum() + X_new.sum() + alpha.sum())
        for each in (X, y, X_new, alpha):
            each[:] = 0.0
        return ends, ends

    X, X_test, target = sample(0, noise=(0.1,))
    family = study.procedure(spoiling)
    family.score([family.inputs(X, X_test).factor(0.0, 0.0)], [target], ["spoiling"], ALPHA, [streams(0)])
    fresh_X, fresh_X_test, fresh = sample(0, noise=(0.1,))
    assert np.array_equal(X, fresh_X)
    assert np.array_equal(X_test, fresh_X_test)
    assert np.array_equal(target.Y, fresh.Y)


def few(X: Array, y: Array, X_new: Array, alpha: Array) -> None: ...


def needy(X: Array, y: Array, X_new: Array, alpha: Array, rng: Generator, trees: int) -> None: ...


def open_(X: Array, y: Array, X_new: Array, alpha: Array, rng: Generator, **more: int) -> None: ...


def named(X: Array, y: Array, X_new: Array, *, alpha: Array, rng: Generator) -> None: ...


def swapped(X: Array, y: Array, alpha: Array, X_new: Array, rng: Generator) -> None: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (few, r"few\(.*\) .* must take \(X, y, X_new, alpha, rng\), then parameters with defaults"),
        (named, r"named\(.*\) .* must take \(X, y, X_new, alpha, rng\), then parameters with defaults"),
        (
            swapped,
            "^swapped: the first five parameters must be in the order X, y, X_new, alpha, rng, since values are passed "
            "by position, got X, y, alpha, X_new, rng$",
        ),
        (needy, "needy: the parameter trees: .* must have a default, such as trees=1"),
        (open_, r"open_: the parameter \*\*more: .* must have a default"),
        (FunctionFamily, r"procedure must decorate a function of \(X, y, X_new, alpha, rng\), got <class"),
        (3, r"procedure must decorate a function of \(X, y, X_new, alpha, rng\), got 3"),
    ],
)
def test_other_signatures_are_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        study.procedure(function)
