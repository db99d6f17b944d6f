"""Draw the prediction bands of the paper's six procedures over a small 1-d sample: `python -m ckrr [FILE.png]`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import ckrr
from ckrr._validation import Array

ALPHA = 0.1
N = 51


def heaviside(x: Array) -> Array:
    """Return 1 where x > ½, else 0."""
    return np.where(x > 0.5, 1.0, 0.0)


def main(arguments: list[str]) -> int:
    """Fit a smooth model to a jump, print each procedure's coverage of new points, and draw the bands."""
    if len(arguments) > 1 or any(each.startswith("-") for each in arguments):
        print("usage: python -m ckrr [FILE.png]", file=sys.stderr)
        return 2
    file = Path(arguments[0] if arguments else "bands.png")
    if not file.parent.is_dir() or file.is_dir():
        print(f"ckrr: FILE must be a file in an existing folder, got {file}", file=sys.stderr)
        return 2
    rng = np.random.default_rng(2016)
    X, X_new = rng.random(N), rng.random(2000)
    y, y_new = (heaviside(x) + 0.1 * rng.standard_normal(len(x)) for x in (X, X_new))
    fit = ckrr.fit(X, y, theta=100.0, lam=0.1)
    scores = fit.score(X_new, y_new, alpha=ALPHA)
    print(f"A jump, {N} points with noise, theta={fit.theta:g}, lam={fit.lam:g}; nominal coverage {1 - ALPHA:.0%}.")
    for name, hits, length in zip(ckrr.PROCEDURES, scores.hits, scores.length, strict=True):
        note = " (an interval for f, not for y)" if name == "GPR-p" else ""
        print(
            f"  {name:9} covers {hits.mean():6.1%} of {len(X_new)} new y, median length {np.median(length):.3f}{note}"
        )
    ckrr.plot_bands(fit, alpha=ALPHA, truth=heaviside).savefig(file, dpi=150)
    print(f"Saved the bands to {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
