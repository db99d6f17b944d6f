"""Inputs → factor → targets: what can be shared is computed once, every question after it is cheap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ckrr.batches import Problem
from ckrr.checks import Array, choice, columns, points, positive, shown, values
from ckrr.fits import Fit
from ckrr.levels import ALPHA, Alpha
from ckrr.likelihood import Likelihood, Search, published_search, search
from ckrr.procedures import PROCEDURES
from ckrr.ridge import Ridge
from ckrr.scores import Scores, score_problems

SEARCHES = {"ml": search, "ml-cobyla": published_search}
"""The ways to find θ, by name."""


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
        f_test: npt.ArrayLike | None = None,
    ) -> Scores:
        """All procedures and levels at the test inputs, for targets that are the columns of Y and Y_test.

        Each target has the bits it would have alone. With `f_test`, the latent function at the test inputs, the scores
        have `hits_f` too.
        """
        return score_together([self], [Y], [Y_test], procedures, alpha, boundary, None if f_test is None else [f_test])[
            0
        ]

    def _problem(self, Y: npt.ArrayLike, Y_test: npt.ArrayLike) -> tuple[Problem, Array]:
        train = columns("Y", Y, self._ridge.n, of="X")
        test = columns("Y_test", Y_test, len(self._X_test), of="X_test")
        if train.shape[1] != test.shape[1]:
            raise ValueError(f"Y_test must have {train.shape[1]} columns as Y has, got shape {np.shape(Y_test)}")
        targets = [self._ridge.target(np.ascontiguousarray(y)) for y in train.T]
        return Problem(self._ridge, targets, self._X_test), test.T

    def _latent(self, f_test: npt.ArrayLike, targets: int) -> Array:
        f = values("f_test", f_test, len(self._X_test), of="X_test")
        return np.broadcast_to(f, (targets, len(f)))


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
    f_test: Sequence[npt.ArrayLike] | None = None,
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
    given = {"Y": Y, "Y_test": Y_test, **({} if f_test is None else {"f_test": f_test})}
    for name, each in given.items():
        if len(each) != len(factors):
            raise ValueError(f"{name} must have one entry for each of the {len(factors)} factors, got {len(each)}")
    asked = [factor._problem(*targets) for factor, *targets in zip(factors, Y, Y_test, strict=True)]
    problems, tests = [problem for problem, _ in asked], [test for _, test in asked]
    latent = None
    if f_test is not None:
        latent = [one._latent(f, len(test)) for one, f, test in zip(factors, f_test, tests, strict=True)]
    return score_problems(problems, tests, procedures, alpha, boundary, latent)
