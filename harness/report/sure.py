"""How sure it is: what a verdict means, with which tolerance, at which level, and what more paths would give."""

from __future__ import annotations

from math import isnan

from harness.labels import label
from harness.report.facts import TARGET, Facts
from harness.report.judged import CLASSES, SYMBOLS
from harness.report.markup import Markup, items, joined, tag
from harness.results.precision import Need
from harness.results.verdicts import CONSERVATIVE, INVALID, UNDECIDED, VALID
from harness.show import counted


def key() -> Markup:
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


def rules(facts: Facts) -> Markup:
    """Level, tolerance, and what is compared with what."""
    judged = facts.judged
    level, cells = float(judged.attrs["level"]), int(judged.attrs["cells"])
    tolerances = "; ".join(
        f"{float(tau):.3g} at α = {label(float(alpha))}"
        for tau, alpha in zip(judged["tolerance"], judged["alpha"], strict=True)
    )
    said = [
        f"A verdict is given only if the whole confidence interval of a cell's coverage says so. The intervals hold for all "
        f"{cells} cells together: with probability at least {level:g} no verdict on y* in this report is wrong "
        f"(Bonferroni: each interval has the level 1 − {1 - level:.2g}/{cells}).",
        f"Tolerance: {tolerances}.",
        "Standard errors (±) are between paths, because train samples on one path aren't independent.",
        *exchangeability(facts),
    ]
    if facts.judged_f is not None:
        said.append(
            "Verdicts on f(x*) are beside those on y*, with intervals of the same width, and not counted among them."
        )
    return items(said)


def exchangeability(facts: Facts) -> list[str]:
    """Which levels are exact, and where their conditions are broken."""
    judged = facts.judged
    if not bool(judged["promised"].any()):
        return ["No procedure here has an exact level: all are compared with 1 − α."]
    said = [
        "Conformal procedures are compared with their exact finite-sample level for exchangeable points, such as "
        "1 − (⌈(n + 1)α⌉ − 1)/(n + 1), which is at least 1 − α; the others with 1 − α."
    ]
    return [*said, *broken(facts)]


def broken(facts: Facts) -> list[str]:
    """What breaks exchangeability here: then a verdict measures what that costs."""
    judged = facts.judged
    if not bool((judged["promised"] & ~judged["exchangeable"]).any()):
        return []
    said = []
    if facts.record.test != "iid":
        said.append(
            "Test points lie on a regular grid, so they aren't exchangeable with the train points (†): no conformal level "
            "is promised here. What is measured, in every conformal cell, is what that costs."
        )
    searched = [theta for theta in judged["theta"].values.tolist() if not _is_number(theta)]
    if searched:
        said.append(
            f"θ = {', '.join(searched)} is searched for on the train sample, which breaks exchangeability (†): in those "
            "cells no conformal level is promised, and what is measured is what the search costs."
        )
    return said


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def precision(facts: Facts) -> Markup:
    """For each n the error now, and what a smaller one would take."""
    rows = [
        tag(
            "tr",
            tag("th", str(need.n), scope="row"),
            tag("td", _error(need)),
            tag("td", _paths(need)),
            tag("td", _draws(need)),
        )
        for need in facts.needs
    ]
    heads = ("n", "largest error of coverage", f"paths for {TARGET:g}", f"or draws for {TARGET:g}")
    head = tag("tr", *(tag("th", text, scope="col") for text in heads))
    extent = facts.record.extent
    caption = (
        f"Monte-Carlo error of coverage in the worst cell of each n, with {counted(extent.paths, 'path')} × "
        f"{counted(extent.draws, 'draw')}; and how many paths (or draws of each path) would bring it down to {TARGET:g}."
    )
    table = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *rows))
    return tag("div", table, class_="box", tabindex="0", role="region", aria_label="precision")


def _error(need: Need) -> str:
    return "can't be known" if isnan(need.se) else f"{need.se:.2g}"


def _paths(need: Need) -> str:
    return "–" if need.paths is None else str(need.paths)


def _draws(need: Need) -> str:
    return "no number would do" if need.draws is None else str(need.draws)


def sure(facts: Facts) -> Markup:
    """The section."""
    return joined([rules(facts), precision(facts), tag("p", *_reading())])


def _reading() -> list[str]:
    return [
        "A quantile (width, score) has the interval of its order statistics; it is infinite where more than half of the "
        "regions are unbounded. No digit is shown below the error."
    ]
