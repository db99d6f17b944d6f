"""Make tables of procedures × studies: measures, ranks, and paired differences from a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import nan
from pathlib import Path

import xarray as xr

from harness.core.errors import UserError
from harness.core.labels import format_label
from harness.parsing.selections import Names, Selection, parse_names
from harness.results.estimates import estimate_cells, find_measure
from harness.results.mad import MAD
from harness.results.measures import make_relative_width
from harness.results.rounding import format_interval
from harness.results.studies import notes
from harness.results.studies.benchmark import Benchmark, make_benchmark
from harness.results.studies.comparison import RANKED_BY, StudyComparison
from harness.results.studies.selection import AXES
from harness.results.tables import (
    LEVELS,
    MEASURE,
    VERDICT,
    Cell,
    Key,
    Table,
    describe_measure,
    describe_unscored,
    format_caption,
    format_error_note,
    lay_out_axes,
    load_measure,
    make_cells,
    table as make_table,
)

STUDY, RANK, DIFFERENCE = "study", "rank", "difference"
OVERALL = "all studies"
"""Column of mean ranks, and of wins, ties and losses."""
COVERAGE = "coverage"
RELATIVE_WIDTH = "relative_width"
DEFAULT = (COVERAGE, VERDICT, RELATIVE_WIDTH, "interval_score", RANK, DIFFERENCE)
"""Measures that are shown unless others are requested. Coverage is the expected one in studies that have it."""

Place = tuple[str, str, str]
"""Study, procedure and measure."""


def table(
    stores: str | Path | Sequence[str | Path],
    measure: Names = (),
    rows: Names | None = None,
    columns: Names | None = None,
    where: Selection | None = None,
    versus: str | None = None,
    adjust: bool = False,
    design: str | None = None,
) -> Table:
    """Make a table of measures over the cells of a store, or over the procedures of several.

    Parameters
    ----------
    stores : str, Path or sequence of these
        Paths or URLs of stores, or scenarios, which stand for their default stores.
    measure : str or sequence of str
        Names in `harness.results.measures.MEASURES`, "mad", "level" or "verdict"; for several stores also "rank" and
        "difference". Commas separate names in one text. Default: coverage, the expected one if the store has it; for
        several stores coverage, verdict, relative_width, interval_score, rank and difference.
    rows, columns : str or sequence of str, optional
        Axes of the cube, or "measure". Default: procedure in the rows, n and measure in the columns. For several
        stores the axes are "measure", "procedure" and "study".
    where : mapping or str, optional
        Values to select along some axes, such as ``{"n": [100, 400]}`` or "n=100,400". For several stores one cell of
        each procedure and study is compared: of several values, a study takes the first that it has.
    versus : str, optional
        A procedure. If given, the table of one store has paired differences between each procedure and this one. For
        several stores, relative widths and differences refer to it; default: the first that all studies have, with an
        exact level if possible.
    adjust : bool
        Whether to adjust estimates by conformal coverages, whose expectations are exact; see `estimate`.
    design : {"fixed", "anytime"}, optional
        Whether verdicts hold at one look, or however often somebody looks. Default: as the study needs it; see
        `verdicts`.

    Examples
    --------
    >>> str(table(["a.zarr", "b.zarr"], "coverage,rank", where="alpha=0.1"))  # doctest: +SKIP
    """
    some = [stores] if isinstance(stores, str | Path) else list(stores)
    if not some:
        raise UserError("there is no store to make a table of: name at least one")
    if len(some) == 1:
        return make_table(str(some[0]), measure, rows, columns, where, versus, adjust, design)
    if adjust:
        raise UserError("adjust is for a table of one store: measures of several aren't adjusted")
    names = parse_names(measure)
    _check_measures(names)
    made = make_benchmark(some, where, versus, _choose_ranking(names), design)
    return tabulate(made, names, rows, columns, design)


def tabulate(
    made: Benchmark,
    measures: Sequence[str] = (),
    rows: Names | None = None,
    columns: Names | None = None,
    design: str | None = None,
) -> Table:
    """Make a table of a comparison over studies; `table` has the parameters."""
    shown = list(dict.fromkeys(measures or DEFAULT))
    found = collect_cells(made, shown, is_judged=not measures, design=design)
    labels = {
        STUDY: [*(study.name for study in made.studies), OVERALL],
        MEASURE: shown,
        "procedure": made.procedures,
    }
    down, across = (None if axes is None else parse_names(axes) for axes in (rows, columns))
    if across is None:
        across = [axis for axis in (STUDY, MEASURE) if axis not in (down or ())][:1]
    down, across = lay_out_axes({axis: len(some) for axis, some in labels.items()}, down, across)
    cells: dict[tuple[Key, Key], Cell] = {}
    for (study, procedure, name), cell in found.items():
        places = {STUDY: study, "procedure": procedure, MEASURE: name}
        cells[tuple(places[axis] for axis in down), tuple(places[axis] for axis in across)] = cell
    used = {row for row, _ in cells}, {column for _, column in cells}
    row_keys, column_keys = (
        [key for key in product(*(labels[axis] for axis in axes)) if key in some]
        for axes, some in zip((down, across), used, strict=True)
    )
    caption = _make_caption(made, shown, found)
    return Table(caption, _list_notes(made, shown, is_judged=not measures), down, across, row_keys, column_keys, cells)


def collect_cells(made: Benchmark, measures: Sequence[str], is_judged: bool, design: str | None) -> dict[Place, Cell]:
    """Return the entries of all measures by study, procedure and measure.

    Parameters
    ----------
    made : Benchmark
        Procedures compared over studies.
    measures : sequence of str
        Measures to estimate.
    is_judged : bool
        Whether "coverage" stands for the coverage that verdicts are on.
    design : {"fixed", "anytime"}, optional
        Design of the verdicts.
    """
    found: dict[Place, Cell] = {}
    for name in measures:
        for one in made.comparisons:
            cells = _SPECIAL[name](made, one) if name in _SPECIAL else _estimate(made, one, name, is_judged, design)
            found |= {(one.study.name, procedure, name): cell for procedure, cell in cells.items()}
        found |= {(OVERALL, procedure, name): cell for procedure, cell in _summarise(made, name).items()}
    return found


def _estimate(made: Benchmark, one: StudyComparison, name: str, is_judged: bool, design: str | None) -> dict[str, Cell]:
    """Estimate a measure in the cells of one study."""
    study = one.study
    if name == VERDICT:
        return _by_procedure(one.judged, name)
    if name == RELATIVE_WIDTH:
        return _by_procedure(estimate_cells(study.reader, make_relative_width(made.reference)), name)
    name = study.reader.judged if name == COVERAGE and is_judged else name
    return _by_procedure(load_measure(study.url, name, study.reader.where, None, False, design), name)


def _by_procedure(found: xr.Dataset, name: str) -> dict[str, Cell]:
    place = found["value"].dims.index("procedure")
    return {key[place]: cell for key, cell in make_cells(found, name).items()}


def _make_rank_cells(made: Benchmark, one: StudyComparison) -> dict[str, Cell]:
    return {name: _make_exact_cell(rank, f"{rank:g} of {len(one.ranks)}") for name, rank in one.ranks.items()}


def _make_exact_cell(value: float, word: str) -> Cell:
    return Cell(value, 0.0, value, value, 0.0, word)


def _make_difference_cells(made: Benchmark, one: StudyComparison) -> dict[str, Cell]:
    found = {
        name: Cell(each.value, each.se, each.low, each.high, 0.0, format_interval(each.value, each.low, each.high))
        for name, each in one.differences.items()
    }
    if made.reference in found:
        found[made.reference] = _make_exact_cell(0.0, "reference")
    return found


_SPECIAL = {RANK: _make_rank_cells, DIFFERENCE: _make_difference_cells}
"""Measures that aren't estimates of one cell."""


def _summarise(made: Benchmark, name: str) -> dict[str, Cell]:
    """Return mean ranks, or wins, ties and losses; no other measure is summarised over studies."""
    found: dict[str, Cell] = {}
    for procedure in made.procedures:
        mean, record = made.get_mean_rank(procedure), made.count_outcomes(procedure)
        if name == RANK and mean is not None:
            some = f" ({mean.studies} of {len(made.studies)})" if mean.studies < len(made.studies) else ""
            found[procedure] = _make_exact_cell(mean.value, f"mean {mean.value:.3g}{some}")
        if name == DIFFERENCE and record is not None and record.studies:
            found[procedure] = Cell(nan, nan, nan, nan, 0.0, str(record), "record")
    return found


def _check_measures(names: Sequence[str]) -> None:
    """Raise UserError if a measure doesn't exist, or isn't one of a single cell."""
    for name in names:
        if name == MAD:
            raise UserError(f"{MAD} is over all α, and several studies are compared at one: request it of one store")
        if name not in (RANK, DIFFERENCE, VERDICT, LEVELS):
            find_measure(name)


def _choose_ranking(names: Sequence[str]) -> str:
    """Return the first requested measure that procedures can be ranked by; width if there is none."""
    sizes = ["width" if name == RELATIVE_WIDTH else name for name in names]
    return next((name for name in sizes if name in RANKED_BY), RANKED_BY[0])


def _make_caption(made: Benchmark, shown: Sequence[str], found: Mapping[Place, Cell]) -> str:
    said = {
        RANK: f"rank by {made.by}",
        DIFFERENCE: f"paired difference of {made.by} from {made.reference}",
        VERDICT: "verdict on coverage",
        RELATIVE_WIDTH: make_relative_width(made.reference).what,
    }
    what = ", ".join(said.get(name) or describe_measure(name) for name in shown)
    plain: dict[tuple[Key, Key], Cell] = {
        ((study,), (procedure, name)): cell for (study, procedure, name), cell in found.items() if not cell.word
    }
    error = format_error_note([name for name in shown if name not in (RANK, DIFFERENCE)], plain)
    same = [axis for axis in AXES if len({study.cell[axis] for study in made.studies}) == 1]
    fixed = {axis: format_label(made.studies[0].cell[axis]) for axis in same}
    return format_caption(what, error, fixed, None, "")


def _list_notes(made: Benchmark, shown: Sequence[str], is_judged: bool) -> list[str]:
    has_ranks = RANK in shown or DIFFERENCE in shown
    unscored = [
        f"{study.name}: {text}"
        for study in made.studies
        for text in describe_unscored(study.url, shown, study.reader.where)
    ]
    return [
        *notes.describe_cells(made),
        *notes.describe_unused(made),
        *[notes.describe_ranks(made)] * (RANK in shown),
        *[notes.describe_differences(made)] * (DIFFERENCE in shown),
        *(notes.describe_left_out(made) if has_ranks else []),
        *(notes.describe_levels(made) if has_ranks else []),
        *[notes.describe_verdicts(made)] * (has_ranks or VERDICT in shown),
        *(notes.describe_looks(made) if has_ranks else []),
        *(notes.describe_coverage(made) if COVERAGE in shown and is_judged else []),
        *notes.describe_conditions(made),
        *unscored,
        *notes.describe_studies(made),
    ]
