"""The fitted model: predictions, regions and p-values from one factorisation and one target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, log, pi

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array, check_choice, check_points, check_values
from ckrr.distribution import ConformalDistribution, Distribution, NormalDistribution
from ckrr.evaluation.batching import Problem, iter_evaluators
from ckrr.evaluation.case import ProcedureEvaluator
from ckrr.evaluation.scores import (
    Scores,
    gather_spans,
    gather_weights,
    has_conformal,
    join_weights,
    score_problems,
)
from ckrr.evaluation.stacking import RowSpan
from ckrr.evaluation.weighting import RowWeights
from ckrr.levels import ALPHA, Alpha, check_boundary, parse_alphas
from ckrr.likelihood.profile import SearchResult
from ckrr.procedures import ALL_PROCEDURES, PROCEDURES, WEIGHTED, Levels, check_distribution, check_weighting
from ckrr.regions.intervals import Regions, stack_regions
from ckrr.regions.smoothing import Smoothed, resolve_taus
from ckrr.regions.tail_sets import Indices
from ckrr.regions.weights import PointWeights, SampleWeights, check_weights
from ckrr.ridge.exact import Target
from ckrr.ridge.interface import FactorisedRidge
from ckrr.space import Space


class Fit:
    """Kernel ridge regression fitted to one training sample.

    Made by `ckrr.fit`. All methods use the one factorisation that it holds.

    Attributes
    ----------
    X, y : array
        The training sample; with `theta="holdout"`, without the held-out rows.
    search : SearchResult or None
        Outcome of the search for θ (and λ, and scales), if there was one: bounds, whether any is on one, likelihood.
    noise_sd : float or None
        Standard deviation of the noise, if it was given.
    """

    def __init__(
        self,
        space: Space,
        X: Array,
        ridge: FactorisedRidge,
        y: Array,
        search: SearchResult | None = None,
        kept: tuple[int, Indices | slice] | None = None,
        noise_sd: float | None = None,
    ) -> None:
        self._space, self._ridge = space, ridge
        self._kept = (len(X), slice(None)) if kept is None else kept  # number of rows given, and those in use
        self.X, self.y, self.search, self.noise_sd = X, y, search, noise_sd
        self._estimated = ridge.make_target(y)
        self._target: Target = self._estimated if noise_sd is None else self._estimated.with_noise(noise_sd, ridge.lam)

    @property
    def theta(self) -> float:
        """Kernel parameter θ = 1/(2ℓ²), ℓ the length scale; NaN for the linear kernel, which has none."""
        return self._ridge.theta

    @property
    def lam(self) -> float:
        """Ridge λ."""
        return self._ridge.lam

    @property
    def scales(self) -> Array | None:
        """Unit of each coordinate: given, or found by the search; None for points as they are."""
        return self._space.scales

    @property
    def sigma2(self) -> float:
        """Estimated variance σ̂² = y′(K + λI)⁻¹y / n, or of y − μ̂ with a constant mean μ; also where σ is known."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(self._estimated.sigma2, 2 * self._estimated.exponent))

    @property
    def mean(self) -> float:
        """Estimated mean μ̂ of y; 0 for the mean "zero"."""
        return float(self._target.unscale(np.array(self._target.mean)))

    @property
    def log_likelihood(self) -> float:
        """Log marginal likelihood at σ̂²: −n/2·(log 2π + log σ̂² + 1) − ½ log|K + λI|; inf if σ̂² = 0."""
        n = self._ridge.n
        if self._estimated.sigma2 == 0:
            return inf
        log_sigma2 = log(self._estimated.sigma2) + 2 * self._estimated.exponent * log(2)
        return -0.5 * (n * (log(2 * pi) + log_sigma2 + 1) + self._ridge.log_det)

    def predict(self, X_new: npt.ArrayLike) -> Array:
        """Return the ridge prediction ŷ, shape (m,).

        It costs n² operations per point, as regions do, and is bitwise identical to the ŷ that they are built around:
        an RRCM region always contains it.
        """
        blocks = self._ridge.project(self._check_points(X_new), [self._target], weights=False)
        return self._target.unscale(np.concatenate([block.means[0] for block in blocks]))

    def regions(
        self,
        X_new: npt.ArrayLike,
        procedure: str = "RRCM-loo",
        alpha: Alpha = 0.1,
        boundary: str = ">=",
        smoothed: Smoothed | None = None,
        weights: PointWeights | None = None,
    ) -> Regions:
        """Return exact prediction regions for m test points and k levels.

        Parameters
        ----------
        X_new : (m, d) array, or (m,) for points on the line
        procedure : {"GPR-f", "GPR-p", "RRCM", "RRCM-loo", "RRCM-std", "CRR", "CRR-loo", "CRR-std"}
            Bayesian intervals of y* and of f(x*); conformal regions from absolute residuals (RRCM) or from both
            sides (CRR), in-sample, leave-one-out or studentised. With the suffix "-w" residuals have weights.
        alpha : number or sequence of k numbers in (0, 1)
            Allowed error rates, read as the decimals that were written: 0.07 is 7/100.
        boundary : {">=", ">"}
            Keep a candidate whose p-value is ≥ α, as in the paper, or > α, as in other packages. Has no effect on
            GPR-f and GPR-p.
        smoothed : Generator or (m,) array, optional
            Makes the coverage of conformal regions exactly 1 − α: the generator of τ, uniform on [0, 1] for each test
            point and independent of all data, or those τ themselves (`ckrr.regions.smoothing`). Has no effect on GPR-f
            and GPR-p.
        weights : pair of (n,) and (m,) arrays, optional
            For procedures with the suffix "-w", such as "RRCM-loo-w": weights ≥ 0 of the rows of X (with
            `theta="holdout"`, of all rows given) and of X_new, up to a common factor. With the density ratio of test
            over training inputs, regions cover with probability at least 1 − α under covariate shift
            (`ckrr.regions.weights`).

        Examples
        --------
        >>> import ckrr
        >>> X = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
        >>> f = ckrr.fit(X, X**2, theta=10.0, lam=0.01)
        >>> f.regions([0.55], "CRR-loo", alpha=0.4).components(0)
        [(0.29617, 0.30635)]
        """
        x, levels = self._check_points(X_new), Levels(parse_alphas(alpha), check_boundary(boundary))
        name = _check_procedure(procedure, weights, smoothed)
        tau, weighted = resolve_taus(smoothed, len(x)), self._weigh(x, weights)
        found = [
            case.compute_regions(
                [name],
                levels,
                None if tau is None else gather_spans(tau, spans),
                None if weighted is None else gather_weights(weighted, spans),
            )[name]
            for case, spans in self._iter_evaluators(x, name)
        ]
        return stack_regions(found).rescale(self._target.unscale)

    def p_values(
        self,
        X_new: npt.ArrayLike,
        y_new: npt.ArrayLike,
        procedure: str = "RRCM-loo",
        smoothed: Smoothed | None = None,
        weights: PointWeights | None = None,
    ) -> Array:
        """Return the p-value of the value y_new[i] at the test point X_new[i], shape (m,).

        y is in the region at level α if and only if its p-value is ≥ α, so one pass gives the coverage at every α.
        For GPR-f and GPR-p it is the two-sided normal tail probability. With `smoothed`, as in `regions`, p-values of
        conformal procedures are uniform on [0, 1] for exchangeable points. `weights` are those of `regions`; weighted
        p-values are correctly rounded.
        """
        x = self._check_points(X_new)
        y = self._target.scale(check_values("y_new", y_new, len(x), of="X_new"))
        name = _check_procedure(procedure, weights, smoothed)
        tau, weighted = resolve_taus(smoothed, len(x)), self._weigh(x, weights)
        found = [
            case.compute_p_values(
                name,
                gather_spans(y, spans),
                None if tau is None else gather_spans(tau, spans),
                None if weighted is None else gather_weights(weighted, spans),
            )
            for case, spans in self._iter_evaluators(x, name)
        ]
        return np.concatenate(found)

    def distribution(self, X_new: npt.ArrayLike, procedure: str = "CRR-std") -> Distribution:
        """Return the predictive distributions of y* at m test points.

        Parameters
        ----------
        X_new : (m, d) array, or (m,) for points on the line
        procedure : {"CRR-std", "GPR-f"}
            Conformal distributions, with n jumps at each test point, or normal ones. The other procedures have none.

        Examples
        --------
        >>> import ckrr
        >>> X = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
        >>> D = ckrr.fit(X, X**2, theta=10.0, lam=0.01).distribution([0.55])
        >>> D.interval(alpha=0.4).components(0)
        [(0.29657, 0.30622)]
        >>> D.cdf([0.3])
        array([0.5])
        """
        x, name = self._check_points(X_new), check_distribution(procedure)
        if name == "GPR-f":
            rows = [(case.rows.mean, case.compute_deviation(name)) for case, _ in self._iter_evaluators(x, name)]
            mean, deviation = (self._target.unscale(np.concatenate(each)) for each in zip(*rows, strict=True))
            return NormalDistribution(mean, deviation)
        jumps = np.empty((len(x), self._ridge.n))
        for case, spans in self._iter_evaluators(x, name):
            start = spans[0].places.start  # one problem with one target: all rows of a case follow each other
            for here, some in case.iter_jumps():
                jumps[start + here.start : start + here.stop] = self._target.unscale(some)
        return ConformalDistribution(jumps)

    def score(
        self,
        X_new: npt.ArrayLike,
        y_new: npt.ArrayLike,
        procedures: str | Sequence[str] = PROCEDURES,
        alpha: Alpha = ALPHA,
        boundary: str = ">=",
        smoothed: Smoothed | None = None,
        weights: PointWeights | None = None,
    ) -> Scores:
        """Return hits, hulls and lengths of several procedures at known test values, in one pass.

        The arguments are those of `regions`, and `y_new`, shape (m,), the values at the test points.
        """
        x = self._check_points(X_new)
        y, tau = check_values("y_new", y_new, len(x), of="X_new"), resolve_taus(smoothed, len(x))
        problem, by = Problem(self._ridge, [self._target], x), None if tau is None else [tau]
        weighted = None if weights is None else [self._check_weights(x, weights)]
        (scores,) = score_problems([problem], [y[None]], procedures, alpha, boundary, tau=by, weights=weighted)
        return scores.take_target(0)

    def __repr__(self) -> str:
        return f"<Fit to X of shape {self.X.shape}: theta={self.theta:g}, lam={self.lam:g}>"

    def _check_points(self, X_new: npt.ArrayLike) -> Array:
        return self._space.scale_points(check_points("X_new", X_new, self.X.shape[1]))

    def _check_weights(self, x: Array, weights: PointWeights) -> SampleWeights:
        size, rows = self._kept
        return check_weights(weights, size, len(x), rows=rows)

    def _weigh(self, x: Array, weights: PointWeights | None) -> RowWeights | None:
        if weights is None:
            return None
        return join_weights([self._check_weights(x, weights)], [Problem(self._ridge, [self._target], x)])

    def _iter_evaluators(self, x: Array, procedure: str) -> Iterator[tuple[ProcedureEvaluator, list[RowSpan]]]:
        return iter_evaluators([Problem(self._ridge, [self._target], x)], has_conformal([procedure]))


def _check_procedure(procedure: object, weights: object, smoothed: object) -> str:
    name = check_choice("procedure", procedure, (*ALL_PROCEDURES, *WEIGHTED))
    check_weighting([name], weights, smoothed)
    return name
