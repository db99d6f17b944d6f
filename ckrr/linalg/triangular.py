"""Triangular linear algebra on one n×n buffer: a factor, its inverse, and their products.

Two implementations give the same numbers up to rounding. `WholeAlgebra` calls LAPACK and BLAS on the whole matrix.
`TiledAlgebra` (in `tiled.py`) works tile by tile: for large matrices, where LAPACK would hold the GIL for minutes and
OpenBLAS would crash. The choice depends on n alone, since the last bits of results depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import blas, lapack

from ckrr._validation import Array
from ckrr.linalg.tiled import TiledAlgebra

WHOLE = 4000
"""Matrices of up to this many rows are treated as a whole."""


class TriangularAlgebra(Protocol):
    """Operations on lower triangular matrices in Fortran order, with zeros above the diagonal."""

    @property
    def padding(self) -> int:
        """B is padded to a multiple of this many columns, so that each is bitwise independent of their number."""
        ...

    def factorise(self, A: Array) -> int:
        """Overwrite A = LL′ by L; return 0, or the first row (from 1) at which A is not positive definite."""
        ...

    def invert(self, L: Array) -> None:
        """Overwrite L by G = L⁻¹."""
        ...

    def multiply(self, G: Array, B: Array) -> None:
        """Overwrite B, in Fortran order, by G B."""
        ...

    def multiply_transposed(self, G: Array, B: Array) -> None:
        """Overwrite B, in Fortran order, by G′B."""
        ...

    def multiply_vector(self, G: Array, y: Array) -> Array:
        """Return G y."""
        ...

    def multiply_transposed_vector(self, G: Array, v: Array) -> Array:
        """Return G′v."""
        ...

    def solve_vector(self, L: Array, y: Array) -> Array:
        """Return L⁻¹y."""
        ...

    def sum_column_squares(self, G: Array) -> Array:
        """Return the sums of squares of G's columns."""
        ...


def select_algebra(n: int) -> TriangularAlgebra:
    """Return the implementation for n×n matrices.

    Examples
    --------
    >>> select_algebra(4000), select_algebra(4001)
    (WholeAlgebra(padding=24), TiledAlgebra(tile=512, padding=504))
    """
    return WholeAlgebra() if n <= WHOLE else TiledAlgebra()


@dataclass(frozen=True)
class WholeAlgebra:
    """Operations on the whole matrix by LAPACK and BLAS, in place if it is contiguous in Fortran order."""

    padding: int = 24
    """BLAS treats left-over columns at the edge differently: OpenBLAS takes columns by twelves or by eights."""

    def factorise(self, A: Array) -> int:
        """Factorise by `potrf`."""
        return int(lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)[1])

    def invert(self, L: Array) -> None:
        """Invert by `trtri`."""
        lapack.dtrtri(L, lower=1, overwrite_c=1)

    def multiply(self, G: Array, B: Array) -> None:
        """Multiply by `trmm`."""
        blas.dtrmm(1.0, G, B, lower=1, overwrite_b=1)

    def multiply_transposed(self, G: Array, B: Array) -> None:
        """Multiply by `trmm`."""
        blas.dtrmm(1.0, G, B, lower=1, trans_a=1, overwrite_b=1)

    def multiply_vector(self, G: Array, y: Array) -> Array:
        """Multiply by `trmv`."""
        v: Array = blas.dtrmv(G, y, lower=1)
        return v

    def multiply_transposed_vector(self, G: Array, v: Array) -> Array:
        """Multiply by `trmv`."""
        a: Array = blas.dtrmv(G, v, lower=1, trans=1)
        return a

    def solve_vector(self, L: Array, y: Array) -> Array:
        """Solve by `trtrs`."""
        v: Array = lapack.dtrtrs(L, y, lower=1)[0]
        return v

    def sum_column_squares(self, G: Array) -> Array:
        """Sum by `dot`."""
        squares: Array = np.vecdot(G.T, G.T)
        return squares
