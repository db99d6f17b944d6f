"""Draw the regions of one replication with one-dimensional inputs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.core.types import Values
from harness.store.manifest_io import load_manifest


def draw_bands(store: str, arrays: Mapping[str, Values], file: str) -> None:
    """Draw the hulls of every procedure, at the α nearest to 0.1, with the training data.

    Parameters
    ----------
    store : str
        Store of the replication.
    arrays : mapping
        Arrays of the replication by `<cell>/<name>`, as `ckrr replay --save` writes them. Each cell is a row of panels.
    file : str
        File to write, in any format of Matplotlib.
    """
    manifest = load_manifest(open_backend(store))
    assert manifest is not None
    cells = sorted({key.rpartition("/")[0] for key in arrays})
    if arrays[f"{cells[0]}/X"].shape[1] != 1:
        raise UserError("--plot draws one-dimensional data only: use --save instead")
    from matplotlib.figure import Figure

    names, alpha = manifest.extent.grid.procedure, np.array(manifest.extent.grid.alpha)
    level = int(np.argmin(np.abs(alpha - 0.1)))
    figure = Figure(figsize=(3.2 * len(names), 2.6 * len(cells)), layout="constrained")
    axes = figure.subplots(len(cells), len(names), sharex=True, sharey="row", squeeze=False)
    for row, cell in zip(axes, cells, strict=True):
        one = {key.rpartition("/")[2]: value for key, value in arrays.items() if key.startswith(f"{cell}/")}
        order = np.argsort(one["X_test"][:, 0])
        for p, (ax, name) in enumerate(zip(row, names, strict=True)):
            ends = (np.clip(one[end][p, order, level], -1e6, 1e6) for end in ("lower", "upper"))
            ax.fill_between(one["X_test"][order, 0], *ends, alpha=0.35, linewidth=0)
            ax.plot(one["X"][:, 0], one["y"], ".", color="black", markersize=3)
            low, high = one["y"].min(), one["y"].max()
            ax.set_ylim(low - (high - low), high + (high - low))
            ax.set_title(f"{name}, α = {alpha[level]:g}", fontsize=9)
        row[0].set_ylabel(cell.replace(",", "\n"), fontsize=8)
    figure.savefig(file)
