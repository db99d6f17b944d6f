"""Find test points that equal training points, without computing all values of the kernel.

By a kernel with K(x, x) = 1 they are equal where K(x_i, x*) = 1; by others, and by features, where all coordinates are.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import numpy.typing as npt

from ckrr._validation import Array

_REACH = 2.0**-52
"""exp(−θ‖x − x′‖²) is below 1 where θ‖x − x′‖² is above a quarter of this."""

Places = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]
"""Positions of test points, ascending, and of the training points that each equals."""


class EqualPoints:
    """Training points, sorted along the coordinate with the most different values, for a Gaussian kernel."""

    def __init__(self, X: Array, theta: float) -> None:
        self._X, self._theta = X, theta
        self._axis = int(np.argmax([len(np.unique(column)) for column in X.T]))
        self._order = np.argsort(X[:, self._axis], kind="stable")
        self._sorted = X[self._order, self._axis]

    def find(self, X_new: Array) -> Places:
        """Return which test points equal which training points.

        Examples
        --------
        >>> EqualPoints(np.array([[3.0], [1.0], [3.0]]), theta=1.0).find(np.array([[2.0], [3.0]]))
        (array([1, 1]), array([0, 2]))
        """
        x, reach = X_new[:, self._axis], sqrt(_REACH / self._theta)
        first = np.searchsorted(self._sorted, x - reach, side="left")
        count = np.searchsorted(self._sorted, x + reach, side="right") - first
        rows, cols = [], []
        for i in np.flatnonzero(count):
            col = self._order[first[i] : first[i] + count[i]]
            squares = ((X_new[i] - self._X[col]) ** 2).sum(axis=1)
            col = np.sort(col[np.exp(-self._theta * squares) == 1.0])
            rows.append(np.full_like(col, i))
            cols.append(col)
        empty = np.empty(0, dtype=np.intp)
        return np.concatenate([empty, *rows]), np.concatenate([empty, *cols])


def find_equal_rows(X_new: Array, X: Array) -> Places:
    """Return which rows of X_new equal which rows of X: compare the first coordinate, then all.

    Examples
    --------
    >>> find_equal_rows(np.array([[2.0, 0.0], [3.0, 1.0]]), np.array([[3.0, 1.0], [2.0, 1.0], [3.0, 1.0]]))
    (array([1, 1]), array([0, 2]))
    """
    row, col = np.nonzero(X_new[:, :1] == X[:, 0])
    same = (X_new[row] == X[col]).all(axis=1)
    return row[same], col[same]
