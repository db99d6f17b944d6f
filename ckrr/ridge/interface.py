"""Interface of a factorised ridge matrix, which regions, scores and the ridge with a constant mean depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ckrr._validation import Array
from ckrr.ridge.exact import Projection, Target


class FactorisedRidge(Protocol):
    """Interface of a factorised ridge matrix, of a kernel or of features, as regions need it."""

    X: Array
    theta: float
    lam: float
    n: int
    log_det: float

    @property
    def diag_Q(self) -> Array: ...  # noqa: D102
    def make_target(self, y: Array) -> Target: ...  # noqa: D102
    def project(self, X_new: Array, targets: Sequence[Target], weights: bool = True) -> Iterator[Projection]: ...  # noqa: D102
