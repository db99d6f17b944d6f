"""Say in words what a comparison over studies shows, what it leaves out, and what it is conditional on."""

from __future__ import annotations

from harness.core.labels import format_label
from harness.core.procedures import is_for_function
from harness.core.schema.measures import COVERAGE_EXPECTED
from harness.results.designs import list_reserves
from harness.results.studies.benchmark import Benchmark
from harness.results.studies.comparison import StudyComparison
from harness.results.studies.selection import AXES
from harness.results.tables import list_notes

_WHAT = {"width": "width", "interval_score": "interval score"}
"""Words for the measures that procedures are ranked by."""


def describe_ranks(made: Benchmark) -> str:
    """Explain ranks."""
    balance = (
        ""
        if made.is_balanced
        else "; not the same procedures are ranked in all studies, so compare mean ranks with care"
    )
    return (
        f"rank: by {_WHAT[made.by]} among the procedures shown valid or conservative, the smallest first; a tie where "
        f"no paired difference is shown{balance}"
    )


def describe_differences(made: Benchmark) -> str:
    """Explain paired differences, and what their intervals allow for."""
    how = "median" if made.by == "width" else "mean over replications with bounded regions"
    return (
        f"difference: {_WHAT[made.by]} less that of {made.reference} in the same replication ({how}), with interval. "
        f"With probability at least {made.level:g} all {made.pairs} intervals hold, in all studies together. "
        f"All studies: wins/ties/losses against {made.reference}, where both are ranked{_explain_no_record(made)}"
    )


def _explain_no_record(made: Benchmark) -> str:
    """Say that nothing is counted if the reference is ranked in no study."""
    if made.get_mean_rank(made.reference) is not None:
        return ""
    return f", and {made.reference} is ranked in none: name another with --versus"


def describe_verdicts(made: Benchmark) -> str:
    """Say with which probability no verdict is wrong: in each study, and in all of them."""
    levels = [float(one.judged.attrs["level"]) for one in made.comparisons]
    together = max(1 - sum(1 - level for level in levels), 0.0)
    return (
        f"no verdict in a study is wrong with probability at least {min(levels):g}, and none in all studies together "
        f"with at least {together:.3g}"
    )


def describe_looks(made: Benchmark) -> list[str]:
    """Name the studies whose verdicts allow looking often, which paired differences don't."""
    names = [one.study.name for one in made.comparisons if bool(one.judged["anytime"].any())]
    if not names:
        return []
    return [f"{', '.join(names)}: verdicts hold however often somebody looks, intervals of differences for one look"]


def describe_cells(made: Benchmark) -> list[str]:
    """Name the cells that are compared, if they aren't the same in all studies."""
    varying = [axis for axis in AXES if len({one.cell[axis] for one in made.studies}) > 1]
    told = "; ".join(f"{one.name}: {one.format_cell(varying)}" for one in made.studies)
    return [f"cells: {told}"] if varying else []


def describe_unused(made: Benchmark) -> list[str]:
    """Name values that were selected, are in a study, and aren't compared."""
    return [
        f"{one.name}: {axis} = {', '.join(map(format_label, values))} isn't compared: the first named value counts"
        for one in made.studies
        for axis, values in one.unused.items()
    ]


def describe_left_out(made: Benchmark) -> list[str]:
    """Say for each study which procedures aren't ranked, and why."""
    return [
        f"{one.study.name}: not ranked: {', '.join(f'{name} ({reason})' for name, reason in one.left_out.items())}"
        for one in made.comparisons
        if one.left_out
    ]


def describe_levels(made: Benchmark) -> list[str]:
    """Say where ranked procedures have different exact levels."""
    return [
        f"{one.study.name}: levels differ ({_list_levels(one)}), and a higher level takes more width"
        for one in made.comparisons
        if len({round(level, 9) for level in one.levels.values()}) > 1
    ]


def _list_levels(one: StudyComparison) -> str:
    return ", ".join(f"{name} {level:.4g}" for name, level in one.levels.items())


def describe_coverage(made: Benchmark) -> list[str]:
    """Say which studies have expected coverage."""
    expected = [one.name for one in made.studies if one.reader.judged == COVERAGE_EXPECTED]
    counted = [one.name for one in made.studies if one.name not in expected]
    if not expected:
        return []
    some = f" in {', '.join(expected)}, and counted in {', '.join(counted)}" if counted else ""
    return [f"coverage is expected coverage{some}"]


def describe_functions(made: Benchmark) -> list[str]:
    """Name the procedures whose coverage of y* isn't what they are for."""
    names = [name for name in made.procedures if is_for_function(name)]
    return [f"{', '.join(names)}: intervals for f(x*), so they needn't cover y*"] if names else []


def describe_conditions(made: Benchmark) -> list[str]:
    """Name the studies whose errors are conditional on the rows of a table."""
    tables = [one.name for one in made.studies if one.manifest.is_resampled]
    return [f"{', '.join(tables)}: errors and verdicts are conditional on the rows of the table"] if tables else []


def describe_studies(made: Benchmark) -> list[str]:
    """List what is missing in each study, and the reserves that its verdicts need."""
    return [
        f"{one.study.name}: {text}"
        for one in made.comparisons
        for text in [*list_reserves(one.judged), *list_notes(one.study.url)]
    ]
