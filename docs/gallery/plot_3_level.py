"""
Coverage follows the exact level
================================

The exact level of a conformal procedure is at least 1 − α, and for small samples clearly above it. This example runs a
small study and compares estimated coverage with the exact level.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

import ckrr
from ckrr import study

SCENARIO = """
name = "levels"
seed = 7
[source]
function = "heaviside"
test_points = 51
[grid]
gamma = [0.1]
n = [10, 12, 15, 18, 22, 25, 28, 32, 36, 40, 50]
theta = [100]
lam = [0.1]
alpha = [0.1]
procedure = ["GPR-f", "RRCM-loo"]
[replications]
paths = 300
"""
folder = Path(mkdtemp())
(folder / "levels.toml").write_text(SCENARIO)
cube = study.run(folder / "levels.toml", store=folder / "levels.zarr")

# %%
# ``study.estimate`` has the Monte-Carlo interval of each number.
found = study.estimate(folder / "levels.zarr").squeeze()

figure, ax = plt.subplots(layout="constrained")
for name, colour in {"RRCM-loo": "C0", "GPR-f": "0.5"}.items():
    one = found.sel(procedure=name)
    errors = np.abs(np.stack([one.low, one.high]) - one.value.values)
    ax.errorbar(one.n, one.value, errors, fmt="o", color=colour, label=f"{name}, 95 % interval")
n = np.arange(9, 52)
levels = [ckrr.exact_level("RRCM-loo", int(k), 0.1) for k in n]
ax.step(n, levels, where="mid", color="C0", label="exact level of RRCM-loo")
ax.axhline(0.9, color="C3", linestyle="--", label="1 − α")
ax.set(xlabel="training sample size n", ylabel="coverage")
ax.legend()

# %%
# The cube has the exact level beside coverage.
shown = cube[["coverage", "coverage_se", "level"]].sel(procedure="RRCM-loo").squeeze().reset_coords(drop=True)
print(shown.to_dataframe().round(3))
