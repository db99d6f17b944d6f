"""Choose θ on held-out rows, which preserves exchangeability at the price of those rows.

The most likely θ of some rows of the training sample is a function of these rows alone. So, given them, the other rows
and the test point are exchangeable as before, and a conformal procedure on the n′ rows that are left has its exact
level with N = n′ + 1. With a θ that is the most likely one for the rows it is then used on, the level is approximate.

The criterion is the likelihood, not the prediction error, because it needs no second split of the few rows, and because
a search for its global maximum is available (`ckrr.likelihood.profile`).

Every `EVERY`-th row is held out, starting with the first: a choice that does not depend on the data, that is unchanged
when rows are added, and that is spread over the sample where rows are sorted, though exactness needs rows in random
order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

HOLDOUT = "holdout"
"""The value of `theta` that selects this."""
HOLDOUT_JOINT, HOLDOUT_ARD = "holdout-joint", "holdout-ard"
"""The same with searches that find λ, too, or λ and a scale for each coordinate."""
HOLDOUTS = (HOLDOUT, HOLDOUT_JOINT, HOLDOUT_ARD)

EVERY = 4
"""Every how many rows one is held out. A few points suffice for one θ: for n = 25 to 100 and functions of the paper,
every second, third or fourth row gave regions of the same width (within a tenth), except at n = 25 with little noise:
0.78, 0.63 and 0.58."""


def kept_rows(n: int, theta: str = HOLDOUT) -> npt.NDArray[np.intp]:
    """Return the rows, out of n, that are not held out.

    Examples
    --------
    >>> kept_rows(9)
    array([1, 2, 3, 5, 6, 7])
    """
    if n < 2:
        raise ValueError(f'X must have at least 2 rows for theta = "{theta}", got {n}')
    return np.flatnonzero(np.arange(n) % EVERY)


def held_out_rows(n: int) -> npt.NDArray[np.intp]:
    """Return the rows, out of n, that θ is chosen on.

    Examples
    --------
    >>> held_out_rows(9)
    array([0, 4, 8])
    """
    return np.arange(0, n, EVERY)
