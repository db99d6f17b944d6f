"""Maximise a smooth function of one variable that has many peaks, in few evaluations.

A coarse scan is made finer by half where it may hide the highest peak. From then on gaps between points are cut, one
after the other or a few at a time: always those where the polynomial through the six points around, plus the
uncertainty ("doubt") in it, is highest. The doubt comes from evaluations, which show how far off the polynomial was. So
a wiggly stretch is sampled more densely than a smooth one, and a hopeless one is not sampled again. The search is
deterministic and depends on the function's values alone.

Arrays for the scan and plain numbers for the cuts: a cut is about ten numbers, and NumPy would take ten times as long.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import isfinite
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array

Function = Callable[[Array], Array]
"""Heights at several places."""

_RISE, _SLACK = 3.0, 0.3
"""In a gap of the coarse scan the function may rise above the ends by `_RISE` times the largest second difference
around it, plus `_SLACK`.

Over 4000 likelihoods at a step of 0.8 in log θ (all functions of the paper and rough ones, n = 2 … 200), no highest
peak rose above the ends by more than 0.2 of the second difference. Sums of sines with a period of 1 need 3: with 1.2
the highest peak was missed for 8 of 600.
"""

_DOUBT, _BEND = 2.0, 0.05
"""The doubt in a gap of the fine scan is `_DOUBT` times the largest error of the polynomial through the coarse scan
around, plus `_BEND` times the largest second difference there.

`tests/ckrr/likelihood/test_guarantee.py` counts the peaks that are missed; with 0.75 and 0, 3 of 27 000 were, by up to
0.14: the error was small by chance at the points that were evaluated.
"""

_GAIN = 2e-4
"""A promised gain up to this is not worth another evaluation."""

_TOGETHER = 3
"""Gaps that are cut at a time: one would save 1 % of the evaluations, and take half as many rounds again."""

_MOST = 60
"""Maximum cuts after the scan: several times what the functions of the paper need, a bound for pure noise."""

_TRUST = 1 / 32
"""The doubt falls to no less than this fraction when a gap is cut: one good guess may be luck."""

_FAILED = 1 / 2
"""The doubt falls to this fraction where the function is −inf: about ten cuts find the end of the finite range."""

_NARROW = 1e-9
"""Narrower gaps are not cut: rounding would put the new point on an end."""

_NODES = 6
"""Points that a polynomial interpolates."""
_DIFFERENCES = [(i, order) for order in range(1, _NODES) for i in range(_NODES - 1, order - 1, -1)]
"""Divided differences in the order in which they overwrite one another: the last point, and the order."""

_PARTS = 12
FRACTIONS = tuple(i / _PARTS for i in range(_PARTS + 1))
"""Where in a gap the polynomial is evaluated."""
_ARCH = tuple(4 * x * (1 - x) for x in FRACTIONS)
"""Share of the doubt that applies there: none at the ends, whose heights are known."""
_ARCH_ROW = np.array(_ARCH)

Gap = tuple[float, float, float, float, float, float]
"""Minus the promise of a gap, for a heap; its ends; the most promising place, the polynomial there, and the doubt."""


class SearchGrid:
    """Points t in ascending order and the heights h there, with a heap of the gaps between them that may matter."""

    def __init__(self, f: Function, low: float, high: float, gaps: int) -> None:
        """Evaluate the function at every second of some equidistant points, and at those between that may matter."""
        self.f = f
        t, h = low + (high - low) * np.arange(gaps + 1) / gaps, np.empty(gaps + 1)
        h[::2] = coarse = f(t[::2])
        rise = _estimate_rise(coarse)
        alive = np.maximum(coarse[:-1], coarse[1:]) + rise >= coarse.max()
        h[1::2] = guess = self._guess_between(t, coarse)
        between = 2 * np.flatnonzero(alive) + 1
        if len(between):
            h[between] = f(t[between])
        known = np.ones(gaps + 1, dtype=bool)
        known[1::2] = alive
        self.t: list[float] = t[known].tolist()
        self.h: list[float] = h[known].tolist()
        self.top = max(self.h)
        self.gaps: list[Gap] = []
        self._add_gaps_of_scan(t, h, _estimate_doubt(h, guess, alive, rise))

    def _add_gaps_of_scan(self, t: Array, h: Array, doubt: Array) -> None:
        """Add the gaps of the fine scan that are not hopeless; in h guesses stand for heights that are not known."""
        finite = np.isfinite(h)
        gaps = np.flatnonzero((doubt >= 0) & (finite[:-1] | finite[1:]))
        curves = self._predict_scan(t, h, gaps)
        promising = (curves + doubt[gaps, None] * _ARCH_ROW).max(axis=1) > self.top
        edges = finite[gaps] != finite[gaps + 1]
        for i, curve in zip(gaps[promising & ~edges].tolist(), curves[promising & ~edges].tolist(), strict=True):
            self._add_gap(float(t[i]), float(t[i + 1]), curve, float(doubt[i]))
        for i in gaps[edges].tolist():
            self._add_edge(float(t[i]), float(t[i + 1]), float(h[i : i + 2].max()), float(doubt[i]))

    def _add_gap(self, start: float, end: float, curve: list[float], doubt: float) -> None:
        """Add a gap to the heap, given the polynomial at the fractions."""
        promises = [height + share * doubt for height, share in zip(curve, _ARCH, strict=True)]
        fraction, promise = _find_peak(promises)
        place = start + fraction * (end - start)
        guess = promise - 4 * fraction * (1 - fraction) * doubt
        heappush(self.gaps, (-promise, start, end, place, guess, doubt))

    def _add_edge(self, start: float, end: float, height: float, doubt: float) -> None:
        """Add a gap with one finite end, given its height: no polynomial, but the middle finds where f ends."""
        heappush(self.gaps, (-(height + doubt), start, end, 0.5 * (start + end), height, doubt))

    @property
    def best(self) -> int:
        """Index of the highest point, the first of several."""
        return self.h.index(self.top)

    def choose(self) -> list[Gap]:
        """Remove the most promising gaps from the heap and return them: none if there is nothing to gain."""
        chosen = self._remove_promising()
        if not chosen:
            self._renew_gaps_beside_best()
            chosen = self._remove_promising()
        return chosen

    def _renew_gaps_beside_best(self) -> None:
        """Compute anew the polynomials in the gaps beside the best point: points around may have come since."""
        place = self.t[self.best]
        beside = [gap for gap in self.gaps if place in gap[1:3]]
        self.gaps = [gap for gap in self.gaps if place not in gap[1:3]]
        heapify(self.gaps)
        for _, start, end, _, _, doubt in beside:
            self._add_cut_gap(start, end, doubt)

    def _remove_promising(self) -> list[Gap]:
        chosen: list[Gap] = []
        while self.gaps and len(chosen) < _TOGETHER and -self.gaps[0][0] > self.top + _GAIN:
            gap = heappop(self.gaps)
            if gap[2] - gap[1] > _NARROW:
                chosen.append(gap)
        return chosen

    def cut(self, chosen: list[Gap]) -> None:
        """Evaluate the function in some gaps, and update the doubt by the error of the polynomial there.

        Between two known points the error of a smooth guess grows at least with the square of their distance.
        """
        heights = self.f(np.array([gap[3] for gap in chosen])).tolist()
        for (_, _, _, place, _, _), height in zip(chosen, heights, strict=True):
            at = bisect_left(self.t, place)
            self.t.insert(at, place)
            self.h.insert(at, height)
            self.top = max(self.top, height)
        for (_, start, end, place, guess, doubt), height in zip(chosen, heights, strict=True):
            off = abs(height - guess) if isfinite(height) else _FAILED * doubt
            left = (place - start) / (end - start)
            doubt = max(off, _TRUST * doubt) / (4 * left * (1 - left))  # near an end any guess is a good one
            self._add_cut_gap(start, place, doubt * min(1.0, 4 * left**2))
            self._add_cut_gap(place, end, doubt * min(1.0, 4 * (1 - left) ** 2))

    def _add_cut_gap(self, start: float, end: float, doubt: float) -> None:
        first = bisect_left(self.t, start)
        ends = self.h[first : first + 2]
        if not all(map(isfinite, ends)):
            if any(map(isfinite, ends)):
                self._add_edge(start, end, max(ends), doubt)
            return
        low = min(max(first - _NODES // 2 + 1, 0), len(self.t) - _NODES)
        t, h = self.t[low : low + _NODES], self.h[low : low + _NODES]
        if not all(map(isfinite, h)):
            least = min(height for height in self.h if isfinite(height))
            h = [height if isfinite(height) else least for height in h]
        self._add_gap(start, end, self._predict(t, h, start, end), doubt)

    def _guess_between(self, t: Array, coarse: Array) -> Array:
        """Return the polynomials of the coarse scan in the middle of its gaps, given its heights at t[::2]."""
        gaps = len(coarse) - 1
        return make_polynomials(gaps, (0.5,)).evaluate(coarse, np.arange(gaps))[:, 0]

    def _predict_scan(self, t: Array, h: Array, gaps: npt.NDArray[np.intp]) -> Array:
        """Return the polynomials of the fine scan in some gaps, at the fractions of each."""
        return make_polynomials(len(t) - 1, FRACTIONS).evaluate(h, gaps)

    def _predict(self, t: list[float], h: list[float], start: float, end: float) -> list[float]:
        """Return the polynomial through six points in a gap, at the fractions of it."""
        return _evaluate_polynomial(t, h, start, end)


Grid = TypeVar("Grid", bound=SearchGrid)


def find_maximum(f: Function, low: float, high: float, gaps: int) -> SearchGrid:
    """Maximise f between low and high; return all points evaluated, the highest of which is the maximum.

    Parameters
    ----------
    f : callable
        Returns the heights at an array of places.
    low, high : float
    gaps : int
        Number of gaps of the fine scan: an even number, at least 10.

    Examples
    --------
    >>> seen = find_maximum(lambda t: np.cos(5 * t) - (t - 3) ** 2, 0.0, 10.0, gaps=50)
    >>> round(seen.t[seen.best], 3), len(seen.t)
    (2.551, 44)
    """
    with np.errstate(all="ignore"):  # heights may be infinite; set once, since it takes as long as an evaluation
        return refine(SearchGrid(f, low, high, gaps))


def refine(seen: Grid) -> Grid:
    """Cut the gaps of a scan until none promises to gain anything, and return it."""
    for _ in range(_MOST // _TOGETHER):
        chosen = seen.choose()
        if not chosen:
            break
        seen.cut(chosen)
    return seen


def _estimate_rise(h: Array) -> Array:
    """Estimate the rise in each gap of the coarse scan from the largest of the four second differences around it."""
    bend = np.abs(h[2:] - 2 * h[1:-1] + h[:-2])
    padded = np.zeros(len(h) + 2)
    padded[2:-2] = np.where(np.isfinite(bend), bend, 0.0)  # inf − inf carries no information
    pairs = np.maximum(padded[1:], padded[:-1])
    rise: Array = _RISE * np.maximum(pairs[2:], pairs[:-2]) + _SLACK
    return rise


def _estimate_doubt(h: Array, guess: Array, alive: npt.NDArray[np.bool_], rise: Array) -> Array:
    """Estimate the doubt in each gap of the fine scan; NaN in those that are hopeless.

    It comes from the error of the guess in the same gap of the coarse scan and the two beside it.
    """
    off = np.zeros(len(guess) + 2)
    off[1:-1] = np.abs(h[1::2] - guess)  # 0 where the function was not evaluated
    off[~np.isfinite(off)] = 0.0
    finite = np.isfinite(h)
    worst = _DOUBT * np.maximum(np.maximum(off[:-2], off[2:]), off[1:-1]) + _BEND / _RISE * (rise - _SLACK)
    doubt = np.where(finite[:-2:2] & finite[1::2] & finite[2::2], worst, rise)
    doubt[~alive] = np.nan
    return np.repeat(doubt, 2)


class Polynomials(NamedTuple):
    """The polynomials through the six points around each gap between equidistant points."""

    around: npt.NDArray[np.intp]
    """The points, shape (gaps, 6)."""
    weights: Array
    """Their weights at some fractions of the gap, shape (gaps, fractions, 6)."""

    def evaluate(self, h: Array, gaps: npt.NDArray[np.intp]) -> Array:
        """Return the polynomials of some gaps, shape (gaps, fractions).

        The smallest finite height stands for infinite ones.
        """
        finite = np.isfinite(h)
        if not finite.all():
            h = np.where(finite, h, h[finite].min() if finite.any() else 0.0)
        curves: Array = np.add.reduce(self.weights[gaps] * h[self.around[gaps]][:, None, :], axis=2)
        return curves


@lru_cache(maxsize=8)
def make_polynomials(gaps: int, fractions: tuple[float, ...]) -> Polynomials:
    """Return the polynomials at some fractions of each of so many gaps."""
    low = np.clip(np.arange(gaps) - _NODES // 2 + 1, 0, gaps + 1 - _NODES)
    around = low[:, None] + np.arange(_NODES)
    place = np.arange(gaps)[:, None] + np.array(fractions)
    weights = [
        np.prod([(place - around[:, [j]]) / (i - j) for j in range(_NODES) if j != i], axis=0) for i in range(_NODES)
    ]
    return Polynomials(around, np.stack(weights, axis=2))


def _find_peak(curve: list[float]) -> tuple[float, float]:
    """Return where in the gap the curve, given at the fractions, is highest, and its height there."""
    highest = max(curve)
    i = curve.index(highest)
    if not 0 < i < _PARTS:
        return FRACTIONS[i], highest
    a, b, c = curve[i - 1 : i + 2]
    step = 0.5 * (a - c) / (a - 2 * b + c) if a - 2 * b + c else 0.0  # the parabola through three points
    return FRACTIONS[i] + step / _PARTS, b - 0.25 * (a - c) * step


def _evaluate_polynomial(t: list[float], h: list[float], start: float, end: float) -> list[float]:
    """Evaluate the polynomial through six points at the fractions of a gap, by Newton's divided differences."""
    c = list(h)
    for i, order in _DIFFERENCES:
        c[i] = (c[i] - c[i - 1]) / (t[i] - t[i - order])
    (t0, t1, t2, t3, t4, _), (c0, c1, c2, c3, c4, c5), width = t, c, end - start
    return [
        ((((c5 * (x - t4) + c4) * (x - t3) + c3) * (x - t2) + c2) * (x - t1) + c1) * (x - t0) + c0
        for x in [start + fraction * width for fraction in FRACTIONS]
    ]
