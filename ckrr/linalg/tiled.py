"""Triangular linear algebra in tiles, for large matrices.

The lower triangle is cut into tiles A_ij, i ≥ j. The Cholesky factor is computed from the left, one column of
tiles after the other, ::

    L_jj L_jj′ = A_jj − Σ_{k<j} L_jk L_jk′            L_ij = (A_ij − Σ_{k<j} L_ik L_jk′) L_jj′⁻¹   (i > j)

and its inverse, from the right, with G₊ the inverse of what is below and to the right of L_jj, ::

    G_jj = L_jj⁻¹            (G_ij)_{i>j} = −G₊ (L_ij)_{i>j} L_jj⁻¹

Products are computed one row of tiles after the other, in an order that overwrites nothing that is still needed. So
everything is done in the buffer of the matrix, with one column of tiles of extra memory at most.

Nearly all of the work is in `np.matmul`, which releases the GIL. SciPy's calls of LAPACK and BLAS hold it: at
n = 20,000 for minutes, during which a worker cannot answer its scheduler. And OpenBLAS's `potrf` is applied to single
tiles only: with several threads it crashes on matrices of about 16,000 rows and more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from ckrr._validation import Array

_NARROW = 32
"""Columns divided by a triangle one by one, before a matrix product is used. The last bits of results depend on it."""


@dataclass(frozen=True)
class TiledAlgebra:
    """Operations in tiles on lower triangular matrices in Fortran order, with zeros above the diagonal."""

    tile: int = 512
    """Rows of a tile. Fixed, never tuned to a machine, since the last bits of results depend on it."""
    padding: int = 504
    """Products are padded to a multiple of this many columns, since BLAS splits them among threads by their shape."""

    def factorise(self, A: Array) -> int:
        """Overwrite A = LL′ by L; return 0, or the first row (from 1) at which A is not positive definite.

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
        """Overwrite L by G = L⁻¹.

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
        """Overwrite B, in Fortran order, by G B."""
        for here in reversed(self._cut_rows(G)):
            B.T[:, here] = B.T[:, : here.stop] @ G.T[: here.stop, here]

    def multiply_transposed(self, G: Array, B: Array) -> None:
        """Overwrite B, in Fortran order, by G′B."""
        for here in self._cut_rows(G):
            B.T[:, here] = B.T[:, here.start :] @ G[here.start :, here]

    def multiply_vector(self, G: Array, y: Array) -> Array:
        """Return G y."""
        return np.concatenate([G[here, : here.stop] @ y[: here.stop] for here in self._cut_rows(G)])

    def multiply_transposed_vector(self, G: Array, v: Array) -> Array:
        """Return G′v."""
        return np.concatenate([G.T[here, here.start :] @ v[here.start :] for here in self._cut_rows(G)])

    def solve_vector(self, L: Array, y: Array) -> Array:
        """Return L⁻¹y."""
        v = y[None].copy(order="F")
        divide_transposed(v, L)
        return v.reshape(-1)

    def solve_transposed_vector(self, L: Array, v: Array) -> Array:
        """Return L′⁻¹v."""
        a = v[None].copy(order="F")
        divide(a, L)
        return a.reshape(-1)

    def sum_column_squares(self, G: Array) -> Array:
        """Return the sums of squares of G's columns."""
        columns = (G.T[here, here.start :] for here in self._cut_rows(G))
        return np.concatenate([np.vecdot(some, some) for some in columns])

    def _cut_rows(self, G: Array) -> tuple[slice, ...]:
        """Cut into half tiles, which halves the multiplications by zeros above the diagonal."""
        return cut_tiles(len(G), max(1, self.tile // 2))


def cut_tiles(n: int, tile: int) -> tuple[slice, ...]:
    """Return the slices of n rows in tiles; the last tile takes the remainder, so that none is small.

    For small tiles BLAS would take other code paths, which may depend on the number of columns.

    Examples
    --------
    >>> cut_tiles(10, 4), cut_tiles(3, 4)
    ((slice(0, 4, None), slice(4, 10, None)), (slice(0, 3, None),))
    """
    starts = range(0, tile * max(1, n // tile), tile)
    return tuple(slice(start, n if start == starts[-1] else start + tile) for start in starts) if n else ()


def divide_transposed(B: Array, L: Array) -> None:
    """Overwrite B by B L′⁻¹, by substitution from the first column to the last."""
    for columns in _cut_columns(len(L)):
        start = columns.start
        B[:, columns] -= B[:, :start] @ L[columns, :start].T
        for i in range(start, columns.stop):
            B[:, i] -= B[:, start:i] @ L[i, start:i]
            B[:, i] /= L[i, i]


def divide(B: Array, L: Array) -> None:
    """Overwrite B by B L⁻¹, by substitution from the last column to the first."""
    for columns in reversed(list(_cut_columns(len(L)))):
        stop = columns.stop
        B[:, columns] -= B[:, stop:] @ L[stop:, columns]
        for i in reversed(range(columns.start, stop)):
            B[:, i] -= B[:, i + 1 : stop] @ L[i + 1 : stop, i]
            B[:, i] /= L[i, i]


def _cut_columns(n: int) -> Iterator[slice]:
    return (slice(start, min(start + _NARROW, n)) for start in range(0, n, _NARROW))
