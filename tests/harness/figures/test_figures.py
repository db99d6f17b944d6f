"""Figures: what is drawn is what the estimates say, in the hard cases too."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ckrr.plot import COLOURS
from ckrr.procedures import ALL_PROCEDURES, WEIGHTED
from harness.backends.base import open_backend
from harness.compute.bins import find_bins
from harness.core.errors import UserError
from harness.core.labels import list_axis_values
from harness.core.procedures import PROCEDURES, assign_strokes
from harness.families.baselines import METHODS
from harness.figures import FIGURES, draw, save, svg_text
from harness.figures.canvas.axes import Edges
from harness.figures.canvas.data import find_test_points as where_points_lie, read_cell
from harness.figures.canvas.panels import make_panel_layout
from harness.figures.plots.paths import summarise_paths
from harness.figures.plots.seconds import _PARTS, fit_exponent
from harness.results.estimates import estimate
from harness.results.replications import open_reader
from harness.store import arrays
from harness.store.manifest import cache_key
from harness.store.manifest_io import load_manifest
from harness.store.receipts import list_receipts, read
from harness.store.rounds import count_shown_paths
from harness.worker.task import run_unit
from tests.harness.figures.reading import texts
from tests.harness.rounds import Driver
from tests.harness.studies import prepared, run_serially

SOME = {"lam": [0.1], "gamma": [1.0]}
ONE = {"theta": ["1"], "lam": [0.1], "gamma": [1.0]}


def drawn(ax: Axes, colour: str) -> list[list[float]]:
    """The y of each line of a colour."""
    return [np.asarray(line.get_ydata()).tolist() for line in ax.lines if line.get_color() == colour]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Failures at θ = 13, and some by chance; a cell that is left out; points on a grid; draws."""
    where = tmp_path_factory.mktemp("figures") / "toy.zarr"
    changes: dict[str, Any] = {
        "grid__theta": [1, 13, "best"],
        "source__fails_at": 0.2,
        "source__spread": 0.5,
        "source__test": "grid",
        "keep": ["pointwise", "bins", "distribution"],
        "exclude": [{"n": 20, "theta": "best"}],
    }
    run_serially(where, **changes)
    return str(where)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One path, one draw, one n, one of everything."""
    where = tmp_path_factory.mktemp("single") / "toy.zarr"
    grid = {"gamma": [1.0], "n": [10], "theta": [1], "lam": [0.1], "alpha": [0.2], "procedure": ["exact"]}
    changes: dict[str, Any] = {
        "source__test": "grid",
        "keep": ["pointwise", "bins", "distribution"],
        "replications": {"paths": 1},
    }
    run_serially(where, grid=grid, **changes)
    return str(where)


@pytest.fixture(scope="module")
def krr(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Unbounded regions, two dimensions, a source that comes along."""
    where = tmp_path_factory.mktemp("krr") / "toy.zarr"
    grid = {"gamma": [0.1], "n": [8, 20], "theta": [100], "lam": [1e-6], "alpha": [0.1], "procedure": ["GPR-f", "RRCM"]}
    source = {"function": "f2", "test": "grid", "test_points": 9}
    changes: dict[str, Any] = {"keep": ["pointwise", "bins", "distribution"], "replications": {"paths": 4}}
    run_serially(where, family="krr", source=source, grid=grid, **changes)
    return str(where)


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("which", ["store", "single", "krr"])
def test_every_figure_of_every_study_can_be_written(
    name: str, which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Warnings are errors, so nothing is squeezed out and no value is lost on a log scale."""
    if FIGURES[name].is_paired and which == "single":
        with pytest.raises(UserError, match="no other procedure to compare with exact"):
            draw(request.getfixturevalue(which), name)
        return
    figure = draw(request.getfixturevalue(which), name, SOME if which == "store" else None)
    save(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    if which == "single":
        save(figure, tmp_path / "new" / "a.svg")
        ElementTree.parse(tmp_path / "new" / "a.svg")


def test_nothing_sticks_out_or_lies_over_another(store: str) -> None:
    figure = draw(store, "coverage", SOME)
    figure.savefig("/dev/null", format="png")
    whole, legend = figure.bbox, figure.legends[0].get_window_extent()
    for ax in figure.axes:
        box = ax.get_tightbbox()
        assert box is not None
        assert whole.x0 <= box.x0
        assert box.x1 <= legend.x0
    for text in figure.texts:
        assert text.get_window_extent().x1 <= whole.x1


def test_coverage_is_that_of_the_estimates(store: str) -> None:
    figure = draw(store, "coverage", ONE)
    found = estimate(store, "coverage", {**ONE, "alpha": [0.1]}).squeeze()
    looks = assign_strokes(["exact", "wide", "random", "split"])
    (ax,) = figure.axes
    for name in looks:
        assert drawn(ax, looks[name].colour) == [found["value"].sel(procedure=name).to_numpy().tolist()]
    bands = [np.asarray(each.get_paths()[0].vertices) for each in ax.collections if "Fill" in type(each).__name__]
    lows = found["low"].to_numpy()
    for band, row in zip(bands, lows, strict=True):
        assert all(np.isclose(band[:, 1], low).any() for low in row)
    assert [line.get_ydata()[0] for line in ax.lines if line.get_label() == "nominal level 1 − α"] == [0.9]  # type: ignore[index]
    assert "γ = 1, θ = 1, λ = 0.1, α = 0.1; 7 paths of 3 draws" in texts(figure)
    assert "test points lie on a grid" in texts(figure)


def test_width_is_that_of_the_estimates_with_quantiles(krr: str) -> None:
    found, q95 = (estimate(krr, each).squeeze()["value"] for each in ("width", "width_q95"))
    assert np.isinf(q95.sel(procedure="RRCM")).any(), "this study has unbounded regions"
    figure = draw(krr, "width")
    (ax,) = figure.axes
    line, mark, *_ = drawn(ax, PROCEDURES["GPR-f"].stroke.colour)
    assert line == mark == found.sel(procedure="GPR-f").to_numpy().tolist()
    shown = drawn(ax, PROCEDURES["RRCM"].stroke.colour)[1]
    top = ax.get_ylim()[1]
    for value, at in zip(found.sel(procedure="RRCM").to_numpy(), shown, strict=True):
        assert at == value if np.isfinite(value) else found.where(np.isfinite(found)).max() < at < top
    assert "∞" in texts(figure)


def test_tradeoff_puts_coverage_against_width(store: str) -> None:
    (ax,) = draw(store, "tradeoff", ONE).axes
    at = {**ONE, "alpha": [0.1]}
    width, coverage = (estimate(store, each, at).squeeze()["value"] for each in ("width", "coverage"))
    for name, marks in zip(width["procedure"].values, _marks(ax), strict=True):
        expected = np.column_stack([each.sel(procedure=name) for each in (width, coverage)])
        np.testing.assert_array_equal(marks, expected)


def test_tradeoff_marks_infinite_widths(krr: str) -> None:
    assert np.isinf(estimate(krr, "width")["value"]).any(), "this study has unbounded regions"
    (ax,) = draw(krr, "tradeoff").axes
    assert "∞" in [each.get_text() for each in ax.texts]


def _marks(ax: Axes) -> list[Any]:
    return [each.get_offsets() for each in ax.collections if type(each).__name__ == "PathCollection"]


def test_one_path_has_no_band_and_says_so(single: str) -> None:
    for name in ("coverage", "width", "tradeoff", "pointwise"):
        assert "One path: no Monte-Carlo error." in texts(draw(single, name)), name
    assert "over its test points" in texts(draw(single, "paths"))


def test_panels_are_for_the_axes_that_remain(store: str) -> None:
    assert len(draw(store, "coverage", {"theta": ["1"]}).axes) == 4
    assert len(draw(store, "coverage", {**ONE, "alpha": [0.05, 0.1]}).axes) == 2
    assert "Also in the store: α = 0.05. Choose with --where." in texts(draw(store, "coverage", ONE))


def test_more_panels_than_fit_are_told(tmp_path: Path) -> None:
    grid = {
        "gamma": [1.0, 2.0],
        "n": [10],
        "theta": [1, 2, 3],
        "lam": [0.1, 1, 10],
        "alpha": [0.1],
        "procedure": ["exact"],
    }
    run_serially(tmp_path / "s", grid=grid, replications={"paths": 2})
    shown = make_panel_layout(str(tmp_path / "s"), None, ("lam", "gamma", "theta", "alpha"))
    assert len(shown.panels) == 12
    assert shown.notes == ["Also in the store: θ = 3. Choose with --where."]
    assert {panel.at["theta"] for panel in shown.panels} == {"1", "2"}


def test_cells_without_results_are_absent(store: str) -> None:
    figure = draw(store, "coverage", {**ONE, "theta": ["13", "best"]})
    failed, half = figure.axes
    assert "no results" in [each.get_text() for each in failed.texts]
    assert np.isnan(drawn(half, assign_strokes(["exact"])["exact"].colour)[0]).tolist() == [False, True]


def test_failures_has_the_shares(store: str) -> None:
    figure = draw(store, "failures")
    found = estimate(store, "failed", {"theta": ["1"], "alpha": [0.1]})["value"]
    assert f"{100 * float(found[0, 0, 0, 0, 0, 0]):.3g}" in texts(figure)
    assert "100" in texts(figure)
    assert "There are none: unbounded regions, empty regions." in texts(figure)


def test_no_failure_is_said_in_words(single: str) -> None:
    assert "No replication failed" in texts(draw(single, "failures"))


def test_paths_are_sorted_with_intervals_over_draws() -> None:
    values = np.array([[0.9, 0.7], [0.5, 0.5], [1.0, np.nan], [np.nan, np.nan]])
    centre, low, high = summarise_paths(values, ~np.isnan(values), 10)
    np.testing.assert_allclose(centre, [0.5, 0.8, 1.0])
    assert (low < centre).all()
    assert (high >= centre).all()
    assert high[-1] == 1.0


def test_pointwise_at_its_points(krr: str, store: str) -> None:
    record, toys = load_manifest(open_backend(krr)), load_manifest(open_backend(store))
    assert record is not None
    assert toys is not None
    points = where_points_lie(record)
    assert points is not None
    assert points.tolist() == [[x, y] for y in (-1, 0, 1) for x in (-1, 0, 1)]
    assert where_points_lie(toys) is None, "a user's code isn't run"
    assert "isn't run here" in texts(draw(store, "pointwise"))
    figure = draw(krr, "pointwise", {"n": [20]})
    squares = np.stack([ax.images[0].get_array() for ax in figure.axes if ax.images])  # type: ignore[arg-type]
    found = estimate(krr, "coverage", {"n": [20]})["value"].squeeze()
    np.testing.assert_allclose(squares.mean(axis=(1, 2)), found)


def test_bins_of_a_grid_have_its_points(krr: str) -> None:
    """Of 3 × 3 points each is alone in its bin of 6 × 6; where the noise is known a bin has the expected coverage."""
    drawn = draw(krr, "conditional", {"n": [20]})
    maps = np.stack([np.asarray(ax.images[0].get_array(), dtype=float) for ax in drawn.axes if ax.images])
    assert np.isfinite(maps[np.ix_(range(2), (0, 3, 5), (0, 3, 5))]).all()
    assert np.isfinite(maps).sum() == 18
    found = estimate(krr, "coverage_expected", {"n": [20]})["value"].squeeze()
    np.testing.assert_allclose(np.nanmean(maps, axis=(1, 2)), found, rtol=1e-6)


def test_bins_of_a_line_have_its_points(tmp_path: Path) -> None:
    """A store that keeps both, after a run that was cut off and one with more paths and another α."""
    grid = {"gamma": [0.1], "n": [20], "theta": [100], "lam": [0.1], "alpha": [0.1], "procedure": ["GPR-f", "RRCM"]}
    source = {"function": "heaviside", "test": "grid", "test_points": 75}
    where, told = (
        str(tmp_path / "a"),
        {"family": "krr", "source": source, "keep": ["pointwise", "bins", "distribution"]},
    )
    run_serially(where, [0], **told, grid=grid, expected_coverage=False, replications={"paths": 3})
    grown = {**grid, "alpha": [0.1, 0.3]}
    run_serially(where, **told, grid=grown, expected_coverage=False, replications={"paths": 5})
    record = load_manifest(open_backend(where))
    assert record is not None
    assert record.box == ((0.0, 1.0),)
    hits, binned = (arrays.read(where, 20, name, record.generation) for name in ("hit", "coverage_by_x"))
    bins = find_bins(np.linspace(0, 1, 75)[:, None], record.box)
    assert set(bins) == set(range(36))
    for b in range(36):
        np.testing.assert_allclose(binned[..., b], hits[..., bins == b].mean(axis=-1), rtol=1e-6)


def test_paths_that_no_result_is_made_from_are_not_drawn(tmp_path: Path) -> None:
    """Workers compute units in advance, in a study that runs until it is decided."""
    study = Driver(tmp_path / "toy.zarr", grid__n=[10], keep=["bins"]).go_on()
    shown = count_shown_paths(open_backend(study.url), study.manifest, 10)
    ahead = next(unit for unit in study.manifest.list_units(10, study.manifest.extent) if unit.paths.start >= shown)
    run_unit(study.url, cache_key(study.manifest), study.manifest.generation, False, ahead)
    study.finish()
    runs, grid = open_reader(study.url, None), study.manifest.extent.grid
    at = {axis: list_axis_values(grid, axis)[0] for axis in ("procedure", "gamma", "theta", "lam", "n", "alpha")}
    for name in ("coverage", "coverage_by_x"):
        values, ok = read_cell(runs, at, name)
        assert len(values) == len(ok) == shown
        assert ok.all()
    assert f"; {shown} paths" in texts(draw(study.url, "conditional"))


def test_an_isolated_bin_is_drawn(tmp_path: Path) -> None:
    run_serially(tmp_path / "a", replications={"paths": 1}, keep=["bins"], source__test_points=1)
    figure = draw(str(tmp_path / "a"), "conditional", SOME)
    assert "No bin has test points of two paths" in texts(figure)
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "."]
    assert [len(line.get_xdata()) for line in dots] == [1]
    assert figure.axes[0].get_xlim() == pytest.approx((0.5 / 36, 1 - 0.5 / 36), abs=0.02)


def test_conditional_needs_bins(tmp_path: Path) -> None:
    run_serially(tmp_path / "a", replications={"paths": 2})
    with pytest.raises(UserError, match=r'conditional needs coverage in bins of x: .* keep = \["bins"\]$'):
        draw(str(tmp_path / "a"), "conditional")


def test_pointwise_needs_what_it_needs(tmp_path: Path) -> None:
    run_serially(tmp_path / "a", replications={"paths": 2})
    with pytest.raises(UserError, match=r'keep = \["pointwise"\]$'):
        draw(str(tmp_path / "a"), "pointwise")
    run_serially(tmp_path / "b", replications={"paths": 2}, keep=["pointwise"])
    with pytest.raises(UserError, match=r"test = .grid., got 'iid'$"):
        draw(str(tmp_path / "b"), "pointwise")


@pytest.mark.parametrize(("seconds", "drawn"), [([0.0, 0.0], False), ([0.0, 0.5], True)])
def test_seconds_of_zero(tmp_path: Path, seconds: list[float], drawn: bool) -> None:
    """Of a clock that doesn't tell: on a logarithmic axis there is nothing to draw."""
    run_serially(tmp_path / "a", replications={"paths": 2})
    there = open_backend(str(tmp_path / "a"))
    for n, each in zip((10, 20), seconds, strict=True):
        for one in list_receipts(there, [n]).values():
            content = read(there, one)
            there.put(one.key, json.dumps({**content, "seconds": dict.fromkeys(content["seconds"], each)}).encode())
    if drawn:
        assert "total" in texts(draw(there.url, "seconds"))
        return
    with pytest.raises(UserError, match="no timings above 0 s"):
        draw(there.url, "seconds")


def test_seconds_are_medians_over_units(store: str) -> None:
    figure = draw(store, "seconds", {"theta": ["1"]})
    assert "total" in texts(figure)
    assert "∝" not in texts(figure), "two n say nothing of an exponent"
    assert "only n matters" in texts(figure)
    timed = {
        name
        for one in list_receipts(open_backend(store), (10, 20)).values()
        for name in read(open_backend(store), one)["seconds"]
    }
    assert timed == {"compute", *_PARTS}, "nothing that takes time is left out"
    slope = fit_exponent(np.array([1.0, 100.0, 200.0, 400.0]), np.array([9.0, 1.0, 4.0, 16.0]))
    assert slope is not None
    assert slope == (pytest.approx(2.0), 100)
    assert fit_exponent(np.array([5.0, 9.0]), np.array([1.0, 2.0])) is None


def test_infinity_and_nought_have_places_at_the_ends() -> None:
    edges = Edges(np.array([1.0, 10.0, np.inf, 0.0, np.nan]))
    nought, one, infinity = edges.place_values(np.array([0.0, 1.0, np.inf]))
    assert edges.start < nought < edges.low < one < edges.high < infinity < edges.end
    assert np.isnan(edges.mask_edges(np.array([np.inf, 0.0]))).all()
    plain = Edges(np.array([1.0, 10.0]))
    assert (plain.start, plain.end) == (plain.low, plain.high)


def test_svg_is_the_same_each_time_and_may_stand_beside_others(store: str) -> None:
    before = dict(rcParams)
    one, same, other = (svg_text(draw(store, name, ONE)) for name in ("coverage", "coverage", "width"))
    assert dict(rcParams) == before
    assert one == same
    assert one.startswith("<svg")
    assert "size n of the training sample</text>" in one
    ids, others = (set(re.findall(r'\bid="([^"]+)"', each)) for each in (one, other))
    assert ids
    assert not ids & others
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', one)) <= ids
    assert '<style type="text/css">*{' not in one
    assert "date" not in one


def test_a_procedure_keeps_its_colour() -> None:
    assert set(PROCEDURES) == {*ALL_PROCEDURES, *WEIGHTED, *METHODS}
    assert set(COLOURS) == set(ALL_PROCEDURES)
    assert (
        assign_strokes(["RRCM", "mine"])["RRCM"]
        == assign_strokes(["other", "RRCM"])["RRCM"]
        == PROCEDURES["RRCM"].stroke
    )
    assert len({each.stroke.marker for each in PROCEDURES.values()}) == len(PROCEDURES), "told apart in grey"
    assert assign_strokes(["RRCM", "mine"])["mine"] != PROCEDURES["RRCM"].stroke


@pytest.mark.parametrize("path", ["a.gif", "a"])
def test_other_endings_are_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"must end in .png, .svg or .pdf"):
        save(Figure(), tmp_path / path)
    assert not list(tmp_path.iterdir())


def test_mistakes(store: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"there is no figure 'widht': it must be one of .*width"):
        draw(store, "widht")
    with pytest.raises(UserError, match=r"no results at .*θ = 13.*: nothing has been run there, or everything failed$"):
        draw(store, "coverage", {"theta": ["13"]})
    with pytest.raises(UserError, match="isn't in the store"):
        draw(store, "coverage", {"theta": ["7"]})
    from harness.execution import lifecycle

    lifecycle.begin_run(prepared(tmp_path / "new"))
    for name in FIGURES:
        with pytest.raises(UserError, match=r"nothing has been run yet|pointwise needs"):
            draw(str(tmp_path / "new"), name)
