"""Choose θ and λ together by maximum likelihood.

At the best σ² = y′Qy/n the log marginal likelihood is ::

    ℓ(θ, λ) = −n/2·(log 2π + log σ̂²(θ, λ) + 1) − ½ log|K_θ + λI|

One decomposition of K_θ gives ℓ for all λ (`ckrr.likelihood.curves`), so the search is over log θ alone, for
max_λ ℓ(θ, λ), in the places where the search with λ given would look, too (`ckrr.likelihood.joint_grid`).
For data without noise ℓ rises to the lowest λ of the range: the result is then on the bound, which is no failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log

import numpy as np

from ckrr._validation import Array
from ckrr.likelihood.curves import BestLams
from ckrr.likelihood.joint_grid import JointGrid
from ckrr.likelihood.maximize import refine
from ckrr.likelihood.profile import GAPS, HIGHEST, LOWEST, Profile, SearchResult
from ckrr.likelihood.ridge_curve import HIGHEST_LAM, LOWEST_LAM, Best, clip_lam, is_on_bound
from ckrr.likelihood.spectrum import Targets


def search_joint(likelihood: Profile, ys: Sequence[Array], has_mean: bool = False) -> list[SearchResult]:
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
    targets = Targets.make(ys, has_mean)
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
