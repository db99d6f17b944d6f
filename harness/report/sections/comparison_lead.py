"""Summarise a comparison over studies in words: which procedures are valid on which data, and which are narrowest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from harness.core.labels import format_label
from harness.core.procedures import is_for_function
from harness.core.text import format_count
from harness.report.html.templating import TEMPLATES
from harness.report.sections.design import NamedText, describe_source
from harness.report.sections.glossary import AXES
from harness.report.sections.lead import join_names
from harness.results.studies.benchmark import Benchmark
from harness.results.studies.selection import Study
from harness.statistics.verdicts import CONSERVATIVE, EMPTY, VALID

_SIZES = {"width": "narrowest", "interval_score": "one with the smallest interval score"}


@dataclass(frozen=True)
class StudySummary:
    """Design of a study, in a few lines."""

    name: str
    description: str
    source: NamedText
    cell: str
    replications: str
    procedures: str
    shown: str
    """Store, as commands name it."""


def render_comparison_lead(made: Benchmark) -> Markup:
    """Render the summary in a few sentences."""
    note = (
        "Studies are data sets that somebody chose, not a sample of all data: there is no test over studies here, and "
        "mean ranks describe these studies alone."
    )
    return TEMPLATES.render("lead.html", texts=[describe_validity(made), describe_smallest(made)], note=note)


def describe_validity(made: Benchmark) -> str:
    """Say which procedures are shown valid in which studies."""
    verdicts = {name: _collect_verdicts(made, name) for name in made.procedures if not is_for_function(name)}
    everywhere = [name for name, found in verdicts.items() if found and set(found) <= {VALID, CONSERVATIVE}]
    told = []
    if everywhere:
        were = "are" if len(everywhere) > 1 else "is"
        has_all = all(sum(map(len, verdicts[name].values())) == len(made.studies) for name in everywhere)
        where = "in both studies" if len(made.studies) == 2 else f"in all {len(made.studies)} studies"
        told.append(
            f"{join_names(everywhere)} {were} shown valid {where if has_all else 'in every study with results'}."
        )
    for name, found in verdicts.items():
        if name not in everywhere:
            parts = [f"{verdict or 'without a result'} in {join_names(some)}" for verdict, some in found.items()]
            told.append(f"{name} is {', '.join(parts)}.")
    return " ".join(told)


def _collect_verdicts(made: Benchmark, procedure: str) -> Mapping[str, list[str]]:
    """Return the studies in which a procedure has each verdict."""
    found: dict[str, list[str]] = {}
    for one in made.comparisons:
        if procedure in one.study.procedures and (verdict := one.get_verdict(procedure)) != EMPTY:
            found.setdefault(verdict, []).append(one.study.name)
    return found


def describe_smallest(made: Benchmark) -> str:
    """Say which procedure is shown to be the smallest in which studies, among those shown valid."""
    winners: dict[str, list[str]] = {}
    tied: list[str] = []
    alone: list[str] = []
    for one in made.comparisons:
        if one.smallest:
            winners.setdefault(one.smallest, []).append(one.study.name)
        else:
            (tied if len(one.ranks) > 1 else alone).append(one.study.name)
    what = _SIZES[made.by]
    said = [f"{name} is shown to be the {what} in {join_names(some)}" for name, some in winners.items()]
    if tied:
        said.append(f"no procedure is shown to be the {what} in {join_names(tied)}")
    if alone:
        said.append(f"fewer than two are left to compare in {join_names(alone)}")
    return f"Among the procedures shown valid at the same α, {'; '.join(said)}."


def render_studies(made: Benchmark, shown: Sequence[str]) -> Markup:
    """Render the design of each study, and the command that reports all its results."""
    told = [_summarise(study, name) for study, name in zip(made.studies, shown, strict=True)]
    return TEMPLATES.render("studies.html", studies=told)


def _summarise(study: Study, shown: str) -> StudySummary:
    manifest = study.manifest
    paths = format_count(study.reader.count_paths(study.cell["n"]), "path")
    draws = format_count(manifest.extent.draws, "training sample")
    points = format_count(manifest.test_points, "test point")
    return StudySummary(
        study.name,
        str(manifest.scenario.get("description", "")).strip(),
        describe_source(manifest),
        ", ".join(f"{AXES[axis]} = {format_label(value)}" for axis, value in study.cell.items()),
        f"{paths} × {draws} and {points}",
        ", ".join(study.procedures),
        shown,
    )
