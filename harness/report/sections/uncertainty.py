"""Explain how certain verdicts are: their meaning, tolerance and level, and what more paths would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

import numpy as np
from markupsafe import Markup

from harness.core.labels import format_label
from harness.core.text import format_count
from harness.report.html.templating import TEMPLATES
from harness.report.sections.facts import TARGET, Facts
from harness.report.sections.verdict_cards import MARKS
from harness.results.required_paths import Need
from harness.statistics.verdicts import CONSERVATIVE, INVALID, UNDECIDED, VALID


@dataclass(frozen=True)
class PrecisionTable:
    """Current error for each n, and the paths or draws that a smaller one needs."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def render_key() -> Markup:
    """Render the meaning of the four verdicts."""
    said = {
        VALID: "coverage is at least the level less the tolerance τ",
        CONSERVATIVE: "valid, and above the level by more than the tolerance: wider than necessary",
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
        f"{judged.attrs['cells']} cells together."
    )
    return TEMPLATES.render("level.html", text=said)


def describe_rules(facts: Facts) -> list[str]:
    """Explain what coverage is compared with, and how errors are estimated."""
    judged = facts.verdicts
    wrong, cells = 1 - float(judged.attrs["level"]), judged.attrs["cells"]
    said = [
        f"A verdict is given only if the whole confidence interval of a cell's coverage says so. Each interval has the "
        f"level 1 − {wrong:.2g}/{cells}, so that all {cells} hold simultaneously (Bonferroni).",
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
    spared = [theta for theta in judged["theta"].values.tolist() if theta in facts.manifest.holdout_levels]
    if spared:
        said.append(
            f"θ = {', '.join(spared)} is chosen on a held-out part of the training sample: the level is the "
            "exact one for the remaining points."
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
    heads = ["n", "largest error of coverage", f"paths for {TARGET:g}", *([f"or draws for {TARGET:g}"] * several)]
    rows = [
        [str(need.n), _format_error(need), _format_paths(need), *([_format_draws(need)] * several)]
        for need in facts.needs
    ]
    caption = (
        f"Monte-Carlo error of coverage in the worst cell of each n, with {format_count(extent.paths, 'path')} × "
        f"{format_count(extent.draws, 'draw')}; and what would bring it to {TARGET:g}."
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
