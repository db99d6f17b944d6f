"""Fit kernel ridge regression and score procedures in three steps: inputs, factor, targets.

Each step is computed once and reused: one `Inputs` serves several θ and λ, one `Factor` any number of targets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from ckrr._validation import (
    Array,
    check_choice,
    check_columns,
    check_noise_sd,
    check_points,
    check_positive,
    check_values,
    quote_value,
)
from ckrr.factor import Factor
from ckrr.fitted import Fit
from ckrr.kernels import Kernel
from ckrr.likelihood.ard import search_ard
from ckrr.likelihood.holdout import HOLDOUT, HOLDOUT_ARD, HOLDOUT_JOINT, HOLDOUTS, held_out_rows, kept_rows
from ckrr.likelihood.joint import check_lam, search_joint
from ckrr.likelihood.median import MEDIAN, choose_median_theta
from ckrr.likelihood.profile import Profile, SearchResult, search_cobyla, search_together
from ckrr.regions.weights import PointWeights
from ckrr.space import ZERO, ConstantMeanSpace, Scales, Seed, Space, make_space
from ckrr.theta import check_search


def _search_cobyla_each(likelihood: Profile, ys: Sequence[Array]) -> list[SearchResult]:
    return [search_cobyla(replace(likelihood, y=y)) for y in ys]


SEARCHES: dict[str, Callable[[Profile, Sequence[Array]], list[SearchResult]]] = {
    "ml": search_together,
    "ml-cobyla": _search_cobyla_each,
    "ml-joint": search_joint,
    "ml-ard": search_ard,
    HOLDOUT: search_together,
    HOLDOUT_JOINT: search_joint,
    HOLDOUT_ARD: search_ard,
}
"""Searches for the θ of several targets, by the name that `theta` accepts."""
SEARCH_NAMES = (*SEARCHES, MEDIAN)
"""Names that `Inputs.factor_ml` accepts; "median" needs test inputs, and no target."""


class Inputs:
    """Training inputs of a sample, with the test inputs that belong to it.

    Parameters
    ----------
    X : (n, d) array, or (n,) for points on the line
    X_test : (m, d) array
    kernel, scales, features, seed, mean
        As in `ckrr.fit`.
    weights : pair of (n,) and (m,) arrays, optional
        Weights for weighted procedures, as in `Fit.regions`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> inputs = Inputs(rng.random((40, 2)), rng.random((7, 2)))
    >>> factor = inputs.factor(theta=10.0, lam=0.1)
    >>> scores = factor.score(rng.standard_normal((40, 3)), rng.standard_normal((7, 3)), ["GPR-f", "CRR"], [0.1, 0.2])
    >>> scores.hits.shape
    (3, 2, 7, 2)
    """

    def __init__(
        self,
        X: npt.ArrayLike,
        X_test: npt.ArrayLike,
        kernel: str | Kernel = "gaussian",
        scales: Scales | None = None,
        features: int | None = None,
        seed: Seed = 0,
        mean: str = ZERO,
        weights: PointWeights | None = None,
    ) -> None:
        self.X = check_points("X", X)
        self.X_test = check_points("X_test", X_test, self.X.shape[1])
        self._space = make_space(self.X.shape[1], kernel, scales, features, seed, mean)
        self.weights = weights

    def __repr__(self) -> str:
        return f"<Inputs: X of shape {self.X.shape}, X_test of shape {self.X_test.shape}>"

    def factor(
        self, theta: float | None = None, lam: float | None = None, *, lengthscale: float | None = None
    ) -> Factor:
        """Factorise K + λI for given θ, or length scale in its place, and λ; the linear kernel has no θ and ignores it.

        Raises
        ------
        FactorisationError
            If K + λI is singular to working precision.
        """
        if isinstance(theta, str):
            raise ValueError(f"theta must be a number > 0, got {quote_value(theta)} (for a search use factor_ml)")
        X, chosen = (
            self._space.scale_points(self.X),
            self._space.check_theta(self._space.resolve_theta(theta, lengthscale)),
        )
        ridge = self._space.make_ridge(X, chosen, check_positive("lam", lam))
        return Factor(self._space, self.X, ridge, self.X_test, weights=self.weights)

    def factor_ml(self, y: npt.ArrayLike, lam: float | None = None, theta: str = "ml") -> Factor:
        """Factorise K + λI for the θ that a search finds, given y.

        Parameters
        ----------
        y : (n,) array
        lam : float, optional
            Not used, and may be left out, if the search finds λ.
        theta : {"ml", "ml-joint", "ml-ard", "holdout", "holdout-joint", "holdout-ard", "median", "ml-cobyla"}
            The search for θ, as in `ckrr.fit`. The holdout searches use every fourth row, and the others are
            factorised; targets are still given for all rows. "median" is 1/median‖x − x′‖² over all pairs of training
            and test inputs: it doesn't depend on y, so conformal procedures keep their exact level
            (`ckrr.likelihood.median`).
        """
        return self.search_ml(check_values("y", y, len(self.X), of="X"), lam, theta)[0]()

    def search_ml(self, Y: npt.ArrayLike, lam: float | None = None, theta: str = "ml") -> list[Callable[[], Factor]]:
        """Search for the maximum-likelihood θ of several targets at once, up to twice as fast as one by one.

        Parameters
        ----------
        Y : (n,) or (n, t) array
            Targets, one per column.
        lam, theta
            As in `factor_ml`.

        Returns
        -------
        list of callables
            For each target, a function that factorises K + λI for its θ. Results are bitwise identical to those of
            `factor_ml` for each target.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> X, noise = np.linspace(0, 1, 30), rng.standard_normal(30)
        >>> Y = np.column_stack([np.sin(8 * X), np.sin(8 * X) + 0.3 * noise])
        >>> [round(make().theta, 1) for make in Inputs(X, X).search_ml(Y, lam=0.01)]
        [18.7, 7.3]
        """
        ys = [np.ascontiguousarray(y) for y in check_columns("Y", Y, len(self.X), of="X").T]
        if check_choice("theta", theta, SEARCH_NAMES) == MEDIAN:
            chosen = choose_median_theta(*map(self._space.scale_points, (self.X, self.X_test)))
            return [cache(partial(self.factor, chosen, check_positive("lam", lam)))] * len(ys)
        given = check_lam(lam, theta)
        found = _search(self._space, self.X, ys, theta, given)
        return [partial(self._factor_found, one, given, theta) for one in found]

    def _factor_found(self, found: SearchResult, lam: float, theta: str) -> Factor:
        """Factorise K + λI for what a search found."""
        rows = kept_rows(len(self.X), theta) if theta in HOLDOUTS else None
        X = self.X if rows is None else self.X[rows]
        space = self._space.rescale(found.scales)
        ridge = space.make_ridge(space.scale_points(X), found.theta, lam if found.lam is None else found.lam)
        return Factor(space, self.X, ridge, self.X_test, rows, self.weights, found)


def fit(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    theta: float | str | None = None,
    lam: float | None = None,
    kernel: str | Kernel = "gaussian",
    *,
    lengthscale: float | None = None,
    scales: Scales | None = None,
    features: int | None = None,
    seed: Seed = 0,
    mean: str = ZERO,
    noise_sd: float | None = None,
) -> Fit:
    """Fit kernel ridge regression, by default with the kernel exp(−θ‖x − x′‖²).

    Parameters
    ----------
    X : (n, d) array, or (n,) for points on the line
    y : (n,) array
    theta : float, "ml", "ml-joint", "ml-ard", "holdout", "holdout-joint", "holdout-ard" or "ml-cobyla"
        θ > 0, or how to search for the maximum-likelihood θ. "ml" is a global search over 1e-3 ≤ θ r² ≤ 1e6, with r the
        largest range of a coordinate. It takes as long as 10 to 15 factorisations for up to 200 points, 4 to 8 for 400,
        and less for larger ones; longer for λ far below 1e-6, and for other kernels (about 40).
        "ml-cobyla" is the local search of the paper. "holdout" runs "ml" on every fourth row and fits the others:
        conformal regions keep their exact level, that of a sample of `len(fit.y)` rows. "ml-joint" finds θ and λ
        together, globally over 1e-8 ≤ λ ≤ 100; "ml-ard" a scale for each coordinate and λ (θ is then ½, so that
        `fit.scales` are length scales), never less likely than "ml-joint". "holdout-joint" and "holdout-ard" do so on
        every fourth row. The linear kernel has no θ.
    lam : float, optional
        Ridge λ > 0. Not used, and may be left out, if the search finds λ. Nothing is scaled, and nothing is centred
        unless `mean` is "constant".
    kernel : {"gaussian", "laplacian", "matern32", "matern52"}, one with the suffix "-rff", "linear", or a Kernel
        θ = 1/(2ℓ²) in each, ℓ its length scale; the formulas are in `ckrr.kernels`. "linear" is ridge regression
        without an intercept, by a d×d matrix where n > d. The suffix "-rff" selects ridge regression on random Fourier
        features of that kernel, for n far beyond what fits as an n×n matrix. Conformal regions remain exactly valid,
        but the fitted function is a different one. A custom kernel is an object with one method: see `Kernel`.
    lengthscale : float, optional
        Length scale ℓ > 0 in place of `theta`.
    scales : (d,) array, optional
        Unit of each coordinate: x_j is divided by scales[j] before anything else.
    features : int, optional
        Number of random features (default: 500).
    seed : int or Generator
        Source of the random frequencies, which never depend on the data.
    mean : {"zero", "constant"}
        Mean of y: 0, or an unknown constant that is estimated together with the function, for targets that aren't
        centred. Conformal regions remain exactly valid (`ckrr.ridge.constant_mean`).
    noise_sd : float, optional
        Standard deviation s > 0 of the noise, if known: GPR-f and GPR-p have σ² = s²/λ in place of σ̂² then.

    Returns
    -------
    Fit

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
    x = check_points("X", X)
    y_ = check_values("y", y, len(x), of="X")
    space = make_space(x.shape[1], kernel, scales, features, seed, mean)
    theta = space.resolve_theta(theta, lengthscale)
    if isinstance(theta, str):
        check_search(theta, SEARCHES)
    given = check_lam(lam, theta)
    found = _search(space, x, [y_], theta, given)[0] if isinstance(theta, str) else None
    rows = kept_rows(len(x), str(theta)) if theta in HOLDOUTS else slice(None)
    kept, x, y_ = (len(x), rows), x[rows], y_[rows]
    chosen = space.check_theta(theta if found is None else found.theta)
    if found is not None:
        space = space.rescale(found.scales)
        given = given if found.lam is None else found.lam
    ridge = space.make_ridge(space.scale_points(x), chosen, given)
    return Fit(space, x, ridge, y_, found, kept, check_noise_sd(noise_sd))


def _search(space: Space, X: Array, ys: Sequence[Array], theta: str, lam: float) -> list[SearchResult]:
    if theta in HOLDOUTS:
        kept_rows(len(X), theta)  # raises an error if none would be left
        rows = held_out_rows(len(X))
        if isinstance(space, ConstantMeanSpace) and len(rows) < 2:
            raise ValueError(f'X must have at least 5 rows for theta = "{theta}" with a mean, got {len(X)}')
        X, ys = X[rows], [y[rows] for y in ys]
    return SEARCHES[theta](space.make_profile(space.scale_points(X), ys[0], lam), ys)
