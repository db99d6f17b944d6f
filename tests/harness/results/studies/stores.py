"""Small studies that are compared: two toys of which everything is known, and real procedures on two data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.harness.report import stores
from tests.harness.studies import run_serially

PROCEDURES = ["GPR-f", "GPR-p", "RRCM", "RRCM-loo", "CRR-loo"]
WHERE = "theta=10,100,n=39,alpha=0.1"
"""Leaves one cell of each procedure in `jump` and `sine`."""


def toy(where: Path, **changes: Any) -> str:
    """`exact` and `wide` are valid, and `wide` is twice as wide; `split` is invalid."""
    plain: dict[str, Any] = {
        "source": {"function": "tests.harness.toy:Toy", "test_points": 200},
        "grid__theta": [1],
        "grid__lam": [1],
        "grid__n": [20],
        "grid__gamma": [1.0],
        "grid__alpha": [0.1],
        "replications": {"paths": 40, "draws": 1},
    }
    run_serially(where, **{**plain, **changes})
    return str(where)


def tied(where: Path) -> str:
    """Next to no noise: `random`, which is as wide as `exact`, covers 1 − α, too."""
    source = {"function": "tests.harness.toy:Toy", "test_points": 1}
    return toy(where, source=source, grid__gamma=[1e-6], replications={"paths": 3000, "draws": 1})


def jump(where: Path) -> str:
    """Several θ and n, and expected coverage."""
    return stores.krr(
        where,
        name="jump",
        source={"function": "heaviside", "test_points": 20},
        grid__procedure=PROCEDURES,
        grid__lam=[0.1],
        grid__n=[19, 39],
        replications={"paths": 200, "draws": 1},
    )


def sine(where: Path) -> str:
    """Rows of a table."""
    return stores.table(where, name="sine", grid__procedure=PROCEDURES, replications={"paths": 200, "draws": 1})
