"""Choose θ and λ together by maximum likelihood.

At the best σ² = y′Qy/n the log marginal likelihood is ::

    ℓ(θ, λ) = −n/2·(log 2π + log σ̂²(θ, λ) + 1) − ½ log|K_θ + λI|

One decomposition of K_θ gives ℓ for all λ (`ckrr.likelihood.curves`), so the search is over log θ alone, for
max_λ ℓ(θ, λ), by the search that is used with λ given (`ckrr.likelihood.maximize`). With t = log θ and s = log λ,
max_s ℓ has kinks where the best s jumps, and a polynomial through points on both sides of one is no guess. But for a
fixed s ℓ is smooth in t. So polynomials interpolate ℓ for each s of a grid, and the maximum over s is taken of these.
For data without noise ℓ rises to the lowest λ of the range: the result is then on the bound, which is no failure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, log

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array, check_positive
from ckrr.likelihood.curves import BestLams
from ckrr.likelihood.holdout import HOLDOUT_ARD, HOLDOUT_JOINT
from ckrr.likelihood.maximize import FRACTIONS, SearchGrid, make_polynomials, refine
from ckrr.likelihood.profile import GAPS, HIGHEST, LOWEST, Profile, SearchResult
from ckrr.likelihood.ridge_curve import HIGHEST_LAM, LOWEST_LAM, Best, clip_lam, interpolate_heights, is_on_bound
from ckrr.likelihood.spectrum import Targets

FINDS_LAM = ("ml-joint", "ml-ard", HOLDOUT_JOINT, HOLDOUT_ARD)
"""Values of `theta` with which λ is found, too: a given one isn't used."""
FINDS_SCALES = ("ml-ard", HOLDOUT_ARD)
"""Those that find a scale for each coordinate."""
_FRACTIONS = np.array(FRACTIONS)


def check_lam(lam: float | None, theta: object) -> float:
    """Return a given λ as a float; any number if the search finds λ."""
    return 1.0 if theta in FINDS_LAM else check_positive("lam", lam)


def search_joint(likelihood: Profile, ys: Sequence[Array]) -> list[SearchResult]:
    """Find the global maximum over θ and λ for each of several targets on the same X, which share decompositions.

    The λ of `likelihood` isn't used. Results are bitwise identical to searching for each target separately.

    Examples
    --------
    >>> from ckrr.likelihood.profile import Likelihood
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> y = np.sin(8 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(30)
    >>> (found,) = search_joint(Likelihood(X, y, lam=1.0), [y])
    >>> round(found.theta, 1), round(found.lam, 4), found.on_bound, found.lam_on_bound
    (8.3, 0.0042, False, False)
    """
    reach = float(np.ptp(likelihood.X, axis=0).max()) or 1.0
    low, high = log(LOWEST / reach**2), log(HIGHEST / reach**2)
    targets = Targets.make(ys, likelihood.has_mean)
    curves = _Shared(likelihood.make_curves(targets))
    results = []
    with np.errstate(all="ignore"):  # heights are infinite for y = 0
        for i, y in enumerate(ys):
            if targets.columns[i].any():
                seen = refine(JointGrid(lambda t, i=i: curves.find(i, t), low, high, GAPS))  # type: ignore[misc]
                best, count = seen.t[seen.best], len(seen.t)
                lam = clip_lam(seen.known[best].log_lam)
            else:  # ℓ is infinite everywhere
                best, count, lam = low, 0, LOWEST_LAM
            results.append(
                SearchResult(
                    theta=exp(best),
                    bounds=(exp(low), exp(high)),
                    on_bound=best - low < 1e-3 or high - best < 1e-3,
                    evaluations=count,
                    likelihood=replace(likelihood, y=y, lam=lam),
                    lam=lam,
                    lam_bounds=(LOWEST_LAM, HIGHEST_LAM),
                    lam_on_bound=is_on_bound(lam),
                )
            )
    return results


class _Shared:
    """max_λ ℓ of each target over log θ, kept for all targets: the next one needs many of the same places."""

    def __init__(self, find: BestLams) -> None:
        self._find = find
        self._known: dict[float, list[Best]] = {}

    def find(self, target: int, t: float) -> Best:
        if t not in self._known:
            self._known[t] = self._find(exp(t))
        return self._known[t][target]


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
