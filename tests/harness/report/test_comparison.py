"""The report of several studies: one well-formed page, with the numbers of the table and the summary in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ckrr import study
from harness import UserError
from harness.cli import main
from harness.core.procedures import format_procedure
from harness.report.sections.comparison_lead import describe_smallest, describe_validity
from harness.report.write import write_report
from harness.results.studies.benchmark import make_benchmark
from harness.results.studies.tables import table
from tests.harness.report.form import check_form
from tests.harness.report.reading import Reader
from tests.harness.report.stores import HOSTILE
from tests.harness.results.studies import stores


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("real")
    return [stores.jump(folder / "jump.zarr"), stores.sine(folder / "sine.zarr")]


@pytest.fixture(scope="module")
def page(real: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(real, tmp_path_factory.mktemp("page") / "both.html", stores.WHERE)


@pytest.fixture(scope="module")
def found(page: Path) -> Reader:
    return check_form(page.read_text())


def test_it_is_one_accessible_file(found: Reader, page: Path) -> None:
    assert all(one.caption for one in found.tables)
    assert all("scope" in one for name, one in found.elements if name == "th")
    links = [one["href"] or "" for name, one in found.elements if name == "a"]
    ids = {one.get("id") for _, one in found.elements}
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert not [name for name, one in found.elements if "src" in one or name == "link"]
    assert page.stat().st_size < 100_000


def test_its_numbers_are_those_of_the_table(found: Reader, real: list[str]) -> None:
    made = table(real, where=stores.WHERE)
    beginnings = {
        "coverage": "Coverage of y*",
        "relative_width": "Width relative to RRCM",
        "interval_score": "Interval (Winkler) score",
        "rank": "Ranks by width",
        "difference": "Paired differences of width from RRCM",
    }
    for measure, beginning in beginnings.items():
        head, *rows = found.table(beginning).rows
        assert head[:3] == ["procedure", "jump", "sine"]
        assert [row[0] for row in rows] == [format_procedure(name) for name in stores.PROCEDURES]
        for name, (_, *cells) in zip(stores.PROCEDURES, rows, strict=True):
            for place, text in zip(("jump", "sine"), cells, strict=False):
                expected = made.format_cell((measure, name), (place,))
                assert text.startswith(expected) or (measure == "rank" and expected == "–")


def test_what_is_not_ranked_has_its_verdict(found: Reader) -> None:
    rows = {row[0]: row[1:] for row in found.table("Ranks").rows}
    assert rows["procedure"] == ["jump", "sine", "mean rank"]
    assert rows["GPR-f (new observation)"][0] == "✗ invalid"
    assert rows["GPR-p (latent mean)"] == ["–", "–", "–"]
    assert rows["CRR-loo"] == ["3 of 3", "3 of 3", "3"]
    assert "jump: not ranked: GPR-f (invalid), GPR-p (its intervals are for f(x*), not y*)." in found.words


def test_differences_are_marked_and_counted(found: Reader, page: Path) -> None:
    rows = {row[0]: row[1:] for row in found.table("Paired differences").rows}
    assert rows["RRCM"] == ["reference", "reference", "–"]
    assert rows["CRR-loo"][0].endswith(" ↑")
    assert rows["CRR-loo"][2] == "0/0/2"
    assert rows["GPR-f (new observation)"][0].endswith(" ↓")
    assert rows["GPR-f (new observation)"][2] == "–", "it is narrower, but not shown valid"
    text = page.read_text()
    assert f"<td>{rows['GPR-f (new observation)'][0]}" in text
    assert f"<td class=i>{rows['CRR-loo'][0]}" in text


def test_the_summary_is_in_words(found: Reader, real: list[str]) -> None:
    made = make_benchmark(real, stores.WHERE)
    assert describe_validity(made) in found.words
    assert "RRCM, RRCM-loo and CRR-loo are shown valid in both studies. GPR-f is invalid in jump" in found.words
    assert describe_smallest(made) in found.words
    assert describe_smallest(made).startswith("Among the procedures shown valid at the same α, RRCM is shown")
    assert "there is no test over studies here" in found.words
    assert "sine: errors and verdicts are conditional on the rows of the table." in found.words
    assert f"ckrr report {real[0]} {real[1]} --where theta=10,100,n=39,alpha=0.1" in found.words
    assert f"ckrr report {real[1]}" in found.words
    assert "--measure interval_score,rank" in found.words


def test_summaries_of_ties_and_of_single_procedures(tmp_path: Path) -> None:
    one, other = (stores.toy(tmp_path / f"{name}.zarr", description=HOSTILE) for name in ("one", "other"))
    made = make_benchmark([one, other], "procedure=exact,wide")
    assert describe_smallest(made).endswith("α, exact is shown to be the narrowest in one and other.")
    assert describe_validity(made) == "exact and wide are shown valid in both studies."
    made = make_benchmark([one, other], "procedure=exact,split")
    assert describe_smallest(made).endswith("α, fewer than two are left to compare in one and other.")
    assert describe_validity(made) == "exact is shown valid in both studies. split is invalid in one and other."
    tied = stores.tied(tmp_path / "tied.zarr")
    made = make_benchmark([one, tied])
    assert made.comparisons[1].ranks == {"exact": 1.5, "random": 1.5, "wide": 3.0}
    assert not made.is_balanced
    assert describe_smallest(made).endswith("narrowest in one; no procedure is shown to be the narrowest in tied.")
    assert str(made.count_outcomes("random")) == "0/1/0"
    path = study.write_report([one, other], tmp_path / "toys.html", versus="wide")
    text = path.read_text()
    assert "<script>alert" not in text
    assert "2/0/0" in check_form(text).words


def test_the_command_writes_it_and_guards_other_files(real: list[str], tmp_path: Path) -> None:
    target = tmp_path / "all.html"
    words = ["report", *real, "--where", stores.WHERE, "-o", str(target)]
    done = CliRunner().invoke(main, words)
    kilobytes = round(target.stat().st_size / 1000)
    assert (done.exit_code, done.output) == (0, f"wrote {target} ({kilobytes} kB)\n")
    target.write_text("my thesis")
    assert CliRunner().invoke(main, words).output.startswith(f"error: {target} exists and was not written by ckrr")


@pytest.mark.parametrize(
    ("count", "words", "message"),
    [
        (2, {}, "select one cell of each study: jump has theta = 100, ml and n = 19, 39"),
        (2, {"drawn": 3}, "drawn is for the report of one store"),
        (1, {"where": "n=39"}, "where is for a report of several stores"),
        (0, {}, "there is no store to report on"),
    ],
)
def test_mistakes_write_nothing(
    count: int, words: dict[str, str], message: str, real: list[str], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        write_report(real[:count], tmp_path / "x.html", **words)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
