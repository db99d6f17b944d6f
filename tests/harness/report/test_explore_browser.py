"""The Explore section in a real Chromium: readers choose, point, press keys and click, and read the store's numbers."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli import main
from harness.report.write import write
from harness.results.estimates import estimate
from harness.results.validity import verdicts
from tests.harness.report import stores
from tests.harness.report.browser import CHROMIUM, MISSING, Opened
from tests.harness.report.test_content import as_shown

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=MISSING)

MARKS = "#explorer .chart path[aria-roledescription=point]"
LETTERS = {"γ": "gamma", "θ": "theta", "λ": "lam", "n": "n", "α": "alpha"}


def explore(opened: Opened) -> Any:
    """The page, when the section has been drawn."""
    page = opened.page
    page.locator("#explorer").scroll_into_view_if_needed()
    page.locator("#explorer[data-drawn]").wait_for()
    return page


@pytest.fixture
def opened(chromium: Any, krr_report: Path) -> Iterator[Opened]:
    one = Opened(chromium, krr_report, viewport={"width": 1400, "height": 900})
    yield one
    one.page.close()
    assert one.complaints == []
    assert one.requests == [krr_report.as_uri()]


def choose(page: Any, **values: str) -> None:
    for name, value in values.items():
        drawn = page.locator("#explorer").get_attribute("data-drawn")
        page.locator(f"#explorer select[name={name.replace('_', '-')}]").select_option(value)
        page.locator(f"#explorer:not([data-drawn='{drawn}'])").wait_for()


def read_labels(page: Any) -> list[str]:
    return list(page.locator(MARKS).evaluate_all("marks => marks.map(mark => mark.getAttribute('aria-label'))"))


def parse_label(label: str) -> tuple[dict[str, Any], str, str]:
    """Where xarray finds the cell of a label; its value as text, and its verdict."""
    cell, rest = label.split(". ", 1)
    name, *others = cell.split(", ")
    at = {LETTERS[letter]: value for letter, value in (one.split(" = ") for one in others)}
    where = {axis: value if axis == "theta" else float(value) for axis, value in at.items()}
    text, verdict = re.fullmatch(r".*?: (.*?); .*?\. Verdict on [yf(x)]*\*?\)?: (\w+).*", rest).groups()  # type: ignore[union-attr]
    return {"procedure": name.removesuffix(" (y*)"), **where}, text, verdict


def test_it_is_drawn_a_while_after_the_page_for_those_who_print(opened: Opened) -> None:
    opened.page.locator("#explorer .chart .mark-line path").first.wait_for(timeout=120_000)
    assert opened.page.evaluate("scrollY") == 0


def test_it_is_drawn_when_it_comes_into_view(opened: Opened) -> None:
    page = explore(opened)
    assert len(read_labels(page)) == 2 * 3, "n × procedures, without the intervals for f(x*)"
    assert page.locator("#explorer .chart .mark-line path").count() == 3, "a line for each procedure"
    assert page.locator("#explorer .chart").get_attribute("aria-label") == "expected coverage of y* of 6 cells along n"


@pytest.mark.parametrize("measure", ["coverage_expected", "width", "coverage_f"])
def test_labels_of_marks_are_the_store_s_numbers(opened: Opened, krr_store: str, measure: str) -> None:
    page = explore(opened)
    page.locator("#explorer .legend").get_by_label("GPR-p").check()
    for name, value in (("measure", measure), ("facet", "alpha"), ("facet2", "lam"), ("fixed_theta", "1")):
        choose(page, **{name: value}) if name != "measure" or measure != "coverage_expected" else None
    labels = read_labels(page)
    assert len(set(labels)) == 2 * 4 * 2 * 2
    values, judged = estimate(krr_store, measure), verdicts(krr_store)["verdict"]
    on_function = verdicts(krr_store, {"procedure": ["GPR-p"]}, measure="coverage_f")["verdict"]
    for label in labels:
        at, text, verdict = parse_label(label)
        assert at["theta"] == "ml"
        assert text == as_shown(values.sel(at, drop=True).squeeze())
        is_function = at["procedure"] == "GPR-p" and measure == "coverage_f"
        assert verdict == (on_function if is_function else judged).sel(at).item()


def test_axes_colours_and_fixed_values_are_chosen(opened: Opened) -> None:
    page = explore(opened)
    choose(page, x="procedure", colour="n", facet="theta")
    texts = page.locator("#explorer .chart svg text").all_text_contents()
    assert {"θ = 100", "θ = ml", "GPR-f", "RRCM", "CRR-loo"} <= set(texts)
    assert page.locator("#explorer .legend label").all_inner_texts() == ["10", "20"]
    assert page.locator("#explorer select[name=fixed-theta]").count() == 0, "panels have every θ"
    choose(page, fixed_alpha="0", fixed_lam="0")
    found = [parse_label(label)[0] for label in read_labels(page)]
    assert {(at["alpha"], at["lam"]) for at in found} == {(0.05, 0.1)}
    assert {(at["n"], at["theta"]) for at in found} == {(n, theta) for n in (10, 20) for theta in ("100", "ml")}
    page.get_by_label("20", exact=True).uncheck()
    page.wait_for_function(f"document.querySelectorAll('{MARKS}').length === {len(found) // 2}")


def test_keys_reach_every_mark_and_say_it(opened: Opened) -> None:
    page = explore(opened)
    page.locator("#explorer .legend input").last.focus()
    page.keyboard.press("Tab")
    labels = read_labels(page)
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused) == labels[0]
    assert page.locator("#explorer output").inner_text() == labels[0]
    assert page.locator("#explorer .tip").inner_text().split("\n") == labels[0].split(". ")
    page.keyboard.press("ArrowRight")
    assert "n = 20" in page.evaluate(focused)
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused).startswith("RRCM, ")
    page.keyboard.press("End")
    assert page.evaluate(focused) == labels[-1]
    page.keyboard.press("Enter")
    page.locator("#explorer .detail h3").wait_for()
    assert page.locator("#explorer .detail h3").inner_text().startswith("CRR-loo, ")
    assert "The worst of 6 replications" in page.locator("#explorer output").inner_text()


def test_a_click_shows_quantiles_and_a_command_that_replays_the_worst(opened: Opened, krr_store: str) -> None:
    page = explore(opened)
    page.locator(MARKS).nth(2).hover()
    assert page.locator("#explorer .tip").is_visible()
    page.locator(MARKS).nth(2).click()
    page.locator("#explorer .spread svg").nth(1).wait_for()
    points = page.locator("#explorer .spread svg").first.locator("path[aria-roledescription=point]")
    quantiles = [
        float(text.rpartition(" ")[2])
        for text in points.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    ]
    assert quantiles == sorted(quantiles)
    assert 2 <= len(quantiles) <= 20
    page.locator("#explorer summary").click()
    rows = page.locator("#explorer .detail tbody tr").all_inner_texts()
    assert [float(row.split("\t")[1]) for row in rows] == quantiles
    command = page.locator("#explorer .detail code").inner_text()
    words = shlex.split(command)
    assert words[:3] == ["ckrr", "replay", krr_store]
    done = CliRunner().invoke(main, words[1:])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("equal bit for bit to what the store has")


def test_paper_has_what_was_drawn(opened: Opened) -> None:
    page = explore(opened)
    page.emulate_media(media="print")
    assert page.locator("#explorer .chart svg").is_visible()
    assert page.locator("#explorer :is(select, input, .tip)").locator("visible=true").count() == 0
    assert page.locator("#explorer .legend label:visible").all_inner_texts() == ["GPR-f", "RRCM", "CRR-loo"]
    assert "; θ = 100, λ = 1, α = 0.1. Not drawn: GPR-p (y*)." in page.locator("#explorer .note").first.inner_text()
    assert page.pdf()[:4] == b"%PDF"


def test_a_telephone_is_wide_enough(chromium: Any, krr_report: Path) -> None:
    opened = Opened(chromium, krr_report, viewport={"width": 390, "height": 844})
    page = explore(opened)
    choose(page, facet="alpha")
    page.locator(MARKS).first.click()
    page.locator("#explorer .detail h3").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert opened.complaints == []
    page.close()


def test_without_script_a_sentence_says_so(chromium: Any, krr_report: Path) -> None:
    page = Opened(chromium, krr_report, java_script_enabled=False).page
    assert "This part needs JavaScript" in page.locator("#explore").inner_text()
    assert page.locator("#explorer *").count() == 0
    page.close()


def test_the_policy_is_in_force(chromium: Any, krr_report: Path) -> None:
    opened = Opened(chromium, krr_report)
    page = opened.page
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "document.title = 'no'";
            document.head.append(script);
            new Image().src = "http://127.0.0.1:9/x.png";
        }"""
    )
    page.wait_for_timeout(100)
    assert page.title() == "toy – ckrr report"
    assert len([text for text in opened.complaints if "Content Security Policy" in text]) >= 2
    page.close()


def test_names_of_strangers_stay_names(chromium: Any, tmp_path: Path) -> None:
    report = write(stores.strange(tmp_path / "strange.zarr"), settings=0)
    assert "document.title='no'</script>" not in report.read_text()
    opened = Opened(chromium, report, viewport={"width": 1400, "height": 900})
    page = explore(opened)
    assert tuple(page.locator("#explorer .legend label").all_inner_texts()) == stores.STRANGE_NAMES
    choose(page, x="theta", colour="n", facet="procedure")
    texts = page.locator("#explorer .chart svg text").all_text_contents()
    assert {*stores.STRANGE_NAMES, stores.STRANGE_SEARCH} <= set(texts)
    labels = read_labels(page)
    assert {label.split(", γ")[0] for label in labels} == set(stores.STRANGE_NAMES)
    page.locator(MARKS).last.click()
    words = shlex.split(page.locator("#explorer .detail code").inner_text())
    assert stores.STRANGE_SEARCH in words
    assert page.title() == "toy – ckrr report"
    assert opened.complaints == []
    assert opened.requests == [report.as_uri()]
    page.close()
