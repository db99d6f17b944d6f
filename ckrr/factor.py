"""One factorisation of K + λI with the test inputs that it serves: fit and score any number of targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ckrr._validation import (
    Array,
    check_columns,
    check_noise_sd,
    check_noise_sds,
    check_values,
)
from ckrr.evaluation.batching import Problem
from ckrr.evaluation.scores import Scores, score_problems
from ckrr.fitted import Fit
from ckrr.levels import ALPHA, Alpha
from ckrr.likelihood.profile import SearchResult
from ckrr.procedures import PROCEDURES, uses_weights
from ckrr.regions.smoothing import Smoothed, resolve_taus
from ckrr.regions.tail_sets import Indices
from ckrr.regions.weights import PointWeights, SampleWeights, check_weights
from ckrr.ridge.interface import FactorisedRidge
from ckrr.space import Space


class Factor:
    """One factorisation of K + λI, reused for any number of targets.

    Made by `Inputs.factor` and `Inputs.factor_ml`. Where θ was chosen on held-out rows of X, the factorisation is of
    the remaining `rows`.
    """

    def __init__(
        self,
        space: Space,
        X: Array,
        ridge: FactorisedRidge,
        X_test: Array,
        rows: Indices | None = None,
        weights: PointWeights | None = None,
        search: SearchResult | None = None,
    ) -> None:
        self._space, self._X, self._rows = space, X, slice(None) if rows is None else rows
        self._ridge, self._X_test = ridge, space.scale_points(X_test)
        self.theta, self.lam, self.scales, self.search = ridge.theta, ridge.lam, space.scales, search
        self.weights = weights

    @property
    def on_bound(self) -> bool | None:
        """Whether θ, λ or a scale that was searched for is at a bound of its range; None if nothing was."""
        found = self.search
        return None if found is None else found.on_bound or found.lam_on_bound or any(found.scales_on_bound)

    def __repr__(self) -> str:
        return f"<Factor of X of shape {self._ridge.X.shape}: theta={self.theta:g}, lam={self.lam:g}>"

    def fit(self, y: npt.ArrayLike, noise_sd: float | None = None) -> Fit:
        """Fit the model to one target; `noise_sd` is as in `ckrr.fit`."""
        y = check_values("y", y, len(self._X), of="X")
        kept = len(self._X), self._rows
        return Fit(
            self._space, self._X[self._rows], self._ridge, y[self._rows], self.search, kept, check_noise_sd(noise_sd)
        )

    def score(
        self,
        Y: npt.ArrayLike,
        Y_test: npt.ArrayLike,
        procedures: str | Sequence[str] = PROCEDURES,
        alpha: Alpha = ALPHA,
        boundary: str = ">=",
        f_test: npt.ArrayLike | None = None,
        smoothed: Smoothed | None = None,
        pit: Smoothed | None = None,
        weights: PointWeights | None = None,
        noise_sd: npt.ArrayLike | None = None,
    ) -> Scores:
        """Score procedures at the test inputs, for one or several targets.

        Parameters
        ----------
        Y : (n,) or (n, t) array
            Targets, one per column.
        Y_test : (m,) or (m, t) array
            Values of the targets at the test inputs.
        procedures, alpha, boundary
            As in `Fit.regions`, for several procedures at once.
        f_test : (m,) array, optional
            Values of the latent function at the test inputs. If given, the scores have `hits_f`.
        smoothed : Generator or (m,) array, optional
            As in `Fit.regions`, with the same τ for all targets.
        pit : Generator or (m,) array, optional
            Source of τ for the PIT, as in `Distribution.pit`. If given, the scores have `crps` and `pit`.
        weights : pair of (n,) and (m,) arrays, optional
            As in `Fit.regions`, for all targets; default: those of the `Inputs`.
        noise_sd : float or (t,) array, optional
            Standard deviation of the noise of each target, as in `ckrr.fit`.

        Returns
        -------
        Scores
            Arrays of shape (t, procedures, m, levels). Results are bitwise identical to scoring each target separately.
        """
        latent, by = None if f_test is None else [f_test], None if smoothed is None else [smoothed]
        pit_by = None if pit is None else [pit]
        weighted = None if weights is None else [weights]
        known = None if noise_sd is None else [noise_sd]
        more = (latent, by, pit_by, weighted, known)
        return score_together([self], [Y], [Y_test], procedures, alpha, boundary, *more)[0]

    def _make_problem(
        self, Y: npt.ArrayLike, Y_test: npt.ArrayLike, noise_sd: npt.ArrayLike | None
    ) -> tuple[Problem, Array]:
        train = check_columns("Y", Y, len(self._X), of="X")[self._rows]
        test = check_columns("Y_test", Y_test, len(self._X_test), of="X_test")
        if train.shape[1] != test.shape[1]:
            raise ValueError(f"Y_test must have {train.shape[1]} columns as Y has, got shape {np.shape(Y_test)}")
        targets = [self._ridge.make_target(np.ascontiguousarray(y)) for y in train.T]
        for t, sd in enumerate(() if noise_sd is None else check_noise_sds(noise_sd, len(targets))):
            targets[t] = targets[t].with_noise(sd, self.lam)
        return Problem(self._ridge, targets, self._X_test), test.T

    def _check_tau(self, smoothed: Smoothed, name: str = "smoothed") -> Array:
        tau = resolve_taus(smoothed, len(self._X_test), of="X_test", name=name)
        assert tau is not None
        return tau

    def _check_weights(self, weights: PointWeights) -> SampleWeights:
        return check_weights(weights, len(self._X), len(self._X_test), "X_test", self._rows)

    def _check_latent(self, f_test: npt.ArrayLike, targets: int) -> Array:
        f = check_values("f_test", f_test, len(self._X_test), of="X_test")
        return np.broadcast_to(f, (targets, len(f)))


def score_together(
    factors: Sequence[Factor],
    Y: Sequence[npt.ArrayLike],
    Y_test: Sequence[npt.ArrayLike],
    procedures: str | Sequence[str] = PROCEDURES,
    alpha: Alpha = ALPHA,
    boundary: str = ">=",
    f_test: Sequence[npt.ArrayLike] | None = None,
    smoothed: Sequence[Smoothed] | None = None,
    pit: Sequence[Smoothed] | None = None,
    weights: Sequence[PointWeights] | None = None,
    noise_sd: Sequence[npt.ArrayLike] | None = None,
) -> list[Scores]:
    """Score several factors at once, with results bitwise identical to `factor.score` for each.

    Up to twice as fast where n is small: small problems are stacked, so that NumPy's overhead per call is small
    against the arithmetic. The arguments are those of `Factor.score`, each with one entry for each factor.

    Examples
    --------
    >>> from ckrr import Inputs
    >>> rng = np.random.default_rng(0)
    >>> factors = [Inputs(rng.random(25), rng.random(201)).factor(100.0, 1e-6) for _ in range(10)]
    >>> scores = score_together(factors, list(rng.random((10, 25))), list(rng.random((10, 201))))
    >>> len(scores), scores[0].hits.shape
    (10, (1, 6, 201, 4))
    """
    if weights is None and uses_weights(procedures):
        weights = [factor.weights for factor in factors if factor.weights is not None] or None
    given: dict[str, Sequence[object] | None] = {"Y": Y, "Y_test": Y_test, "f_test": f_test, "smoothed": smoothed}
    for name, each in (given | {"pit": pit, "weights": weights, "noise_sd": noise_sd}).items():
        if each is not None and len(each) != len(factors):
            raise ValueError(f"{name} must have one entry for each of the {len(factors)} factors, got {len(each)}")
    known: Sequence[Any] = [None] * len(factors) if noise_sd is None else noise_sd
    asked = [one._make_problem(*its) for one, *its in zip(factors, Y, Y_test, known, strict=True)]
    problems, tests = [problem for problem, _ in asked], [test for _, test in asked]
    latent = None
    if f_test is not None:
        latent = [one._check_latent(f, len(test)) for one, f, test in zip(factors, f_test, tests, strict=True)]
    tau = None
    if smoothed is not None:
        tau = [one._check_tau(by) for one, by in zip(factors, smoothed, strict=True)]
    pit_tau = None
    if pit is not None:
        pit_tau = [one._check_tau(by, "pit") for one, by in zip(factors, pit, strict=True)]
    weighted = None if weights is None else [one._check_weights(w) for one, w in zip(factors, weights, strict=True)]
    return score_problems(problems, tests, procedures, alpha, boundary, latent, tau, pit_tau, weighted)
