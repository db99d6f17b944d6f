"""Set up axes: n on a log scale with its own values as ticks, plain tick labels, and strips for ∞ and 0."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, exp, floor, log, log10
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from harness.core.types import Array
from harness.figures.canvas.labels import format_with_powers
from harness.figures.canvas.style import FAINT

N_LABEL = "size n of the training sample"
_EDGE = 0.09
"""Share of an axis that each strip for ∞ or 0 takes."""


def set_size_axis(ax: Axes, sizes: Sequence[int], reach: float = 1.0, inches: float = 2.2) -> None:
    """Put n on a log x-axis, with ticks at the values of n.

    Parameters
    ----------
    ax : Axes
        Axes to change.
    sizes : sequence of int
        Values of n. Labels that would overlap are dropped; the largest n always keeps its label.
    reach : float
        Factor by which marks may stand to the left or right of their n.
    inches : float
        Width of the axes, which decides how many labels fit.
    """
    low, high = min(sizes), max(sizes)
    margin = log(reach) + max(0.05 * log(high / low), 0.08)
    span = log(high / low) + 2 * margin
    ax.set_xscale("log")
    ax.set_xlim(low * exp(-margin), high * exp(margin))
    kept: list[int] = []
    for n in sorted(sizes, reverse=True):  # the largest n always keeps its label
        room = 0.07 * (len(str(n)) + 1.5) / inches * span
        if not kept or log(kept[-1] / n) >= room:
            kept.append(n)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(kept, [str(n) for n in kept])


def compute_dodge_factors(names: Sequence[str], sizes: Sequence[int], share: float = 0.3) -> dict[str, float]:
    """Compute factors on n that draw the marks of several procedures side by side.

    Parameters
    ----------
    names : sequence of str
        Procedures.
    sizes : sequence of int
        Values of n, in ascending order.
    share : float
        Share of the smallest gap between two n, on the log scale, that the marks take.

    Returns
    -------
    dict
        Factor of each procedure; the factors are symmetric around 1.
    """
    gap = min(log(b / a) for a, b in pairwise(sizes)) if len(sizes) > 1 else log(2.0)
    step = (share if len(sizes) > 1 else 0.8) * gap / max(len(names), 2)
    return {name: exp(step * (place - (len(names) - 1) / 2)) for place, name in enumerate(names)}


def set_coverage_axis(ax: Axes, low: float) -> bool:
    """Put coverage from `low` to 1 on the y-axis.

    Returns
    -------
    bool
        Whether the axis is stretched towards 1, which it is if `low` is below `STRETCHED_BELOW`.
    """
    if low >= STRETCHED_BELOW:
        ax.set_ylim(low - 0.03 * (1 - low), 1 + 0.03 * (1 - low))
        return False
    ax.set_yscale("function", functions=(_stretch, _unstretch))
    ax.set_ylim(max(low - 0.03, 0.0), 1 + 5e-4)
    ticks = [0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1]
    ax.set_yticks([each for each in ticks if each >= low - 0.03])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.2f}"))
    return True


STRETCHED_BELOW = 0.65
"""Coverage below which a linear axis would leave too little room near 1."""
STRETCHED = "The coverage axis is stretched towards 1: it is linear in the square root of the error rate."
"""Note for figures with a stretched coverage axis."""


def _stretch(coverage: Array) -> Array:
    error = 1 - np.asarray(coverage, dtype=float)
    return np.asarray(-np.sign(error) * np.sqrt(np.abs(error)))


def _unstretch(position: Array) -> Array:
    position = np.asarray(position, dtype=float)
    return np.asarray(1 + np.sign(position) * position**2)


def set_log_ticks(axis: Axis, low: float, high: float) -> None:
    """Set plainly written ticks between `low` and `high` on a log axis."""
    ticks = _choose_ticks(low, high)
    axis.set_minor_locator(NullLocator())
    axis.set_ticks(ticks, [format_with_powers(each) for each in ticks])


def _choose_ticks(low: float, high: float) -> list[float]:
    """Choose powers of ten, then 1, 3 or 1, 2, 5 times these; round numbers if the range is below a factor of 4.

    Examples
    --------
    >>> _choose_ticks(0.005, 200.0), _choose_ticks(0.2, 4.0), _choose_ticks(2.2, 2.9)
    ([0.01, 0.1, 1.0, 10.0, 100.0], [0.3, 1.0, 3.0], [2.2, 2.4, 2.6, 2.8])
    """
    if high / low < 4:
        found = [float(each) for each in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)]
        return [float(f"{each:.6g}") for each in found if low <= each <= high]
    first, last = floor(log10(low)), ceil(log10(high))
    ticks: list[float] = []
    for fronts in ((1,), (1, 3), (1, 2, 5)):
        whole = [front * 10.0**power for power in range(first, last + 1) for front in fronts]
        ticks = [float(f"{each:.6g}") for each in whole if low <= each <= high]
        if len(ticks) >= 3:
            break
    return ticks[:: ceil(len(ticks) / 7)]


class Edges:
    """Log axis for positive numbers, with a strip at its end for infinity and one at its start for zero.

    A strip exists only if its value occurs.

    Parameters
    ----------
    *values : array
        Everything that will be drawn along the axis; NaN is ignored.
    """

    def __init__(self, *values: Array) -> None:
        together = np.concatenate([np.asarray(each, dtype=float).ravel() for each in values])
        finite = together[np.isfinite(together) & (together > 0)]
        self.low, self.high = (float(finite.min()), float(finite.max())) if len(finite) else (0.5, 2.0)
        spare = max((self.high / self.low) ** 0.06, 1.15)
        self.low, self.high = self.low / spare, self.high * spare
        self.has_infinity, self.has_nought = bool(np.isposinf(together).any()), bool((together == 0).any())
        span = log(self.high / self.low)
        self.strip = strip = exp(span * _EDGE / (1 - _EDGE * (self.has_infinity + self.has_nought)))
        self.start = self.low / strip if self.has_nought else self.low
        self.end = self.high * strip if self.has_infinity else self.high
        self.nought, self.infinity = self.low / strip**0.5, self.high * strip**0.5

    def place_values(self, values: Array, beside: float = 0.0) -> Array:
        """Move infinity and zero into their strips; return all other values unchanged.

        `beside` in [−½, ½] shifts infinite values from the middle of their strip, to tell several procedures apart.
        """
        values = np.asarray(values, dtype=float)
        values = np.where(np.isposinf(values), self.infinity * self.strip ** (0.8 * beside), values)
        return np.where(values == 0, self.nought, values)

    def mask_edges(self, values: Array) -> Array:
        """Replace infinity and zero by NaN, so that no line is drawn through them."""
        values = np.asarray(values, dtype=float)
        return np.where(np.isfinite(values) & (values > 0), values, np.nan)

    def apply(self, ax: Axes, along: Literal["x", "y"], labelled: bool = True) -> None:
        """Set the limits and ticks, and draw a rule between the numbers and each strip."""
        (ax.set_ylim if along == "y" else ax.set_xlim)(self.start, self.end)
        narrow = self.strip**0.6  # room for the labels of the strips
        low, high = self.low * (narrow if self.has_nought else 1.0), self.high / (narrow if self.has_infinity else 1.0)
        set_log_ticks(ax.yaxis if along == "y" else ax.xaxis, low, high)
        for is_used, at, bound, text in (
            (self.has_infinity, self.infinity, self.high, "∞"),
            (self.has_nought, self.nought, self.low, "0"),
        ):
            if is_used:
                rule = ax.axhline if along == "y" else ax.axvline
                rule(bound, color=FAINT, linewidth=0.6, linestyle=(0, (1, 2)))
                if labelled:
                    _label_edge(ax, along, at, text)


def _label_edge(ax: Axes, along: Literal["x", "y"], at: float, text: str) -> None:
    if along == "y":
        ax.annotate(text, (0, at), (-5, 0), ("axes fraction", "data"), "offset points", ha="right", va="center")
    else:
        ax.annotate(text, (at, 0), (0, -4), ("data", "axes fraction"), "offset points", ha="center", va="top")
