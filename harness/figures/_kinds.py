"""The figures there are, each with a sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One kind of figure."""

    name: str
    what: str
    """A sentence."""


DEFAULT = "coverage"

FIGURES = {
    one.name: one
    for one in (
        Kind("coverage", "coverage against n, with its Monte-Carlo interval, the nominal and the exact level"),
        Kind("width", "widths against n: the median, and the 5 % and 95 % quantiles over test points"),
        Kind("tradeoff", "coverage against width as n grows, so that the trade is seen"),
        Kind(
            "pointwise", "coverage at each test point, a line in one dimension and a map in two; needs pointwise kept"
        ),
        Kind("paths", "coverage on each path, sorted, with its interval: what a single sample may get"),
        Kind("failures", "where replications failed, and where regions are unbounded, empty or in several pieces"),
        Kind("seconds", "seconds of a replication against n, with the fitted exponent"),
    )
}
"""By name."""
