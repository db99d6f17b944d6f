"""Maximise a smooth function of one variable that has many peaks, in few evaluations.

After a scan, the function is evaluated at one point after another: each time where the polynomial through the six
points around, plus the uncertainty ("doubt") in it, is highest. In the scan the doubt comes from second differences;
later every evaluation shows how far off the polynomial was. So a wiggly stretch is sampled more densely than a smooth
one, and a hopeless one is not sampled again. The search is deterministic and depends on the function's values alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from ckrr._validation import Array

_RISE, _SLACK = 0.6, 0.3
"""The doubt in a gap of the scan is `_RISE` times the largest second difference around it, plus `_SLACK`.

Over all functions of the paper, at a step of 0.4 in log θ, ℓ was above the polynomial by up to 0.54 of the largest
second difference around the gap near the highest peak, by up to 1.3 of it far below.
"""

_GAIN = 2e-4
"""A promised gain up to this is not worth another evaluation."""

_MOST = 60
"""Maximum evaluations after the scan: several times what the functions of the paper need, a bound for pure noise."""

_TRUST = 1 / 32
"""The doubt falls to no less than this fraction when a gap is cut: one good guess may be luck."""

_FAILED = 1 / 4
"""The doubt falls to this fraction where the function is −inf: about ten cuts find the end of the finite range."""

_NARROW = 1e-9
"""Narrower gaps are not cut: rounding would put the new point on an end."""

_NODES = 6
"""Points that a polynomial interpolates."""

_FRACTIONS = np.arange(17) / 16
"""Where in a gap the polynomial is evaluated."""


class SearchGrid:
    """Points t in ascending order, the heights h there, and the doubt in each gap between them (NaN: hopeless)."""

    def __init__(self, f: Callable[[float], float], t: Array) -> None:
        self.f, self.t = f, t
        self.h = np.array([f(float(place)) for place in t])
        self.doubt = _estimate_doubt(self.h)

    @property
    def best(self) -> int:
        """Index of the highest point, the first of several."""
        return int(np.argmax(self.h))

    def cut(self, gap: int, place: float) -> None:
        """Evaluate the function at a place in a gap, and update the doubt by the error of the polynomial there.

        Between two known points the error of a smooth guess grows at least with the square of their distance.
        """
        (guess,) = _interpolate(self.t, self.h, np.array([[place]]), np.array([gap]))[0]
        height = self.f(place)
        off = abs(height - guess) if np.isfinite(height) else _FAILED * self.doubt[gap]
        doubt = max(off, _TRUST * self.doubt[gap])
        left = (place - self.t[gap]) / (self.t[gap + 1] - self.t[gap])
        self.t = np.insert(self.t, gap + 1, place)
        self.h = np.insert(self.h, gap + 1, height)
        self.doubt = np.insert(self.doubt, gap, doubt * min(1.0, 4 * left**2))
        self.doubt[gap + 1] = doubt * min(1.0, 4 * (1 - left) ** 2)


def find_maximum(f: Callable[[float], float], low: float, high: float, gaps: int) -> SearchGrid:
    """Maximise f between low and high; return all points evaluated, the highest of which is the maximum.

    Examples
    --------
    >>> seen = find_maximum(lambda t: np.cos(5 * t) - (t - 3) ** 2, 0.0, 10.0, gaps=25)
    >>> round(float(seen.t[seen.best]), 3), len(seen.t)
    (2.55, 34)
    """
    seen = SearchGrid(f, np.linspace(low, high, gaps + 1))
    for _ in range(_MOST):
        gap, place, promise = _find_most_promising(seen)
        if not promise > seen.h.max() + _GAIN:
            break
        seen.cut(gap, place)
    return seen


def _estimate_doubt(h: Array) -> Array:
    """Estimate the doubt in each gap of the scan from the largest of the four second differences around it.

    It is NaN where the ends plus twice the doubt stay below the highest point: such a gap is not sampled again.
    """
    with np.errstate(invalid="ignore"):  # inf − inf carries no information
        bend = np.abs(np.diff(h, 2))
    bend = np.pad(np.where(np.isfinite(bend), bend, np.nan), 2, constant_values=np.nan)
    doubt: Array = _RISE * np.fmax.reduce(sliding_window_view(bend, 4), axis=1) + _SLACK
    return np.where(np.maximum(h[:-1], h[1:]) + 2 * doubt >= h.max(), doubt, np.nan)


def _find_most_promising(seen: SearchGrid) -> tuple[int, float, float]:
    """Return the most promising gap, the most promising place in it, and its promise: polynomial plus doubt.

    The doubt is that of the middle of the gap; it falls to 0 towards the ends, whose heights are known.
    """
    finite = np.isfinite(seen.h)
    gaps = np.flatnonzero(np.isfinite(seen.doubt) & (finite[:-1] | finite[1:]) & (np.diff(seen.t) > _NARROW))
    if not len(gaps):
        return 0, float(seen.t[0]), -np.inf
    start, width = seen.t[gaps, None], np.diff(seen.t)[gaps, None]
    inside = _interpolate(seen.t, seen.h, start + width * _FRACTIONS[1:-1], gaps)
    curves = np.column_stack([seen.h[gaps], inside, seen.h[gaps + 1]])
    curves += 4 * _FRACTIONS * (1 - _FRACTIONS) * seen.doubt[gaps, None]
    i = int(np.argmax(curves.max(axis=1)))
    fraction, promise = _find_peak(curves[i])
    return int(gaps[i]), float(start[i, 0] + fraction * width[i, 0]), promise


def _find_peak(curve: Array) -> tuple[float, float]:
    """Return where in the gap the curve, given at the fractions, is highest, and its height there."""
    i = int(np.argmax(curve))
    if not 0 < i < len(curve) - 1:
        return float(_FRACTIONS[i]), float(curve[i])
    a, b, c = curve[i - 1 : i + 2]
    step = 0.5 * (a - c) / (a - 2 * b + c) if a - 2 * b + c else 0.0  # the parabola through three points
    return float(_FRACTIONS[i] + step * _FRACTIONS[1]), float(b - 0.25 * (a - c) * step)


def _interpolate(t: Array, h: Array, places: Array, gaps: npt.NDArray[np.intp]) -> Array:
    """Evaluate the polynomial through the six points around each gap at the given places, shape (gaps, any)."""
    around = np.clip(gaps - _NODES // 2 + 1, 0, len(t) - _NODES)[:, None] + np.arange(_NODES)
    finite = np.isfinite(h)
    t, h = t[around], np.where(finite, h, h[finite].min(initial=0.0))[around]
    between = t[:, :, None] - t[:, None, :]
    between[:, range(_NODES), range(_NODES)] = 1.0
    terms = 1.0 / (between.prod(axis=2)[:, None, :] * (places[:, :, None] - t[:, None, :]))  # barycentric
    curves: Array = (terms * h[:, None, :]).sum(axis=2) / terms.sum(axis=2)
    return curves
