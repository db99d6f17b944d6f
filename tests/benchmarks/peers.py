"""Against packages that do the same or nearly: `pip install 'ckrr[bench]'`, then `python -m tests.benchmarks.peers`.

On one thread, one 2-d sample, one kernel exp(−θ‖x − x′‖²), one ridge λ, all in float64 and at four levels:

- ours is `ckrr.fit(…).score(…)` for six procedures at 2601 test points, with the fit, over points and procedures;
- GPyConform and online-cp are asked for few points, as each costs them O(n³). "s per point" is (time for 4 points −
  time for 1 point) / 3, so without their fit, which is what remains of the time for 1: for GPyConform the kernel matrix
  and its Cholesky factor, anew in every call, for online-cp the kernel matrix and its inverse. One call, all levels;
- "ratio" is that to ours per point and procedure. Ours gains there from many points, so "at 4" is the ratio of the
  whole times, theirs to ours, for the fit and 4 points of this one procedure;
- "off by" is the largest difference between an end of their interval and of our hull, in median lengths. For CRR,
  where λ is small, theirs may be wider: train residuals with a larger slope than the test point's count on both sides;
- scikit-learn's GaussianProcessRegressor without optimiser, fit and predict with `return_std` at the 2601 points, is
  compared with ours for all six procedures, and its deviations, times σ̂, with those of GPR-p.

Every time is the best of several turns taken one after the other, scikit-learn's ratio the median over turns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

import ckrr
from ckrr._validation import Array
from tests.benchmarks.common import in_turns, ratios

Peer = Callable[[Array, Array, Array, float, float, str], Array]
N, SIDE, FEW, THETA, TURNS = 1600, 51, 4, 100.0, 3
GAMMA = {"RRCM": 1.0, "RRCM-loo": 1e9, "RRCM-std": 2.0, "CRR": 1.0, "CRR-loo": 1e9, "CRR-std": 2.0}
"""GPyConform's γ, where 1e8 and more is ∞: residuals are divided by diag(Q)^(1 − 1/γ)."""


def data(n: int) -> tuple[Array, Array, Array, Array]:
    """A smooth function with noise on the unit square, train points uniform, test points a regular grid, shuffled."""
    rng = np.random.default_rng(0)
    axis = np.linspace(0.0, 1.0, SIDE)
    X, X_new = rng.random((n, 2)), rng.permutation(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2))
    y, y_new = (np.sin(5 * x[:, 0]) * np.cos(4 * x[:, 1]) + 0.1 * rng.standard_normal(len(x)) for x in (X, X_new))
    return X, y, X_new, y_new


def gpyconform(X: Array, y: Array, x: Array, theta: float, lam: float, procedure: str) -> Array:
    """Fit and intervals of GPyConform, shape (points, levels, 2)."""
    import gpytorch
    import torch
    from gpyconform import ExactGPCP

    class Model(ExactGPCP):
        def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    torch.set_num_threads(1)
    double = partial(torch.tensor, dtype=torch.float64)  # Python floats would be rounded to float32
    noise = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-12))
    model = Model(double(X), double(y), noise, cpmode="symmetric" if procedure.startswith("RRCM") else "asymmetric")
    model.mean_module, model.covar_module = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel()
    model.double().eval()
    noise.noise, model.covar_module.lengthscale = double(lam), double((2 * theta) ** -0.5)
    with torch.no_grad():
        found = model(double(x), gamma=GAMMA[procedure], confs=[1 - alpha for alpha in ckrr.ALPHA])
    return np.swapaxes(found.all_pis.numpy(), 0, 1)


def online_cp(X: Array, y: Array, x: Array, theta: float, lam: float, procedure: str) -> Array:
    """Fit and intervals of online-cp, shape (points, levels, 2)."""
    from online_cp import GaussianKernel, KernelConformalRidgeRegressor

    model = KernelConformalRidgeRegressor(GaussianKernel((2 * theta) ** -0.5), lam, studentised="std" in procedure)
    model.learn_initial_training_set(X, y)
    found = [model.predict(each, epsilon=np.array(ckrr.ALPHA)) for each in x]
    return np.array([[(sets[alpha].lower, sets[alpha].upper) for alpha in ckrr.ALPHA] for sets in found])


def hulls(X: Array, y: Array, x: Array, theta: float, lam: float, procedure: str) -> Array:
    """Fit and hulls of ours, by the peers' rule p > α, shape (points, levels, 2)."""
    R = ckrr.fit(X, y, theta, lam).regions(x, procedure, ckrr.ALPHA, boundary=">")
    return np.stack([R.lower, R.upper], axis=-1)


def deviations(X: Array, y: Array, x: Array, theta: float, lam: float) -> Array:
    """Fit and standard deviations of scikit-learn."""
    from sklearn.gaussian_process import GaussianProcessRegressor, kernels

    model = GaussianProcessRegressor(kernels.RBF((2 * theta) ** -0.5), alpha=lam, optimizer=None).fit(X, y)
    return np.asarray(model.predict(x, return_std=True)[1])


def off_by(theirs: Array, ours: Array) -> float:
    """The largest difference of ends, in median lengths; infinite ends are equal to themselves."""
    differences = np.subtract(theirs, ours, where=theirs != ours, out=np.zeros_like(ours))
    return float(np.abs(differences).max() / np.median(np.diff(ours)[np.isfinite(np.diff(ours))]))


def installed(package: str) -> str | None:
    """The version of a package, if it is there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Sample:
    """A sample with what is asked of it: the arguments of `ckrr.fit`, and many test points."""

    X: Array
    y: Array
    X_new: Array
    y_new: Array
    theta: float
    lam: float

    def few(self, m: int, procedure: str) -> tuple[Array, Array, Array, float, float, str]:
        """What a peer is given, with few test points."""
        return self.X, self.y, self.X_new[:m], self.theta, self.lam, procedure

    def ours(self) -> ckrr.Scores:
        """All six procedures at all points, with the fit."""
        return ckrr.fit(self.X, self.y, self.theta, self.lam).score(self.X_new, self.y_new)

    def deviations(self) -> Array:
        """Those of scikit-learn, with the fit."""
        return deviations(self.X, self.y, self.X_new, self.theta, self.lam)


def sample(n: int, theta: float, lam: float) -> Sample:
    return Sample(*data(n), theta, lam)


def scikit_learn(it: Sample, turns: int) -> tuple[float, float]:
    """Its time by that of all six of ours, and by how much its deviations are off."""
    of_ours = it.ours().length[ckrr.PROCEDURES.index("GPR-p"), :, 0] / -2 / ndtri(ckrr.ALPHA[0] / 2)
    sigma = ckrr.fit(it.X, it.y, it.theta, it.lam).sigma2 ** 0.5
    off = float(np.abs(it.deviations() * sigma / of_ours - 1).max())
    return ratios(turns, it.ours, it.deviations)[0], off


@dataclass(frozen=True)
class Figures:
    """What a peer takes: seconds of its fit and of a point; by ours for a point and procedure, and for few points."""

    fit: float
    point: float
    ratio: float
    at_few: float
    off: float


def against(peer: Peer, it: Sample, procedure: str, turns: int) -> Figures:
    """One procedure of a peer."""
    one, few = it.few(1, procedure), it.few(FEW, procedure)
    off = off_by(peer(*few), hulls(*few))
    calls = [it.ours, partial(peer, *one), partial(peer, *few), partial(hulls, *few)]
    whole, a, b, c = np.min(in_turns(turns, *calls), axis=0)
    point = (b - a) / (FEW - 1)
    each = whole / len(it.X_new) / len(ckrr.PROCEDURES)
    return Figures(a - point, point, point / each, b / c, off)


PEERS: dict[str, tuple[Peer, list[str]]] = {
    "gpyconform": (gpyconform, list(GAMMA)),
    "online-cp": (online_cp, ["CRR", "CRR-std"]),
}


def main(n: int, theta: float, turns: int) -> None:
    packages = ("ckrr", "numpy", "scipy", "scikit-learn", "gpyconform", "gpytorch", "torch", "online-cp")
    print(f"Python {sys.version.split()[0]}", *(f"{each} {installed(each)}" for each in packages), sep=", ")
    print(f"n = {n}, theta = {theta:g}, {SIDE**2} test points, one thread, {turns} turns")
    for missing in (each for each in ("scikit-learn", *PEERS) if not installed(each)):
        print(f"{missing}: not installed (pip install 'ckrr[bench]')")
    for lam in (1e-1, 1e-6):
        it = sample(n, theta, lam)
        print(f"\nlam = {lam:g}")
        if installed("scikit-learn"):
            ratio, off = scikit_learn(it, turns)
            print(f"scikit-learn: {ratio:.2f} of ours for six procedures, deviations off by {off:.0e}")
        print("peer        procedure   fit s   s per point   ratio    at 4   off by")
        for name, (peer, procedures) in PEERS.items():
            for procedure in procedures if installed(name) else ():
                it_takes = against(peer, it, procedure, turns)
                figures = f"{it_takes.fit:6.2f}  {it_takes.point:12.3f}  {it_takes.ratio:6.0f}  {it_takes.at_few:6.1f}"
                print(f"{name:10s}  {procedure:9s}  {figures}   {it_takes.off:6.0e}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("--n", N), ("--theta", THETA), ("--turns", TURNS)):
        parser.add_argument(name, type=type(default), default=default)
    with threadpool_limits(1):
        main(**vars(parser.parse_args()))
