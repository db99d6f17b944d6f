"""How many paths the quickstart takes until every cell is decided: `python -m tests.benchmarks.until`.

Eight seeds, a budget of 6000 paths at each n. Prints the paths at each n, how many cells have each verdict, what a
fixed design would have taken that knows every cell in advance, and the seconds.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from harness.execution import driver, prepare
from harness.execution.progress import SilentProgress
from harness.scenario.load import load


def main() -> None:
    """Run the studies in a temporary directory and print a line for each, then the means."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=8)
    options.add_argument("--budget", type=int, default=6000)
    asked = options.parse_args()
    totals, fixed = [], []
    for seed in range(1, asked.seeds + 1):
        with tempfile.TemporaryDirectory(prefix="until-") as folder:
            loaded = load("quickstart", [f"seed={seed}"], "verdict", asked.budget)
            done = driver.run_prepared(prepare.prepare(loaded, str(Path(folder) / "q.zarr")), SilentProgress())
        paths = [one.paths for one in done.answers]
        counts = {word: sum(one.counts[word] for one in done.answers) for word in done.answers[0].counts}
        totals.append(sum(paths))
        fixed.append(sum(one.fixed_paths for one in done.answers))
        words = ", ".join(f"{count} {word}" for word, count in counts.items())
        cost = f"fixed {fixed[-1]}; {done.seconds:.0f} s"
        print(f"seed {seed}: {paths} = {totals[-1]} paths: {words}; {cost}", flush=True)
    print(f"mean {np.mean(totals):.0f} paths (largest {max(totals)}); a fixed design {np.mean(fixed):.0f}")


if __name__ == "__main__":
    main()
