"""The paper's figures: what is drawn is what the samples and the stores have. The stores have made-up numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import ckrr
from harness.cli import main
from harness.core.errors import UserError
from harness.core.types import Array
from harness.paper.figures import against_n, index, studies, surfaces
from harness.paper.figures.data import SURFACES
from harness.paper.figures.write import draw, write
from harness.paper.printed import ALPHA
from scenarios.published.profiles import draw_far_profile, draw_function_profile, draw_gp_profile
from tests.harness.paper.drawn import LINE, SETTINGS, Raw, fill


@pytest.fixture(scope="module")
def gp1(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Raw]:
    url = str(tmp_path_factory.mktemp("figures") / "paper-gp1.zarr")
    return url, fill(url, "gp1", LINE, SETTINGS["gp1"])


@pytest.fixture(scope="module")
def heaviside(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Raw]:
    """What `--quick` needs, whole."""
    url = str(tmp_path_factory.mktemp("figures") / "paper-heaviside.zarr")
    return url, fill(url, "heaviside", LINE[:5], SETTINGS["heaviside"])


def texts(figure: Figure) -> str:
    return "\n".join(each.get_text() for each in figure.findobj(match=lambda each: hasattr(each, "get_text")))  # type: ignore[attr-defined]


def line(ax: Axes, colour: str, sizes: int, place: int) -> Array:
    """The y of one line of a colour that is over n."""
    some = [each for each in ax.lines if each.get_color() == colour and len(np.asarray(each.get_xdata())) == sizes]
    return np.asarray(some[place].get_ydata(), dtype=float)


def band(ax: Axes, place: int, n: int) -> list[float]:
    """The ends at n of the band for an α."""
    found = np.concatenate([np.asarray(path.vertices) for path in ax.collections[place].get_paths()])
    here = found[found[:, 0] == n, 1]
    return [here.min(), here.max()]


@pytest.mark.parametrize("number", [3, 6, 5, 7])
def test_lines_are_what_the_store_has(number: int, request: pytest.FixtureRequest) -> None:
    """All eleven n for the first two, with unbounded regions, failures and cells without any result."""
    study = studies.STUDIES[number].study
    url, raw = request.getfixturevalue(study)
    figure = draw(number, {study: url}, quick=study == "heaviside")
    procedures = ["GPR-f", "GPR-p", "RRCM", "RRCM-loo", "CRR", "CRR-loo"]
    rows = ["GPR-f", "RRCM", "RRCM-loo", "CRR", "CRR-loo"] if study == "gp1" else ["GPR-f", "RRCM"]
    # Places of θ and λ in the store.
    columns = [(0, 0), (0, 1)] * 2 if study == "gp1" else [(0, 0), (0, 1), (1, 0), (1, 1)]
    gamma = 0 if number in (3, 5) else 1
    assert len(figure.axes) == 4 * len(rows)
    for place, ax in enumerate(figure.axes):
        row, column = divmod(place, 4)
        cell = (procedures.index(rows[row]), gamma, *columns[column])
        for a, alpha in enumerate(ALPHA):
            colour, width = against_n.COLOURS[alpha], study == "gp1" and column > 1
            lines = [line(ax, colour, len(raw), k) for k in range(3 if width else 1)]
            for i, n in enumerate(raw):
                ok = raw[n]["status"][(slice(None), *cell)] == 0
                drawn = [each[i] for each in lines]
                if not ok.any():
                    assert np.isnan(drawn).all()
                elif width:
                    mean = np.sort(raw[n]["point_width"][ok][(slice(None), *cell, a)].astype(float).mean(axis=0))
                    wanted = np.array([mean[500], mean[50], mean[1000]])  # 501st, ⌈0.05·1001⌉ = 51st and last
                    np.testing.assert_allclose(drawn, np.where(np.isinf(wanted), np.nan, wanted), rtol=1e-6)
                else:
                    values = raw[n]["coverage"][ok][(slice(None), *cell, a)]
                    np.testing.assert_allclose(drawn, np.median(values))
                    np.testing.assert_allclose(band(ax, a, n), np.quantile(values, [0.25, 0.75]))
    told = texts(figure)
    assert "Replications that failed are left out" in told
    assert "nominal level 1 − α" in told
    assert ("At ∞" in told) == (study == "gp1")
    assert ("n up to 400 only" in told) == (study == "heaviside")
    if number in (3, 5):  # the others have the same panels
        nothing_is_outside(figure, len(raw))


def nothing_is_outside(figure: Figure, sizes: int) -> None:
    """Every drawn point lies within its panel, and every word within the picture."""
    figure.draw_without_rendering()
    for ax in figure.axes:
        for each in ax.lines:
            x, y = np.asarray(each.get_xdata(), dtype=float), np.asarray(each.get_ydata(), dtype=float)
            if len(x) == sizes and np.isfinite(y).any():
                seen = np.isfinite(y)
                (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
                assert ((x[seen] > left) & (x[seen] < right)).all()
                assert ((y[seen] > low) & (y[seen] < high)).all()
    whole = figure.bbox
    for text in [*figure.texts, *figure.legends[0].get_texts()]:
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= whole.x1
        assert box.y1 <= whole.y1


@pytest.mark.parametrize(
    ("number", "samples", "columns", "lam", "alpha"),
    [
        (1, lambda: [draw_gp_profile(0.1), draw_gp_profile(1e-6)], [["GPR-f", "GPR-p"], ["RRCM"]], 0.1, 0.05),
        (2, lambda: [draw_far_profile(1e-6), draw_far_profile(0.1)], [["GPR-f", "GPR-p"], ["RRCM"]], 0.1, 0.01),
        (4, lambda: [draw_function_profile("heaviside", 1e-6)], [["CRR"], ["RRCM"]], 1e-6, 0.1),
    ],
)
def test_bands_are_the_regions_of_the_library(
    number: int, samples: Callable[[], list[Any]], columns: list[list[str]], lam: float, alpha: float, tmp_path: Path
) -> None:
    figure = draw(number, {})
    panels = iter(figure.axes)
    for sample in samples():  # made here, with one BLAS thread as the figure's
        fit = ckrr.fit(sample.X, sample.y, theta=100.0, lam=lam)
        for names in columns:
            ax = next(panels)
            low, high = ax.get_ylim()
            ends = [np.asarray(each.get_ydata(), dtype=float) for each in ax.lines]
            for k, name in enumerate(names):
                regions = fit.regions(sample.X_test, name, alpha)
                for drawn, wanted in zip(ends[2 * k :], (regions.lower[:, 0], regions.upper[:, 0]), strict=False):
                    seen = (wanted > low) & (wanted < high)
                    assert seen.sum() > 400
                    np.testing.assert_allclose(drawn[seen], wanted[seen], atol=1e-8)
            test, prediction, train = ends[2 * len(names) :]
            np.testing.assert_array_equal(test, sample.y_test)
            np.testing.assert_array_equal(train, sample.y)
            np.testing.assert_allclose(prediction, fit.predict(sample.X_test), atol=1e-8)
    told = texts(figure)
    assert f"the nominal level is {100 * (1 - alpha):g} %" in told
    assert ("run out of the picture: they are unbounded at the ends" in told) == (number == 4)


def test_widths_tend_to_a_constant() -> None:
    told = texts(draw(2, {}))
    assert "width at x = 2: GPR-f 1.64, GPR-p 1.56" in told
    assert "width at x = 2: RRCM 18.46" in told


def test_surfaces_are_written(tmp_path: Path) -> None:
    png, svg = write(8, {}, tmp_path / "new")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "a Gaussian process path, γ = 10⁻⁶" in svg.read_text(encoding="utf-8")
    assert [each.name for each in (png, svg)] == ["figure-8.png", "figure-8.svg"]


def test_surfaces_have_the_values_at_the_test_points() -> None:
    for ax, (name, gamma, *_) in zip(draw(8, {}).axes, surfaces.SHOWN, strict=True):
        X, y = SURFACES[name](gamma)
        drawn = [*ax.xy_dataLim.get_points(), ax.zz_dataLim.intervalx]  # type: ignore[attr-defined]
        np.testing.assert_allclose(drawn, [X.min(axis=0), X.max(axis=0), [y.min(), y.max()]])


def paper(*arguments: Any) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["paper", *map(str, arguments)])
    return done.exit_code, done.output


def test_the_command(heaviside: tuple[str, Raw]) -> None:
    results = Path(heaviside[0]).parent
    code, text = paper("--figures", "5,4", "--quick", "--results", results)
    folder = results / "paper-figures"
    assert text.splitlines() == [
        "paper-heaviside: complete, nothing to do",
        f"wrote {folder}/figure-4.png and {folder}/figure-4.svg",
        f"wrote {folder}/figure-5.png and {folder}/figure-5.svg",
    ]
    assert code == 0
    assert "n up to 400 only" in (folder / "figure-5.svg").read_text(encoding="utf-8")
    assert "n up to 400 only" not in (folder / "figure-4.svg").read_text(encoding="utf-8")
    code, text = paper("--figures", "4", "--json", "--results", results)
    assert (code, json.loads(text)["failed"]) == (0, 0)


@pytest.mark.parametrize("text", ["9", "0", "1,x", "", "1-4"])
def test_there_are_eight(text: str) -> None:
    with pytest.raises(UserError, match="--figures must be numbers from 1 to 8, as in 1,4, got "):
        index.parse_numbers(text)


def test_one_thing_at_a_time() -> None:
    assert paper("--figures", "1", "--table", 1) == (
        2,
        "error: --table, --figures and --report exclude each other: give one of them\n",
    )


def test_what_is_needed() -> None:
    everything = index.load_needed_studies(index.FIGURES, quick=False)
    assert {name: one.extent.grid.theta for name, one in everything.items()} == {
        "gp1": ("ml-cobyla",),
        "heaviside": (10, "ml-cobyla"),
    }
    assert [list(one.extent.grid.n) for one in everything.values()] == [LINE, LINE]
    assert everything["gp1"].scenario.keep == ("pointwise",)
    assert list(index.load_needed_studies([6], quick=True)["gp1"].extent.grid.n) == LINE[:5]
    assert index.load_needed_studies([1, 2, 4, 8], quick=False) == {}
    assert {study for study, _ in index.NEEDED.values()} == {one.study for one in studies.STUDIES.values()}
    assert {number: list(thetas) for number, (_, thetas) in index.NEEDED.items()} == {
        number: one.thetas for number, one in studies.STUDIES.items()
    }
    assert str(index.get_folder("s3://bucket/results")) == "paper-figures"
