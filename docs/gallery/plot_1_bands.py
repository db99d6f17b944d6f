"""
Six procedures at a jump
========================

A Gaussian process with a smooth kernel is the wrong model for a jump. This example fits one sample, draws the bands of
the paper's six procedures, and counts how many new observations each contains.
"""

import numpy as np

import ckrr

rng = np.random.default_rng(2016)


def jump(x):
    return np.where(x > 0.5, 1.0, 0.0)


X, X_new = rng.random(51), rng.random(2000)
y, y_new = (jump(x) + 0.1 * rng.standard_normal(len(x)) for x in (X, X_new))

# %%
# One factorisation serves all procedures. GPR-f and the conformal procedures give regions for y; GPR-p is an interval
# for f(x), and so it is narrower.
fit = ckrr.fit(X, y, theta=100.0, lam=0.1)
ckrr.plot_bands(fit, alpha=0.1, truth=jump)

# %%
# Coverage of 2000 new observations by the regions of this one sample. Levels hold on average over samples, and on one
# sample coverage varies around them: so one sample says little about a procedure. A study has many samples, as in
# :ref:`sphx_glr_auto_examples_plot_3_level.py`.
scores = fit.score(X_new, y_new, alpha=0.1)
for name, hits, length in zip(ckrr.PROCEDURES, scores.hits, scores.length, strict=True):
    print(f"{name:9} covers {hits.mean():.3f}, median length {np.median(length):.3f}")
