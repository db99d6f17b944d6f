"""Writes harness/paper/theta_ml.csv from finished stores.

`python -m tests.harness.paper.record_theta gp2 STORE f2 STORE`, where the printed digits are reproduced.
"""

from __future__ import annotations

import csv
import sys
from itertools import product
from pathlib import Path

from harness.core.labels import format_number
from harness.paper.printed import SEARCH
from harness.paper.reproduced import require_manifest
from harness.store import arrays


def main(*pairs: str) -> None:
    target = Path(__file__).parents[3] / "harness" / "paper" / "theta_ml.csv"
    with target.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["study", "n", "gamma", "lam", "replication", "theta"])
        for name, url in zip(pairs[::2], pairs[1::2], strict=True):
            record = require_manifest(url)
            grid = record.extent.grid
            values = arrays.read(url, 1500, "theta_hat", record.generation)
            values = values.reshape(-1, *values.shape[2:])[:, :, grid.theta.index(SEARCH)]
            for (g, gamma), (r, lam) in product(enumerate(grid.gamma), enumerate(grid.lam)):
                for i, theta in enumerate(values[:, g, r]):
                    writer.writerow([name, 1500, format_number(gamma), format_number(lam), i, repr(float(theta))])


if __name__ == "__main__":
    main(*sys.argv[1:])
