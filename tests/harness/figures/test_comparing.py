"""Figures that compare: what is drawn is what estimates and verdicts say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.axes import Axes

from harness.cli import main
from harness.core.errors import UserError
from harness.core.procedures import PROCEDURES, assign_strokes, format_procedure
from harness.figures import draw
from harness.figures.plots import nested
from harness.figures.plots.bands import draw_bands
from harness.results.estimates import difference, estimate, estimate_cells
from harness.results.measures import make_relative_width
from harness.results.replications import open_reader
from harness.results.validity import verdicts
from tests.harness.figures.reading import texts
from tests.harness.studies import run_serially

ONE = {"theta": ["100"], "gamma": [0.1]}
NAMES = ("GPR-f", "GPR-p", "RRCM-loo", "CRR")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Intervals for f(x*) that cover y* rarely, beside others; two values on most axes."""
    where = tmp_path_factory.mktemp("comparing") / "jump.zarr"
    grid = {"gamma": [1e-6, 0.1], "n": [12, 80], "theta": [100, "ml"], "lam": [0.1], "alpha": [0.1, 0.25]}
    source = {"function": "heaviside", "test": "iid", "test_points": 40}
    run_serially(
        where, family="krr", source=source, grid={**grid, "procedure": list(NAMES)}, replications={"paths": 30}
    )
    return str(where)


def lines(ax: Axes, name: str) -> list[list[float]]:
    colour = PROCEDURES[name].stroke.colour
    return [np.asarray(line.get_ydata(), dtype=float).tolist() for line in ax.lines if line.get_color() == colour]


def test_target_is_coverage_less_the_target(store: str) -> None:
    figure = draw(store, "target", ONE)
    (ax,) = figure.axes
    at = {**ONE, "alpha": [0.1]}
    found = estimate(store, where=at)["value"] - verdicts(store, at)["target"]
    for name in NAMES:
        assert lines(ax, name)[0] == found.sel(procedure=name).squeeze().to_numpy().tolist()
    (low, _), (band,) = ax.get_ylim(), [each for each in ax.patches if type(each).__name__ == "Rectangle"]
    assert band.get_y() + min(band.get_height(), 0) == -0.02  # type: ignore[attr-defined]
    aimed = [name for name in NAMES if name != "GPR-p"]
    assert low < float(found.sel(procedure=aimed).min())
    assert float(found.sel(procedure="GPR-p").min()) < low, "intervals for f(x*) don't set the axis"
    assert "aren't meant to cover y*" in texts(figure)
    assert low < lines(ax, "GPR-p")[1][0] < low + 0.1, "the arrow"


def test_lollipops_are_those_values(store: str) -> None:
    figure = draw(store, "lollipop", {**ONE, "n": [80]})
    (ax,) = figure.axes
    at = {**ONE, "n": [80], "alpha": [0.1]}
    found = estimate(store, where=at)
    target = verdicts(store, at)["target"]
    assert [label.get_text() for label in ax.get_yticklabels()] == [format_procedure(name) for name in NAMES]
    for place, name in enumerate(NAMES):
        (dot, *_) = [line for line in ax.lines if line.get_color() == PROCEDURES[name].stroke.colour]
        expected = float((found["value"] - target).sel(procedure=name).squeeze())
        assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (expected, place)  # type: ignore[index]
    ends = {round(float(x), 12) for each in ax.collections for x in each.get_segments()[0][:, 0]}  # type: ignore[attr-defined]
    for end in ("low", "high"):
        assert {round(float(x), 12) for x in (found[end] - target).to_numpy().ravel()} <= ends


def test_relative_width_is_that_of_the_measure(store: str) -> None:
    """At n = 12 and α = 0.1 regions of CRR are the whole line, by arithmetic."""
    figure = draw(store, "relative", ONE, versus="CRR")
    (ax,) = figure.axes
    reader = open_reader(store, {**ONE, "alpha": [0.1]})
    found = estimate_cells(reader, make_relative_width("CRR"))["value"]
    for name in ("GPR-f", "GPR-p", "RRCM-loo"):
        (at_zero, other), drawn = found.sel(procedure=name).squeeze().to_numpy(), lines(ax, name)[1]
        assert (at_zero, drawn[1]) == (0, other)
        assert ax.get_ylim()[0] < drawn[0] < other
    assert not lines(ax, "CRR")
    assert "width relative to CRR" in texts(figure)
    assert "At 0 CRR alone is unbounded" in texts(figure)


def test_difference_is_paired(store: str) -> None:
    figure = draw(store, "difference", ONE)
    (ax,) = figure.axes
    found = difference(store, "RRCM-loo", where={**ONE, "alpha": [0.1]})["value"]
    for name in ("GPR-f", "GPR-p", "CRR"):
        assert lines(ax, name)[0] == found.sel(procedure=name).squeeze().to_numpy().tolist()
    assert "less that of RRCM-loo" in texts(figure)


def test_calibration_has_every_level(store: str) -> None:
    figure = draw(store, "calibration", {**ONE, "n": [80]})
    (ax,) = figure.axes
    found = estimate(store, "error", {**ONE, "n": [80]})["value"]
    found = found / found["alpha"]
    for name in NAMES:
        expected = found.sel(procedure=name).squeeze().to_numpy()
        assert (expected > 0).all()
        assert lines(ax, name) == [expected.tolist()] * 2
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0.1", "0.25"]
    assert "α = " not in texts(figure)


def test_nested_has_every_combination_in_the_order_of_the_loops(store: str) -> None:
    figure = draw(store, "nested")
    above, below = figure.axes
    found = estimate(store)["value"] - verdicts(store)["target"]
    names = assign_strokes(NAMES)
    for patch, name in zip([one for one in above.patches if not one.get_fill()], names, strict=True):
        values = patch.get_data().values  # type: ignore[attr-defined]
        expected = [
            float(found.sel(procedure=name, gamma=gamma, theta=theta, lam=0.1, alpha=alpha, n=n))
            for gamma in (1e-6, 0.1)
            for theta in ("100", "ml")
            for alpha in (0.1, 0.25)
            for n in (12, 80)
        ]
        np.testing.assert_array_equal(values, expected)
    assert [label.get_text() for label in below.get_yticklabels()] == [
        "γ = 10⁻⁶, 0.1",
        "θ = 100, ml",
        "α = 0.1, 0.25",
        "n = 12, 80",
    ]


def test_a_nested_loop_plot_has_room_for_some(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "MOST", 15)
    with pytest.raises(UserError, match=r"room for 15 combinations, and these are 16: select fewer with --where"):
        draw(store, "nested")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["relative", "--versus", "RRCM"], "procedure 'RRCM' isn't in the store: it has GPR-f"),
        (["width", "--versus", "CRR"], "versus is for the figures relative and difference: width compares with no"),
    ],
)
def test_a_reference_that_is_wrong(store: str, words: list[str], message: str, tmp_path: Path) -> None:
    done: Any = CliRunner().invoke(main, ["figure", store, *words, "-o", str(tmp_path / "a.png")])
    assert (done.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert message in done.output


def test_the_command_names_all_figures() -> None:
    from harness.figures import FIGURES

    said = CliRunner().invoke(main, ["figure", "--help"]).output.replace(",", " ").split()
    assert not set(FIGURES) - {*said, "seconds"}


def test_a_replication_is_drawn_with_what_it_missed(store: str, tmp_path: Path) -> None:
    words = ["replay", store, "--n", "12", "--path", "3", "--gamma", "0.1", "--save", str(tmp_path / "a.npz")]
    done = CliRunner().invoke(main, [*words, "--plot", str(tmp_path / "a.svg")])
    assert done.exit_code == 0, done.output
    arrays = dict(np.load(tmp_path / "a.npz"))
    figure = draw_bands(store, arrays, "n = 12, path 3, draw 0")
    assert len(figure.axes) == 2 * len(NAMES)
    cells = sorted({key.rpartition("/")[0] for key in arrays})
    for place, ax in enumerate(figure.axes):
        cell, p = cells[place // len(NAMES)], place % len(NAMES)
        (missed,) = [line for line in ax.lines if line.get_marker() == "x"]
        hits, y_test = arrays[f"{cell}/hits"][p, :, 0], arrays[f"{cell}/y_test"]
        assert sorted(np.asarray(missed.get_ydata()).tolist()) == sorted(y_test[~hits].tolist())
    said = texts(figure)
    for text in ("Regions of one replication", "n = 12, path 3, draw 0, α = 0.1", "training sample", "The θ found is"):
        assert text in said
    assert [ax.get_xlabel() for ax in figure.axes[len(NAMES) :]] == ["x"] * len(NAMES)
    wrong = CliRunner().invoke(main, [*words, "--plot", str(tmp_path / "a.jpg")])
    assert (wrong.exit_code, "must end in .png, .svg or .pdf" in wrong.output) == (2, True)
