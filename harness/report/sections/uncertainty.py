"""How sure it is: what a verdict means, with which tolerance, at which level, and what more paths would give."""

from __future__ import annotations

from math import isnan

from harness.core.labels import format_label
from harness.core.text import format_count
from harness.report.html.markup import Markup, join_markup, render_list, render_plain_table, tag
from harness.report.sections.facts import TARGET, Facts
from harness.report.sections.verdict_cards import CLASSES, SYMBOLS
from harness.results.required_paths import Need
from harness.results.validity import CONSERVATIVE, INVALID, UNDECIDED, VALID


def render_key() -> Markup:
    """What the four verdicts mean, in a line each."""
    said = {
        VALID: "coverage is at least the level less the tolerance",
        CONSERVATIVE: "valid, and above the level by more than the tolerance: wider than it need be",
        INVALID: "coverage is below the level by more than the tolerance",
        UNDECIDED: "the interval for coverage allows more than one of these",
    }
    rows = [
        tag("li", tag("i", SYMBOLS[name], class_=CLASSES[name]), " ", tag("b", name), f": {text}")
        for name, text in said.items()
    ]
    return tag("ul", *rows, class_="key")


def render_level(facts: Facts) -> Markup:
    """The tolerance, and the level over the whole grid."""
    judged = facts.verdicts
    tolerances = [
        f"{float(tau):.3g} at α = {format_label(float(alpha))}"
        for tau, alpha in zip(judged["tolerance"], judged["alpha"], strict=True)
    ]
    sure = float(judged.attrs["level"])
    said = (
        f"Tolerance: {', '.join(tolerances)}. With probability at least {sure:g} no verdict on y* is wrong, in all "
        f"{judged.attrs['cells']} cells together."
    )
    return tag("p", said, class_="soft")


def render_rules(facts: Facts) -> Markup:
    """What is compared with what, and how errors are found."""
    judged = facts.verdicts
    wrong, cells = 1 - float(judged.attrs["level"]), judged.attrs["cells"]
    said = [
        f"A verdict is given only if the whole confidence interval of a cell's coverage says so. Each interval has the "
        f"level 1 − {wrong:.2g}/{cells}, so that all {cells} hold together (Bonferroni).",
        "Standard errors (±) are between paths, because train samples on one path aren't independent.",
        *describe_exchangeability(facts),
    ]
    if facts.function_verdicts is not None:
        said.append(
            "Verdicts on f(x*) stand beside those on y*, at the same level for each cell, and are counted apart."
        )
    return join_markup([render_level(facts), render_list(said)])


def describe_exchangeability(facts: Facts) -> list[str]:
    """Which levels are exact, and where their conditions are broken."""
    judged = facts.verdicts
    if not bool(judged["promised"].any()):
        return ["No procedure here has an exact level: all are compared with 1 − α."]
    said = [
        "P-values are smoothed by chance: conformal procedures have the exact level 1 − α for exchangeable points."
        if facts.manifest.fingerprint.get("smoothed")
        else "Conformal procedures are compared with their exact finite-sample level for exchangeable points, such as "
        "1 − (⌈(n + 1)α⌉ − 1)/(n + 1), which is at least 1 − α; the others with 1 − α."
    ]
    spared = [theta for theta in judged["theta"].values.tolist() if theta in facts.manifest.holdout_levels]
    if spared:
        said.append(
            f"θ = {', '.join(spared)} is chosen on a part of the train sample that nothing else sees: the level is the "
            "exact one of the points which are left."
        )
    return [*said, *describe_violations(facts)]


def describe_violations(facts: Facts) -> list[str]:
    """What breaks exchangeability here: then a verdict measures what that costs."""
    judged = facts.verdicts
    if not bool((judged["promised"] & ~judged["exchangeable"]).any()):
        return []
    said = []
    if facts.manifest.test != "iid":
        where = "lie on a regular grid" if facts.manifest.test == "grid" else "come from a shifted law"
        said.append(
            f"Test points {where}, so they aren't exchangeable with the train points (†): no conformal "
            "level is promised here. What is measured, in every conformal cell, is what that costs."
        )
    searched = [theta for theta in judged["theta"].values.tolist() if not facts.manifest.is_independent(theta)]
    if searched:
        said.append(
            f"θ = {', '.join(searched)} is searched for on the train sample, which breaks exchangeability (†): in "
            "those cells no conformal level is promised, and what is measured is what the search costs."
        )
    return said


def render_precision(facts: Facts) -> Markup:
    """For each n the error now, and what a smaller one would take."""
    extent = facts.manifest.extent
    several = extent.draws > 1  # with one draw a path, what differs between draws can't be told
    heads = ["n", "largest error of coverage", f"paths for {TARGET:g}", *([f"or draws for {TARGET:g}"] * several)]
    rows = [
        [str(need.n), _format_error(need), _format_paths(need), *([_format_draws(need)] * several)]
        for need in facts.needs
    ]
    caption = (
        f"Monte-Carlo error of coverage in the worst cell of each n, with {format_count(extent.paths, 'path')} × "
        f"{format_count(extent.draws, 'draw')}; and what would bring it to {TARGET:g}."
    )
    return render_plain_table(caption, heads, rows)


def _format_error(need: Need) -> str:
    return "can't be known" if isnan(need.se) else f"{need.se:.2g}"


def _format_paths(need: Need) -> str:
    return "–" if need.paths is None else str(need.paths)


def _format_draws(need: Need) -> str:
    return "no number would do" if need.draws is None else str(need.draws)


def render_uncertainty(facts: Facts) -> Markup:
    """The section."""
    reading = (
        "Widths and scores are medians, with the errors of order statistics: infinite where half of the regions are "
        "unbounded. No digit is shown below the error."
    )
    return join_markup([render_rules(facts), render_precision(facts), tag("p", reading)])
