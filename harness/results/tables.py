"""Make tables of one or more measures, with chosen axes in rows and columns.

An axis that is named neither in rows nor in columns goes to the rows, before the others, if it has several values, and
to the caption if it has one. Nothing is averaged, and nothing is silently left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan

import numpy as np
import xarray as xr

from harness.core.errors import UserError
from harness.core.labels import format_label
from harness.core.procedures import format_procedure
from harness.core.text import format_table as columned, suggest_name
from harness.monitor.state import status
from harness.monitor.text import list_unrequested
from harness.parsing.selections import Names, Selection, parse_names
from harness.results.designs import describe_design, list_reserves
from harness.results.estimates import difference, estimate
from harness.results.mad import MAD
from harness.results.measures import MEASURES
from harness.results.replications import (
    count_damaged,
    describe_condition,
    format_damage,
    open_reader,
)
from harness.results.rounding import DASH, format_estimate
from harness.results.validity import verdicts
from harness.statistics.verdicts import SHARE_OF_ALPHA, TOLERANCE

MEASURE, VERDICT, LEVELS = "measure", "verdict", "level"
NAMED = ("procedure", MEASURE, "study")
"""Axes whose values are names, which need no "axis = " before them."""
Key = tuple[str, ...]
"""Labels of a row or a column, one for each of its axes."""


@dataclass(frozen=True)
class Cell:
    """One entry of a table: an estimate with its error and interval, and a word if that is shown instead."""

    value: float
    se: float
    low: float
    high: float
    least: float
    """The smallest error that the value can have, which determines its digits if the error is unknown."""
    word: str = ""
    """Text shown instead of the value, such as a verdict."""
    word_key: str = ""
    """Name of the word in formats for programs; they leave it out if there is none."""

    def __str__(self) -> str:
        return self.word or format_estimate(self.value, self.se, self.low, self.high, self.least)


@dataclass(frozen=True)
class Table:
    """A table with labelled rows and columns; `str` formats it as text."""

    caption: str
    notes: Sequence[str]
    """Warnings for the reader, such as that the study isn't complete."""
    rows: Sequence[str]
    """Axes of the rows."""
    columns: Sequence[str]
    """Axes of the columns."""
    row_keys: Sequence[Key]
    column_keys: Sequence[Key]
    cells: Mapping[tuple[Key, Key], Cell]
    """Entries by the keys of row and column; cells without a result are missing."""

    def format_cell(self, row: Key, column: Key) -> str:
        """Return the text of an entry; a dash if it has no result."""
        cell = self.cells.get((row, column))
        return DASH if cell is None else str(cell)

    def format_head(self, column: Key) -> str:
        """Return the head of a column."""
        pairs = zip(self.columns, column, strict=True)
        parts = (format_axis_label(axis, one) if axis in NAMED else f"{axis} = {one}" for axis, one in pairs)
        return ", ".join(parts) or "value"

    def __str__(self) -> str:
        """Format the table as aligned text with its caption and notes."""
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        return f"{self.caption}\n{columned(self.format_lines(), len(self.rows))}{notes}"

    def format_lines(self) -> list[list[str]]:
        """Return the heads and all rows as text; a label that repeats the one above is left empty."""
        lines = [[*self.rows, *(self.format_head(key) for key in self.column_keys)]]
        before: Key = ()
        for key in self.row_keys:
            texts = [format_axis_label(axis, one) for axis, one in zip(self.rows, key, strict=True)]
            labels = ["" if key[: i + 1] == before[: i + 1] else one for i, one in enumerate(texts)]
            lines.append([*labels, *(self.format_cell(key, column) for column in self.column_keys)])
            before = key
        return lines


def table(
    url: str,
    measure: Names = (),
    rows: Names | None = None,
    columns: Names | None = None,
    where: Selection | None = None,
    versus: str | None = None,
    adjust: bool = False,
    design: str | None = None,
) -> Table:
    """Make a table of measures over the cells of a store.

    Parameters
    ----------
    url : str
        Path or URL of the store, or a scenario, which stands for its default store.
    measure : str or sequence of str
        Names in `harness.results.measures.MEASURES`, "mad", "level" or "verdict"; commas separate names in one text.
        Default: coverage, the expected one if the store has it.
    rows, columns : str or sequence of str, optional
        Axes of the cube, or "measure". Default: procedure in the rows, n and measure in the columns.
    where : mapping or str, optional
        Values to select along some axes.
    versus : str, optional
        A procedure. If given, the table has paired differences between each procedure and this one.
    adjust : bool
        Whether to adjust estimates by conformal coverages, whose expectations are exact; see `estimate`.
    design : {"fixed", "anytime"}, optional
        Whether verdicts hold at one look, or however often somebody looks. Default: as the study needs it; see
        `verdicts`.
    """
    if adjust and versus is not None:
        raise UserError("adjust and versus exclude each other: paired differences aren't adjusted")
    measures = parse_names(measure) or [open_reader(url).judged]
    if design is not None and VERDICT not in measures:
        raise UserError(f"design {design!r} is for verdicts, and the measures are {', '.join(measures)}: add {VERDICT}")
    found = {name: load_measure(url, name, where, versus, adjust, design) for name in measures}
    sizes = {axis: len(values) for axis, values in _list_labels(found).items()}
    rows, columns = lay_out_axes(sizes, *(None if axes is None else parse_names(axes) for axes in (rows, columns)))
    labels = _list_labels(found)
    fixed = {axis: labels[axis][0] for axis in sizes if axis not in rows and axis not in columns}
    cells: dict[tuple[Key, Key], Cell] = {}
    for name, dataset in found.items():
        for key, cell in make_cells(dataset, name).items():
            places = dict(zip([*dataset["value"].dims, MEASURE], [*key, name], strict=True))
            cells[_make_key(places, rows), _make_key(places, columns)] = cell
    row_keys = [key for key in product(*(labels[axis] for axis in rows)) if any(key == row for row, _ in cells)]
    column_keys = [key for key in product(*(labels[axis] for axis in columns)) if any(key == c for _, c in cells)]
    runs = open_reader(url)
    told = {VERDICT: _describe_verdict(found[VERDICT], runs.judged, design)} if VERDICT in found else {}
    what, condition = (
        ", ".join(told.get(name) or describe_measure(name) for name in found),
        describe_condition(runs.manifest),
    )
    caption = format_caption(what, format_error_note(measures, cells), fixed, versus, condition)
    reserves = list_reserves(found[VERDICT]) if VERDICT in found else []
    notes = [*reserves, *_describe_adjustment(found), *describe_unscored(url, measures, where), *list_notes(url)]
    return Table(caption, notes, rows, columns, row_keys, column_keys, cells)


def _describe_adjustment(found: Mapping[str, xr.Dataset]) -> list[str]:
    """Return notes on what control variates were worth; none for plain estimates."""
    notes = []
    for name, one in found.items():
        if "worth" in one:
            worth = one["worth"].where(one["controls"] > 0).to_numpy()
            worth = worth[np.isfinite(worth)]
            times = np.median(worth) if len(worth) else 1.0
            text = f"worth {times:.1f} times as many paths (median of {len(worth)} cells)"
            none = f"{name} isn't adjusted: that takes 30 paths, exchangeable test points and a conformal procedure"
            done = f"{name} is adjusted by conformal coverages of the same replications, {text}"
            notes.append(done if len(worth) else none)
    return notes


def describe_unscored(url: str, measures: Sequence[str], where: Selection | None) -> list[str]:
    """Return a note on the replications that scores leave out, unless the table shows their share."""
    if "interval_score" not in measures or "unscored" in measures:
        return []
    shares = estimate(url, "unscored", where)["value"].to_numpy()
    some, most = int((shares > 0).sum()), float(np.nanmax(shares, initial=0.0))
    said = f"in {some} of {shares.size} cells interval_score leaves out replications with an unbounded or empty region"
    return [f"{said}, up to {most:.0%} of them: --measure unscored shows their share"] if some else []


def list_notes(url: str) -> list[str]:
    """Return notes on what results are made from: more than was asked for, fewer units, failures, damage."""
    state, lost = status(url), count_damaged(url)
    done = state["share_of_everything"]
    share = f"the study isn't complete: {done:.0%} of its units are done"
    failed = "some replications failed and are left out: --measure failed shows their share, `ckrr errors` the reasons"
    told = [*[share] * (done < 1), *list_unrequested(state), *[failed] * bool(state["failed"])]
    return told + ([format_damage(lost)] if lost else [])


def load_measure(
    url: str, name: str, where: Selection | None, versus: str | None, adjust: bool, design: str | None
) -> xr.Dataset:
    """Estimate one measure; levels and verdicts get the variables of an estimate, too."""
    if versus is not None:
        return difference(url, versus, name, where)
    if name == LEVELS:
        found = verdicts(url, where)
        target = found["target"].broadcast_like(found["value"]).transpose(*found["value"].dims)
        return found.assign(value=target, se=0 * target, low=target, high=target)
    return verdicts(url, where, design=design) if name == VERDICT else estimate(url, name, where, adjust=adjust)


def _list_labels(found: Mapping[str, xr.Dataset]) -> dict[str, list[str]]:
    """Return the labels of all axes, with the names of the measures as another axis."""
    first = next(iter(found.values()))["value"]
    if any(set(one["value"].dims) != set(first.dims) for one in found.values()):
        raise UserError(f"{MAD} has no axis alpha, so it can't share a table with other measures: request it alone")
    return {
        **{str(dim): [format_label(each) for each in first[dim].values.tolist()] for dim in first.dims},
        MEASURE: list(found),
    }


def lay_out_axes(
    sizes: Mapping[str, int], rows: Sequence[str] | None, columns: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the axes of rows and columns, so that every axis with several values is among them.

    Parameters
    ----------
    sizes : mapping
        Number of values of each axis.
    rows, columns : sequence of str, optional
        Requested axes. Default: procedure in the rows, n and measure in the columns.

    Raises
    ------
    UserError
        If an axis doesn't exist, or is named twice.

    Examples
    --------
    >>> sizes = {"procedure": 6, "gamma": 2, "theta": 1, "lam": 1, "n": 4, "alpha": 1, "measure": 1}
    >>> lay_out_axes(sizes, None, None)
    (['gamma', 'procedure'], ['n'])
    >>> lay_out_axes(sizes, ["procedure"], ["gamma"])
    (['n', 'procedure'], ['gamma'])
    """
    named = [*(rows or ()), *(columns or ())]
    for axis in named:
        if axis not in sizes:
            raise UserError(
                f"there is no axis {axis!r}: it must be one of {', '.join(sizes)}{suggest_name(axis, sizes)}"
            )
        if named.count(axis) > 1:
            raise UserError(f"{axis} is named twice: an axis goes to the rows or to the columns, once")
    usual = [axis for axis in ("n", MEASURE) if sizes.get(axis, 1) > 1 and axis not in (rows or ())]
    across = list(columns) if columns is not None else usual
    down = [axis for axis in (rows or ("procedure",)) if axis not in across]
    left = [axis for axis, size in sizes.items() if size > 1 and axis not in across and axis not in down]
    return [*left, *down], across


def format_axis_label(axis: str, value: str) -> str:
    """Return a label of an axis for readers: procedures with their meaning."""
    return format_procedure(value) if axis == "procedure" else value


def make_cells(found: xr.Dataset, name: str) -> dict[Key, Cell]:
    """Return the entries of a measure by their labels, without cells that have no replication."""
    dims = found["value"].dims
    axes = [[format_label(each) for each in found[dim].values.tolist()] for dim in dims]
    parts = [found[part].transpose(*dims).values.ravel().tolist() for part in ("value", "se", "low", "high")]
    counts = found["replications"].transpose(*dims).values.ravel().tolist()
    words = found[VERDICT].transpose(*dims).values.ravel().tolist() if name == VERDICT else [""] * len(counts)
    kind = MEASURES[name].reduction if name in MEASURES else "share"
    return {
        key: Cell(value, se, low, high, _compute_least_error(value, count, kind), word, VERDICT if word else "")
        for key, count, word, value, se, low, high in zip(product(*axes), counts, words, *parts, strict=True)
        if count > 0
    }


def _compute_least_error(value: float, count: int, kind: str) -> float:
    """Return the binomial standard error of a share, for its digits if the error is unknown; 0 for other measures."""
    return max((value * (1 - value) / count) ** 0.5, 1e-4) if kind == "share" and 0 < value < 1 else 0.0


def _make_key(places: Mapping[object, str], axes: Sequence[str]) -> Key:
    return tuple(places[axis] for axis in axes)


def format_caption(what: str, error: str, fixed: Mapping[str, str], versus: str | None, condition: str) -> str:
    """Return the caption: measures, the kind of error, and the values of fixed axes."""
    paired = f", less that of {versus} (paired)" if versus else ""
    at = ", ".join(f"{axis} = {format_axis_label(axis, value)}" for axis, value in fixed.items() if axis != MEASURE)
    condition = f" ({condition})" if condition else ""
    return f"{what}{paired}{error}{condition}{f'; {at}' if at else ''}"


def format_error_note(measures: Sequence[str], cells: Mapping[tuple[Key, Key], Cell]) -> str:
    """Say in the caption what the number after "±" is, or why there is none."""
    if not set(measures) - {VERDICT, LEVELS}:
        return ""
    if cells and all(isnan(cell.se) for cell in cells.values() if not cell.word):
        return ", without standard errors: these need more than one path"
    bounds = "; in brackets ends of a 95 % interval" if any(" (" in str(cell) for cell in cells.values()) else ""
    return f" ± Monte-Carlo standard error between paths{bounds}"


def _describe_verdict(found: xr.Dataset, judged: str, design: str | None) -> str:
    told = f"tolerance {TOLERANCE:g}, or α/{1 / SHARE_OF_ALPHA:.0f} if that is less"
    return (
        f"verdict on {MEASURES[judged].what} against its level ({told}; with probability {found.attrs['level']:g} no "
        f"verdict in the whole grid is wrong; that {describe_design(found, design)})"
    )


def describe_measure(name: str) -> str:
    """Describe a measure, for captions."""
    if name == LEVELS:
        return "level: exact where one is promised, 1 − α elsewhere"
    if name == MAD:
        return "MAD, the largest |error rate − α| over α (biased upward, as a maximum of noisy numbers is)"
    return MEASURES[name].what
