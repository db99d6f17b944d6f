"""Maximise max_s ℓ(t, s), t = log θ and s = log λ, where ℓ is known for all s at each t that is evaluated.

max_s ℓ has kinks where the best s jumps, and a polynomial through points on both sides of one is no guess. But for a
fixed s ℓ is smooth in t. So polynomials interpolate ℓ for each s of a grid, and the maximum over s is taken of these.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array
from ckrr.likelihood.maximize import FRACTIONS, SearchGrid, make_polynomials
from ckrr.likelihood.ridge_curve import Best, interpolate_heights

_FRACTIONS = np.array(FRACTIONS)


class JointGrid(SearchGrid):
    """Points t and max_s ℓ there, with guesses between them from the rows ℓ(t, ·).

    Parameters
    ----------
    find : callable
        Returns max_s ℓ at some t.
    low, high, gaps
        As in `find_maximum`.
    """

    def __init__(self, find: Callable[[float], Best], low: float, high: float, gaps: int) -> None:
        self._find = find
        self.known: dict[float, Best] = {}
        super().__init__(self._evaluate, low, high, gaps)

    def _evaluate(self, t: Array) -> Array:
        for place in t.tolist():
            self.known[place] = self._find(place)
        return np.array([self.known[place].height for place in t.tolist()])

    def _guess_between(self, t: Array, coarse: Array) -> Array:
        rows, polynomials = self._stack_rows(t[::2].tolist()), make_polynomials(len(coarse) - 1, (0.5,))
        self._between = np.matmul(polynomials.weights[:, 0, None, :], rows[polynomials.around])[:, 0, :]
        return interpolate_heights(self._between)

    def _predict_scan(self, t: Array, h: Array, gaps: npt.NDArray[np.intp]) -> Array:
        polynomials = make_polynomials(len(t) - 1, FRACTIONS)
        places = t.tolist()
        rows = np.stack(
            [self.known[place].row if place in self.known else self._between[i // 2] for i, place in enumerate(places)]
        )
        curves = [
            _join_ends(interpolate_heights(polynomials.weights[gap] @ rows[polynomials.around[gap]]), *h[gap : gap + 2])
            for gap in gaps
        ]
        return np.array(curves).reshape(len(gaps), len(FRACTIONS))

    def _predict(self, t: list[float], h: list[float], start: float, end: float) -> list[float]:
        nodes, places = np.array(t), start + _FRACTIONS * (end - start)
        curve = interpolate_heights(_weigh_nodes(nodes, places) @ self._stack_rows(t))
        found: list[float] = _join_ends(curve, self.known[start].height, self.known[end].height).tolist()
        return found

    def _stack_rows(self, t: list[float]) -> Array:
        return np.stack([self.known[place].row for place in t])


def _join_ends(curve: Array, first: float, last: float) -> Array:
    """Return a curve at the fractions of a gap, moved so that its ends are the known heights: it has errors over s."""
    joined: Array = curve + (first - curve[0]) * (1 - _FRACTIONS) + (last - curve[-1]) * _FRACTIONS
    joined[0], joined[-1] = first, last
    return joined


def _weigh_nodes(nodes: Array, places: Array) -> Array:
    """Return the weights of nodes in the polynomial through them at some places, shape (places, nodes).

    Examples
    --------
    >>> _weigh_nodes(np.array([0.0, 1.0]), np.array([0.25]))
    array([[0.75, 0.25]])
    """
    apart = nodes[:, None] - nodes
    np.fill_diagonal(apart, 1.0)
    away = np.repeat((places[:, None] - nodes)[:, None, :], len(nodes), axis=1)
    each = np.arange(len(nodes))
    away[:, each, each] = 1.0
    weights: Array = (away / apart).prod(axis=2)
    return weights
