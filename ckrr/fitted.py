"""The fitted model: predictions, regions and p-values from one factorisation and one target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, log, pi

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array, check_choice, check_points, check_values
from ckrr.evaluation.batching import Problem, iter_evaluators
from ckrr.evaluation.case import ProcedureEvaluator
from ckrr.evaluation.scores import Scores, gather_spans, has_conformal, score_problems
from ckrr.evaluation.stacking import RowSpan
from ckrr.levels import ALPHA, Alpha, check_boundary, parse_alphas
from ckrr.likelihood.profile import SearchResult
from ckrr.procedures import ALL_PROCEDURES, PROCEDURES, Levels
from ckrr.regions.intervals import Regions, stack_regions
from ckrr.regions.smoothing import Smoothed, resolve_taus
from ckrr.ridge.exact import Target
from ckrr.space import FactorisedRidge, Space


class Fit:
    """Kernel ridge regression fitted to one training sample.

    Made by `ckrr.fit`. All methods use the one factorisation that it holds.

    Attributes
    ----------
    X, y : array
        The training sample; with `theta="holdout"`, without the held-out rows.
    search : SearchResult or None
        Outcome of the search for θ (and λ, and scales), if there was one: bounds, whether any is on one, likelihood.
    """

    def __init__(
        self, space: Space, X: Array, ridge: FactorisedRidge, y: Array, search: SearchResult | None = None
    ) -> None:
        self._space, self._ridge = space, ridge
        self.X, self.y, self.search = X, y, search
        self._target: Target = ridge.make_target(y)

    @property
    def theta(self) -> float:
        """Kernel parameter θ = 1/(2ℓ²), ℓ the length scale."""
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
        """Estimated variance σ̂² = y′(K + λI)⁻¹y / n."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(self._target.sigma2, 2 * self._target.exponent))

    @property
    def log_likelihood(self) -> float:
        """Log marginal likelihood at σ̂²: −n/2·(log 2π + log σ̂² + 1) − ½ log|K + λI|; inf if y = 0."""
        n = self._ridge.n
        if self._target.sigma2 == 0:
            return inf
        log_sigma2 = log(self._target.sigma2) + 2 * self._target.exponent * log(2)
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
    ) -> Regions:
        """Return exact prediction regions for m test points and k levels.

        Parameters
        ----------
        X_new : (m, d) array, or (m,) for points on the line
        procedure : {"GPR-f", "GPR-p", "RRCM", "RRCM-loo", "RRCM-std", "CRR", "CRR-loo", "CRR-std"}
            Bayesian intervals of y* and of f(x*); conformal regions from absolute residuals (RRCM) or from both
            sides (CRR), in-sample, leave-one-out or studentised.
        alpha : number or sequence of k numbers in (0, 1)
            Allowed error rates, read as the decimals that were written: 0.07 is 7/100.
        boundary : {">=", ">"}
            Keep a candidate whose p-value is ≥ α, as in the paper, or > α, as in other packages. Has no effect on
            GPR-f and GPR-p.
        smoothed : Generator or (m,) array, optional
            Makes the coverage of conformal regions exactly 1 − α: the generator of τ, uniform on [0, 1] for each test
            point and independent of all data, or those τ themselves (`ckrr.regions.smoothing`). Has no effect on GPR-f
            and GPR-p.

        Examples
        --------
        >>> import ckrr
        >>> X = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
        >>> f = ckrr.fit(X, X**2, theta=10.0, lam=0.01)
        >>> f.regions([0.55], "CRR-loo", alpha=0.4).components(0)
        [(0.29617, 0.30635)]
        """
        x, levels = self._check_points(X_new), Levels(parse_alphas(alpha), check_boundary(boundary))
        name = check_choice("procedure", procedure, ALL_PROCEDURES)
        tau = resolve_taus(smoothed, len(x))
        found = [
            case.compute_regions([name], levels, None if tau is None else gather_spans(tau, spans))[name]
            for case, spans in self._iter_evaluators(x, name)
        ]
        return stack_regions(found).rescale(self._target.unscale)

    def p_values(
        self,
        X_new: npt.ArrayLike,
        y_new: npt.ArrayLike,
        procedure: str = "RRCM-loo",
        smoothed: Smoothed | None = None,
    ) -> Array:
        """Return the p-value of the value y_new[i] at the test point X_new[i], shape (m,).

        y is in the region at level α if and only if its p-value is ≥ α, so one pass gives the coverage at every α.
        For GPR-f and GPR-p it is the two-sided normal tail probability. With `smoothed`, as in `regions`, p-values of
        conformal procedures are uniform on [0, 1] for exchangeable points.
        """
        x = self._check_points(X_new)
        y = self._target.scale(check_values("y_new", y_new, len(x), of="X_new"))
        name = check_choice("procedure", procedure, ALL_PROCEDURES)
        tau = resolve_taus(smoothed, len(x))
        found = [
            case.compute_p_values(name, gather_spans(y, spans), None if tau is None else gather_spans(tau, spans))
            for case, spans in self._iter_evaluators(x, name)
        ]
        return np.concatenate(found)

    def score(
        self,
        X_new: npt.ArrayLike,
        y_new: npt.ArrayLike,
        procedures: str | Sequence[str] = PROCEDURES,
        alpha: Alpha = ALPHA,
        boundary: str = ">=",
        smoothed: Smoothed | None = None,
    ) -> Scores:
        """Return hits, hulls and lengths of several procedures at known test values, in one pass.

        The arguments are those of `regions`, and `y_new`, shape (m,), the values at the test points.
        """
        x = self._check_points(X_new)
        y, tau = check_values("y_new", y_new, len(x), of="X_new"), resolve_taus(smoothed, len(x))
        problem, by = Problem(self._ridge, [self._target], x), None if tau is None else [tau]
        (scores,) = score_problems([problem], [y[None]], procedures, alpha, boundary, tau=by)
        return scores.take_target(0)

    def __repr__(self) -> str:
        return f"<Fit to X of shape {self.X.shape}: theta={self.theta:g}, lam={self.lam:g}>"

    def _check_points(self, X_new: npt.ArrayLike) -> Array:
        return self._space.scale_points(check_points("X_new", X_new, self.X.shape[1]))

    def _iter_evaluators(self, x: Array, procedure: str) -> Iterator[tuple[ProcedureEvaluator, list[RowSpan]]]:
        return iter_evaluators([Problem(self._ridge, [self._target], x)], has_conformal([procedure]))
