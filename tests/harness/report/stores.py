"""Small studies to report on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from harness.store.arrays import open_array
from tests.harness.studies import run_serially
from tests.harness.toy import ToyFamily

STRANGE_NAMES = ("</script><script>document.title='no'</script>", "datum['x'].y", "a.b[0]\\'", "constructor")
STRANGE_SEARCH = "$(touch no) `no`"


class StrangeFamily(ToyFamily):
    """The toy with names that are markup, expressions, paths of fields and commands, for those who take them so."""

    procedures = STRANGE_NAMES
    searches = (STRANGE_SEARCH,)
    reference = STRANGE_NAMES[0]


STRANGE = StrangeFamily()
HOSTILE = 'jumps <script>alert("1")</script> & "more"'


def toy(where: Path) -> str:
    """Several values on every axis, a search, failures, a hostile description, an excluded cell."""
    run_serially(
        where,
        description=HOSTILE,
        grid__theta=[1, 13, "best"],
        exclude=[{"n": [20], "procedure": ["split"], "theta": [1]}],
    )
    return str(where)


def krr(where: Path, **changes: Any) -> str:
    """Real procedures, test points on a grid, θ by maximum likelihood."""
    plain: dict[str, Any] = {
        "family": "krr",
        "source": {"function": "heaviside", "test": "grid", "test_points": 21},
        "grid__procedure": ["GPR-f", "GPR-p", "RRCM", "CRR-loo"],
        "grid__gamma": [0.1],
        "grid__theta": [100, "ml"],
        "grid__n": [10, 20],
        "replications": {"paths": 6, "draws": 1},
    }
    run_serially(where, **{**plain, **changes})
    return str(where)


def large(where: Path) -> str:
    """More than thirty thousand cells, two replications each."""
    run_serially(
        where,
        source={"function": "tests.harness.toy:Toy", "test_points": 4},
        grid={
            "gamma": [1e-6, 1e-3, 1e-2, 1e-1, 1.0],
            "n": [25, 50, 75, 100, 150, 200, 250, 300, 350, 400, 500],
            "theta": [1, 10, 100, 1000, 10000, "best"],
            "lam": [1e-6, 1e-3, 1e-1, 1.0],
            "alpha": [0.01, 0.02, 0.05, 0.1, 0.2, 0.25],
            "procedure": ["exact", "wide", "random", "split"],
        },
        replications={"paths": 2, "draws": 1},
    )
    return str(where)


def table(where: Path, **changes: Any) -> str:
    """Rows of a file, which is written beside the store."""
    rng = np.random.default_rng(8)
    X = rng.random((80, 1))
    file = where.with_suffix(".npz")
    np.savez(file, X=X, y=np.sin(5 * X[:, 0]) + rng.normal(0, 0.3, 80))
    plain: dict[str, Any] = {
        "family": "krr",
        "source": {"function": "table", "file": str(file), "test_points": 20},
        "grid__procedure": ["GPR-f", "GPR-p", "RRCM"],
        "grid__gamma": [0.0],
        "grid__theta": [10],
        "grid__lam": [0.1],
        "grid__n": [39],
        "replications": {"paths": 40, "draws": 1},
    }
    run_serially(where, **{**plain, **changes})
    return str(where)


def grown(where: Path) -> str:
    """A study that grew in paths, and then by `random`. At γ = 0.25, `exact` covers 0.01 more or less than 0.88.

    That is the border at α = 0.1, and invalid at α = 0.05. At γ = 1, `random` is valid, later paths contradict the
    verdict on `wide`, and nearly half of its regions are unbounded.
    """
    plain: dict[str, Any] = {
        "source": {"function": "tests.harness.toy:KnownToy", "test_points": 10},
        "grid__n": [200],
        "grid__theta": [1],
        "grid__lam": [1],
    }
    for paths, names in ((40, ["exact", "wide"]), (120, ["exact", "wide"]), (120, ["exact", "wide", "random"])):
        last = run_serially(where, **plain, grid__procedure=names, replications={"paths": paths, "draws": 1})
    coverage, width = (
        open_array(str(where), f"replications/n=200/{name}", last.generation) for name in ("coverage_expected", "width")
    )
    coverage[::2, :, 0, 1], coverage[1::2, :, 0, 1] = 0.87, 0.89
    coverage[::2, :, 2, 0], coverage[1::2, :, 2, 0] = 0.96, 0.98
    coverage[60:, :, 1, 0] = 0.5
    width[:57, :, 1, 0] = np.inf
    return str(where)


def strange(where: Path) -> str:
    """A study whose labels are hostile."""
    plain = {"family": "tests.harness.report.stores:STRANGE", "grid__procedure": list(STRANGE_NAMES)}
    run_serially(where, **plain, grid__theta=[1, STRANGE_SEARCH], replications={"paths": 3, "draws": 2})
    return str(where)
