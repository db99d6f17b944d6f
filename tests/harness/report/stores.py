"""Small studies to report on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.harness.studies import run_serially

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
