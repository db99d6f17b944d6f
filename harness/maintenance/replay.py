"""Replay: one replication computed again, here, and compared with what the store has of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.backends.base import place
from harness.compute.study import Study
from harness.compute.unit import compute, sample_of
from harness.core.environment import machine
from harness.core.errors import Mistake
from harness.core.labels import label
from harness.core.schema import replication_variables
from harness.core.types import Bools, Care, Failure, Theta, Unit, Values
from harness.maintenance.trust import check_trusted
from harness.planning.machine import cores, memory
from harness.store import arrays, receipts
from harness.store.manifest import Record, version
from harness.store.manifest_io import load
from harness.worker.blas import limited
from harness.worker.postmortem import was_ended
from harness.worker.sandbox import compute_carefully
from harness.worker.study import study_of


@dataclass(frozen=True)
class Asked:
    """Which replication, and which of its cells: all values of an axis where it is None."""

    n: int
    path: int
    draw: int
    gamma: float | None = None
    theta: Theta | None = None
    lam: float | None = None


@dataclass(frozen=True)
class Replayed:
    """How a replay compares with the store."""

    cells: int
    """Cells of γ, θ and λ that were computed again."""
    numbers: int
    """Numbers compared, over procedures and levels."""
    differing: Mapping[str, int]
    """By variable, how many aren't equal bit for bit."""
    largest: float
    """The largest relative difference."""
    failures: Sequence[Failure]
    same_machine: bool
    """Whether the BLAS core type is the one that the store's numbers were computed on."""
    written: bool
    """Whether the store has this replication at all."""
    deadly: bool = False
    """Whether it ended its process when it was computed first, so that it got one of its own now."""

    @property
    def equal(self) -> bool:
        """In every bit."""
        return self.written and not self.differing


def replay(url: str, asked: Asked, note: Callable[[str], None] = lambda text: None) -> Replayed:
    """Computes a replication again and compares every number of it; a note says if that may take long."""
    url = place(url).url
    record = _record(url)
    study, unit, todo = study_of(url, record), _unit(record, asked), _todo(record, asked)
    receipt = _receipt(url, record, asked)
    before = _deadly(receipt, asked)
    if before is None:
        with limited(study.threads):
            block = compute(study, unit, todo)
    else:
        care = _care(record)
        note(f"it failed so: {before}; it gets a process of its own, and {care.seconds:g} s for each of its steps")
        block = compute_carefully(study, (url, version(record), record.generation), unit, todo, care)
    differing: dict[str, int] = {}
    numbers, largest = 0, 0.0
    cells = todo[0, 0]
    for variable in replication_variables(record.keep):
        new, old = (
            _cells(each, variable.dims, cells)
            for each in (block.values[variable.name], arrays.read_unit(url, record, unit, variable.name))
        )
        numbers += new.size
        wrong = _different(new, old)
        if wrong.any():
            differing[variable.name] = int(wrong.sum())
            largest = max(largest, _relative(new[wrong], old[wrong]))
    same = receipt is None or receipt.get("blas") == machine()["blas"]
    facts = (block.failures, same, receipt is not None, before is not None)
    return Replayed(int(cells.sum()), numbers, differing, largest, *facts)


def _deadly(receipt: Mapping[str, Any] | None, asked: Asked) -> str | None:
    """How it ended its process before, if it did."""
    for one in [] if receipt is None else receipt["failures"]:
        if (one["path"], one["draw"]) == (asked.path, asked.draw) and was_ended(one["kind"], one["message"]):
            return str(one["message"])
    return None


def _care(record: Record) -> Care:
    told = record.scenario["replications"].get("seconds")
    return Care(told or Care.seconds, memory=0.9 * memory() / cores())


def check_code(url: str, trusted: bool) -> None:
    """Refuse to run code that only the store knows, unless it is trusted."""
    there = place(url)
    check_trusted(there, _record(there.url), Path.cwd(), trusted)


def _record(url: str) -> Record:
    record = load(place(url))
    if record is None:
        raise Mistake(f"{url}: there is no store here")
    return record


def _unit(record: Record, asked: Asked) -> Unit:
    extent = record.extent
    if asked.n not in extent.grid.n:
        raise Mistake(f"--n must be one of {', '.join(map(label, extent.grid.n))}, got {asked.n}")
    for name, value, end in (("path", asked.path, extent.paths), ("draw", asked.draw, extent.draws)):
        if not 0 <= value < end:
            raise Mistake(f"--{name} must be from 0 to {end - 1}, got {value}")
    rows, columns = record.groups[asked.n].block
    paths, draws = range(asked.path, asked.path + 1), range(asked.draw, asked.draw + 1)
    return Unit(asked.n, asked.path // rows, asked.draw // columns, paths, draws)


def _todo(record: Record, asked: Asked) -> Bools:
    """The cells that are asked for: over path, draw, γ, θ and λ."""
    sides = []
    for axis in ("gamma", "theta", "lam"):
        values, one = getattr(record.extent.grid, axis), getattr(asked, axis)
        if one is not None and one not in values:
            raise Mistake(f"--{axis} must be one of {', '.join(map(label, values))}, got {label(one)}")
        sides.append(np.array([one is None or value == one for value in values]))
    return np.asarray((sides[0][:, None, None] & sides[1][:, None] & sides[2])[None, None])


def _cells(values: Values, dims: tuple[str, ...], cells: Bools) -> Values:
    """The numbers of some cells: an array over these cells and the other axes."""
    one = values[0, 0] if dims[0] != "procedure" else np.moveaxis(values[0, 0], 0, 3)
    return np.asarray(one[cells])


def _different(new: Values, old: Values) -> Bools:
    """Where bits differ; one NaN is as good as another."""
    if new.dtype.kind != "f":
        return np.asarray(new != old)
    return np.asarray((new != old) & ~(np.isnan(new) & np.isnan(old)))


def _relative(new: Values, old: Values) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(new.astype(float) - old.astype(float)) / np.maximum(np.abs(old.astype(float)), 1e-300)
    return float(np.nan_to_num(apart, nan=np.inf).max())


def _receipt(url: str, record: Record, asked: Asked) -> Mapping[str, Any] | None:
    """What stands in the receipt of the unit that has the replication."""
    found = receipts.of_unit(place(url), _unit(record, asked))
    return receipts.read(place(url), found[-1]) if found else None


def looked_into(url: str, asked: Asked) -> dict[str, Values]:
    """Data, fits and regions of a replication as plain arrays, one set for each cell."""
    record = _record(url)
    study, unit = study_of(url, record), _unit(record, asked)
    cells, grid, found = _todo(record, asked)[0, 0], record.extent.grid, dict[str, Values]()
    for g, t, r in zip(*np.nonzero(cells), strict=True):
        name = f"gamma={label(grid.gamma[g])},theta={label(grid.theta[t])},lam={label(grid.lam[r])}"
        for key, value in _cell(study, unit, int(g), int(t), int(r)).items():
            found[f"{name}/{key}"] = value
    return found


def _cell(study: Study, unit: Unit, g: int, t: int, r: int) -> dict[str, Values]:
    sample, target, factor = sample_of(study, unit.n, unit.paths.start, unit.draws.start, g, t, r)
    streams = [study.seeds.draw(unit.paths.start, unit.draws.start)]
    (scores,) = study.family.score([factor], [target], study.extent.grid.procedure, study.extent.grid.alpha, streams)
    arrays = {"hits": scores.hits, "lower": scores.lower, "upper": scores.upper, "length": scores.length}
    return {
        "X": sample.X,
        "y": target.Y[:, 0],
        "X_test": sample.X_test,
        "y_test": target.Y_test[:, 0],
        "theta_hat": np.array(factor.theta),
        **({} if target.f_test is None else {"f_test": target.f_test}),
        **{key: each[0] for key, each in arrays.items()},
    }
