"""Sources of the published study and a linear one, under the names that scenario files use.

The keyword arguments of each are keys of the [source] table.
"""

from __future__ import annotations

from scenarios.sources import functions
from scenarios.sources.gaussian_process import GaussianProcess
from scenarios.sources.marking import source
from scenarios.sources.synthetic import Function, Synthetic
from scenarios.sources.types import Layout


@source
def gp(
    theta: float = 100.0,
    dimension: int = 1,
    domain: tuple[float, float] = (0.0, 1.0),
    test: Layout = "iid",
    test_points: int = 201,
    pool: int | None = None,
) -> Synthetic:
    """Make a source of Gaussian process paths with mean 0 and kernel exp(−θ‖x − x′‖²), in 1 to 3 dimensions.

    Each path of the study is an independent path of the process.

    Examples
    --------
    >>> gp(dimension=2, test="grid", test_points=2601, pool=15001).largest_n
    15001
    """
    return Synthetic(
        random_function=GaussianProcess(theta, dimension, domain),
        dimension=dimension,
        domain=domain,
        test=test,
        test_points=test_points,
        pool=pool,
    )


@source
def heaviside(test: Layout = "iid", test_points: int = 201, pool: int | None = None) -> Synthetic:
    """Make a source of a step at ½, on [0, 1]."""
    return Synthetic(functions.heaviside, test=test, test_points=test_points, pool=pool)


@source
def f6(test: Layout = "iid", test_points: int = 201, pool: int | None = None) -> Synthetic:
    """Make a source of a parabola, then a line from ½ on, on [0, 1]."""
    return Synthetic(functions.f6, test=test, test_points=test_points, pool=pool)


@source
def pressure2(test: Layout = "iid", test_points: int = 201, pool: int | None = None) -> Synthetic:
    """Make a source of a smooth hill with two dents, on [0, 1]."""
    return Synthetic(functions.pressure2, test=test, test_points=test_points, pool=pool)


@source
def f2(test: Layout = "iid", test_points: int = 2601, pool: int | None = None) -> Synthetic:
    """Make a source of a smooth hill with a pit, on [−1, 1]²."""
    return _make_square_source(functions.f2, test, test_points, pool)


@source
def f5(test: Layout = "iid", test_points: int = 2601, pool: int | None = None) -> Synthetic:
    """Make a source of a plane with two steps along circles, on [−1, 1]²."""
    return _make_square_source(functions.f5, test, test_points, pool)


@source
def linear(
    dimension: int = 2,
    domain: tuple[float, float] = (0.0, 1.0),
    test: Layout = "iid",
    test_points: int = 201,
    pool: int | None = None,
) -> Synthetic:
    """Make a source of x₁ + … + x_d on domain^dimension, for the linear kernel (Burnaev & Vovk 2014).

    On [0, 1]^d inputs have the mean μ = (½, …, ½) and second moments Σ = I/12 + μμ′, so that μ′Σ⁻¹μ = 3d/(1 + 3d).
    """
    return Synthetic(
        functions.linear, dimension=dimension, domain=domain, test=test, test_points=test_points, pool=pool
    )


def _make_square_source(function: Function, test: Layout, test_points: int, pool: int | None) -> Synthetic:
    return Synthetic(function, dimension=2, domain=(-1.0, 1.0), test=test, test_points=test_points, pool=pool)
