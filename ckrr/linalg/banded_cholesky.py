"""Cholesky factorisation of large banded matrices in tiles; `ckrr.linalg.tiled` explains why in tiles.

A lower band of half-width b is stored as an array whose row j has A_jj, A_{j+1,j} … A_{j+b,j}, then room for two tiles.
In its memory A_ij is at j·(w − 1) + i, with w the length of a row. So a rectangle of the matrix that lies within the
band and that room is a strided rectangle, which BLAS accepts without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ckrr._validation import Array
from ckrr.linalg.squares import compute_squares
from ckrr.linalg.tiled import TiledAlgebra, cut_tiles, divide_transposed

ROOM = 256
"""Rows of a tile. Rows of the band have room for two tiles, since the last tile also takes the remainder."""


def compute_band_parts(
    band: Array, ys: Sequence[Array], b: int, tile: int = ROOM, has_mean: bool = False
) -> tuple[list[float], float] | None:
    """Compute y′A⁻¹y for each y, and log|A|, factorising A in place; return None if A is not positive definite.

    Each tile on the diagonal is factorised, the panel below it is divided by the factor, and the products of the panel
    are subtracted from the columns to the right; each y is treated likewise, separately. With `has_mean` the last y
    is a vector of ones, whose part is removed from the others (`ckrr.linalg.squares`).

    Examples
    --------
    >>> band = np.zeros((2, 1 + 1 + 2))
    >>> band[:, 0], band[0, 1] = [4.0, 5.0], 2.0
    >>> (quadratic,), log_det = compute_band_parts(band, [np.array([2.0, 5.0])], b=1, tile=1)  # of [[4, 2], [2, 5]]
    >>> round(quadratic, 12), round(log_det, 12)
    (5.0, 2.77258872224)
    """
    n, log_det = len(band), 0.0
    vs = [np.array(y[None], order="F") for y in ys]
    for here in cut_tiles(n, tile):
        L = _factorise_tile(_view_rectangle(band, here, here))
        if L is None:
            return None
        log_det += 2.0 * float(np.log(L.diagonal()).sum())
        below = slice(here.stop, min(here.stop + b, n))
        panel = _view_rectangle(band, below, here)
        divide_transposed(panel, L)
        for v in vs:
            divide_transposed(v[:, here], L)
            v[:, below] -= v[:, here] @ panel.T
        _subtract_products(band, panel, here.stop, tile)
    return compute_squares([v[0] for v in vs], has_mean), log_det


def _factorise_tile(A: Array) -> Array | None:
    """Return the factor of a tile, given its lower triangle; None if it is not positive definite."""
    L = np.array(A)
    return None if TiledAlgebra(len(L)).factorise(L) else L


def _subtract_products(band: Array, panel: Array, start: int, tile: int) -> None:
    """Subtract PP′ in place from the columns to the right of the panel P.

    Entries above the diagonal are written to the room at the end of other rows, which is never read.
    """
    for part in cut_tiles(len(panel), tile):
        rows, columns = slice(start + part.start, start + len(panel)), slice(start + part.start, start + part.stop)
        there = _view_rectangle(band, rows, columns)
        there -= (panel[part] @ panel[part.start :].T).T


def _view_rectangle(band: Array, rows: slice, columns: slice) -> Array:
    """Return a rectangle of the matrix as a view."""
    w = band.shape[1]
    shape = rows.stop - rows.start, columns.stop - columns.start
    first = columns.start * (w - 1) + rows.start
    return as_strided(band.reshape(-1)[first:], shape, (8, 8 * (w - 1)))
