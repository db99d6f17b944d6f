"""Describe in words which procedures are shown to be the narrowest, and what was left out of the comparison."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import xarray as xr

from harness.core.procedures import is_for_function
from harness.core.schema.cube import CUBE_DIMS
from harness.core.text import format_count
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES
from harness.results.widths import SLACK
from harness.statistics.verdicts import BORDERLINE, EMPTY, INVALID, UNDECIDED

_MOST_GROUPS = 2
"""Groups of procedures that the headline names at most."""


@dataclass(frozen=True)
class WidthSummary:
    """What can be said of widths: both texts are empty if there are no two procedures to compare."""

    headline: str = ""
    note: str = ""
    """How widths are compared, and what is left out."""


def summarise_widths(facts: Facts) -> WidthSummary:
    """Summarise the comparisons of widths in `facts.widths`."""
    names = [name for name in facts.verdicts["procedure"].values.tolist() if not is_for_function(name)]
    has_result = (facts.verdicts["verdict"] != EMPTY).sel(procedure=names)
    if int(has_result.any([axis for axis in CUBE_DIMS if axis != "procedure"]).sum()) < 2:
        return WidthSummary()
    settings = int(has_result.any("procedure").sum())
    comparable = int((facts.widths["compared"] > 0).any("procedure").sum())
    if not comparable:
        none = f"{_format_none(settings)} two procedures shown valid at the same level"
        return WidthSummary(f"Nothing can be said of widths: {none}.", _describe_left_out(facts, 0))
    return WidthSummary(
        f"Widths can be compared in {comparable} of {format_count(settings, 'setting')}{_format_axes(facts)}, where "
        f"two or more procedures are shown valid at the same level: {_describe_wins(facts.widths, comparable)}.",
        f"{_describe_method(facts.widths)} {_describe_left_out(facts, settings - comparable)}".strip(),
    )


def _format_none(settings: int) -> str:
    return "the only setting doesn't have" if settings == 1 else f"none of {settings} settings has"


def _format_axes(facts: Facts) -> str:
    """Say what a setting is, by the axes that vary."""
    axes = [AXES[axis] for axis in CUBE_DIMS if axis != "procedure" and facts.verdicts.sizes[axis] > 1]
    return f" (combinations of {', '.join(axes[:-1])} and {axes[-1]})" if len(axes) > 1 else ""


def _describe_wins(widths: xr.Dataset, comparable: int) -> str:
    """Count the settings in which each procedure is shown to be the narrowest, of those in which it is compared."""
    others = [axis for axis in CUBE_DIMS if axis != "procedure"]
    names = widths["procedure"].values.tolist()
    wins = dict(zip(names, widths["narrowest"].sum(others).values.tolist(), strict=True))
    chances = dict(zip(names, (widths["compared"] > 0).sum(others).values.tolist(), strict=True))
    best = sorted((name for name in names if wins[name]), key=lambda name: -wins[name])
    if not best:
        return f"no procedure is shown to be the narrowest in any of them{_describe_ties(widths)}"
    told = [f"{name} in {wins[name]} of its {chances[name]}" for name in best]
    told[0] = f"{best[0]} is shown to be the narrowest in {wins[best[0]]} of its {chances[best[0]]}"
    without = comparable - int(widths["narrowest"].any("procedure").sum())
    return f"{', '.join(told)}{f'; in {without} no procedure is{_describe_ties(widths)}' if without else ''}"


def _describe_ties(widths: xr.Dataset) -> str:
    """Name the groups that are narrower than all others, by the number of settings in which no single one is."""
    others = [axis for axis in CUBE_DIMS if axis != "procedure"]
    undecided = ~widths["narrowest"].any("procedure")
    tied = widths["tied"].where(undecided, 0).transpose(*others, "procedure").values.reshape(-1, len(widths.procedure))
    found: Counter[str] = Counter()
    for setting in tied:
        names = widths["procedure"].values[setting > 0].tolist()
        if names and set(setting[setting > 0]) == {len(names) - 1}:  # one group, not one at each of two levels
            found[f"{', '.join(names[:-1])} and {names[-1]}"] += 1
    told = [f"{group} in {count}" for group, count in found.most_common(_MOST_GROUPS)]
    return f", but these are shown to be narrower than all others: {', '.join(told)}" if told else ""


def _describe_method(widths: xr.Dataset) -> str:
    return (
        "A width is the median over test points; where widths vary with x, look at mean widths and interval scores, "
        "too. Widths are compared in pairs, by the median of the differences within replications, where both "
        "procedures have the same data, and between procedures of one level: a lower level makes narrower regions. "
        "A procedure that is wider than a valid one of another level isn't called the narrowest. "
        f"Levels that differ by at most {SLACK:g} τ count as equal. "
        f"With probability at least {widths.attrs['level']:g} no difference shown is wrong, in all "
        f"{format_count(widths.attrs['pairs'], 'pair')} of equal level together."
    )


def _describe_left_out(facts: Facts, settings: int) -> str:
    """Say which settings and procedures are in no comparison, and why."""
    reasons = []
    if settings:
        count = format_count(settings, "setting")
        reasons.append(f"{count} with fewer than two procedures shown valid at the same level below 1")
    for name in facts.verdicts["procedure"].values.tolist():
        if not (facts.widths["compared"].sel(procedure=name) > 0).any():
            reasons.append(f"{name} ({_explain_absence(facts, name)})")
    return f"Left out: {'; '.join(reasons)}." if reasons else ""


def _explain_absence(facts: Facts, name: str) -> str:
    """Say why a procedure is in no comparison."""
    if is_for_function(name):
        return "its intervals are for f(x*), not for y*"
    found = facts.verdicts["verdict"].where(facts.distinct, EMPTY).sel(procedure=name)
    short, near, unknown = (int((found == each).sum()) for each in (INVALID, BORDERLINE, UNDECIDED))
    alone = int((found != EMPTY).sum()) - short - near - unknown
    told = [
        f"falls short in {format_count(short, 'cell')}" if short else "",
        f"is borderline in {format_count(near, 'cell')}" if near else "",
        f"is undecided in {format_count(unknown, 'cell')}" if unknown else "",
        f"has no equal level to compare with in {format_count(alone, 'cell')}" if alone else "",
    ]
    return ", ".join(one for one in told if one) or "no result"
