"""Triangular algebra in tiles, for large matrices.

The lower triangle is cut into tiles A_ij, i ≥ j. The Cholesky factor is, from the left, one column of tiles after the
other, ::

    L_jj L_jj′ = A_jj − Σ_{k<j} L_jk L_jk′            L_ij = (A_ij − Σ_{k<j} L_ik L_jk′) L_jj′⁻¹   (i > j)

and its inverse, from the right, with G₊ the inverse of what is below and to the right of L_jj, ::

    G_jj = L_jj⁻¹            (G_ij)_{i>j} = −G₊ (L_ij)_{i>j} L_jj⁻¹

Products go one row of tiles after the other, in an order in which nothing is written over that is still needed. So all
of it is in the buffer of the matrix, and what comes beside it is one column of tiles at the most.

Nearly all of the work is in `np.matmul`, which lets go of the GIL. SciPy's calls of LAPACK and BLAS hold it: at
n = 20,000 for minutes, in which a worker wouldn't answer its scheduler. And OpenBLAS's `potrf` sees single tiles only:
with several threads it crashes on matrices of about 16,000 rows and more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from ckrr._validation import Array

_NARROW = 32
"""Columns that are divided by a triangle one by one; then products do it. Bits depend on it."""


@dataclass(frozen=True)
class TiledAlgebra:
    """Lower triangular matrices in Fortran order, with zeros above the diagonal. The bits depend on the tile."""

    tile: int = 512
    """Rows of a tile: part of the definition of the numbers, never tuned to a machine."""
    padding: int = 504
    """Columns that products are filled up to a multiple of: how BLAS cuts one for its threads depends on its shape."""

    def factorise(self, A: Array) -> int:
        """L in place of A = LL′; 0, or the number of the first row (from 1) at which A isn't positive definite.

        Examples
        --------
        >>> A = np.array([[4.0, 0.0], [2.0, 5.0]], order="F")
        >>> TiledAlgebra(tile=1).factorise(A), A
        (0, array([[2., 0.],
                   [1., 2.]]))
        """
        for here in cut_tiles(len(A), self.tile):
            start, stop = here.start, here.stop
            if start:
                A.T[here, start:] -= A.T[:start, here].T @ A.T[:start, start:]
            try:
                A[here, here] = np.linalg.cholesky(A[here, here])
            except np.linalg.LinAlgError:
                return int(start + lapack.dpotrf(A[here, here], lower=1)[1])
            divide_transposed(A[stop:, here], A[here, here])
        return 0

    def invert(self, L: Array) -> None:
        """G = L⁻¹ in place of L.

        Examples
        --------
        >>> L = np.array([[2.0, 0.0], [1.0, 2.0]], order="F")
        >>> TiledAlgebra(tile=1).invert(L)
        >>> L
        array([[ 0.5 ,  0.  ],
               [-0.25,  0.5 ]])
        """
        for here in reversed(cut_tiles(len(L), self.tile)):
            stop = here.stop
            triangle = np.array(L[here, here], order="F")
            below = L[stop:, here]
            self.multiply(L[stop:, stop:], below)
            np.negative(below, out=below)
            L[here, here] = np.eye(stop - here.start)
            divide(L[here.start :, here], triangle)

    def multiply(self, G: Array, B: Array) -> None:
        """G B in place of B, which is in Fortran order, too."""
        for here in reversed(self._cut_rows(G)):
            B.T[:, here] = B.T[:, : here.stop] @ G.T[: here.stop, here]

    def multiply_transposed(self, G: Array, B: Array) -> None:
        """G′B in place of B."""
        for here in self._cut_rows(G):
            B.T[:, here] = B.T[:, here.start :] @ G[here.start :, here]

    def multiply_vector(self, G: Array, y: Array) -> Array:
        """G y."""
        return np.concatenate([G[here, : here.stop] @ y[: here.stop] for here in self._cut_rows(G)])

    def multiply_transposed_vector(self, G: Array, v: Array) -> Array:
        """G′v."""
        return np.concatenate([G.T[here, here.start :] @ v[here.start :] for here in self._cut_rows(G)])

    def solve_vector(self, L: Array, y: Array) -> Array:
        """L⁻¹y."""
        v = y[None].copy(order="F")
        divide_transposed(v, L)
        return v.reshape(-1)

    def solve_transposed_vector(self, L: Array, v: Array) -> Array:
        """L′⁻¹v."""
        a = v[None].copy(order="F")
        divide(a, L)
        return a.reshape(-1)

    def sum_column_squares(self, G: Array) -> Array:
        """The sums of squares of G's columns."""
        columns = (G.T[here, here.start :] for here in self._cut_rows(G))
        return np.concatenate([np.vecdot(some, some) for some in columns])

    def _cut_rows(self, G: Array) -> tuple[slice, ...]:
        """In halves of tiles: half as much is multiplied with the zeros above the diagonal."""
        return cut_tiles(len(G), max(1, self.tile // 2))


def cut_tiles(n: int, tile: int) -> tuple[slice, ...]:
    """Where the tiles are; the last one takes the rest, so that none is small.

    Small ones would take other ways through BLAS, which may depend on how many columns it is asked for.

    Examples
    --------
    >>> cut_tiles(10, 4), cut_tiles(3, 4)
    ((slice(0, 4, None), slice(4, 10, None)), (slice(0, 3, None),))
    """
    starts = range(0, tile * max(1, n // tile), tile)
    return tuple(slice(start, n if start == starts[-1] else start + tile) for start in starts) if n else ()


def divide_transposed(B: Array, L: Array) -> None:
    """B L′⁻¹ in place of B, by substitution from the first column to the last."""
    for columns in _cut_columns(len(L)):
        start = columns.start
        B[:, columns] -= B[:, :start] @ L[columns, :start].T
        for i in range(start, columns.stop):
            B[:, i] -= B[:, start:i] @ L[i, start:i]
            B[:, i] /= L[i, i]


def divide(B: Array, L: Array) -> None:
    """B L⁻¹ in place of B, by substitution from the last column to the first."""
    for columns in reversed(list(_cut_columns(len(L)))):
        stop = columns.stop
        B[:, columns] -= B[:, stop:] @ L[stop:, columns]
        for i in reversed(range(columns.start, stop)):
            B[:, i] -= B[:, i + 1 : stop] @ L[i + 1 : stop, i]
            B[:, i] /= L[i, i]


def _cut_columns(n: int) -> Iterator[slice]:
    return (slice(start, min(start + _NARROW, n)) for start in range(0, n, _NARROW))
