"""The nouns: the types that cross borders between modules of the harness. (`protocols.py` has the others.)

A **scenario** says what to study. Its grid has **cells**. A **path** is one draw of the world, a **draw** one train
sample on it; together they are a **replication**. A **unit** is what one task computes: a block of paths × draws at one
n, all other axes inside. It is the only writer of its chunks, for ever. A **receipt** proves that it is on disk. The
**cube** is the labelled result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]
    Bools = npt.NDArray[np.bool_]
    Values = npt.NDArray[Any]
    Generator = np.random.Generator
else:  # whoever computes loads NumPy; `ckrr status` does without
    Array = Bools = Values = Generator = Any

Theta = float | str
"""A number, or the name of a search for one."""
Streams = Callable[[str], Generator]
"""Named, independent streams of random numbers."""


class Status(IntEnum):
    """How one replication of one cell ended."""

    OK = 0
    EXCLUDED = 1
    """The scenario's `exclude` leaves it out."""
    SINGULAR = 2
    """A matrix could not be factorised."""
    ERROR = 3
    """An exception, of a source or of a procedure."""
    NOT_A_NUMBER = 4
    """A result is NaN."""
    MEMORY = 5
    """Out of memory."""
    SLOW = 6
    """It took longer than it may."""
    NOT_RUN = 255
    """Nothing is there yet: the fill of the store."""


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
"""What data may depend on besides n."""
INNER = ("procedure", "gamma", "theta", "lam", "alpha")
"""The axes inside a unit, in the store's order."""


@dataclass(frozen=True)
class Extent:
    """What a store holds, or a scenario asks for: a grid, so many paths and draws, without some cells."""

    grid: Grid
    paths: int
    draws: int
    exclude: tuple[Mapping[str, tuple[object, ...]], ...] = ()
    """Rules: a cell is left out if one of them has its value on every axis that the rule names."""


@dataclass(frozen=True, order=True, slots=True)  # without slots, sending one makes a dictionary that stays with it
class Unit:
    """A block of replications at one n: the place of its chunks, and what of it is asked for."""

    n: int
    path_block: int
    draw_block: int
    paths: range
    draws: range
    signed: bool = False
    """Whether it has a receipt already, so that there is something to keep."""

    @property
    def name(self) -> str:
        """What it is called in the store."""
        return f"n={self.n}/p{self.path_block}_d{self.draw_block}"

    def __len__(self) -> int:
        return len(self.paths) * len(self.draws)


@dataclass(frozen=True)
class Preparation:
    """Work that is done once for a study, before its units: an array that the store keeps."""

    name: str
    operations: float
    """In those of a matrix product."""
    memory: float
    """Bytes that it needs at its peak."""


@dataclass(frozen=True)
class Limits:
    """How a unit's replications are guarded."""

    seconds: float = 600.0
    """Limit of a step of a replication: its data, one fit, its regions."""
    user_set: bool = False
    """Whether the scenario sets that limit, so that it must hold everywhere."""
    sandboxed: bool = False
    """One replication at a time, in a child process that may die of it."""
    has_nanny: bool = False
    """Whether this process is started again if it ends, so that it may be ended when the limit is over."""
    memory: float | None = None
    """Bytes that a child may use."""
    planned: float = 0.0
    """Seconds that the whole unit is planned to take."""


@dataclass(frozen=True)
class Failure:
    """A replication of a cell that failed: what happened, and what is needed to see it again."""

    path: int
    draw: int
    gamma: float
    theta: Theta
    lam: float
    kind: str
    message: str


@dataclass(frozen=True, eq=False)
class Block:
    """What a unit returns: for every variable of the store an array over paths, draws and the inner axes."""

    unit: Unit
    values: Mapping[str, Values]
    failures: Sequence[Failure]
    seconds: Mapping[str, float]
    """Where the time went."""
