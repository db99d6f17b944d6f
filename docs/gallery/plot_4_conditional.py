"""
Valid on average, not at every x
================================

The level of a conformal region is an average over new points. Where noise grows with x, regions of constant width cover
too much on one side and too little on the other. This example measures coverage by x over many samples.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckrr

rng = np.random.default_rng(0)
n, alpha, edges = 60, 0.1, np.linspace(0, 1, 11)
hits, bins = [], []
for _ in range(300):
    X, X_new = rng.random(n), rng.random(200)
    y, y_new = (np.sin(5 * x) + 0.6 * x * rng.standard_normal(len(x)) for x in (X, X_new))
    scores = ckrr.fit(X, y, theta=10.0, lam=0.1).score(X_new, y_new, ["GPR-f", "RRCM-loo"], alpha=alpha)
    hits.append(scores.hits[..., 0])
    bins.append(np.digitize(X_new, edges) - 1)

# %%
# On average over x, RRCM-loo has its exact level.
share = np.mean(hits, axis=(0, 2))
print(f"GPR-f {share[0]:.3f}, RRCM-loo {share[1]:.3f}, exact level {ckrr.exact_level('RRCM-loo', n, alpha):.3f}")

# %%
# By x it doesn't: both procedures cover too much where noise is small.
every, where = np.concatenate(hits, axis=1), np.concatenate(bins)
figure, ax = plt.subplots(layout="constrained")
middle = (edges[1:] + edges[:-1]) / 2
for k, name in enumerate(["GPR-f", "RRCM-loo"]):
    ax.plot(middle, [every[k, where == b].mean() for b in range(10)], "o-", color=["0.5", "C0"][k], label=name)
ax.axhline(1 - alpha, color="C3", linestyle="--", label="1 − α")
ax.set(xlabel="x", ylabel="coverage", ylim=(0.5, 1.02))
ax.legend()
