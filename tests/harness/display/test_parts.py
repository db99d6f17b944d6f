"""Values show the same words as text and as HTML, and nothing in them is taken for HTML."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ckrr import study
from harness.cube.rounds import Answer
from harness.display.parts import format_html, format_text
from harness.execution.driver import run_prepared
from harness.execution.facts import Outcome
from harness.execution.prepare import prepare
from harness.execution.progress import SilentProgress
from harness.monitor.text import StatusFacts, format_status
from harness.planning.plan_text import format_plan
from harness.store.rounds import Round
from tests.harness.studies import loaded, run_serially

EVIL = '<script>alert("1")</script>&amp;\x1b[2J\u202e\ud800'
ALLOWED = {"div", "p", "strong", "code", "table", "thead", "tbody", "tr", "th", "td"}


class Reader(HTMLParser):
    """Elements, attributes and text of HTML; every element must be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text, self._open = "", list[str]()
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= set(attrs)
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f" {data}"


def get_words(text: str) -> list[str]:
    return text.replace("`", " ").split()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("display") / "toy.zarr"
    run_serially(where, grid__n=[10], source__fails_at=0.2)
    return str(where)


def test_lines_and_tables_have_the_same_words(store: str) -> None:
    status, plan = study.status(store), study.plan("quickstart", workers=1)
    for facts, text in ((status, format_status(status)), (plan, format_plan(plan))):
        found = Reader(facts._repr_html_() or "")
        assert repr(facts) == str(facts) == text
        assert get_words(found.text) == get_words(text)
        assert found.seen <= ALLOWED
        assert found.attributes == {("scope", "col"), ("scope", "row")}


def test_they_are_the_dicts_that_they_were(store: str) -> None:
    status = study.status(store)
    plain = dict(status)
    assert type(json.loads(json.dumps(status))) is dict
    assert json.dumps(status) == json.dumps(plain)
    assert status == plain == pickle.loads(pickle.dumps(status))
    assert list(plain)[:2] == ["store", "scenario"]
    assert not isinstance(status | {}, StatusFacts)


def test_one_without_its_keys_is_shown_as_a_dict(store: str) -> None:
    for facts in (study.status(store), study.plan("quickstart", workers=1)):
        some = dict(facts)
        for key in ("store", "sizes"):
            facts.pop(key)
            some.pop(key)
        assert repr(facts) == repr(some)
        assert facts._repr_html_() is None


def test_nothing_is_taken_for_html(store: str) -> None:
    facts = study.status(store)
    facts.update(scenario=EVIL, store=EVIL, complete=False, also_stored={EVIL: [EVIL]})
    facts["last_run"] |= {"host": EVIL, "start": EVIL, "end": EVIL}
    plan = study.plan("quickstart", workers=1)
    plan.update(
        scenario=EVIL, new_values={"procedure": [EVIL]}, preparations=[{"name": EVIL, "seconds": 1, "memory": 1}]
    )
    plan["sizes"][0]["n"] = EVIL
    outcome = Outcome(EVIL, 1, 1, 1.0, 0.5, 2)
    for shown in (facts, plan, outcome):
        html = shown._repr_html_() or ""
        html.encode()
        assert Reader(html).seen <= ALLOWED
        assert html.count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;") > 1
        for text in (html, repr(shown)):
            assert not re.search("[\x1b\u202e\ud800]", text)


def test_code_is_set_as_code_and_the_first_line_is_bold() -> None:
    html = format_html([[["a"], ["`<b>`"]], "do `ckrr run`", "then"], "<hr>")
    table = '<table><thead><tr><th scope="col">a</th></tr></thead><tbody><tr><th scope="row">'
    assert html.startswith(f"<div><hr>{table}<code>&lt;b&gt;</code></th></tr></tbody></table>")
    assert html.endswith("<p><strong>do <code>ckrr run</code></strong></p><p>then</p></div>")
    assert format_text([[["a", "b"], ["1", "2"]], "x"]) == "a  b\n1  2\nx"


def test_outcomes_say_what_came_of_a_run(tmp_path: Path) -> None:
    def run() -> Outcome:
        asked = loaded(grid__n=[10], source__fails_at=0.2)
        return run_prepared(prepare(asked, str(tmp_path / "toy.zarr"), workers=1), SilentProgress())

    done = run()
    lines = repr(done).splitlines()
    assert re.fullmatch(r".*/toy.zarr: complete, 21 replications in \d+ s", lines[0])
    assert re.fullmatch(r"workers computed during \d+% of their time", lines[1])
    assert re.fullmatch(rf"{done.failed} replications of cells failed: `ckrr errors .*/toy.zarr` says why", lines[2])
    again = run()
    assert repr(again).splitlines() == [f"{again.url}: complete, nothing to do", lines[2]]
    assert repr(replace(done, is_complete=False)).startswith(f"{done.url}: not complete, 21 replications in")


def test_outcomes_of_rounds_say_what_is_open() -> None:
    last = Round(10, 100, 3, 0, None, None, {}, "")
    done = Outcome("x.zarr", 4, 0, 1.0, 0.5, 100, (Answer(10, 100, {"valid": 2, "undecided": 3}, 0),), {10: last})
    assert repr(done).splitlines()[2:] == [
        "verdicts after 100 paths at n = 10: 2 valid, 3 undecided",
        "n = 10: the budget is spent, 3 cells open",
    ]
