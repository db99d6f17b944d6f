"""The picture, and the command that draws it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

import ckrr

matplotlib.use("agg")
from matplotlib import pyplot


@pytest.fixture
def fit() -> ckrr.Fit:
    X = np.linspace(0, 1, 12)
    return ckrr.fit(X, np.sin(6 * X), theta=100.0, lam=1e-6)


@pytest.fixture(autouse=True)
def closed() -> object:
    yield
    pyplot.close("all")


def test_bands_are_the_regions_piece_by_piece(fit: ckrr.Fit) -> None:
    """One box for each component, as high as the component where it isn't cut at the edge of the picture."""
    x = np.linspace(0, 1, 60)
    for procedure in ckrr.PROCEDURES:
        figure = ckrr.plot_bands(fit, procedure, alpha=0.3, X_new=x)
        boxes = [path.vertices for path in figure.axes[0].collections[0].get_paths()]
        R = fit.regions(x, procedure, 0.3)
        parts = [part for i in range(60) for part in R.components(i)]
        assert len(boxes) == len(parts) == R.count.sum()
        low, high = figure.axes[0].get_ylim()
        for box, (lo, hi) in zip(boxes, parts, strict=True):
            if low < lo < hi < high:
                assert (box[:, 1].min(), box[:, 1].max()) == (lo, max(hi, lo + 0.003 * (high - low)))


def test_panels_and_given_axes(fit: ckrr.Fit) -> None:
    assert [axes.get_title() for axes in ckrr.plot_bands(fit).axes] == [f"{name}, α = 0.1" for name in ckrr.PROCEDURES]
    assert len(ckrr.plot_bands(fit, ["CRR", "RRCM", "GPR-f"]).axes) == 3
    figure, ax = pyplot.subplots()
    assert ckrr.plot_bands(fit, ["GPR-f", "GPR-p"], truth=np.sin, ax=ax) is figure
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["GPR-f", "GPR-p", "truth", "ridge prediction", "data"]


def test_what_cannot_be_drawn_is_named(fit: ckrr.Fit) -> None:
    with pytest.raises(ValueError, match=r"^alpha must be a single number for a picture, got \[0.1, 0.2\]$"):
        ckrr.plot_bands(fit, alpha=[0.1, 0.2])  # type: ignore[arg-type]
    flat = ckrr.fit(np.zeros((2, 2)), [0, 1], 1.0, 0.1)
    with pytest.raises(ValueError, match=r"^fit must be to one-dimensional inputs to be drawn, got 2 dimensions$"):
        ckrr.plot_bands(flat)


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "ckrr", *arguments], cwd=cwd, capture_output=True, text=True)


def test_the_main_job_draws_a_png(tmp_path: Path) -> None:
    done = run("six.png", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert all(procedure in done.stdout for procedure in ckrr.PROCEDURES)
    assert (tmp_path / "six.png").read_bytes().startswith(b"\x89PNG")


def test_the_main_job_names_mistakes(tmp_path: Path) -> None:
    for arguments in (["--help"], ["a.png", "b.png"], ["nowhere/a.png"], [str(tmp_path)]):
        done = run(*arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())
