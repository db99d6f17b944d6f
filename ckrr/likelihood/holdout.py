"""θ chosen on rows that nothing else sees: exchangeability isn't broken, at the price of those rows.

The most likely θ of some rows of the train sample is a function of these rows alone. So, given them, the other rows
and the test point are exchangeable as they were, and a conformal procedure on the n′ rows that are left has its exact
level with N = n′ + 1: not nearly, as with a θ that is the most likely one for the rows it is then used on.

Likelihood, and not the error of predictions, because it needs no second split of the few rows, and because the search
for its global maximum is there (`ckrr.likelihood.profile`).

Every `EVERY`-th row is taken, from the first one on: a choice that never looks at data, that stays as it is when rows
are added, and that is spread over the sample where rows are in an order, though exactness is for rows in random order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

HOLDOUT = "holdout"
"""What `theta` says."""

EVERY = 4
"""For one θ a few points do. For n = 25 to 100 and functions of the paper every second, third or fourth row made
regions of the same width (within a tenth), but at n = 25 with little noise: 0.78, 0.63 and 0.58."""


def kept_rows(n: int) -> npt.NDArray[np.intp]:
    """The rows that are left, of n.

    Examples
    --------
    >>> kept_rows(9)
    array([1, 2, 3, 5, 6, 7])
    """
    if n < 2:
        raise ValueError(f'X must have at least 2 rows for theta = "{HOLDOUT}", got {n}')
    return np.flatnonzero(np.arange(n) % EVERY)


def held_out_rows(n: int) -> npt.NDArray[np.intp]:
    """The rows that θ is chosen on.

    Examples
    --------
    >>> held_out_rows(9)
    array([0, 4, 8])
    """
    return np.arange(0, n, EVERY)
