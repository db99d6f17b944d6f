"""The library as a scikit-learn estimator; scikit-learn itself is optional.

Not imported by `import ckrr`: `ckrr.ConformalKernelRidge` loads it on first use.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from ckrr import model
from ckrr._validation import Array, check_choice, check_points, check_values, quote_value
from ckrr.distribution import Distribution
from ckrr.kernels import LINEAR, Kernel
from ckrr.levels import Alpha, Level, check_boundary, parse_alphas
from ckrr.procedures import ALL_PROCEDURES, WEIGHTED
from ckrr.regions.intervals import Regions
from ckrr.regions.weights import PointWeights
from ckrr.space import CONSTANT, Scales, Seed


class _NotFittedError(ValueError, AttributeError):
    """Replacement for scikit-learn's NotFittedError, with the same bases."""


class _FallbackBase:
    """Replacement for scikit-learn's base classes where it is not installed."""

    n_features_in_: int

    def predict(self, X: npt.ArrayLike) -> Array:
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        for name in params:
            check_choice("parameter", name, self.get_params())
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return R² of `predict`: 1 − Σ(y − ŷ)² / Σ(y − ȳ)²."""
        predicted, weights = self.predict(X), None if sample_weight is None else np.asarray(sample_weight)
        true = check_values("y", y, len(predicted), of="X")
        error = float(np.average((true - predicted) ** 2, weights=weights))
        spread = float(np.average((true - np.average(true, weights=weights)) ** 2, weights=weights))
        return 1 - error / spread if spread > 0 else float(error == 0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.get_params().items())})"

    def _check_train(self, X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Array, Array]:
        """Validate the arguments of `fit`, and record the number and names of the columns."""
        x = _check_table(X)
        y = check_values("y", y, len(x), of="X")
        self.n_features_in_ = x.shape[1]
        vars(self).pop("feature_names_in_", None)
        if names := _get_column_names(X):
            self.feature_names_in_ = np.array(names, dtype=object)
        return x, y

    def _check_new(self, X: npt.ArrayLike) -> Array:
        """Validate points, which must have the columns seen in `fit`."""
        name = type(self).__name__
        if not hasattr(self, "fit_"):
            raise _NotFittedError(f"This {name} instance is not fitted yet: call fit first")
        x, names, known = _check_table(X), _get_column_names(X), list(getattr(self, "feature_names_in_", []))
        if x.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {x.shape[1]} features, but {name} is expecting {self.n_features_in_} features")
        if names and known and names != known:
            raise ValueError(f"X must have the columns it had in fit, {quote_value(known)}, got {quote_value(names)}")
        return x


if TYPE_CHECKING:
    _Base = _FallbackBase
else:
    try:
        from sklearn.base import BaseEstimator, RegressorMixin
        from sklearn.utils.validation import check_is_fitted, validate_data
    except ImportError:
        _Base = _FallbackBase
    else:

        class _Base(RegressorMixin, BaseEstimator):
            """scikit-learn's base classes and input validation."""

            def _check_train(self, X, y):
                return validate_data(self, X, y, dtype=np.float64)

            def _check_new(self, X):
                check_is_fitted(self, "fit_")
                return validate_data(self, X, dtype=np.float64, reset=False)


class ConformalKernelRidge(_Base):
    """Kernel ridge regression with exact conformal regions, as a scikit-learn estimator.

    With scikit-learn 1.6 or newer it works in `clone`, `Pipeline` and `GridSearchCV`; without, on its own. A pipeline
    forwards only `predict` and `score`; for intervals call `pipe[-1].predict_interval(pipe[:-1].transform(X))`.

    Parameters
    ----------
    procedure : {"RRCM-loo", "RRCM", "RRCM-std", "CRR-loo", "CRR", "CRR-std", "GPR-f", "GPR-p"}
        Procedure for regions and p-values, as in `Fit.regions`; with the suffix "-w" it needs weights. `fit` and
        `predict` don't depend on it: it may be changed by `set_params` after `fit`.
    theta : float, "ml", "ml-joint", "ml-ard", "holdout", "holdout-joint", "holdout-ard" or "ml-cobyla"
        θ > 0 of the kernel, exp(−θ‖x − x′‖²) by default, or how to search for it, as in `ckrr.fit`. Conformal
        regions are exactly valid if θ is found on held-out rows or a number not chosen on the training points, and the
        columns of X are not scaled by the training points.
    lam : float
        Ridge λ > 0, not used if `theta` is a search that finds λ. Nothing is scaled.
    boundary : {">=", ">"}
        Keep a candidate whose p-value is ≥ α, or > α, where α is one minus the confidence level.
    kernel, scales, features, seed
        As in `ckrr.fit`: another kernel, the unit of each coordinate, random features. The linear kernel ignores
        `theta`.
    mean : {"constant", "zero"}
        Mean of y, as in `ckrr.fit`, but by default an unknown constant, since most targets aren't centred.
    lengthscale : float, optional
        Length scale ℓ > 0, used in place of `theta`, which must then be left at "ml".
    noise_sd : float, optional
        As in `ckrr.fit`: the standard deviation of the noise, if it is known, for GPR-f and GPR-p.

    Attributes
    ----------
    fit_ : Fit
        The underlying fit, with all its methods. It holds n² numbers, except with random features.
    theta_ : float
        θ of the fit: the one found, where `theta` names a search.
    lam_ : float
        λ of the fit: the one found, where the search finds λ.
    n_features_in_ : int
        Number of columns of X in `fit`.
    feature_names_in_ : array of str, of shape (columns,)
        Names of the columns; set only if X has names that are all strings.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((100, 2))
    >>> y = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(100)
    >>> estimator = ConformalKernelRidge(theta=10.0, lam=0.01).fit(X, y)
    >>> y_pred, intervals = estimator.predict_interval([[0.5, 0.5], [0.9, 0.1]], confidence_level=[0.8, 0.95])
    >>> y_pred.shape, intervals.shape                        # (points,), (points, 2, levels)
    ((2,), (2, 2, 2))
    >>> intervals[0].round(2)                                # a row of lower and one of upper ends
    array([[0.24, 0.16], [0.62, 0.71]])
    """

    def __init__(
        self,
        procedure: str = "RRCM-loo",
        theta: float | str = "ml",
        lam: float | None = 0.1,
        boundary: str = ">=",
        kernel: str | Kernel = "gaussian",
        scales: Scales | None = None,
        features: int | None = None,
        seed: Seed = 0,
        mean: str = CONSTANT,
        lengthscale: float | None = None,
        noise_sd: float | None = None,
    ) -> None:
        self.procedure = procedure
        self.theta = theta
        self.lam = lam
        self.boundary = boundary
        self.kernel = kernel
        self.scales = scales
        self.features = features
        self.seed = seed
        self.mean = mean
        self.lengthscale = lengthscale
        self.noise_sd = noise_sd

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Fit the model to X, shape (n, d), and y, shape (n,). Both are copied."""
        check_choice("procedure", self.procedure, (*ALL_PROCEDURES, *WEIGHTED))
        check_boundary(self.boundary)
        x, y = self._check_train(X, y)
        self.fit_ = model.fit(
            np.array(x),
            np.array(y),
            None if self.theta == "ml" and (self.kernel == LINEAR or self.lengthscale is not None) else self.theta,
            self.lam,
            self.kernel,
            lengthscale=self.lengthscale,
            scales=self.scales,
            features=self.features,
            seed=self.seed,
            mean=self.mean,
            noise_sd=self.noise_sd,
        )
        self.theta_, self.lam_ = self.fit_.theta, self.fit_.lam
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return the ridge prediction ŷ, shape (m,)."""
        x = self._check_new(X)
        return self.fit_.predict(x)

    def predict_interval(
        self, X: npt.ArrayLike, confidence_level: Alpha = 0.9, weights: PointWeights | None = None
    ) -> tuple[Array, Array]:
        """Return predictions and the hulls of their regions at k confidence levels, in the shapes of MAPIE.

        Parameters
        ----------
        X : (m, d) array
        confidence_level : number or sequence of k numbers in (0, 1)
            Read as the decimals that were written: 0.95 is α = 1/20, which `1 - 0.95` is not.
        weights : pair of (n,) and (m,) arrays, optional
            Weights of the rows of X in `fit` and of these, for weighted procedures, as in `Fit.regions`.

        Returns
        -------
        y_pred : (m,) array
            As returned by `predict`.
        intervals : (m, 2, k) array
            Lower ends in `[:, 0]`, upper ends in `[:, 1]`, of the smallest interval around the region: ±inf where
            the region is unbounded, NaN where it is empty. A region of several pieces is smaller than its hull: see
            `predict_region`.
        """
        regions = self.predict_region(X, confidence_level, weights)
        return self.predict(X), np.stack([regions.lower, regions.upper], axis=1)

    def predict_region(
        self, X: npt.ArrayLike, confidence_level: Alpha = 0.9, weights: PointWeights | None = None
    ) -> Regions:
        """Return the exact prediction regions, possibly of several pieces, for m points and k confidence levels.

        Examples
        --------
        >>> estimator = ConformalKernelRidge("RRCM", theta=1.0).fit([[0.0], [0.2], [0.4], [0.6]], [0.1, 0.5, 0.9, 1.1])
        >>> estimator.predict_region([[0.5]], confidence_level=[0.8, 0.6])
        <Regions of 1 points at 2 levels: 1 intervals, 1 unbounded>
        """
        x = self._check_new(X)
        return self.fit_.regions(x, self.procedure, _to_alpha(confidence_level), self.boundary, weights=weights)

    def predict_distribution(self, X: npt.ArrayLike, procedure: str = "CRR-std") -> Distribution:
        """Return the predictive distributions of y* at m points: "CRR-std" for conformal, "GPR-f" for normal ones.

        Examples
        --------
        >>> estimator = ConformalKernelRidge(theta=1.0).fit([[0.0], [0.2], [0.4], [0.6]], [0.1, 0.5, 0.9, 1.1])
        >>> estimator.predict_distribution([[0.5]]).quantile(0.5).round(2)
        array([[0.91]])
        """
        x = self._check_new(X)
        return self.fit_.distribution(x, procedure)

    def predict_p(self, X: npt.ArrayLike, y: npt.ArrayLike, weights: PointWeights | None = None) -> Array:
        """Return the p-value of the value y[i] at the point X[i], shape (m,).

        With boundary ">=", y is in the region of a confidence level if and only if its p-value is ≥ 1 − that level.
        """
        x = self._check_new(X)
        return self.fit_.p_values(x, check_values("y", y, len(x), of="X"), self.procedure, weights=weights)


def _to_alpha(confidence_level: Alpha) -> list[Level]:
    """Return one minus each confidence level, exactly.

    Examples
    --------
    >>> _to_alpha([0.95, 0.9])
    [Fraction(1, 20), Fraction(1, 10)]
    >>> _to_alpha(95)
    Traceback (most recent call last):
    ...
    ValueError: confidence_level must be a number strictly between 0 and 1, got 95
    """
    try:
        return [1 - level for level in parse_alphas(confidence_level)]
    except ValueError as error:
        raise ValueError(f"confidence_level{str(error).removeprefix('alpha')}") from None


def _check_table(X: npt.ArrayLike) -> Array:
    """Return points as rows; raise ValueError for a 1-d array, as scikit-learn does."""
    x = check_points("X", X)
    if np.ndim(X) == 1:
        raise ValueError(f"X must be of shape (points, features), got shape {np.shape(X)} (try X.reshape(-1, 1))")
    return x


def _get_column_names(X: object) -> list[str]:
    """Return the names of a table's columns if all are strings, else an empty list."""
    names = list(getattr(X, "columns", []))
    return names if all(isinstance(name, str) for name in names) else []
