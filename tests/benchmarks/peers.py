"""Against packages that do the same or nearly: `pip install 'ckrr[bench]'`, then `python tests/benchmarks/peers.py`.

On one thread, one 2-d sample, one Gaussian kernel exp(−θ‖x − x′‖²), one ridge λ, everything in float64, four levels:

- ours is `ckrr.fit(…).score(…)` for six procedures at 2601 test points, the fit included, over points and procedures;
- GPyConform and online-cp are timed at few points, because each point costs them O(n³): (time for 4 points − time for
  1 point) / 3, so that their fit is not included. It is printed: for GPyConform the kernel matrix and its Cholesky
  factor, which it computes again in every call; for online-cp the kernel matrix and its inverse. All levels come from
  one call. GPyConform has γ = 1 for in-sample residuals, ∞ for leave-one-out, 2 for studentised;
- "ratio" is theirs to ours per point and procedure. Ours gains there from many points; so "ratio, few" is for the
  whole of it, fit and 4 points of this one procedure, theirs to ours;
- "off by" is the largest difference between an end of their interval and of our hull, in median lengths;
- scikit-learn's GaussianProcessRegressor without optimiser, fit and predict with `return_std` at the 2601 points, is
  compared with ours for all six procedures. Its deviations, times σ̂, are compared with those of GPR-p.

Every time is the best of several turns taken one after the other, after a first call on a small sample.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter

import numpy as np
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

import ckrr
from ckrr.checks import Array

N, SIDE, FEW, THETA, TURNS = 1600, 51, 4, 100.0, 3
GAMMA = {"RRCM": 1.0, "RRCM-loo": 1e9, "RRCM-std": 2.0, "CRR": 1.0, "CRR-loo": 1e9, "CRR-std": 2.0}  # ≥ 1e8 is ∞
Peer = Callable[[Array, Array, Array, float, float, str], Array]


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

    def double(value: float) -> torch.Tensor:  # a Python float would be rounded to float32
        return torch.tensor(value, dtype=torch.float64)

    torch.set_num_threads(1)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.GreaterThan(1e-12))
    mode = "symmetric" if procedure.startswith("RRCM") else "asymmetric"
    model = Model(torch.from_numpy(X), torch.from_numpy(y), likelihood, cpmode=mode)
    model.mean_module, model.covar_module = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel()
    model.double().eval()
    likelihood.noise, model.covar_module.lengthscale = double(lam), double((2 * theta) ** -0.5)
    with torch.no_grad():
        found = model(torch.from_numpy(x), gamma=GAMMA[procedure], confs=[1 - alpha for alpha in ckrr.ALPHA])
    return np.swapaxes(found.all_pis.numpy(), 0, 1)


def online_cp(X: Array, y: Array, x: Array, theta: float, lam: float, procedure: str) -> Array:
    """Fit and intervals of online-cp, shape (points, levels, 2)."""
    from online_cp import GaussianKernel, KernelConformalRidgeRegressor

    kernel = GaussianKernel((2 * theta) ** -0.5)
    model = KernelConformalRidgeRegressor(kernel, a=lam, studentised=procedure.endswith("std"), warnings=False)
    model.learn_initial_training_set(X, y)
    found = [model.predict(each, epsilon=np.array(ckrr.ALPHA)) for each in x]
    return np.array([[(sets[alpha].lower, sets[alpha].upper) for alpha in ckrr.ALPHA] for sets in found])


def hulls(X: Array, y: Array, x: Array, theta: float, lam: float, procedure: str) -> Array:
    """Fit and hulls of ours, by the peers' rule p > α, shape (points, levels, 2)."""
    R = ckrr.fit(X, y, theta, lam).regions(x, procedure, ckrr.ALPHA, boundary=">")
    return np.stack([R.lower, R.upper], axis=-1)


def deviations(X: Array, y: Array, x: Array, theta: float, lam: float) -> Array:
    """Fit and standard deviations of scikit-learn."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    model = GaussianProcessRegressor(RBF((2 * theta) ** -0.5), alpha=lam, optimizer=None).fit(X, y)
    return np.asarray(model.predict(x, return_std=True)[1])


PEERS: dict[str, tuple[Peer, list[str]]] = {
    "gpyconform": (gpyconform, list(GAMMA)),
    "online-cp": (online_cp, ["CRR", "CRR-std"]),
}


def seconds(call: Callable[[], object]) -> float:
    """Seconds for one call."""
    start = perf_counter()
    call()
    return perf_counter() - start


def best(turns: int, *calls: Callable[[], object]) -> list[float]:
    """The best time of each call, in turns."""
    return np.min([[seconds(call) for call in calls] for _ in range(turns)], axis=0).tolist()


def installed(package: str) -> str | None:
    """The version of a package, if it is there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def off_by(theirs: Array, ours: Array) -> float:
    """The largest difference of ends in median lengths, infinite ends being equal to themselves."""
    differences = np.abs(np.subtract(theirs, ours, where=theirs != ours, out=np.zeros_like(ours)))
    return float(differences.max() / np.median(ours[..., 1] - ours[..., 0]))


def compare(lam: float, theta: float, turns: int, sample: tuple[Array, Array, Array, Array]) -> None:
    """Print the comparison at one λ."""
    X, y, X_new, y_new = sample
    calls: list[Callable[[], object]] = [lambda: ckrr.fit(X, y, theta, lam).score(X_new, y_new)]
    if installed("scikit-learn"):
        calls.append(lambda: deviations(X, y, X_new, theta, lam))
    whole, *sklearn = best(turns, *calls)
    each = whole / len(X_new) / len(ckrr.PROCEDURES)
    print(f"\nlam = {lam:g}: ours {whole:.3f} s, that is {each * 1e6:.1f} µs per point and procedure, fit included")
    if sklearn:
        fit = ckrr.fit(X, y, theta, lam)
        ours = fit.regions(X_new, "GPR-p", alpha=0.1).length[:, 0] / 2 / -ndtri(0.05)
        off = np.abs(deviations(X, y, X_new, theta, lam) * fit.sigma2**0.5 / ours - 1).max()
        print(
            f"scikit-learn {sklearn[0]:.3f} s: ratio {sklearn[0] / whole:.2f}, deviations differ by {off:.0e} of ours"
        )
    print("peer        procedure   fit s   s per point    ratio   ratio, few    off by")
    for name, (peer, procedures) in PEERS.items():
        for procedure in procedures if installed(name) else []:
            peer(X[:50], y[:50], X_new[:2], theta, lam, procedure)
            few, one = ((X, y, X_new[:m], theta, lam, procedure) for m in (FEW, 1))
            found: list[Array] = []
            of_one, of_few, of_ours = best(
                turns,
                lambda: peer(*one),  # noqa: B023
                lambda: found.append(peer(*few)),  # noqa: B023
                lambda: hulls(*few),  # noqa: B023
            )
            point = (of_few - of_one) / (FEW - 1)
            print(
                f"{name:10s}  {procedure:9s}  {of_one - point:6.2f}  {point:12.3f}  {point / each:7.0f}"
                f"  {of_few / of_ours:11.1f}   {off_by(found[0], hulls(*few)):7.0e}",
                flush=True,
            )


def main(n: int, theta: float, turns: int) -> None:
    packages = ("ckrr", "numpy", "scipy", "scikit-learn", "gpyconform", "gpytorch", "torch", "online-cp")
    print(f"Python {sys.version.split()[0]}", *(f"{each} {installed(each)}" for each in packages), sep=", ")
    print(f"n = {n}, theta = {theta:g}, {SIDE**2} test points, one thread, best of {turns}")
    for missing in (each for each in (*PEERS, "scikit-learn") if not installed(each)):
        print(f"{missing}: not installed (pip install 'ckrr[bench]')")
    for lam in (1e-1, 1e-6):
        compare(lam, theta, turns, data(n))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=N)
    parser.add_argument("--theta", type=float, default=THETA)
    parser.add_argument("--turns", type=int, default=TURNS)
    with threadpool_limits(1):
        main(**vars(parser.parse_args()))
