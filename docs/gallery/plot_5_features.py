"""
Random features: wide, but valid
================================

With random features, fits of large samples need no n × n matrix. Conformal regions keep their level with any number of
features; with few of them, regions are wide. This example measures both.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckrr

counts, n, alpha = [5, 10, 20, 50, 100, 200], 200, 0.1
rng = np.random.default_rng(1)
coverage, width = np.zeros((2, 40, len(counts)))
for path in range(40):
    X, X_new = rng.random(n), rng.random(200)
    y, y_new = (np.where(x > 0.5, 1.0, 0.0) + 0.1 * rng.standard_normal(len(x)) for x in (X, X_new))
    for k, features in enumerate(counts):
        fit = ckrr.fit(X, y, theta=100.0, lam=0.01, kernel="gaussian-rff", features=features, seed=path)
        scores = fit.score(X_new, y_new, ["RRCM-loo"], alpha=alpha)
        coverage[path, k], width[path, k] = scores.hits.mean(), np.median(scores.length)

# %%
# Means over 40 samples, with standard errors between samples.
figure, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
for ax, values, label in zip(axes, (coverage, width), ("coverage", "median length"), strict=True):
    ax.errorbar(counts, values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values)), fmt="o-")
    ax.set(xlabel="random features", ylabel=label, xscale="log")
axes[0].axhline(ckrr.exact_level("RRCM-loo", n, alpha), color="C3", linestyle="--", label="exact level")
axes[0].set_ylim(0.8, 1)
axes[0].legend()
axes[1].set_ylim(0)
