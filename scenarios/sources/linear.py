"""A linear function of inputs whose mean isn't 0, for the linear kernel (Burnaev & Vovk 2014)."""

from __future__ import annotations

from scenarios.sources.marking import source
from scenarios.sources.synthetic import Synthetic
from scenarios.sources.types import Layout


@source
def linear(
    dimension: int = 2,
    domain: tuple[float, float] = (0.0, 1.0),
    test: Layout = "iid",
    test_points: int = 201,
    pool: int | None = None,
) -> Synthetic:
    """Make a source of the sum of the coordinates, x₁ + … + x_d, of inputs uniform on domain^dimension.

    On [0, 1]^d they have the mean μ = (½, …, ½) and second moments Σ = I/12 + μμ′, so that μ′Σ⁻¹μ = 3d/(1 + 3d).

    Examples
    --------
    >>> linear(dimension=3).dimension
    3
    """
    return Synthetic(
        lambda X: X.sum(axis=1), dimension=dimension, domain=domain, test=test, test_points=test_points, pool=pool
    )
