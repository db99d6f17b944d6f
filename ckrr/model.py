"""Inputs → factor → targets: what can be shared is computed once, every question after it is cheap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, log, pi

import numpy as np
import numpy.typing as npt

from ckrr.batches import Problem, cases
from ckrr.case import Case
from ckrr.checks import Array, choice, columns, points, positive, shown, values
from ckrr.levels import Alpha, alphas, boundary_of
from ckrr.likelihood import Likelihood, Search, published_search, search
from ckrr.procedures import ALL_PROCEDURES, PROCEDURES, Levels
from ckrr.regions import Regions, stacked
from ckrr.ridge import Ridge, Target
from ckrr.scores import Scores, needs_weights, score_problems
from ckrr.stack import Span

SEARCHES = {"ml": search, "ml-cobyla": published_search}
"""The ways to find θ, by name."""

ALPHA = (0.01, 0.05, 0.10, 0.25)
"""The levels of the paper."""


class Inputs:
    """A train sample's inputs and the test inputs that go with it.

    Parameters
    ----------
    X : (n, d) array, or (n,) for points on the line
    X_test : (m, d) array

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> inputs = Inputs(rng.random((40, 2)), rng.random((7, 2)))
    >>> factor = inputs.factor(theta=10.0, lam=0.1)
    >>> scores = factor.score(rng.standard_normal((40, 3)), rng.standard_normal((7, 3)), ["GPR-f", "CRR"], [0.1, 0.2])
    >>> scores.hits.shape
    (3, 2, 7, 2)
    """

    def __init__(self, X: npt.ArrayLike, X_test: npt.ArrayLike) -> None:
        self.X = points("X", X)
        self.X_test = points("X_test", X_test, self.X.shape[1])

    def __repr__(self) -> str:
        return f"<Inputs: X of shape {self.X.shape}, X_test of shape {self.X_test.shape}>"

    def factor(self, theta: float, lam: float) -> Factor:
        """Factorise K + λI for the kernel exp(−θ‖x − x′‖²)."""
        if isinstance(theta, str):
            raise ValueError(f"theta must be a number > 0, got {shown(theta)} (for a search use factor_ml)")
        return Factor(Ridge(self.X, positive("theta", theta), positive("lam", lam)), self.X_test)

    def factor_ml(self, y: npt.ArrayLike, lam: float, theta: str = "ml") -> Factor:
        """Factorise K + λI for the θ that is most likely given y: "ml", or "ml-cobyla" as the paper's was found."""
        found = _search(self.X, values("y", y, len(self.X), of="X"), choice("theta", theta, SEARCHES), lam)
        return self.factor(found.theta, lam)


class Factor:
    """One factorisation, to be asked about as many targets as there are."""

    def __init__(self, ridge: Ridge, X_test: Array) -> None:
        self._ridge, self._X_test = ridge, X_test
        self.theta, self.lam = ridge.theta, ridge.lam

    def __repr__(self) -> str:
        return f"<Factor of X of shape {self._ridge.X.shape}: theta={self.theta:g}, lam={self.lam:g}>"

    def fit(self, y: npt.ArrayLike) -> Fit:
        """The fit to one target."""
        return Fit(self._ridge, values("y", y, self._ridge.n, of="X"))

    def score(
        self,
        Y: npt.ArrayLike,
        Y_test: npt.ArrayLike,
        procedures: str | Sequence[str] = PROCEDURES,
        alpha: Alpha = ALPHA,
        boundary: str = ">=",
    ) -> Scores:
        """All procedures and levels at the test inputs, for targets that are the columns of Y and Y_test.

        Each target has the bits it would have alone.
        """
        problem, test = self._problem(Y, Y_test)
        return score_problems([problem], [test], procedures, alpha, boundary)[0]

    def _problem(self, Y: npt.ArrayLike, Y_test: npt.ArrayLike) -> tuple[Problem, Array]:
        train = columns("Y", Y, self._ridge.n, of="X")
        test = columns("Y_test", Y_test, len(self._X_test), of="X_test")
        if train.shape[1] != test.shape[1]:
            raise ValueError(f"Y_test must have {train.shape[1]} columns as Y has, got shape {np.shape(Y_test)}")
        targets = [self._ridge.target(np.ascontiguousarray(y)) for y in train.T]
        return Problem(self._ridge, targets, self._X_test), test.T


class Fit:
    """Kernel ridge regression on one train sample, ready to be asked.

    Made by `ckrr.fit`. All questions are answered from the one factorisation it holds.

    Attributes
    ----------
    X, y : array
        The train sample.
    search : Search or None
        How θ was found, where it was searched for: bounds, whether it is on one, likelihood.
    """

    def __init__(self, ridge: Ridge, y: Array, search: Search | None = None) -> None:
        self._ridge = ridge
        self.X, self.y, self.search = ridge.X, y, search
        self._target: Target = ridge.target(y)

    @property
    def theta(self) -> float:
        """θ of the kernel exp(−θ‖x − x′‖²)."""
        return self._ridge.theta

    @property
    def lam(self) -> float:
        """The ridge λ."""
        return self._ridge.lam

    @property
    def sigma2(self) -> float:
        """σ̂² = y′(K + λI)⁻¹y / n."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(self._target.sigma2, 2 * self._target.exponent))

    @property
    def log_likelihood(self) -> float:
        """Log marginal likelihood at σ̂²: −n/2·(log 2π + log σ̂² + 1) − ½ log|K + λI|; inf where y = 0."""
        n = self._ridge.n
        if self._target.sigma2 == 0:
            return inf
        log_sigma2 = log(self._target.sigma2) + 2 * self._target.exponent * log(2)
        return -0.5 * (n * (log(2 * pi) + log_sigma2 + 1) + self._ridge.log_det)

    def predict(self, X_new: npt.ArrayLike) -> Array:
        """The ridge prediction ŷ, shape (m,).

        It costs n² a point, as the regions do, and has the bits of the ŷ that they are built around: an RRCM region
        always contains it.
        """
        blocks = self._ridge.project(self._points(X_new), [self._target], weights=False)
        return self._target.unscaled(np.concatenate([block.means[0] for block in blocks]))

    def regions(
        self, X_new: npt.ArrayLike, procedure: str = "RRCM-loo", alpha: Alpha = 0.1, boundary: str = ">="
    ) -> Regions:
        """Exact prediction regions, for m test points and k levels.

        Parameters
        ----------
        X_new : (m, d) array, or (m,) for points on the line
        procedure : {"GPR-f", "GPR-p", "RRCM", "RRCM-loo", "RRCM-std", "CRR", "CRR-loo", "CRR-std"}
            Bayesian intervals of y* and of f(x*); conformal regions from absolute residuals (RRCM) or from both
            sides (CRR), in-sample, leave-one-out or studentised.
        alpha : number or sequence of k numbers in (0, 1)
            Allowed error rates. Used as the decimals that were written: 0.07 is 7/100.
        boundary : {">=", ">"}
            Keep a candidate whose p-value is ≥ α, as in the paper, or > α, as other packages do. Without effect on
            GPR-f and GPR-p.

        Examples
        --------
        >>> X = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
        >>> f = fit(X, X**2, theta=10.0, lam=0.01)
        >>> f.regions([0.55], "CRR-loo", alpha=0.4).components(0)
        [(0.29617, 0.30635)]
        """
        x, levels = self._points(X_new), Levels(alphas(alpha), boundary_of(boundary))
        name = choice("procedure", procedure, ALL_PROCEDURES)
        found = [case.regions([name], levels)[name] for case, _ in self._cases(x, name)]
        return stacked(found).mapped(self._target.unscaled)

    def p_values(self, X_new: npt.ArrayLike, y_new: npt.ArrayLike, procedure: str = "RRCM-loo") -> Array:
        """The p-value of the value y_new[i] at the test point X_new[i], shape (m,).

        y is in the region at level α just when its p-value is ≥ α: coverage at every α from one pass.
        For GPR-f and GPR-p it is the two-sided normal tail.
        """
        x = self._points(X_new)
        y = self._target.scaled(values("y_new", y_new, len(x), of="X_new"))
        name = choice("procedure", procedure, ALL_PROCEDURES)
        found = [
            case.p_values(name, np.concatenate([y[span.places] for span in spans]))
            for case, spans in self._cases(x, name)
        ]
        return np.concatenate(found)

    def score(
        self,
        X_new: npt.ArrayLike,
        y_new: npt.ArrayLike,
        procedures: str | Sequence[str] = PROCEDURES,
        alpha: Alpha = ALPHA,
        boundary: str = ">=",
    ) -> Scores:
        """Hits, hulls and lengths of several procedures at known test values, in one pass."""
        x = self._points(X_new)
        y = values("y_new", y_new, len(x), of="X_new")
        (scores,) = score_problems([Problem(self._ridge, [self._target], x)], [y[None]], procedures, alpha, boundary)
        return Scores(*(each[0] for each in vars(scores).values()))

    def __repr__(self) -> str:
        return f"<Fit to X of shape {self.X.shape}: theta={self.theta:g}, lam={self.lam:g}>"

    def _points(self, X_new: npt.ArrayLike) -> Array:
        return points("X_new", X_new, self.X.shape[1])

    def _cases(self, x: Array, procedure: str) -> Iterator[tuple[Case, list[Span]]]:
        return cases([Problem(self._ridge, [self._target], x)], needs_weights([procedure]))


def fit(X: npt.ArrayLike, y: npt.ArrayLike, theta: float | str, lam: float) -> Fit:
    """Kernel ridge regression with the kernel exp(−θ‖x − x′‖²) and ridge λ, ready to be asked for regions.

    Parameters
    ----------
    X : (n, d) array, or (n,) for points on the line
    y : (n,) array
    theta : float, "ml" or "ml-cobyla"
        θ > 0, or the search for the most likely one: "ml" is global, over 1e-3 ≤ θ r² ≤ 1e6 with r the largest range of
        a coordinate, and takes the time of 2 to 10 factorisations for 1500 points in one to three dimensions, more
        for λ far below 1e-6 (65 were seen at 1e-12); "ml-cobyla" is the local search of the paper.
    lam : float
        λ > 0. Nothing is centred or scaled.

    Raises
    ------
    FactorisationError
        If K + λI is singular to working precision.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 2))
    >>> y = X[:, 0] + 0.1 * rng.standard_normal(100)
    >>> f = fit(X, y, theta=1.0, lam=0.1)
    >>> f.predict([[0.5, 0.5]]).round(2)
    array([0.5])
    >>> f.regions([[0.5, 0.5]], procedure="RRCM", alpha=0.1).length.round(2)
    array([[0.33]])
    """
    x = points("X", X)
    y_ = values("y", y, len(x), of="X")
    if isinstance(theta, str) and theta not in SEARCHES:
        raise ValueError(f"theta must be a number > 0 or one of {', '.join(SEARCHES)}, got {shown(theta)}")
    found = _search(x, y_, theta, lam) if isinstance(theta, str) else None
    return Fit(Ridge(x, positive("theta", theta if found is None else found.theta), positive("lam", lam)), y_, found)


def _search(X: Array, y: Array, theta: str, lam: float) -> Search:
    return SEARCHES[theta](Likelihood(X, y, positive("lam", lam)))


def score_together(
    factors: Sequence[Factor],
    Y: Sequence[npt.ArrayLike],
    Y_test: Sequence[npt.ArrayLike],
    procedures: str | Sequence[str] = PROCEDURES,
    alpha: Alpha = ALPHA,
    boundary: str = ">=",
) -> list[Scores]:
    """`factor.score(…)` for many factors: the same bits, up to twice as fast where n is small.

    Small problems are stacked, so that calls of NumPy cost little against the arithmetic.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> factors = [Inputs(rng.random(25), rng.random(201)).factor(100.0, 1e-6) for _ in range(10)]
    >>> scores = score_together(factors, list(rng.random((10, 25))), list(rng.random((10, 201))))
    >>> len(scores), scores[0].hits.shape
    (10, (1, 6, 201, 4))
    """
    if not len(factors) == len(Y) == len(Y_test):
        raise ValueError(
            f"Y and Y_test must have one entry for each of the {len(factors)} factors, got {len(Y)} and {len(Y_test)}"
        )
    asked = [factor._problem(*targets) for factor, *targets in zip(factors, Y, Y_test, strict=True)]
    return score_problems([problem for problem, _ in asked], [test for _, test in asked], procedures, alpha, boundary)
