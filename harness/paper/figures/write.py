"""Draw the paper's figures by number, and save them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from harness.figures.canvas.style import figure_style
from harness.figures.export import save
from harness.paper.figures import profiles, studies, surfaces
from harness.paper.figures.index import list_sizes
from harness.scenario.load import BLAS_THREADS


def write(number: int, stores: Mapping[str, str], folder: Path, quick: bool = False) -> list[Path]:
    """Draw a figure, save it as PNG and SVG, and return the paths.

    Parameters
    ----------
    number : int
        Number of the figure, 1 to 8.
    stores : mapping
        URL of the store of each study that the figure needs.
    folder : Path
        Folder for the files.
    quick : bool
        Whether to show only the n of `--quick`.
    """
    figure = draw(number, stores, quick)
    paths = [folder / f"figure-{number}{ending}" for ending in (".png", ".svg")]
    for path in paths:
        save(figure, path)
    return paths


def draw(number: int, stores: Mapping[str, str], quick: bool = False) -> Figure:
    """Draw one of the eight figures, with one BLAS thread, because the number of threads changes last digits."""
    with figure_style(), threadpool_limits(BLAS_THREADS):
        if number in profiles.PROFILES:
            return profiles.draw(number)
        if number == surfaces.NUMBER:
            return surfaces.draw()
        study = studies.STUDIES[number].study
        shown = list_sizes(study, quick)
        notes = [f"A first look (--quick): n up to {shown[-1]} only, of the paper's 1600."] if quick else []
        return studies.draw(number, stores[study], shown, notes)
