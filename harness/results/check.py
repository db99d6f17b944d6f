"""Check that procedures keep their coverage: one result from the verdicts on all selected cells.

A check ::

    fails            if a cell is invalid;
    is undecided     if none is invalid, and a cell is undecided, borderline or without a result;
    passes           otherwise.

So a check that passes has shown, with probability 0.95, that every cell covers at least its level less the tolerance τ.
A *borderline* cell is within τ/2 of that limit: more paths won't decide it soon, and nothing is shown. It doesn't pass
unless it is allowed. Whoever allows it accepts coverage down to the level less 1.5·τ. Who allows *undecided* cells asks
less: that no cell is shown to be invalid. Cells without a result (``no_result``) aren't among those, or else a study in
which every replication failed would pass. Invalid cells can't be allowed: leave them out of the selection.

A procedure is judged on what its intervals are meant to cover: y*, or f(x*) (GPR-p). Where the source doesn't know f,
such a procedure has no result. Cells in which exchangeability is broken by design are judged like all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from harness.core.errors import UserError
from harness.core.labels import format_label
from harness.core.procedures import is_for_function
from harness.core.schema.cube import CUBE_DIMS
from harness.core.text import escape_line, format_count, suggest_name
from harness.display.parts import Displayed, Part
from harness.parsing.selections import Selection
from harness.results.replications import ReplicationReader, open_reader
from harness.results.rounding import format_with_error
from harness.results.tables import list_notes
from harness.results.validity import verdicts
from harness.statistics.verdicts import BORDERLINE, CONSERVATIVE, EMPTY, INVALID, UNDECIDED, VALID

PASSED, FAILED = "passed", "failed"
"""Results of a check; the third is `UNDECIDED`."""
NO_RESULT = "no_result"
"""Verdict of a cell without a result, as in the flags of the cube."""
WORDS = (INVALID, UNDECIDED, BORDERLINE, NO_RESULT, VALID, CONSERVATIVE)
"""Verdicts in the order in which they are counted and listed."""
ALLOWABLE = (UNDECIDED, BORDERLINE, NO_RESULT)
"""Verdicts that can be allowed to pass."""
SHOWN = 20
"""Largest number of offending cells that are printed."""
_HINTS = {
    UNDECIDED: "more paths would decide, or --allow undecided",
    BORDERLINE: "more paths hardly decide borderline cells: --allow borderline accepts a level less 1.5 tolerances",
    NO_RESULT: "`ckrr run` computes what is missing, --where leaves it out",
}
_NUMBERS = ("value", "se", "low", "high", "target", "tolerance")
_COLUMNS = ("verdict", *_NUMBERS, "paths", "replications", "promised", "exchangeable")


@dataclass(frozen=True)
class CheckedCell:
    """A cell with its verdict and the numbers behind it; NaN where there is no result."""

    axes: Mapping[str, object]
    """Value of each axis of the cube."""
    judged_on: str
    """What coverage is counted on: y* or f(x*)."""
    verdict: str
    passes: bool
    value: float
    se: float
    low: float
    """Lower end of the interval that holds for all cells of the grid together."""
    high: float
    target: float
    """Level that coverage is compared with."""
    tolerance: float
    paths: int
    replications: int
    promised: bool
    """Whether the target is an exact level."""
    exchangeable: bool
    """Whether the assumptions of an exact level hold."""

    @property
    def label(self) -> str:
        """Axes and values as `--where` takes them, on one line."""
        return escape_line(",".join(f"{axis}={format_label(value)}" for axis, value in self.axes.items()))

    def describe(self) -> str:
        """Say what was found, and what would have been enough."""
        if self.verdict == NO_RESULT:
            unknown = self.replications > 0
            return f"the source doesn't know f, so {self.judged_on} can't be judged" if unknown else "not computed"
        value = f"{format_with_error(self.value, self.se, 0.001)} ({self.low:.4f} to {self.high:.4f})"
        found = f"covers {self.judged_on} with {value} in {format_count(self.paths, 'path')}"
        least = f"{self.target - self.tolerance:.4f} (the {'exact ' * self.promised}level less {self.tolerance:g})"
        broken = "; exchangeability is broken by design" * (self.promised and not self.exchangeable)
        return f"{found}; it must be at least {least}{broken}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, None for numbers that aren't known."""
        plain = asdict(self)
        axes = plain.pop("axes")
        return {**axes, **{key: _to_plain(value) for key, value in plain.items()}}


def _to_plain(value: object) -> object:
    return None if isinstance(value, float) and not isfinite(value) else value


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Displayed):
    """Outcome of a check; `str` formats it as text."""

    cells: xr.Dataset
    """All checked cells along the dimension `cell`: axes, verdict, numbers."""
    allow: Sequence[str] = ()
    """Verdicts that pass besides valid and conservative."""
    notes: Sequence[str] = ()
    """Remarks for the reader, such as that the study isn't complete."""

    @property
    def counts(self) -> dict[str, int]:
        """Number of cells with each verdict."""
        found = self.cells["verdict"].to_numpy()
        return {word: int((found == word).sum()) for word in WORDS}

    @property
    def result(self) -> str:
        """The result: "failed", "undecided" or "passed"."""
        counts = self.counts
        if counts[INVALID]:
            return FAILED
        return UNDECIDED if any(counts[word] for word in ALLOWABLE if word not in self.allow) else PASSED

    @property
    def passed(self) -> bool:
        """Whether every cell passes."""
        return self.result == PASSED

    def iter_cells(self) -> Iterator[CheckedCell]:
        """Yield all cells, in the order of the grid."""
        return self._iter_places(np.arange(self.cells.sizes["cell"]))

    def iter_offending(self, most: int | None = None) -> Iterator[CheckedCell]:
        """Yield the cells that don't pass, or the first of them.

        Invalid ones come first, and among those with one verdict the ones furthest below their level.
        """
        found = self.cells["verdict"].to_numpy()
        bad = [rank for rank, word in enumerate(WORDS) if not self.is_passing(word)]
        ranks = np.select([found == word for word in WORDS], range(len(WORDS)))
        order = np.lexsort(((self.cells["value"] - self.cells["target"]).to_numpy(), ranks))
        return self._iter_places(order[np.isin(ranks[order], bad)][:most])

    def is_passing(self, verdict: str) -> bool:
        """Return whether cells with this verdict pass."""
        return verdict in (VALID, CONSERVATIVE, *self.allow)

    def _iter_places(self, places: npt.NDArray[np.intp]) -> Iterator[CheckedCell]:
        names = [str(name) for name in self.cells.data_vars]
        columns = [self.cells[name].to_numpy()[places].tolist() for name in names]
        for row in zip(*columns, strict=True):
            plain = dict(zip(names, row, strict=True))
            axes = {axis: plain.pop(axis) for axis in CUBE_DIMS}
            yield CheckedCell(axes, passes=self.is_passing(plain["verdict"]), **plain)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "result": self.result,
            "cells": self.cells.sizes["cell"],
            "counts": self.counts,
            "allow": list(self.allow),
            "notes": list(self.notes),
            "offending": [cell.to_dict() for cell in self.iter_offending()],
        }

    def list_parts(self) -> list[Part]:
        """Return lines for the first offending cells, the notes, and a summary in the last one."""
        lines = [f"{cell.verdict}: {cell.label}: {cell.describe()}" for cell in self.iter_offending(SHOWN)]
        more = sum(count for word, count in self.counts.items() if not self.is_passing(word)) - len(lines)
        notes = [f"note: {escape_line(note)}" for note in self.notes]
        return [*lines, *[f"and {more} more"] * (more > 0), *notes, self.summarise()]

    def summarise(self) -> str:
        """Return the result, the counts, and what can be done about cells that aren't decided, on one line."""
        counts = {word: count for word, count in self.counts.items() if count}
        of = ", ".join(f"{count} {word}{' (allowed)' * (word in self.allow)}" for word, count in counts.items())
        hints = [hint for word, hint in _HINTS.items() if word in counts and word not in self.allow]
        told = "".join(f"; {hint}" for hint in hints) if self.result == UNDECIDED else ""
        return f"{self.result}: {format_count(self.cells.sizes['cell'], 'cell')}: {of}{told}"


def check(
    url: str, where: Selection | None = None, allow: str | Iterable[str] = (), design: str | None = None
) -> Outcome:
    """Check that the cells of a store, or the selected ones, keep their coverage.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    where : mapping or str, optional
        Values to select along some axes.
    allow : str or iterable of str
        Verdicts that pass besides valid and conservative: "undecided", "borderline", "no_result".
    design : {"fixed", "anytime"}, optional
        How cells are judged; see `harness.verdicts`.

    Returns
    -------
    Outcome
        With `passed`, `result`, `counts` and `cells`; `print` shows the cells that don't pass.

    Raises
    ------
    UserError
        If there is no such store, axis, value or verdict, or if no cell is selected.
    """
    allow = _check_words([allow] if isinstance(allow, str) else list(allow))
    chosen = _remove_duplicates(open_reader(url, where))
    included = chosen.find_distinct()
    if not included.any():
        raise UserError(f"{chosen.url}: the scenario excludes every selected cell: select others with --where")
    names = included["procedure"].values.tolist()
    on_function = [name for name in names if is_for_function(name)]
    parts = []
    for judged_on, measure in (("y*", None), ("f(x*)", "coverage_f")):
        some = [name for name in names if (name in on_function) == (judged_on == "f(x*)")]
        if some:
            found = verdicts(url, {**chosen.where, "procedure": some}, measure=measure, design=design)
            parts.append(list_cells(found, included.sel(procedure=some), judged_on))
    aim = [f"{', '.join(on_function)}: judged on coverage of f(x*), which its intervals are for, and not of y*"]
    told = [f"judged by the {design} design, as requested"] * (design is not None)
    return Outcome(xr.concat(parts, "cell"), allow, [*told, *aim * bool(on_function), *list_notes(url)])


def list_cells(found: xr.Dataset, included: xr.DataArray, judged_on: str) -> xr.Dataset:
    """List verdicts on a grid along one dimension, without excluded cells.

    Parameters
    ----------
    found : xarray.Dataset
        Verdicts, as `verdicts` returns them.
    included : xarray.DataArray of bool
        The cells to list, over the same axes.
    judged_on : str
        What coverage is counted on.
    """
    mask, like = included.transpose(*CUBE_DIMS).to_numpy(), found["value"].transpose(*CUBE_DIMS)
    wide = (found[name].broadcast_like(like).transpose(*CUBE_DIMS).to_numpy() for name in (*CUBE_DIMS, *_COLUMNS))
    columns = {name: values[mask] for name, values in zip((*CUBE_DIMS, *_COLUMNS), wide, strict=True)}
    columns["verdict"] = np.where(columns["verdict"] == EMPTY, NO_RESULT, columns["verdict"])
    columns["judged_on"] = np.full(int(mask.sum()), judged_on, dtype=object)
    return xr.Dataset({name: ("cell", column) for name, column in columns.items()})


def _check_words(words: Sequence[str]) -> Sequence[str]:
    for word in words:
        if word not in ALLOWABLE:
            why = ": to leave out invalid cells, select others with --where" if word == INVALID else ""
            raise UserError(
                f"allow={word}: it must be one of {', '.join(ALLOWABLE)}{why or suggest_name(word, ALLOWABLE)}"
            )
    return tuple(dict.fromkeys(words))


def _remove_duplicates(chosen: ReplicationReader) -> ReplicationReader:
    """Select every value once; raise `UserError` if an axis has none."""
    where = {axis: list(dict.fromkeys(values)) for axis, values in chosen.where.items()}
    for axis, values in where.items():
        if not values:
            raise UserError(f"where selects no value of {axis}, so there is nothing to check: name at least one")
    return replace(chosen, where=where)
