"""Find the most likely λ at one θ.

In s = log λ, ℓ is an analytic function in the strip |Im s| < π: the singularities of log(d_i + λ) are at negative λ,
and so are the zeros of Σ g_i²/(d_i + λ), whose weights are positive. By Cauchy's estimate its derivatives are at most
M k!/π^k, M being about its size there, so values in steps of ½ determine it: the polynomial through eight of them is
off by about 2e-5 M inside the range. Wherever that polynomial has a peak that may be the highest, ℓ itself is
evaluated, in three rounds of parabolas. ℓ may have several peaks over λ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import exp, log
from typing import NamedTuple

import numpy as np

from ckrr._validation import Array

LOWEST_LAM, HIGHEST_LAM = 1e-8, 1e2
"""The search is over this range of λ. Noise-free data have their maximum at its lower end."""

_LOW, _HIGH = log(LOWEST_LAM), log(HIGHEST_LAM)
_GAPS = 46
"""Gaps between values of log λ, each of ½."""
_PARTS = 6
"""Parts of each gap at which the polynomial is evaluated."""
_NODES = 8
"""Points that a polynomial interpolates."""
_SLACK = 0.05
"""Peaks of the polynomial this far below the highest one may yet be higher."""
_ROUNDS, _SHRINK = 3, 8.0
"""Parabolas, and how much closer the points of each are than those of the one before."""
_NEAR = 1e-3
"""A λ is on a bound if its logarithm is this near to that of the bound."""

Heights = Callable[[Array], Array]
"""Returns ℓ for several log λ."""

GRID: Array = np.linspace(_LOW, _HIGH, _GAPS + 1)
"""Values of log λ at which ℓ is evaluated first."""


class Best(NamedTuple):
    """The largest ℓ over λ at one θ."""

    height: float
    log_lam: float
    """Where it is."""
    row: Array
    """ℓ on `GRID`."""


def find_best_lam(f: Heights) -> Best:
    """Return the largest ℓ over λ.

    Parameters
    ----------
    f : callable
        ℓ over log λ.

    Warnings about infinite heights are the caller's to silence.

    Examples
    --------
    >>> height, s, _ = find_best_lam(lambda s: -((s + 2.0) ** 2))
    >>> round(height, 9), round(s, 6)
    (-0.0, -2.0)
    """
    h = f(GRID)
    best = int(np.argmax(h))
    found = float(h[best]), float(GRID[best])
    if not np.isfinite(h).all():
        return Best(*found, h)
    curve = _interpolate() @ h
    step = (_HIGH - _LOW) / (_GAPS * _PARTS)
    higher = _climb(f, np.array([_LOW + place * step for place in _find_peaks(curve)]), step)
    return Best(*max(found, higher, key=lambda pair: pair[0]), h)


def interpolate_heights(rows: Array) -> Array:
    """Return the largest ℓ over λ for each row of values on `GRID`, by the polynomials between these."""
    heights: Array = (rows @ _interpolate().T).max(axis=1)
    return heights


def is_on_bound(lam: float) -> bool:
    """Return whether λ is at an end of its range."""
    return not _LOW + _NEAR < log(lam) < _HIGH - _NEAR


def clip_lam(s: float) -> float:
    """Return λ for log λ, exactly the bound where it is on one."""
    if s <= _LOW + 1e-12:
        return LOWEST_LAM
    return HIGHEST_LAM if s >= _HIGH - 1e-12 else exp(s)


def _find_peaks(curve: Array) -> list[int]:
    """Return where the curve has a peak that may be the highest."""
    padded = np.concatenate([[-np.inf], curve, [-np.inf]])
    is_peak = (curve >= padded[:-2]) & (curve > padded[2:]) & (curve >= curve.max() - _SLACK)
    found: list[int] = np.flatnonzero(is_peak).tolist()
    return found


def _climb(f: Heights, s: Array, step: float) -> tuple[float, float]:
    """Return the highest of some points around each s, chosen by parabolas, and where it is."""
    places, heights = [], []
    for _ in range(_ROUNDS):
        middle = np.clip(s, _LOW + step, _HIGH - step)
        around = middle + step * np.array([[-1.0], [0.0], [1.0]])
        h = f(around.ravel()).reshape(around.shape)
        places.append(around)
        heights.append(h)
        bend = h[0] - 2 * h[1] + h[2]
        vertex = np.clip(0.5 * (h[0] - h[2]) / np.where(bend < 0, bend, -1.0), -1.0, 1.0)
        s = np.where(bend < 0, middle + step * vertex, around[h.argmax(axis=0), np.arange(len(s))])
        step /= _SHRINK
    places.append(s[None])
    heights.append(f(s)[None])
    found, where = np.concatenate(heights).ravel(), np.concatenate(places).ravel()
    best = int(np.argmax(found))
    return float(found[best]), float(where[best])


@cache
def _interpolate() -> Array:
    """Return the matrix from heights on `GRID` to those of the polynomials at all parts of all gaps."""
    found = np.zeros((_GAPS * _PARTS + 1, _GAPS + 1))
    for i in range(len(found)):
        x = i / _PARTS
        first = min(max(int(x) - _NODES // 2 + 1, 0), _GAPS + 1 - _NODES)
        nodes = range(first, first + _NODES)
        for j in nodes:
            found[i, j] = np.prod([(x - k) / (j - k) for k in nodes if k != j])
    return found
