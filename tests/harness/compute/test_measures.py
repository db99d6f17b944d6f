"""Measures against loops over every test point."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, isinf, nan

import numpy as np
import pytest
from hypothesis import given, strategies as st

from harness.compute.measures import compute_measures, quantiles
from harness.core.schema.axes import QUANTILES
from harness.core.schema.measures import DIFFERENCES
from harness.core.types import Array, Bools

ALPHA = (0.1, 0.3)


@dataclass(frozen=True, eq=False)
class Made:
    hits: Bools
    hits_f: Bools | None
    lower: Array
    upper: Array
    length: Array
    count: np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def made(seed: int, targets: int = 2, procedures: int = 3, m: int = 7) -> tuple[Made, Array]:
    """Hulls of every kind: bounded, half-lines, lines, points, empty, in pieces; from seed 10 on all are bounded."""
    rng = np.random.default_rng(seed)
    shape = (targets, procedures, m, len(ALPHA))
    lower = rng.normal(size=shape)
    upper = lower + rng.exponential(size=shape) * (rng.random(shape) > 0.1)
    count = rng.integers(0 if seed < 10 else 1, 3, shape)
    if seed < 10:
        lower[rng.random(shape) < 0.15], upper[rng.random(shape) < 0.15] = -inf, inf
    lower[count == 0] = upper[count == 0] = nan
    length = np.where(count == 0, 0.0, (upper - lower) * np.where(count > 1, 0.5, 1.0))
    hits, hits_f = rng.random(shape) < 0.8, rng.random(shape) < 0.9
    return Made(hits, hits_f, lower, upper, length, count), rng.normal(size=(targets, m))


def winkler(lower: float, upper: float, y: float, alpha: float) -> float:
    if lower != lower:
        return inf
    return (upper - lower) + 2 / alpha * (max(lower - y, 0.0) + max(y - upper, 0.0))


def apart(a: float, b: float) -> float:
    if a == b:
        return 0.0
    return abs(a - b) if abs(a) != inf and abs(b) != inf and a == a and b == b else inf


def difference(a: float, b: float) -> float:
    """A signed one: 0 between equal infinities, NaN if only one end is finite or there is none."""
    if a == b:
        return 0.0
    return a - b if np.isfinite(a) and np.isfinite(b) else nan


@pytest.mark.parametrize("seed", range(20))
def test_every_measure_is_its_definition(seed: int) -> None:
    scores, y = made(seed)
    found = compute_measures([scores], [y], ALPHA, reference=1, keep=DIFFERENCES)
    for t, p, k in np.ndindex(2, 3, len(ALPHA)):
        at = (t, p, slice(None), k)
        lower, upper, count = scores.lower[at], scores.upper[at], scores.count[at]
        width = [0.0 if c == 0 else u - lo for lo, u, c in zip(lower, upper, count, strict=True)]
        expected = {
            "coverage": np.mean(scores.hits[at]),
            "coverage_f": np.mean(scores.hits_f[at]),  # type: ignore[index]
            "width_mean": np.mean(width),
            "length_mean": np.mean(scores.length[at]),
            "interval_score": np.mean([winkler(lower[i], upper[i], y[t, i], ALPHA[k]) for i in range(7)]),
            "distance_lower": np.mean([apart(lower[i], scores.lower[t, 1, i, k]) for i in range(7)]),
            "distance_upper": np.mean([apart(upper[i], scores.upper[t, 1, i, k]) for i in range(7)]),
            "unbounded": np.mean([isinf(w) for w in width]),
            "empty": np.mean(count == 0),
            "disconnected": np.mean(count > 1),
        }
        for side in ("lower", "upper"):
            mine, other = getattr(scores, side)[at], getattr(scores, side)[t, 1, :, k]
            expected[f"difference_{side}"] = np.mean([difference(mine[i], other[i]) for i in range(7)])
        for name, value in expected.items():
            assert found[name][t, p, k] == pytest.approx(value, nan_ok=name in DIFFERENCES), name
        for i, q in enumerate(QUANTILES):
            assert found["width"][t, p, k, i] == np.quantile(width, q, method="inverted_cdf")


@given(st.lists(st.floats(0, 10) | st.just(inf), min_size=1, max_size=60))
def test_quantiles_are_inverted_cdf(values: list[float]) -> None:
    expected = np.quantile(np.array(values), QUANTILES, method="inverted_cdf")
    np.testing.assert_array_equal(quantiles(np.array(values)), expected)


def test_quantiles_at_exact_fractions() -> None:
    """0.95·20 is 19, whatever floats say."""
    for m in (1, 2, 20, 40, 100, 200, 201, 1001):
        places = [max(ceil(round(q * m, 9)), 1) for q in QUANTILES]
        np.testing.assert_array_equal(quantiles(np.arange(1.0, m + 1)), places)


def test_without_a_reference_or_f_there_is_nan() -> None:
    scores, y = made(0)
    blind = Made(scores.hits, None, scores.lower, scores.upper, scores.length, scores.count)
    found = compute_measures([blind], [y], ALPHA, reference=None, keep=DIFFERENCES)
    assert np.isnan(found["distance_lower"]).all()
    assert np.isnan(found["difference_upper"]).all()
    assert np.isnan(found["coverage_f"]).all()


def test_targets_are_measured_each_for_itself() -> None:
    scores, y = made(1)
    both = compute_measures([scores], [y], ALPHA, reference=0, keep=["pointwise"])
    fields = (scores.hits, scores.hits_f, scores.lower, scores.upper, scores.length, scores.count)
    second = Made(*(each[1:] for each in fields))  # type: ignore[index, arg-type]
    for name, values in compute_measures([second], [y[1:]], ALPHA, reference=0, keep=["pointwise"]).items():
        assert np.ascontiguousarray(both[name][1:]).tobytes() == np.ascontiguousarray(values).tobytes(), name


@pytest.mark.parametrize("others", [[], [0], [4, 12, 5]])
def test_samples_are_measured_each_for_itself(others: list[int]) -> None:
    """Also those with other numbers of targets."""
    alone = compute_measures([made(7)[0]], [made(7)[1]], ALPHA, 0, ["pointwise"])
    samples = [*(made(seed, targets=1 + seed % 3) for seed in others), made(7), made(3, targets=1)]
    start = sum(1 + seed % 3 for seed in others)
    together = compute_measures([scores for scores, _ in samples], [y for _, y in samples], ALPHA, 0, ["pointwise"])
    for name, values in together.items():
        part = np.ascontiguousarray(values[start : start + 2])
        assert part.tobytes() == np.ascontiguousarray(alone[name]).tobytes(), name


def test_a_sample_whose_f_is_unknown_costs_others_nothing() -> None:
    (known, y), (other, _) = made(2), made(3)
    blind = Made(other.hits, None, other.lower, other.upper, other.length, other.count)
    found = compute_measures([blind, known], [y, y], ALPHA, 0)["coverage_f"]
    assert np.isnan(found[:2]).all()
    assert np.array_equal(found[2:], compute_measures([known], [y], ALPHA, 0)["coverage_f"])


def test_samples_of_different_types_are_measured_one_by_one() -> None:
    """Else the bits of one would depend on the other: the caller then measures each alone."""
    scores, y = made(2)
    short = Made(
        *(each if each is None or each.dtype.kind != "f" else each.astype("f4") for each in vars(scores).values())
    )
    with pytest.raises(TypeError, match="one type, got float32 and float64"):
        compute_measures([scores, short], [y, y], ALPHA, 0)
    assert compute_measures([short], [y], ALPHA, 0)["width_mean"].dtype == np.float32
