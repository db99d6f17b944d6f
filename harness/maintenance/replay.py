"""Compute one replication again on this machine and compare it with the stored results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.backends.base import open_backend
from harness.compute.study import Study
from harness.compute.unit import compute_unit, draw_cell
from harness.core.environment import describe_machine
from harness.core.errors import UserError
from harness.core.labels import format_label
from harness.core.protocols import FoundModel
from harness.core.schema.measures import list_variables
from harness.core.types import Bools, Failure, Limits, Theta, Unit, Values
from harness.maintenance.trust import check_trusted
from harness.planning.machine import count_cores, get_total_memory
from harness.store import arrays, receipts
from harness.store.manifest import Manifest, cache_key
from harness.store.manifest_io import load_manifest
from harness.worker.blas import limit_threads
from harness.worker.postmortem import is_fatal
from harness.worker.sandbox import compute_in_sandbox
from harness.worker.study import build_study


@dataclass(frozen=True)
class CellSelection:
    """A replication and some of its cells; None selects all values of an axis."""

    n: int
    path: int
    draw: int
    gamma: float | None = None
    theta: Theta | None = None
    lam: float | None = None


@dataclass(frozen=True)
class ReplayResult:
    """Comparison of a replayed replication with the store."""

    cells: int
    """Number of cells of γ, θ and λ that were computed again."""
    numbers: int
    """Number of values compared, over procedures and levels."""
    differing: Mapping[str, int]
    """Number of values that aren't bitwise identical, by variable."""
    largest: float
    """Largest relative difference."""
    failures: Sequence[Failure]
    same_machine: bool
    """Whether the BLAS core type is the one that the stored results were computed with."""
    written: bool
    """Whether the store has a receipt for the unit of this replication."""
    killed_process: bool = False
    """Whether the replication ended its process in the original run, so that it was replayed in a sandbox."""

    @property
    def equal(self) -> bool:
        """Whether all values are bitwise identical."""
        return self.written and not self.differing


def replay_one(url: str, asked: CellSelection, note: Callable[[str], None] = lambda text: None) -> ReplayResult:
    """Compute a replication again and compare all its values with the store.

    Parameters
    ----------
    url : str
        Address of the store.
    asked : CellSelection
        The replication and its cells.
    note : callable
        Receives a note if the replication is computed in a sandbox, which may take long.
    """
    url = open_backend(url).url
    manifest = _require_manifest(url)
    study, unit, todo = build_study(url, manifest), _find_unit(manifest, asked), _select_cells(manifest, asked)
    receipt = _read_receipt(url, manifest, asked)
    before = _find_fatal_failure(receipt, asked)
    if before is None:
        with limit_threads(study.threads):
            block = compute_unit(study, unit, todo)
    else:
        care = _make_limits(manifest)
        note(f"it failed before: {before}; replaying in a separate process, with at most {care.seconds:g} s per step")
        block = compute_in_sandbox(study, (url, cache_key(manifest), manifest.generation), unit, todo, care)
    differing: dict[str, int] = {}
    numbers, largest = 0, 0.0
    cells = todo[0, 0, 0]
    places = sorted(place for one in study.families for place in one.find_places(manifest.extent.grid))
    for variable in list_variables(manifest.keep):
        new, old = (
            _take_cells(each, variable.dims, cells, places)
            for each in (block.values[variable.name], arrays.read_unit(url, manifest, unit, variable.name))
        )
        numbers += new.size
        wrong = _find_differences(new, old)
        if wrong.any():
            differing[variable.name] = int(wrong.sum())
            largest = max(largest, _compute_largest_difference(new[wrong], old[wrong]))
    same = receipt is None or receipt.get("blas") == describe_machine()["blas"]
    facts = (block.failures, same, receipt is not None, before is not None)
    return ReplayResult(int(cells.sum()), numbers, differing, largest, *facts)


def _find_fatal_failure(receipt: Mapping[str, Any] | None, asked: CellSelection) -> str | None:
    """Return the message of an earlier failure that may end the process again; None without one."""
    for one in [] if receipt is None else receipt["failures"]:
        if (one["path"], one["draw"]) == (asked.path, asked.draw) and is_fatal(one["kind"], one["message"]):
            return str(one["message"])
    return None


def _make_limits(manifest: Manifest) -> Limits:
    told = manifest.scenario["replications"].get("seconds")
    return Limits(told or Limits.seconds, memory=0.9 * get_total_memory() / count_cores())


def check_code(url: str, trusted: bool) -> None:
    """Raise UserError if a replay would run code that comes with the store only, unless it is trusted."""
    backend = open_backend(url)
    check_trusted(backend, _require_manifest(backend.url), Path.cwd(), trusted)


def _require_manifest(url: str) -> Manifest:
    manifest = load_manifest(open_backend(url))
    if manifest is None:
        raise UserError(f"{url}: there is no store here")
    return manifest


def _find_unit(manifest: Manifest, asked: CellSelection) -> Unit:
    extent = manifest.extent
    if asked.n not in extent.grid.n:
        raise UserError(f"--n must be one of {', '.join(map(format_label, extent.grid.n))}, got {asked.n}")
    for name, value, end in (("path", asked.path, extent.paths), ("draw", asked.draw, extent.draws)):
        if not 0 <= value < end:
            raise UserError(f"--{name} must be from 0 to {end - 1}, got {value}")
    rows, columns = manifest.groups[asked.n].block
    paths, draws = range(asked.path, asked.path + 1), range(asked.draw, asked.draw + 1)
    return Unit(asked.n, asked.path // rows, asked.draw // columns, paths, draws)


def _select_cells(manifest: Manifest, asked: CellSelection) -> Bools:
    """Return the selected cells of all procedures as a mask over path, draw, procedure, γ, θ and λ."""
    sides = []
    for axis in ("gamma", "theta", "lam"):
        values, one = getattr(manifest.extent.grid, axis), getattr(asked, axis)
        if one is not None and one not in values:
            raise UserError(f"--{axis} must be one of {', '.join(map(format_label, values))}, got {format_label(one)}")
        sides.append(np.array([one is None or value == one for value in values]))
    cells = sides[0][:, None, None] & sides[1][:, None] & sides[2]
    return np.broadcast_to(cells, (1, 1, len(manifest.extent.grid.procedure), *cells.shape))


def _take_cells(values: Values, dims: tuple[str, ...], cells: Bools, places: Sequence[int]) -> Values:
    """Return the values of some cells and procedures, as an array over these cells and the remaining axes."""
    one = values[0, 0] if dims[0] != "procedure" else np.moveaxis(values[0, 0][places], 0, 3)
    return np.asarray(one[cells])


def _find_differences(new: Values, old: Values) -> Bools:
    """Return where values differ; NaNs count as equal."""
    if new.dtype.kind != "f":
        return np.asarray(new != old)
    return np.asarray((new != old) & ~(np.isnan(new) & np.isnan(old)))


def _compute_largest_difference(new: Values, old: Values) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.abs(new.astype(float) - old.astype(float)) / np.maximum(np.abs(old.astype(float)), 1e-300)
    return float(np.nan_to_num(apart, nan=np.inf).max())


def _read_receipt(url: str, manifest: Manifest, asked: CellSelection) -> Mapping[str, Any] | None:
    """Return the content of the receipt for the unit of a replication; None without one."""
    found = receipts.list_unit_receipts(open_backend(url), _find_unit(manifest, asked))
    return receipts.read(open_backend(url), found[-1]) if found else None


def extract_arrays(url: str, asked: CellSelection) -> dict[str, Values]:
    """Return data, fits and regions of a replication as plain arrays, named "cell/array"."""
    manifest = _require_manifest(url)
    study, unit = build_study(url, manifest), _find_unit(manifest, asked)
    cells, grid, found = _select_cells(manifest, asked)[0, 0, 0], manifest.extent.grid, dict[str, Values]()
    for g, t, r in zip(*np.nonzero(cells), strict=True):
        name = (
            f"gamma={format_label(grid.gamma[g])},theta={format_label(grid.theta[t])},lam={format_label(grid.lam[r])}"
        )
        for key, value in _extract_cell(study, unit, int(g), int(t), int(r)).items():
            found[f"{name}/{key}"] = value
    return found


def _extract_cell(study: Study, unit: Unit, g: int, t: int, r: int) -> dict[str, Values]:
    cell = draw_cell(study, unit.n, unit.paths.start, unit.draws.start, g, t, r)
    sample, target, grid = cell.sample, cell.target, study.extent.grid
    streams = [study.seeds.make_draw_streams(unit.paths.start, unit.draws.start)]
    shape = (len(grid.procedure), len(sample.X_test), len(grid.alpha))
    arrays: dict[str, Values] = {name: np.full(shape, np.nan) for name in ("lower", "upper", "length")}
    arrays["hits"] = np.zeros(shape, dtype=bool)
    for family, factor in cell.factors:
        places = family.find_places(grid)
        names = [family.get_own_name(grid.procedure[place]) for place in places]
        (scores,) = family.family.score([factor], [target], names, grid.alpha, streams)
        for name, values in arrays.items():
            values[places] = getattr(scores, name)[0]
    searched = [factor for family, factor in cell.factors if family.name == study.theta_owner]
    return {
        "X": sample.X,
        "y": target.Y[:, 0],
        "X_test": sample.X_test,
        "y_test": target.Y_test[:, 0],
        "theta_hat": np.array(searched[0].theta if searched else np.nan),
        **(_extract_model(searched[0]) if searched and isinstance(searched[0], FoundModel) else {}),
        **({} if target.f_test is None else {"f_test": target.f_test}),
        **arrays,
    }


def _extract_model(model: FoundModel) -> dict[str, Values]:
    """Return the λ that was used, and the scales where there are any."""
    scales = {} if model.scales is None else {"scale_hat": np.array(model.scales)}
    return {"lam_hat": np.array(model.lam), **scales}
