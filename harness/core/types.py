"""Data types shared by the modules of the harness. (The interfaces of sources and procedures are in `protocols.py`.)

A **scenario** defines what to study. Its grid has **cells**. A **path** is one independent realisation of the
data-generating process, a **draw** one training sample on it; together they are a **replication**. A **unit** is what
one task computes: a block of paths × draws at one n, with all other axes inside. No other unit ever writes to its
chunks. A **receipt** proves that a unit is on disk. The **cube** is the labelled result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]
    Values = npt.NDArray[Any]
    Generator = np.random.Generator
else:  # only computations load NumPy; `ckrr status` starts faster without it
    Array = Bools = Values = Generator = Any

Reduction = Literal["share", "probability", "mean", "bounded_mean", "median"]
"""How replications of a measure are reduced to one number: see `harness.statistics.reduce`."""
Theta = float | str
"""A number, or the name of a search for θ."""
Streams = Callable[[str], Generator]
"""Function from the name of a random stream to its generator; streams are independent."""


class Status(IntEnum):
    """Outcome of one replication of one cell."""

    OK = 0
    EXCLUDED = 1
    """A rule of the scenario (`exclude`) excludes the cell."""
    SINGULAR = 2
    """A matrix could not be factorised."""
    ERROR = 3
    """A source or a procedure raised an exception."""
    NOT_A_NUMBER = 4
    """A result is NaN."""
    MEMORY = 5
    """Out of memory."""
    SLOW = 6
    """A step took longer than the time limit."""
    NOT_RUN = 255
    """Not computed yet: the fill value of the store."""


FAILED = (Status.SINGULAR, Status.ERROR, Status.NOT_A_NUMBER, Status.MEMORY, Status.SLOW)


@dataclass(frozen=True)
class Grid:
    """The values of each axis."""

    procedure: tuple[str, ...]
    gamma: tuple[float, ...]
    """Variance of the noise."""
    theta: tuple[Theta, ...]
    lam: tuple[float, ...]
    n: tuple[int, ...]
    alpha: tuple[float, ...]


REDRAWS = ("gamma", "theta", "lam", "path", "draw")
"""Axes that data may depend on besides n."""
INNER = ("procedure", "gamma", "theta", "lam", "alpha")
"""Axes inside a unit, in the order of the store."""


FIRST_ROUND = 100
"""Paths of the first round of a study that adds paths until it is decided."""


@dataclass(frozen=True)
class Extent:
    """The content of a store, or of a request: a grid, numbers of paths and draws, and rules that exclude cells."""

    grid: Grid
    paths: int
    draws: int
    exclude: tuple[Mapping[str, tuple[object, ...]], ...] = ()
    """Rules: a cell is excluded if, for one rule, its value is listed on every axis that the rule names."""
    left_out: tuple[str, ...] = ()
    """Procedures that units written at this extent don't compute: those of families that weren't asked for."""


@dataclass(frozen=True, order=True, slots=True)  # without slots, pickling one creates a `__dict__` that it keeps
class Unit:
    """A block of replications at one n: its position in the grid of blocks, and the paths and draws to compute."""

    n: int
    path_block: int
    draw_block: int
    paths: range
    draws: range
    signed: bool = False
    """Whether the unit already has a receipt, so that the store holds results of it to keep."""

    @property
    def name(self) -> str:
        """Name of the unit in the store, such as "n=25/p3_d0"."""
        return f"n={self.n}/p{self.path_block}_d{self.draw_block}"

    def __len__(self) -> int:
        return len(self.paths) * len(self.draws)


@dataclass(frozen=True)
class Preparation:
    """An array computed once for a study, before its units, and kept in the store."""

    name: str
    operations: float
    """Work to compute it, in operations of a matrix product."""
    memory: float
    """Bytes needed at the peak of its computation."""


@dataclass(frozen=True)
class Limits:
    """Limits of time and memory for the replications of a unit."""

    seconds: float = 600.0
    """Time limit for one step of a replication: its data, one fit, or its regions."""
    user_set: bool = False
    """Whether the scenario sets the time limit, so that it must be enforced on every worker."""
    sandboxed: bool = False
    """Whether to compute one replication at a time in a child process, which may crash without harm."""
    may_end: bool = False
    """Whether this process may be ended when a step exceeds the time limit, because a nanny or the driver goes on."""
    memory: float | None = None
    """Bytes that the child process may use; None for no limit."""
    planned: float = 0.0
    """Estimated seconds for the whole unit."""


@dataclass(frozen=True)
class Failure:
    """A failed replication of a cell: what happened, and what is needed to reproduce it."""

    path: int
    draw: int
    gamma: float
    theta: Theta
    lam: float
    kind: str
    message: str
    family: str = ""
    """Name of the family that failed; empty in a study of one family, and where the data of all families failed."""

    @property
    def key(self) -> tuple[object, ...]:
        """Replication, cell and family, which tell one failure from another."""
        return self.path, self.draw, self.gamma, self.theta, self.lam, self.family


@dataclass(frozen=True, eq=False)
class Block:
    """The result of a unit: for every variable of the store, an array over paths, draws and the inner axes."""

    unit: Unit
    values: Mapping[str, Values]
    failures: Sequence[Failure]
    seconds: Mapping[str, float]
    """Computing time by step."""
