"""Coverage in bins of x against a loop over points and bins."""

from __future__ import annotations

from math import floor, isqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from harness.compute.bins import average_by_bin, find_bins
from harness.compute.measures import OutcomeLaw, compute_measures
from harness.core.schema.axes import BINS
from harness.parsing.json import MalformedError
from harness.store.manifest import from_attributes, to_attributes
from tests.harness.compute.test_measures import ALPHA, made
from tests.harness.studies import run_serially

SIDE = {1: BINS, 2: isqrt(BINS)}


def bin_of(x: list[float], box: list[tuple[float, float]]) -> int:
    """The bin that a person would count: along the first variable, then row by row."""
    side = SIDE[len(box)]
    shares = [(each - low) / (high - low) for each, (low, high) in zip(x, box, strict=True)]
    places = [min(max(floor(share * side), 0), side - 1) for share in shares]
    return places[0] + (side * places[1] if len(box) == 2 else 0)


def test_the_bins_of_two_variables_are_a_square() -> None:
    assert SIDE[2] ** 2 == BINS


@given(st.integers(1, 2), st.lists(st.integers(-3, 3 * BINS), min_size=2, max_size=20), st.floats(0.01, 100))
def test_points_are_in_their_bins(d: int, where: list[int], length: float) -> None:
    """Also those on the border of two bins, outside, and on the end of the box. Lengths are halves of bins."""
    box = [(-1.0, -1.0 + length)] * d
    X = np.array([[(place + 0.5 * j + 0.25) / SIDE[d] * length - 1.0 for j in range(d)] for place in where])
    assert find_bins(X, box).tolist() == [bin_of(x, box) for x in X.tolist()]


def test_ends_of_the_box_are_inside() -> None:
    assert find_bins(np.array([[0.0], [1.0], [-9.0], [9.0]]), [(0.0, 1.0)]).tolist() == [0, BINS - 1, 0, BINS - 1]


@pytest.mark.parametrize("expected", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_each_bin_has_the_mean_of_its_points(seed: int, expected: bool) -> None:
    scores, y = made(10 + seed)
    scores.count[:] = 1
    rng = np.random.default_rng(seed)
    bins, X = rng.choice([0, 3, 3, BINS - 1], 7), rng.random((7, 1))
    law = OutcomeLaw(X, rng.normal(size=7), np.ones(2), lambda X, z: 1 / (1 + np.exp(-z)))
    keep = ["bins", *(["coverage_expected"] if expected else [])]
    found = compute_measures([scores], [y], ALPHA, None, keep, [law] if expected else [], [bins])["coverage_by_x"]
    for t, p, k, b in np.ndindex(found.shape):
        mine = [i for i in range(7) if bins[i] == b]
        each = [float(scores.hits[t, p, i, k]) for i in mine]
        if expected:
            ends = [[end[t, p, i, k] - law.f[i] for end in (scores.lower, scores.upper)] for i in mine]
            each = [1 / (1 + np.exp(-high)) - 1 / (1 + np.exp(-low)) for low, high in ends]
        assert found[t, p, k, b] == pytest.approx(sum(each) / len(mine) if mine else np.nan, nan_ok=True)


def test_samples_are_binned_each_for_itself() -> None:
    samples = [made(seed, targets=1 + seed % 2) for seed in (11, 12, 13)]
    bins = [np.random.default_rng(seed).integers(0, BINS, 7) for seed in (1, 2, 3)]
    each = [
        compute_measures([one], [y], ALPHA, 0, ["bins"], (), [b]) for (one, y), b in zip(samples, bins, strict=True)
    ]
    both = compute_measures([one for one, _ in samples], [y for _, y in samples], ALPHA, 0, ["bins"], (), bins)
    joined = np.concatenate([one["coverage_by_x"] for one in each])
    assert both["coverage_by_x"].tobytes() == joined.tobytes()


def test_an_average_over_no_points_is_missing() -> None:
    found = average_by_bin(np.array([[True, False]]), np.array([5, 5]))
    assert found[0, 5] == 0.5
    assert np.isnan(np.delete(found[0], 5)).all()


@pytest.mark.parametrize("box", ["[]", "[[0, 1], [0, 1], [0, 1]]", "[[1, 0]]", '[["a", 1]]', "[[0]]", "[0, 1]", "{}"])
def test_a_store_with_another_box_is_refused(box: str, tmp_path: Path) -> None:
    manifest = run_serially(tmp_path / "a", keep=["bins"], grid__n=[10], replications={"paths": 1})
    plain = to_attributes(manifest)
    assert from_attributes(plain).box == ((0.0, 1.0),)
    with pytest.raises(MalformedError, match="box"):
        from_attributes({**plain, "box": box})
    with pytest.raises(MalformedError, match="box"):
        from_attributes({**plain, "keep": "[]"})
