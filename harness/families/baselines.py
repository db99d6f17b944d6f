"""Compare alternatives (GPR-t, split, jackknife+, CV+, J+GP) with all procedures of the family `krr` on the same data.

`ckrr.baselines` describes these procedures. All of them share one factorisation. Halves and folds come from one random
permutation of the sample, drawn from the replication's stream "order". Where θ is searched for, split searches on its
first half alone, and so keeps its level; the others use the θ of all points. The exception is "median", which all
procedures use alike: from the inputs of all training and test points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np
import numpy.typing as npt

import ckrr
from ckrr.baselines import FOLDS, cv_plus, jackknife_plus, jackknife_plus_gp, split, split_level, student
from ckrr.likelihood.holdout import HOLDOUTS
from ckrr.likelihood.median import MEDIAN
from ckrr.ridge.exact import TEST_BLOCK
from ckrr.space import ZERO, is_random
from harness.core.protocols import Factor, Inputs, Scores, Target
from harness.core.types import Array, Streams
from harness.families.intervals import Ends, draw_order, score_in_turn, score_targets, split_sample
from harness.families.krr import FAMILY as KRR, KernelRidge


@dataclass(frozen=True, eq=False)
class BaselineFactor:
    """Training and test inputs of a sample, with the factorisation for the training inputs."""

    X: Array
    X_test: Array
    factor: ckrr.Factor
    make_factor: Callable[[Array, Array], ckrr.Factor]
    """Factorise other points with their values: λ as given, θ as given or searched for again."""

    @property
    def theta(self) -> float:
        """The θ that was given, or found by the search on all points."""
        return self.factor.theta

    @property
    def lam(self) -> float:
        """The λ that was given, or found by the search on all points."""
        return self.factor.lam

    @property
    def scales(self) -> Array | None:
        """The unit of each coordinate, given or found by the search on all points."""
        return self.factor.scales

    @property
    def on_bound(self) -> bool | None:
        """Whether the search on all points found a value at a bound; None without a search."""
        return self.factor.on_bound


@dataclass(frozen=True, eq=False)
class Query:
    """Input of a baseline: the sample, one target, a random permutation of the points, and the values of α."""

    sample: BaselineFactor
    y: Array
    order: npt.NDArray[np.intp]
    alpha: Sequence[float]

    @property
    def halves(self) -> tuple[Array, Array, Array, Array]:
        """Return X and y of the half for fitting, then of the half for calibration."""
        return split_sample(self.sample.X, self.y, self.order)


IntervalMethod = Callable[[Query], Ends]


def _student(asked: Query) -> Ends:
    return _get_ends(student(asked.sample.factor.fit(asked.y), asked.sample.X_test, asked.alpha))


def _split(asked: Query) -> Ends:
    X, y, X_calibration, y_calibration = asked.halves
    fit = asked.sample.make_factor(X, y).fit(y)
    return _get_ends(split(fit, X_calibration, y_calibration, asked.sample.X_test, asked.alpha))


def _jackknife_plus(asked: Query) -> Ends:
    return _get_ends(jackknife_plus(asked.sample.factor.fit(asked.y), asked.sample.X_test, asked.alpha))


def _cv_plus(asked: Query) -> Ends:
    return _get_ends(cv_plus(asked.sample.factor.fit(asked.y), asked.sample.X_test, asked.alpha, asked.order))


def _jackknife_plus_gp(asked: Query) -> Ends:
    return _get_ends(jackknife_plus_gp(asked.sample.factor.fit(asked.y), asked.sample.X_test, asked.alpha))


def _get_ends(regions: ckrr.Regions) -> Ends:
    return regions.lower, regions.upper


METHODS: Mapping[str, IntervalMethod] = {
    "GPR-t": _student,
    "split": _split,
    "jackknife+": _jackknife_plus,
    "CV+": _cv_plus,
    "J+GP": _jackknife_plus_gp,
}


@dataclass(frozen=True)
class BaselineInputs:
    """Training and test inputs of a sample."""

    krr: KernelRidge
    X: Array
    X_test: Array

    def factor(self, theta: float, lam: float) -> Factor:
        """Factorise for a given θ."""
        factor = self.krr.inputs(self.X, self.X_test).factor(theta, lam)
        return self._make_factor(factor, lambda inputs, y: inputs.factor(theta, lam))

    def factor_ml(self, y: Array, lam: float, search: str) -> Factor:
        """Factorise for the θ that a search finds."""
        make = partial(self.krr.inputs(self.X, self.X_test).factor_ml, y, lam, search)
        return self._make_found(make, lam, search)

    def search_ml(self, Y: Array, lam: float, search: str) -> Sequence[Callable[[], Factor]]:
        """Search for the θ of several targets at once; return for each a function that factorises for that θ."""
        found = self.krr.inputs(self.X, self.X_test).search_ml(Y, lam, search)
        return [partial(self._make_found, make, lam, search) for make in found]

    def _make_found(self, make: Callable[[], ckrr.Factor], lam: float, search: str) -> BaselineFactor:
        factor = make()
        if search == MEDIAN:  # the half of split has the same θ: it must treat calibration and test points alike
            return self._make_factor(factor, lambda inputs, y: inputs.factor(factor.theta, lam))
        return self._make_factor(factor, lambda inputs, y: inputs.factor_ml(y, lam, search))

    def _make_factor(
        self, factor: ckrr.Factor, make_other: Callable[[ckrr.Inputs, Array], ckrr.Factor]
    ) -> BaselineFactor:
        plain = replace(self.krr, is_weighted=False)  # methods don't use weights
        return BaselineFactor(self.X, self.X_test, factor, lambda X, y: make_other(plain.inputs(X, self.X_test), y))


@dataclass(frozen=True)
class Baselines:
    """Family of the procedures of `krr`, plus methods that give intervals, on the same samples."""

    methods: Mapping[str, IntervalMethod] = field(default_factory=lambda: METHODS)
    split_based: tuple[str, ...] = ("split",)
    """Methods that have the level of split conformal prediction."""
    is_timed: bool = False
    """Whether the harness times the methods before a run, because their work isn't known."""
    gaussian_only: bool = False
    """Whether only the Gaussian kernel without scales is supported."""
    krr: KernelRidge = KRR
    searches: Sequence[str] = tuple(each for each in KRR.searches if each not in HOLDOUTS)
    """Searches on all points. Those on held-out rows are left out: split has its own held-out half."""
    finds_lam: Sequence[str] = tuple(each for each in KRR.finds_lam if each not in HOLDOUTS)
    finds_scales: Sequence[str] = tuple(each for each in KRR.finds_scales if each not in HOLDOUTS)
    reference: str | None = KRR.reference
    version: int = KRR.version

    @property
    def axes(self) -> Sequence[str]:
        """Those of θ and λ that results depend on."""
        return self.krr.axes

    @property
    def procedures(self) -> Sequence[str]:
        """Names of all procedures, those of `krr` first."""
        return (*self.krr.procedures, *self.methods)

    @property
    def input_searches(self) -> Sequence[str]:
        """Searches that depend on the inputs alone."""
        return [each for each in self.krr.input_searches if each in self.searches]

    def left(self, search: str, n: int) -> int | None:
        """Return the number of points with which exact levels hold: all for "median"; None for other searches."""
        return self.krr.left(search, n) if search in self.searches else None

    def inputs(self, X: Array, X_test: Array) -> Inputs:
        """Return the training and test inputs of a sample, to be factorised."""
        return BaselineInputs(self.krr, X, X_test)

    def on_kernel(
        self,
        dimension: int,
        kernel: str = "gaussian",
        scales: Sequence[float] | None = None,
        features: int | None = None,
        mean: str = ZERO,
    ) -> Self:
        """Return the family with another kernel or mean; raise ValueError for kernels on random features."""
        if self.gaussian_only:
            if mean != ZERO:
                raise ValueError("mean must be left out: this family has procedures that can't estimate a mean")
            raise ValueError("kernel and scales must be left out: this family supports only the Gaussian kernel")
        if is_random(kernel):
            raise ValueError(f"kernel must not use random features, which CV+ does not support, got {kernel!r}")
        krr = self.krr.on_kernel(dimension, kernel, scales, features, mean)
        return replace(self, krr=krr, searches=tuple(each for each in self.searches if each in krr.searches))

    def with_distributions(self) -> Self:
        """Return the family with scores of the predictive distributions of `krr`."""
        return replace(self, krr=self.krr.with_distributions())

    @property
    def weighted(self) -> Sequence[str]:
        """Names of the weighted procedures, which are those of `krr`."""
        return self.krr.weighted

    def weigh(self, ratio: Callable[[Array], Array] | None) -> Self:
        """Return the family with weights, for weighted procedures."""
        return replace(self, krr=self.krr.weigh(ratio))

    def know_noise(self) -> Self:
        """Return the family whose GPR-f and GPR-p know the standard deviation of the noise."""
        return replace(self, krr=self.krr.know_noise())

    def score(
        self,
        factors: Sequence[Factor],
        targets: Sequence[Target],
        procedures: Sequence[str],
        alpha: Sequence[float],
        streams: Sequence[Streams],
    ) -> Sequence[Scores]:
        """Score the procedures one after the other, each on its own, so that their times can be compared."""
        samples = [factor for factor in factors if isinstance(factor, BaselineFactor)]
        orders = [draw_order(some, len(sample.X)) for sample, some in zip(samples, streams, strict=True)]

        def score_procedure(name: str) -> Sequence[ckrr.Scores]:
            if name in self.methods:
                return [self._score_method(name, *one, alpha) for one in zip(samples, targets, orders, strict=True)]
            return self.krr.score([sample.factor for sample in samples], targets, [name], alpha, streams)

        return score_in_turn(procedures, score_procedure)

    def _score_method(
        self, name: str, sample: BaselineFactor, target: Target, order: npt.NDArray[np.intp], alpha: Sequence[float]
    ) -> ckrr.Scores:
        return score_targets(lambda y: self.methods[name](Query(sample, y, order, alpha)), target)

    def level(self, procedure: str, n: int, alpha: float) -> float | None:
        """Return the exact level of conformal procedures, split ones included; None for others.

        Jackknife+, J+GP and CV+ guarantee 1 − 2α at most, which is not an exact level.
        """
        return split_level(n, alpha) if procedure in self.split_based else self.krr.level(procedure, n, alpha)

    def flops(self, n: int, points: int, targets: int, searched: bool) -> float | None:
        """Estimate the operations for one factor and its targets; None if the methods are timed instead.

        To those of `krr` this adds the factorisation of one half, QR factorisations for the folds, and products and
        sorts for each procedure.
        """
        if self.is_timed:
            return None
        folds = 4.0 * n**3 / FOLDS
        half = (n / 2) ** 3 * 2 / 3 + 0.5 * n * n * (points + n / 2)
        passes = points * (400.0 * n + 6e3) + 5.0 * n * n * points + 6e7
        again = self.krr.flops(n // 2, 1, 0, searched) if searched else 0.0
        return self.krr.flops(n, points, targets, searched) + half + again + targets * (folds + passes)

    def memory(self, n: int, points: int) -> float:
        """Estimate the bytes for one replication: those of `krr`, a fold's QR factor, and sorts of a test block."""
        return self.krr.memory(n, points) + 8.0 * (n * n / 4 + 3 * n * n / FOLDS + 6 * n * min(points, TEST_BLOCK))


FAMILY = Baselines()
