"""Triangular algebra on one n×n buffer: a factor, its inverse, and their products.

Two ways to the same numbers, up to rounding.
`WholeAlgebra` calls LAPACK and BLAS on the whole matrix, `TiledAlgebra` (in `tiled.py`)
works through it tile by tile: for large matrices, where LAPACK would hold the GIL for minutes and OpenBLAS would crash.
Which way it is depends on n alone, and is part of the definition of the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import blas, lapack

from ckrr._validation import Array
from ckrr.linalg.tiled import TiledAlgebra

WHOLE = 4000
"""Up to so many rows a matrix is treated as a whole."""


class TriangularAlgebra(Protocol):
    """What is done with lower triangular matrices, which are in Fortran order with zeros above the diagonal."""

    @property
    def padding(self) -> int:
        """Columns that B is filled up to a multiple of, so that no column's bits depend on how many there are."""
        ...

    def factorise(self, A: Array) -> int:
        """L in place of A = LL′; 0, or the number of the first row (from 1) at which A isn't positive definite."""
        ...

    def invert(self, L: Array) -> None:
        """G = L⁻¹ in place of L."""
        ...

    def multiply(self, G: Array, B: Array) -> None:
        """G B in place of B, which is in Fortran order, too."""
        ...

    def multiply_transposed(self, G: Array, B: Array) -> None:
        """G′B in place of B."""
        ...

    def multiply_vector(self, G: Array, y: Array) -> Array:
        """G y."""
        ...

    def multiply_transposed_vector(self, G: Array, v: Array) -> Array:
        """G′v."""
        ...

    def solve_vector(self, L: Array, y: Array) -> Array:
        """L⁻¹y."""
        ...

    def sum_column_squares(self, G: Array) -> Array:
        """The sums of squares of G's columns."""
        ...


def select_algebra(n: int) -> TriangularAlgebra:
    """The way for n×n matrices.

    Examples
    --------
    >>> select_algebra(4000), select_algebra(4001)
    (WholeAlgebra(padding=24), TiledAlgebra(tile=512, padding=504))
    """
    return WholeAlgebra() if n <= WHOLE else TiledAlgebra()


@dataclass(frozen=True)
class WholeAlgebra:
    """All at once, by LAPACK and BLAS. They work in place where the array is whole, and in Fortran order."""

    padding: int = 24
    """BLAS treats the odd columns at its edge differently: OpenBLAS works through them by twelves or by eights."""

    def factorise(self, A: Array) -> int:
        """By `potrf`."""
        return int(lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)[1])

    def invert(self, L: Array) -> None:
        """By `trtri`."""
        lapack.dtrtri(L, lower=1, overwrite_c=1)

    def multiply(self, G: Array, B: Array) -> None:
        """By `trmm`."""
        blas.dtrmm(1.0, G, B, lower=1, overwrite_b=1)

    def multiply_transposed(self, G: Array, B: Array) -> None:
        """By `trmm`."""
        blas.dtrmm(1.0, G, B, lower=1, trans_a=1, overwrite_b=1)

    def multiply_vector(self, G: Array, y: Array) -> Array:
        """By `trmv`."""
        v: Array = blas.dtrmv(G, y, lower=1)
        return v

    def multiply_transposed_vector(self, G: Array, v: Array) -> Array:
        """By `trmv`."""
        a: Array = blas.dtrmv(G, v, lower=1, trans=1)
        return a

    def solve_vector(self, L: Array, y: Array) -> Array:
        """By `trtrs`."""
        v: Array = lapack.dtrtrs(L, y, lower=1)[0]
        return v

    def sum_column_squares(self, G: Array) -> Array:
        """By `dot`."""
        squares: Array = np.vecdot(G.T, G.T)
        return squares
