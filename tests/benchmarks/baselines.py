"""MAPIE and crepes, and our own baselines, in cost, width and coverage: `python -m tests.benchmarks.baselines`.

On samples of the jump with noise (γ = λ = 0.1, θ = 100, four levels, 201 iid test points), one thread. A procedure's
cost is all that it takes from the sample on: the factor and its intervals, or, for split, MAPIE and crepes, their own
fits and intervals alone. It is divided by that of RRCM-loo in the same turn, and the median over turns is told. Widths
are medians over test points by those of RRCM-loo in the same sample, again the median over samples; α = 0.1.
`pip install 'ckrr[peers]'` for MAPIE and crepes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from threadpoolctl import threadpool_limits

import ckrr
from harness.core.protocols import Factor, Family, Inputs, Scores, Target
from harness.core.seeds import Seeds
from harness.scenario.families import find_family
from scenarios import SOURCES
from tests.benchmarks.common import ratios

GAMMA, THETA, LAM, TURNS, SAMPLES, OURS = 0.1, 100.0, 0.1, 5, 40, "RRCM-loo"
TOLD = ("CRR-loo", "GPR-f", "GPR-t", "split", "jackknife+", "CV+")
OWN_FITS = ("split", "MAPIE", "crepes")
SEEDS = Seeds.from_source(20160919, {"function": "heaviside"})


@dataclass(frozen=True)
class Figures:
    """Of a procedure: time and width by those of RRCM-loo, coverage, and the exact level where there is one."""

    cost: float
    width: float
    coverage: float
    level: float | None


def available() -> Family:
    """With MAPIE and crepes, where they are installed."""
    return find_family("peers" if find_spec("mapie") and find_spec("crepes") else "baselines")


def asked(known: Family) -> list[str]:
    """Ours first; then theirs."""
    return [*TOLD, *(name for name in known.procedures if name.startswith(("MAPIE", "crepes")))]


def made(known: Family, n: int, path: int) -> tuple[Inputs, Target]:
    """One sample."""
    source = SOURCES["heaviside"](test="iid", test_points=201)
    sample = source.path(SEEDS.make_path_streams(path)).draw(SEEDS.make_draw_streams(path, 0), n, {})
    assert sample.noise is not None
    assert sample.noise_test is not None
    y, y_test = sample.y + GAMMA**0.5 * sample.noise, sample.y_test + GAMMA**0.5 * sample.noise_test
    return known.inputs(sample.X, sample.X_test), Target(y[:, None], y_test[:, None], None)


def scored(known: Family, factor: Factor, target: Target, path: int, names: Sequence[str]) -> Scores:
    return known.score([factor], [target], names, ckrr.ALPHA, [SEEDS.make_draw_streams(path, 0)])[0]


def timed(known: Family, n: int, name: str) -> Callable[[], object]:
    """What is timed of a procedure, on the first sample: with the factor, unless it makes fits of its own."""
    inputs, target = made(known, n, 0)
    factor = inputs.factor(THETA, LAM)
    if name.startswith(OWN_FITS):
        return lambda: scored(known, factor, target, 0, [name])
    return lambda: scored(known, inputs.factor(THETA, LAM), target, 0, [name])


def compared(known: Family, n: int, turns: int, samples: int) -> dict[str, Figures]:
    """All that there are."""
    names, level = asked(known), ckrr.ALPHA.index(0.1)
    costs = ratios(turns, *(timed(known, n, name) for name in (OURS, *names)))
    found = []
    for path in range(samples):
        inputs, target = made(known, n, path)
        found.append(scored(known, inputs.factor(THETA, LAM), target, path, [OURS, *names]))
    widths = np.array([np.median((one.upper - one.lower)[0, :, :, level], axis=1) for one in found])
    hits = np.array([one.hits[0, :, :, level].mean(axis=1) for one in found])
    width, coverage = np.median(widths / widths[:, :1], axis=0), hits.mean(axis=0)
    figures = {name: (costs[i], width[i + 1], coverage[i + 1]) for i, name in enumerate(names)}
    figures[OURS] = (1.0, 1.0, coverage[0])
    return {name: Figures(*map(float, each), known.level(name, n, 0.1)) for name, each in figures.items()}


def main(n: Sequence[int], turns: int, samples: int) -> None:
    known = available()
    if "MAPIE-split" not in known.procedures:
        print("MAPIE and crepes aren't both installed (pip install 'ckrr[peers]')")
    for size in n:
        print(f"\nn = {size}, one thread, {turns} turns, {samples} samples, by {OURS}")
        print("procedure           cost    width   coverage   level")
        for name, one in compared(known, size, turns, samples).items():
            level = "" if one.level is None else f"{one.level:.3f}"
            print(f"{name:17s}  {one.cost:6.2f}  {one.width:6.2f}  {one.coverage:8.3f}   {level}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    with threadpool_limits(1):
        main(**vars(parser.parse_args()))
