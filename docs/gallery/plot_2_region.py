"""
A region of several pieces
==========================

A conformal region is the set of values whose p-value is at least α. It is computed exactly, without a grid of candidate
values, and may have several pieces. This example compares the p-values of many candidates with the exact region.
"""

import matplotlib.pyplot as plt
import numpy as np

import ckrr

rng = np.random.default_rng(0)
X = rng.random(30)
y = np.sin(8 * X) + 0.3 * rng.standard_normal(30)
fit = ckrr.fit(X, y, theta=100.0, lam=1e-3)

# %%
# Look for a test point whose region is bounded and has more than one piece.
X_new, alpha = np.linspace(0, 1, 400), 0.1
regions = fit.regions(X_new, procedure="RRCM", alpha=alpha)
bounded = (np.isfinite(regions.lower) & np.isfinite(regions.upper))[:, 0]
i = int(np.argmax(regions.count[:, 0] * bounded))
print(f"x = {X_new[i]:.3f}: {regions.components(i, 0)}")

# %%
# The region is where the p-value is at least α.
z = np.linspace(-1.8, 2.1, 2001)
p = fit.p_values(np.full(len(z), X_new[i]), z, procedure="RRCM")

figure, ax = plt.subplots(layout="constrained")
ax.plot(z, p, color="0.4", label="p-value of a candidate y")
ax.axhline(alpha, color="C3", linestyle="--", label="α")
for k, (low, high) in enumerate(regions.components(i, 0)):
    ax.plot([low, high], [0, 0], color="C0", linewidth=6, label="exact region" if k == 0 else None)
ax.set(xlabel=f"candidate y at x = {X_new[i]:.3f}", ylabel="p-value", xlim=(z[0], z[-1]))
ax.legend()
