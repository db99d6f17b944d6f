"""Weights of weighted procedures in studies: the key `weights` of a scenario.

Weighted procedures keep their level under covariate shift if their weights are the density ratio of test over training
inputs, which a source knows:

=============  ==================================================================================
`weights`      weights of the points
=============  ==================================================================================
"exact"        the density ratio, which is 1 where test points are from the training distribution
a number κ     the density ratio to the power κ: 0 ignores the shift, 0.5 takes it for half
"estimated"    estimated by the family from the inputs of each replication
=============  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.core.protocols import Family, Source, SupportsDensityRatio, SupportsWeights
from harness.core.types import Array

Weights = float | str
EXACT, ESTIMATED = "exact", "estimated"


@dataclass(frozen=True, eq=False)
class PowerOfRatio:
    """The density ratio of a source's test inputs over its training inputs, to a power."""

    source: Source
    power: float

    def __call__(self, X: Array) -> Array:
        """Return the weight of each row of X."""
        if self.source.test == "iid":
            return np.ones(len(X))
        assert isinstance(self.source, SupportsDensityRatio)
        with np.errstate(divide="ignore", over="ignore"):  # weights must be finite: that is checked for all of them
            return np.asarray(self.source.density_ratio(X), dtype=np.float64) ** self.power


def weights_option(weights: Weights) -> dict[str, Weights]:
    """Return the key `weights` where it differs from the default, for fingerprints.

    Examples
    --------
    >>> weights_option("exact"), weights_option(1.0), weights_option(0.5)
    ({}, {}, {'weights': 0.5})
    """
    return {} if weights in (EXACT, 1.0) else {"weights": weights}


def weigh_family(family: Family, asked: Sequence[str], weights: Weights, source: Source, smoothed: bool) -> Family:
    """Return a family with the weights of a scenario, if its weighted procedures are asked for.

    Parameters
    ----------
    family : Family
        The family.
    asked : sequence of str
        The family's own names of the procedures that are asked for.
    weights : float or str
        The key `weights`.
    source : Source
        The source of the data, which knows the density ratio.
    smoothed : bool
        Whether p-values are smoothed.

    Raises
    ------
    ValueError
        If p-values are smoothed, or the density ratio isn't known; the message is one line that begins with the key.
    """
    some = [name for name in asked if isinstance(family, SupportsWeights) and name in family.weighted]
    if not some or not isinstance(family, SupportsWeights):
        return family
    if smoothed:
        raise ValueError(f"smoothed must be false or left out with {some[0]}: weighted p-values can't be smoothed")
    if weights == ESTIMATED:
        return family.weigh(None)
    if not (source.test == "iid" or (source.test == "shifted" and isinstance(source, SupportsDensityRatio))):
        raise ValueError(f"grid.procedure has {some[0]}, whose weights are unknown: {_explain_unknown_ratio(source)}")
    return family.weigh(PowerOfRatio(source, 1.0 if weights == EXACT else float(weights)))


def _explain_unknown_ratio(source: Source) -> str:
    if source.test == "grid":
        return 'a grid of test points has no distribution; write test = "iid" in [source], or weights = "estimated"'
    return 'this source has no method density_ratio; write one, or weights = "estimated"'
