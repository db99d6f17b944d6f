"""A report in a real Chromium: it opens, shows, sorts, filters, folds, and fits a telephone and paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.report.write import write_report
from tests.harness.report.browser import CHROMIUM, MISSING, Opened
from tests.harness.results.studies import stores as studies

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=MISSING)


@pytest.fixture
def opened(chromium: Any, toy_report: Path) -> Iterator[Opened]:
    one = Opened(chromium, toy_report, viewport={"width": 1280, "height": 900})
    yield one
    one.page.close()
    assert one.complaints == []
    assert one.requests == [toy_report.as_uri()]


SHEET = "#sheets .sheet:visible"


def column(page: Any, i: int) -> list[str]:
    return list(page.locator(f"{SHEET} tbody tr:visible :is(td,th):nth-child({i + 1})").all_inner_texts())


def heads(page: Any) -> list[str]:
    return [text.split(" ↕")[0] for text in page.locator(f"{SHEET} thead th").all_inner_texts()]


def test_it_opens_and_shows(opened: Opened) -> None:
    assert opened.page.title() == "toy – ckrr report"
    assert opened.page.locator(".card").count() == 4
    assert opened.page.locator(".bar span").first.bounding_box()["width"] > 5
    assert opened.page.locator("figure:visible svg").count() >= 2


def test_a_click_on_a_head_sorts_and_another_turns_it_around(opened: Opened) -> None:
    page = opened.page
    i = heads(page).index("coverage")
    button = page.locator(f"{SHEET} thead th").nth(i).locator("button")
    button.click()
    known = [float(text.split()[0]) for text in column(page, i) if text != "–"]
    assert known == sorted(known)
    assert len(set(known)) > 3
    assert column(page, i)[-1] == "–", "what isn't known comes last"
    assert page.locator(f"{SHEET} thead th").nth(i).get_attribute("aria-sort") == "ascending"
    button.focus()
    page.keyboard.press("Enter")
    assert [float(text.split()[0]) for text in column(page, i) if text != "–"] == sorted(known, reverse=True)
    assert column(page, i)[-1] == "–"
    assert page.locator(f"{SHEET} thead th").nth(i).get_attribute("aria-sort") == "descending"


def test_numbers_sort_as_numbers_and_words_after_them(opened: Opened) -> None:
    page = opened.page
    i = heads(page).index("θ")
    page.locator(f"{SHEET} thead th").nth(i).locator("button").click()
    seen = list(dict.fromkeys(column(page, i)))
    assert seen == ["1", "13", "best"]


def test_filters_leave_what_was_asked_and_count_it(opened: Opened) -> None:
    page = opened.page
    page.locator("#sheets select[name=procedure]").select_option("wide")
    page.locator("#sheets select[name=n]").select_option("20")
    assert set(column(page, 0)) == {"wide"}
    assert len(column(page, 0)) == 2 * 3 * 2
    assert page.locator("#sheets output").inner_text() == "12 of 92 rows"
    page.locator("#sheets label", has_text="0.05").first.click()
    assert "α = 0.05" in page.locator(f"{SHEET} caption").inner_text()
    assert set(column(page, 0)) == {"wide"}, "a filter holds for every α"
    page.locator("#sheets select[name=procedure]").select_option("")
    assert set(column(page, 0)) == {"exact", "wide", "random", "split"}


def test_a_choice_changes_the_figures(opened: Opened) -> None:
    page = opened.page
    before = page.locator("figure:visible figcaption").first.inner_text()
    page.locator("#figures input:not(:checked) + label").first.click()
    assert page.locator("figure:visible figcaption").first.inner_text() != before


def test_without_script_all_is_there(chromium: Any, toy_report: Path) -> None:
    page = Opened(chromium, toy_report, java_script_enabled=False).page
    assert page.locator(f"{SHEET} tbody tr").count() == 92
    assert page.locator("select").count() == 0, "nothing that would do nothing"
    page.locator("#sheets label", has_text="0.05").first.click()
    assert "α = 0.05" in page.locator(f"{SHEET} caption").inner_text()
    page.close()


def test_on_a_telephone_only_boxes_scroll_sideways(chromium: Any, toy_report: Path) -> None:
    page = Opened(chromium, toy_report, viewport={"width": 390, "height": 844}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#sheets label", has_text="all columns").click()
    assert page.locator("#sheets .box:visible").evaluate("box => box.scrollWidth") > 390
    page.close()


@pytest.mark.parametrize(("width", "shown"), [(1400, {"level"}), (390, set())])
def test_main_columns_are_shown_and_all_if_asked(chromium: Any, toy_report: Path, width: int, shown: set[str]) -> None:
    page = Opened(chromium, toy_report, viewport={"width": width, "height": 900}).page
    visible = page.locator(f"{SHEET} thead th:visible")
    assert set(visible.all_text_contents()) == {"procedure", "γ", "θ", "λ", "n", "verdict", "coverage", "width"} | shown
    assert page.locator("#sheets .box:visible").evaluate("box => box.scrollWidth <= box.clientWidth"), "none is cut off"
    page.locator("#sheets label", has_text="all columns").click()
    assert visible.count() == page.locator(f"{SHEET} thead th").count() > 10
    assert page.locator(f"{SHEET} tbody tr").first.locator("th:visible, td:visible").count() == visible.count()
    page.close()


def test_a_comparison_fits_a_telephone_and_sorts(chromium: Any, tmp_path: Path) -> None:
    some = [studies.toy(tmp_path / f"{name}.zarr", name=name) for name in ("one", "two")]
    opened = Opened(chromium, write_report(some, tmp_path / "both.html"), viewport={"width": 390, "height": 844})
    page = opened.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ranks = page.locator("#ranks .sheet")
    ranks.locator("thead th button").nth(3).click()
    assert ranks.locator("tbody tr").first.inner_text().split("\t") == ["exact", "1 of 2", "1 of 2", "1"]
    assert opened.complaints == []
    page.close()


def test_paper_has_every_table_and_every_figure(chromium: Any, toy_report: Path) -> None:
    page = Opened(chromium, toy_report, viewport={"width": 1100, "height": 800}).page
    page.emulate_media(media="print")
    assert page.locator(SHEET).count() == 2
    assert page.locator("figure:visible").count() == page.locator("figure").count()
    assert page.locator("nav:visible, .filters:visible, .choices:visible").count() == 0
    heights = page.locator("#sheets .box:visible").evaluate_all("boxes => boxes.map(box => box.clientHeight)")
    assert min(heights) > 800, "nothing is cut off by a box"
    assert page.pdf()[:4] == b"%PDF"
    page.close()


def test_dark_is_dark_and_light_is_light(chromium: Any, toy_report: Path) -> None:
    for scheme, sign in (("dark", -1), ("light", 1)):
        page = Opened(chromium, toy_report, color_scheme=scheme).page
        colours = page.evaluate("['color', 'backgroundColor'].map(one => getComputedStyle(document.body)[one])")
        ink, paper = (sum(map(int, colour[4:-1].split(","))) for colour in colours)
        assert (paper - ink) * sign > 400
        page.close()
