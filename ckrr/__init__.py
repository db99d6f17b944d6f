"""Exact conformal prediction for kernel ridge regression.

>>> import ckrr
>>> fit = ckrr.fit(X=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0], y=[0.1, 0.5, 0.9, 1.1, 1.7, 1.9], theta=1.0, lam=0.1)
>>> regions = fit.regions([0.5], procedure="RRCM-loo", alpha=0.2)
>>> regions.contains([1.0])
array([[ True]])
"""

from importlib.metadata import version

from ckrr.distribution import ConformalDistribution, Distribution, NormalDistribution
from ckrr.evaluation.scores import Scores
from ckrr.factor import Factor, score_together
from ckrr.fitted import Fit
from ckrr.kernels import Kernel
from ckrr.levels import ALPHA
from ckrr.model import Inputs, fit
from ckrr.plot import plot_bands
from ckrr.procedures import PROCEDURES, exact_level
from ckrr.regions.density_ratio import estimate_weights
from ckrr.regions.intervals import Regions
from ckrr.ridge.exact import FactorisationError

__all__ = [
    "ALPHA",
    "PROCEDURES",
    "ConformalDistribution",
    "Distribution",
    "Factor",
    "FactorisationError",
    "Fit",
    "Inputs",
    "Kernel",
    "NormalDistribution",
    "Regions",
    "Scores",
    "estimate_weights",
    "exact_level",
    "fit",
    "plot_bands",
    "score_together",
]

__version__ = version("ckrr")

NUMERICS_VERSION = 3
"""Incremented by every change to the arithmetic that alters any bit of a result."""


def __getattr__(name: str) -> object:
    """Import `ckrr.ConformalKernelRidge` (with scikit-learn, if installed) and `ckrr.study` on first use."""
    if name == "ConformalKernelRidge":
        from ckrr.estimator import ConformalKernelRidge

        return ConformalKernelRidge
    if name == "study":
        from importlib import import_module

        return import_module("ckrr.study")
    raise AttributeError(f"module 'ckrr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "ConformalKernelRidge", "NUMERICS_VERSION", "__version__", "baselines", "study"])
