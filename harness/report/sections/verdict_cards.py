"""Render the verdict on each procedure as a card: counts, a bar and a few sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from markupsafe import Markup

from harness.core.families import MODEL_AXES, list_unused_axes
from harness.core.labels import format_label
from harness.core.procedures import format_procedure, is_for_function
from harness.core.schema.cube import CUBE_DIMS
from harness.core.text import format_count
from harness.report.html.templating import TEMPLATES
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES
from harness.results.rounding import format_with_error
from harness.statistics.verdicts import BORDERLINE, CONSERVATIVE, EMPTY, INVALID, UNDECIDED, VALID, VERDICTS

SYMBOLS = {VALID: "✓", CONSERVATIVE: "▲", BORDERLINE: "≈", INVALID: "✗", UNDECIDED: "?", EMPTY: "·"}
"""Symbol of each verdict."""
CLASSES = {VALID: "v", CONSERVATIVE: "c", BORDERLINE: "b", INVALID: "i", UNDECIDED: "u", EMPTY: "e"}
"""CSS classes, short because a report may have very many."""
SOME, ALL = "some", "all"
"""Extents of `ProcedureVerdict.broken`."""


@dataclass(frozen=True)
class Mark:
    """How a verdict is shown."""

    symbol: str
    kind: str
    """CSS class."""
    verdict: str


MARKS = {each: Mark(SYMBOLS[each], CLASSES[each], each or "without a result") for each in SYMBOLS}
"""Mark of each verdict."""


@dataclass(frozen=True)
class VerdictCounts:
    """Counts of verdicts, to be shown as a bar and as text."""

    label: str
    """Description of the bar."""
    bar: Sequence[tuple[Mark, int]]
    listed: Sequence[tuple[Mark, int]]


@dataclass(frozen=True)
class Card:
    """Contents of a card."""

    name: str
    target: str
    """Target of the intervals, if the procedure has f(x*) as its target."""
    mark: Mark
    headline: str
    counts: VerdictCounts
    said: str
    worst: str


@dataclass(frozen=True)
class WorstCell:
    """Cell whose coverage is furthest below its level."""

    procedure: str
    cell: Mapping[str, object]
    """Value of each axis except the procedure."""
    value: float
    se: float
    target: float
    """Level that coverage is compared with."""
    promised: bool
    """Whether that level is an exact one."""
    verdict: str


@dataclass(frozen=True)
class ProcedureVerdict:
    """Verdicts on one procedure over the whole grid."""

    name: str
    of: str
    """Target of the intervals: y* or f(x*)."""
    counts: Mapping[str, int]
    """Number of cells with each verdict."""
    worst: WorstCell | None
    broken: str
    """Where the procedure has an exact level whose conditions don't hold: nowhere (""), in some cells, or in all."""
    whole: int = 0
    """Number of cells with level 1: n and α are so small that a region is the whole line."""

    @property
    def cells(self) -> int:
        """Number of cells with a result."""
        return sum(self.counts[each] for each in VERDICTS)

    @property
    def holding(self) -> int:
        """Number of cells that are shown to hold their level less the tolerance."""
        return self.counts[VALID] + self.counts[CONSERVATIVE]

    @property
    def headline(self) -> str:
        """Summary in two or three words."""
        if not self.cells:
            return "no result yet"
        if self.counts[INVALID]:
            return "falls short everywhere" if self.counts[INVALID] == self.cells else "falls short in places"
        if self.counts[UNDECIDED] == self.cells:
            return "undecided"
        if self.counts[BORDERLINE]:
            return "borderline everywhere" if self.counts[BORDERLINE] == self.cells else "borderline in places"
        return "holds where decided" if self.counts[UNDECIDED] else "holds everywhere"


def judge_procedures(facts: Facts) -> list[ProcedureVerdict]:
    """Count the verdicts on each procedure, in the order of the scenario; on f(x*) too where that is the target."""
    found = []
    for name in facts.verdicts["procedure"].values.tolist():
        if facts.function_verdicts is not None and name in facts.function_verdicts["procedure"].values:
            found.append(_judge_procedure(facts, facts.function_verdicts, name, "f(x*)"))
        found.append(_judge_procedure(facts, facts.verdicts, name, "y*"))
    return found


def _judge_procedure(facts: Facts, results: xr.Dataset, name: str, of: str) -> ProcedureVerdict:
    one = results.sel(procedure=[name])
    own = facts.distinct.sel(procedure=[name])
    unused = list_unused_axes(facts.manifest.axes.get(name, MODEL_AXES))
    verdicts = one["verdict"].values[own.values]
    counts = {each: int((verdicts == each).sum()) for each in (*VERDICTS, EMPTY)}
    unsure = one["promised"] & ~one["exchangeable"]
    broken = ALL if bool(unsure.all()) else SOME if bool(unsure.any()) else ""
    whole = (one["target"] >= 1) & (one["verdict"] != EMPTY) & own
    return ProcedureVerdict(name, of, counts, find_worst(one, unused), broken, int(whole.sum()))


def find_worst(one: xr.Dataset, unused: Sequence[str] = ()) -> WorstCell | None:
    """Find the cell furthest below its level; None if there is no result. Axes that aren't used are left out."""
    short = (one["value"] - one["target"]).transpose(*CUBE_DIMS).values
    if not np.isfinite(short).any():
        return None
    at = dict(zip(CUBE_DIMS, np.unravel_index(int(np.nanargmin(short)), short.shape), strict=True))
    here = one.isel({axis: int(place) for axis, place in at.items()})
    cell = {axis: here[axis].item() for axis in CUBE_DIMS if axis not in ("procedure", *unused)}
    value, se, target = (float(here[part]) for part in ("value", "se", "target"))
    name, verdict = (str(here[part].item()) for part in ("procedure", "verdict"))
    return WorstCell(name, cell, value, se, target, bool(here["promised"]), verdict)


def format_cell(cell: Mapping[str, object]) -> str:
    r"""Format a cell in letters, with no line break around "=" or inside 1e-06.

    Examples
    --------
    >>> format_cell({"gamma": 0.1, "theta": "ml", "n": 25})
    'γ\xa0=\xa00.1, θ\xa0=\xa0ml, n\xa0=\xa025'
    """
    texts = {axis: format_label(value).replace("e-", "e\u2011") for axis, value in cell.items()}
    return ", ".join(f"{AXES[axis]}\u00a0=\u00a0{text}" for axis, text in texts.items())


def render_cards(facts: Facts) -> Markup:
    """Render the cards of all procedures."""
    return TEMPLATES.render("verdict_cards.html", cards=[_make_card(one, facts) for one in judge_procedures(facts)])


def _make_card(one: ProcedureVerdict, facts: Facts) -> Card:
    return Card(
        name=format_procedure(one.name),
        target=one.of if is_for_function(one.name) else "",
        mark=_get_card_mark(one),
        headline=one.headline,
        counts=list_counts(one.counts),
        said=describe_verdict(one, int(facts.verdicts["paths"].sel(procedure=one.name).max())),
        worst=describe_worst(one, [axis for axis in CUBE_DIMS if facts.verdicts.sizes[axis] > 1]),
    )


def _get_card_mark(one: ProcedureVerdict) -> Mark:
    if not one.cells or one.counts[UNDECIDED] == one.cells:
        return MARKS[UNDECIDED]
    return MARKS[INVALID if one.counts[INVALID] else BORDERLINE if one.counts[BORDERLINE] else VALID]


def list_counts(counts: Mapping[str, int]) -> VerdictCounts:
    """List the verdicts to show: those that occur, and in the text also those that every study can have."""
    listed = [each for each in (*VERDICTS, EMPTY) if counts[each] or each not in (BORDERLINE, EMPTY)]
    return VerdictCounts(
        label=", ".join(f"{counts[each]} {each}" for each in listed if each != EMPTY),
        bar=[(MARKS[each], counts[each]) for each in listed if counts[each]],
        listed=[(MARKS[each], counts[each]) for each in listed],
    )


def describe_verdict(one: ProcedureVerdict, paths: int) -> str:
    """Describe in words what the counts mean, without the worst cell."""
    if not one.cells:
        return "Not run yet."
    parts = [
        _describe_outcome(one),
        _describe_borderline(one),
        _describe_undecided(one, paths),
        _describe_conservative(one),
        _describe_whole_line(one),
        _describe_aim(one),
        _describe_violation(one),
    ]
    return " ".join(part for part in parts if part)


def _describe_outcome(one: ProcedureVerdict) -> str:
    bad, all_of_them = one.counts[INVALID], format_count(one.cells, "cell")
    level = "its level" if one.broken else f"what it {'promises' if _has_promise(one) else 'claims'}"
    if bad:
        return f"Covers less than {level}, by more than τ, in {bad} of {all_of_them}."
    if one.holding == one.cells:
        return f"Covers {level}, less τ, in all {all_of_them}."
    return f"No cell is shown to fall short; {one.holding} of {all_of_them} are shown to hold." if one.holding else ""


def _describe_borderline(one: ProcedureVerdict) -> str:
    count = one.counts[BORDERLINE]
    if not count:
        return ""
    are = "is borderline: its" if count == 1 else "are borderline: their"
    return f"{format_count(count, 'cell')} {are} coverage is within τ/2 of the border, the level less τ."


def _has_promise(one: ProcedureVerdict) -> bool:
    return one.worst is not None and one.worst.promised


def _describe_undecided(one: ProcedureVerdict, paths: int) -> str:
    count = one.counts[UNDECIDED]
    if paths == 1:
        return "With one path no error can be known, so nothing can be decided."
    if not count:
        return ""
    return f"{format_count(count, 'cell')} can't be decided yet; more paths would help."


def _describe_conservative(one: ProcedureVerdict) -> str:
    count = one.counts[CONSERVATIVE]
    return f"In {count} it covers more than it needs to, so it could be narrower." if count else ""


def _describe_whole_line(one: ProcedureVerdict) -> str:
    if not one.whole:
        return ""
    count = format_count(one.whole, "cell")
    return f"In {count} the level is 1: a region is the whole line, which is valid but uninformative."


def _describe_violation(one: ProcedureVerdict) -> str:
    if not one.broken:
        return ""
    where = "here" if one.broken == ALL else "in some of these cells"
    return f"† Exchangeability is broken {where}, so no level is promised: the verdicts measure what that costs."


def _describe_aim(one: ProcedureVerdict) -> str:
    if not is_for_function(one.name):
        return ""
    if one.of == "y*":
        return "It is an interval for f(x*), not for y*: it leaves out the noise of a new observation."
    return "This is its target."


def describe_worst(one: ProcedureVerdict, axes: Sequence[str]) -> str:
    """Describe the worst cell by the axes that vary."""
    worst = one.worst
    if worst is None:
        return ""
    cell = {axis: value for axis, value in worst.cell.items() if axis in axes}
    word = "the exact level is" if worst.promised else "it claims"
    numbers = f"{format_with_error(worst.value, worst.se, 0.001)} where {word} {worst.target:.4g}".replace(
        " ± ", "\u00a0±\u00a0"
    )
    kind = "Worst cell" if worst.verdict == INVALID else "Lowest against its level"
    return f"{kind}: {numbers}{f', at {format_cell(cell)}' if cell else ''}."
