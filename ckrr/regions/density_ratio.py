"""Estimate weights for weighted procedures from inputs alone, where the density ratio isn't known.

Logistic regression tells test inputs from training inputs: with P(test | x) = 1/(1 + exp(−c − b′x)) the density ratio
of test over training inputs is proportional to exp(b′x). That is right for exponential tilts, to which a normal
distribution with another mean belongs, and an approximation otherwise. Inputs are standardised, and b maximises the
log-likelihood less ‖b‖²/2, so that it is finite even where the two sets are apart.

Weighted regions keep their level for the true ratio. With an estimated one they keep it approximately.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from ckrr._validation import Array, check_points

_MOST_STEPS, _CONVERGED = 100, 1e-10
"""Limit on the steps of Newton's method, and size of the step at which it ends."""


def estimate_weights(X: npt.ArrayLike, X_new: npt.ArrayLike) -> tuple[Array, Array]:
    """Estimate the density ratio of test over training inputs, up to a factor, by logistic regression.

    The estimate uses all rows of both, so that the region of a test point depends on the others.

    Parameters
    ----------
    X : (n, d) array, or (n,) for points on the line
        Training inputs.
    X_new : (m, d) array
        Test inputs.

    Returns
    -------
    w, w_new : (n,) and (m,) arrays
        Weights of the training and of the test points, as `Fit.regions` accepts them. The largest is 1.

    Examples
    --------
    Uniform training inputs, and test inputs of density proportional to exp(2x):

    >>> rng = np.random.default_rng(0)
    >>> X, X_new = rng.random(4000), 1 + np.log1p((rng.random(4000) - 1) * -np.expm1(-2)) / 2
    >>> w, w_new = estimate_weights(X, X_new)
    >>> float(np.polyfit(X, np.log(w), 1)[0].round(1))
    2.0
    """
    x = check_points("X", X)
    x_new = check_points("X_new", X_new, x.shape[1])
    both = np.concatenate([x, x_new])
    spread = both.std(axis=0)
    Z = (both - both.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    logits = Z @ _fit_logistic(Z, np.arange(len(both)) >= len(x))
    w = np.exp(logits - logits.max())
    return w[: len(x)], w[len(x) :]


def _fit_logistic(Z: Array, is_test: npt.NDArray[np.bool_]) -> Array:
    """Return b, by Newton's method: each step is halved until the objective doesn't fall."""
    A = np.column_stack([np.ones(len(Z)), Z])
    penalty = np.ones(A.shape[1])
    penalty[0] = 0.0
    beta = np.zeros(A.shape[1])

    def compute_objective(beta: Array) -> float:
        logits = A @ beta
        return float(-np.logaddexp(0.0, np.where(is_test, -logits, logits)).sum() - 0.5 * (penalty * beta) @ beta)

    best = compute_objective(beta)
    for _ in range(_MOST_STEPS):
        p = expit(A @ beta)
        gradient = A.T @ (is_test - p) - penalty * beta
        curvature = (A * (p * (1 - p))[:, None]).T @ A + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        while (found := compute_objective(beta + step)) < best and np.abs(step).max() > _CONVERGED:
            step /= 2
        beta, best = beta + step, found
        if np.abs(step).max() <= _CONVERGED:
            break
    return beta[1:]
