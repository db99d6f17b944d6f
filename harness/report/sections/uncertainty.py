"""Explain how certain verdicts are: their meaning, tolerance and level, and what more paths would give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np
import xarray as xr
from markupsafe import Markup

from harness.core.labels import format_label
from harness.core.schema.measures import COVERAGE_EXPECTED
from harness.core.text import format_count
from harness.report.html.templating import TEMPLATES
from harness.report.sections.facts import TARGET, Facts
from harness.report.sections.verdict_cards import MARKS
from harness.results.designs import describe_design, find_reserve, is_by_betting, list_reserves
from harness.results.required_paths import Need
from harness.statistics.verdicts import BORDERLINE, CONSERVATIVE, INVALID, UNDECIDED, VALID

_MEDIAN = "median"
"""The search for θ that keeps exact levels without holding out points."""


@dataclass(frozen=True)
class PrecisionTable:
    """Current error for each n, and the paths or draws that a smaller one needs."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def render_key(judged: Iterable[xr.Dataset]) -> Markup:
    """Render the meaning of the verdicts: of *borderline* only if it occurs among those that were judged."""
    near = "within τ/2 of the border, the level less τ: neither shown valid nor invalid"
    said = {
        VALID: "coverage is at least the level less the tolerance τ",
        CONSERVATIVE: "valid, and above the level by more than the tolerance: wider than necessary",
        **({BORDERLINE: near} if any(bool((one["verdict"] == BORDERLINE).any()) for one in judged) else {}),
        INVALID: "coverage is below the level by more than the tolerance",
        UNDECIDED: "the interval for coverage allows more than one of these",
    }
    return TEMPLATES.render("verdict_key.html", rows=[(MARKS[name], text) for name, text in said.items()])


def render_level(facts: Facts) -> Markup:
    """Render the tolerance, and the simultaneous level over the whole grid."""
    judged = facts.verdicts
    tolerances = [
        f"{float(tau):.3g} at α = {format_label(float(alpha))}"
        for tau, alpha in zip(judged["tolerance"], judged["alpha"], strict=True)
    ]
    sure = float(judged.attrs["level"])
    said = (
        f"Tolerance τ: {', '.join(tolerances)}. With probability at least {sure:g} no verdict on y* is wrong, in all "
        f"{judged.attrs['cells']} cells together. That {describe_design(judged, facts.design)}."
    )
    return TEMPLATES.render("level.html", text=said)


def describe_rules(facts: Facts) -> list[str]:
    """Explain what coverage is compared with, and how errors are estimated."""
    said = [
        *describe_intervals(facts),
        *describe_unseen(facts),
        *describe_reserves(facts),
        *describe_expectation(facts),
        "Standard errors (±) are between paths, because training samples on one path aren't independent.",
        *describe_resampling(facts),
        *describe_exchangeability(facts),
        *describe_adjustment(facts),
    ]
    if facts.function_verdicts is not None:
        said.append(
            "Verdicts on f(x*) stand beside those on y*, at the same level for each cell, and are counted apart."
        )
    return said


def describe_intervals(facts: Facts) -> list[str]:
    """Explain how verdicts follow from intervals, in each design that the study has."""
    judged = facts.verdicts
    wrong, cells = 1 - float(judged.attrs["level"]), judged.attrs["cells"]
    once = (
        "A verdict is given only if the whole confidence interval of a cell's coverage says so. Each interval has the "
        f"level 1 − {wrong:.2g}/{cells}, so that all {cells} hold simultaneously (Bonferroni)."
    )
    often = (
        "In the anytime design, intervals hold at all numbers of paths together, and in all cells, so they are wider. "
        "A cell is judged by its first 50, 75, 100 and so on paths, until there is a verdict. That verdict stands, but "
        "a valid cell may be shown to be conservative later."
    )
    by_betting = "Cells are decided by betting, which is exact for every distribution of coverage."
    anytime = by_betting if is_by_betting(facts.manifest) else often
    return [once] * (not judged["anytime"].all()) + [anytime] * bool(judged["anytime"].any())


def describe_unseen(facts: Facts) -> list[str]:
    """Say how rare a kind of path may be that no path has shown; nothing if no verdict depends on it."""
    found = find_reserve(facts.manifest, facts.verdicts)
    if found is None:
        return []
    part = f"unless more than {found.part:.2g} of all paths are unlike those seen"
    bound = part if found.part < 1 else "unless other paths are unlike those seen, of which so few say nothing"
    return [
        f"A cell that is valid, or conservative, is so {bound}: ln(1/δ)/P in the worst such cell, with "
        f"P = {found.paths} paths to its verdict and the probability of error δ = {found.wrong:.2g}. A study with "
        "“until = { verdict = 0.95, exact = true }” has verdicts that need no such reserve."
    ]


def describe_reserves(facts: Facts) -> list[str]:
    """Note cells that were added later, and verdicts that later paths contradict."""
    names = ["on y*", "on f(x*)"] if facts.function_verdicts is not None else [""]
    return [
        f"{f'Verdicts {name}: {text}' if name else text[0].upper() + text[1:]}."
        for name, found in zip(names, facts.all_verdicts, strict=True)
        for text in list_reserves(found)
    ]


def describe_expectation(facts: Facts) -> list[str]:
    """Say what expected coverage is, where verdicts are on it."""
    if facts.judged != COVERAGE_EXPECTED:
        return []
    return [
        "Coverage is expected coverage: the probability that y* is in the region, given the training sample, as a mean "
        "over test points. It estimates the same as the share of test points with y* in the region, without the noise "
        "of their values."
    ]


def describe_resampling(facts: Facts) -> list[str]:
    """Say what errors and verdicts are conditional on if the data are a table."""
    if not facts.manifest.is_resampled:
        return []
    return [
        "The data are one table, whose rows each replication splits anew. Errors and verdicts are conditional on these "
        "rows: another sample of the same population may differ by more than the errors say."
    ]


def describe_exchangeability(facts: Facts) -> list[str]:
    """Say which levels are exact, and where their conditions are broken."""
    judged = facts.verdicts
    if not bool(judged["promised"].any()):
        return ["No procedure here has an exact level: all are compared with 1 − α."]
    said = [
        "P-values are smoothed (randomised): conformal procedures have the exact level 1 − α for exchangeable points."
        if facts.manifest.fingerprint.get("smoothed")
        else "Conformal procedures are compared with their exact finite-sample level for exchangeable points, such as "
        "1 − (⌈(n + 1)α⌉ − 1)/(n + 1), which is at least 1 − α; the others with 1 − α."
    ]
    found = [theta for theta in judged["theta"].values.tolist() if theta in facts.manifest.holdout_levels]
    spared = [theta for theta in found if theta != _MEDIAN]
    if _MEDIAN in found:
        said.append(
            f"θ = {_MEDIAN} is 1/median‖x − x′‖² over all training and test inputs: a symmetric function of these, so "
            "levels are exact for exchangeable points."
        )
    if spared:
        said.append(
            f"θ = {', '.join(spared)} is chosen on a held-out part of the training sample: the level for "
            "exchangeable points is the exact one for the remaining points."
        )
    return [*said, *describe_violations(facts)]


def describe_adjustment(facts: Facts) -> list[str]:
    """Say how coverage is adjusted, and how many paths that is worth for each procedure; nothing if it isn't."""
    if facts.adjusted is None:
        return []
    told = []
    for name in facts.adjusted["procedure"].values.tolist():
        worth = facts.adjusted["worth"].sel(procedure=name).values
        worth = worth[np.isfinite(worth)]
        if len(worth):
            spread = f"; {worth.min():.1f} to {worth.max():.1f}" if len(worth) > 1 else ""
            told.append(f"{np.median(worth):.1f} for {name} (median of {format_count(len(worth), 'cell')}{spread})")
    return [
        "Adjusted coverages estimate the same as plain ones, mostly with a smaller error. The coverages of conformal "
        "procedures in the same replications serve as control variates, since their expectations are known exactly. "
        f"What that is worth, as a multiple of the paths: {', '.join(told)}. Verdicts use plain coverages."
    ]


def describe_violations(facts: Facts) -> list[str]:
    """Say what breaks exchangeability, if anything does; verdicts then measure its cost."""
    judged = facts.verdicts
    if not bool((judged["promised"] & ~judged["exchangeable"]).any()):
        return []
    said = []
    if facts.manifest.test != "iid":
        where = "lie on a regular grid" if facts.manifest.test == "grid" else "come from a shifted distribution"
        said.append(
            f"Test points {where}, so they aren't exchangeable with the training points (†): no conformal "
            "level is promised here. Verdicts on conformal cells measure what that costs."
        )
    searched = [theta for theta in judged["theta"].values.tolist() if not facts.manifest.is_independent(theta)]
    if searched:
        said.append(
            f"θ = {', '.join(searched)} is searched for on the training sample, which breaks exchangeability (†): in "
            "those cells no conformal level is promised, and verdicts measure what the search costs."
        )
    return said


def make_precision_table(facts: Facts) -> PrecisionTable:
    """Tabulate the current error for each n, and the paths or draws that a smaller one needs."""
    extent = facts.manifest.extent
    several = extent.draws > 1  # one draw per path doesn't show the variance between draws
    heads = [
        "n",
        f"largest error of {facts.coverage}",
        f"paths for {TARGET:g}",
        *([f"or draws for {TARGET:g}"] * several),
    ]
    rows = [
        [str(need.n), _format_error(need), _format_paths(need), *([_format_draws(need)] * several)]
        for need in facts.needs
    ]
    caption = (
        f"Monte-Carlo error of {facts.coverage} in the worst cell of each n, with "
        f"{facts.paths} × {format_count(extent.draws, 'draw')}; and what would bring it to "
        f"{TARGET:g}."
    )
    return PrecisionTable(caption, heads, rows)


def _format_error(need: Need) -> str:
    return "unknown" if isnan(need.se) else f"{need.se:.2g}"


def _format_paths(need: Need) -> str:
    return need.paths_text


def _format_draws(need: Need) -> str:
    return "no number is enough" if need.draws is None else str(need.draws)


def render_uncertainty(facts: Facts) -> Markup:
    """Render the section."""
    return TEMPLATES.render(
        "uncertainty.html",
        level=render_level(facts),
        rules=describe_rules(facts),
        precision=make_precision_table(facts),
        has_unscored=bool((facts.measures["unscored"]["value"] > 0).any()),
    )
