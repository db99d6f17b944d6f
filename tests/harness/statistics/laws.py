"""Simulate studies whose coverage is known, and measure how often intervals of shares cover it.

A law says how the error rate e_p of the test points varies from path to path. All laws have a given mean μ, the true
error rate, and a given correlation between the points of a path, Var(e_p)/(μ(1 − μ)):

- ``"beta"``: a beta distribution, which conformal regions have (correlation 1/(n + 2));
- ``"rare"``: a tenth of the paths is bad, and the others are good;
- ``"discrete"``: all errors are on some paths, and the others have none;
- ``"steps"``: a third of the paths each is good, usual and bad, if the correlation allows it.

Where a tenth of bad paths can't give the correlation, the share of bad paths is the nearest that can. Draws on a path
share its error rate, but for a beta distribution around it with correlation `WITHIN`, if there are several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from scipy import stats

from harness.core.types import Array
from harness.statistics.clustered import clustered_error
from harness.statistics.intervals import Estimate, estimate_share

Kind = Literal["beta", "rare", "discrete", "steps"]
KINDS: tuple[Kind, ...] = ("beta", "rare", "discrete", "steps")
WITHIN = 0.02
SIZES = tuple(product((1, 5), (200, 5), (10, 20, 50, 200)))
"""Draws, test points and paths of the whole grid."""
_HEAD = ["law", "truth", "correlation", "paths", "draws", "points"]
_CHUNK = 2_000_000


@dataclass(frozen=True)
class Law:
    """A study with known truth."""

    kind: Kind
    truth: float
    correlation: float
    paths: int
    draws: int
    points: int
    is_counted: bool = True

    @property
    def promise(self) -> float:
        """Least coverage that the documentation claims."""
        return 0.94 if self.is_counted else 0.93

    @property
    def unseen(self) -> float:
        """Probability that a study lacks the rarest kind of path; 0 for beta laws."""
        if self.kind == "beta" or self.correlation == 0:
            return 0.0
        return float((1 - self.list_rates()[1].min()) ** self.paths)

    def simulate(self, studies: int, seed: int = 0) -> Array:
        """Return the coverage of each replication, over path, draw and study."""
        plain = (KINDS.index(self.kind), round(1e4 * self.truth), round(1e4 * self.correlation))
        rng = np.random.default_rng([*plain, self.paths, self.draws, self.points, self.is_counted, seed])
        rates = self._draw_rates(rng, (self.paths, 1, studies))
        if self.draws > 1:
            rates = _draw_beta(rng, rates, WITHIN, (self.paths, self.draws, studies))
        return 1 - (rng.binomial(self.points, rates) / self.points if self.is_counted else rates)

    def _draw_rates(self, rng: np.random.Generator, size: tuple[int, ...]) -> Array:
        """Draw the error rate of each path."""
        mean = 1 - self.truth
        if self.correlation == 0:
            return np.full(size, mean)
        if self.kind == "beta":
            return _draw_beta(rng, np.array(mean), self.correlation, size)
        values, shares = self.list_rates()
        return np.asarray(rng.choice(values, size, p=shares))

    def list_rates(self) -> tuple[Array, Array]:
        """Return the possible error rates of a path, and the probability of each, of a law that isn't beta."""
        mean = 1 - self.truth
        variance = self.correlation * mean * self.truth
        third = np.sqrt(1.5 * variance)
        if self.kind == "steps" and third <= mean:
            return np.array([mean - third, mean, mean + third]), np.full(3, 1 / 3)
        most = mean**2 / (mean**2 + variance)  # share of bad paths that have all errors
        least = variance / (self.truth**2 + variance)  # share of bad paths that have nothing but errors
        bad = most if self.kind == "discrete" else min(most, max(least, 0.1))
        step = np.sqrt(variance / (bad * (1 - bad)))
        return np.clip([mean - bad * step, mean + (1 - bad) * step], 0.0, 1.0), np.array([1 - bad, bad])


def _draw_beta(rng: np.random.Generator, mean: Array, correlation: float, size: tuple[int, ...]) -> Array:
    """Draw from the beta distribution with a mean, and the correlation between points that share it."""
    k = 1 / correlation - 1
    return rng.beta(np.maximum(mean * k, 1e-12), np.maximum((1 - mean) * k, 1e-12), size)


@dataclass(frozen=True)
class Outcome:
    """How often the interval covers the truth, and its mean length; also those of the previous interval."""

    covered: float
    length: float
    previous_covered: float
    previous_length: float
    studies: int


def measure(law: Law, studies: int, seed: int = 0) -> Outcome:
    """Simulate studies, and compare the interval with the truth and with the previous interval."""
    size = max(min(studies, _CHUNK // (law.paths * law.draws)), 1)
    sums, done = np.zeros(4), 0
    while done < studies:
        values = law.simulate(min(size, studies - done), seed + done)
        found = estimate_share(values, np.ones(values.shape, bool), law.points, is_counted=law.is_counted)
        for place, (low, high) in enumerate(((found.low, found.high), compute_previous(values, found, law.points))):
            covers = (low <= law.truth + 1e-12) & (law.truth - 1e-12 <= high)
            sums[2 * place : 2 * place + 2] += covers.sum(), (high - low).sum()
        done += values.shape[-1]
    return Outcome(*(float(each) / done for each in sums), studies=done)


def compute_previous(values: Array, found: Estimate, points: int) -> tuple[Array, Array]:
    """Return the interval that we had until commit 04bc54f: all points independent where every replication gave 1."""
    share, se = clustered_error(values, np.ones(values.shape, bool))
    t2, total = stats.t.ppf(0.975, found.paths - 1) ** 2, values.shape[0] * values.shape[1] * points
    kept = (share * total + 2) / (total + 4)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = share * (1 - share) / np.maximum(se**2, kept * (1 - kept) / (total + 4) / 4)
    size = np.where(share * (1 - share) > 0, size, total)
    middle = (size * share + t2 / 2) / (size + t2)
    half = np.sqrt(t2 * middle * (1 - middle) / (size + t2))
    return np.minimum(np.maximum(middle - half, 0), share), np.maximum(np.minimum(middle + half, 1), share)


def measure_carefully(law: Law) -> Outcome:
    """Measure with 5000 studies; if these are near the promise or below it, with 20000 others."""
    found = measure(law, 5000)
    return found if found.covered > law.promise + 0.005 else measure(law, 20000, seed=10**6)


def list_laws(is_counted: bool) -> Iterator[Law]:
    """Yield the laws of the whole grid, each once."""
    for kind, truth, correlation in product(KINDS, (0.5, 0.9, 0.99, 0.998, 0.999), (0.0, 0.01, 0.05, 0.1, 0.2)):
        is_new = kind == "beta" or (correlation > 0 and (kind != "steps" or truth <= 0.9))
        if is_new and (is_counted or correlation > 0):
            for draws, points, paths in SIZES:
                yield Law(kind, truth, correlation, paths, draws, points, is_counted)


def format_report(found: Mapping[Law, Outcome]) -> str:
    """Format all coverages as a table in Markdown, after a list of those below their promise."""
    below = sorted((law for law in found if found[law].covered < law.promise), key=lambda law: found[law].covered)
    beta = sum(law.kind == "beta" for law in below)
    columns = [f"P={paths}, D={draws}, m={points}" for draws, points, paths in SIZES]
    rows: dict[tuple[str, ...], list[str]] = {}
    for law, outcome in found.items():
        mark = "**" if outcome.covered < law.promise else ""
        key = (law.kind, f"{law.truth:g}", f"{law.correlation:g}")
        rows.setdefault(key, []).append(f"{mark}{outcome.covered:.3f}{mark}")
    return "\n".join(
        [
            f"{len(found)} laws; {len(below)} below their promise, {beta} of them beta:",
            "",
            *_format_rows([*_HEAD, "covers", "a kind unseen", "length", "of previous"], _describe(below, found)),
            "",
            "Lengths relative to the previous interval, where that kept the promise:",
            "",
            *_format_rows(["truth", "paths", "points", "laws", "median", "largest"], _summarise_lengths(found)),
            "",
            "All laws:",
            "",
            *_format_rows([*_HEAD[:3], *columns], [[*key, *row] for key, row in rows.items()]),
        ]
    )


def _describe(laws: list[Law], found: Mapping[Law, Outcome]) -> list[list[str]]:
    """Return the rows of laws with their sizes, coverages and lengths."""
    rows = []
    for law in laws:
        one, size = found[law], (law.truth, law.correlation, law.paths, law.draws, law.points)
        ratio = one.length / one.previous_length
        measured = (f"{one.covered:.4f}", f"{law.unseen:.3f}", f"{one.length:.4f}", f"{ratio:.2f}")
        rows.append([law.kind, *(f"{each:g}" for each in size), *measured])
    return rows


def _summarise_lengths(found: Mapping[Law, Outcome]) -> list[list[str]]:
    """Return rows with the relative lengths over laws of the same truth, paths and test points."""
    ratios: dict[tuple[float, int, int], list[float]] = {}
    for law, one in found.items():
        if one.previous_covered >= law.promise:
            ratios.setdefault((law.truth, law.paths, law.points), []).append(one.length / one.previous_length)
    return [
        [*(f"{each:g}" for each in key), str(len(some)), f"{np.median(some):.2f}", f"{max(some):.2f}"]
        for key, some in sorted(ratios.items())
    ]


def _format_rows(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *rows)]
