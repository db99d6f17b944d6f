"""Describe in words what scenarios name: sources, noise and layouts of test points."""

from __future__ import annotations

SOURCES = {
    "gp": "each path is a Gaussian process with the kernel exp(−θ‖x − x′‖²)",
    "heaviside": "a jump: f(x) = 1 if x > ½, else 0, on [0, 1]",
    "f6": "f6, a parabola and a line with a kink at ½, on [0, 1]: (1 − 4x²)·[x < ½] + 2(x − ½)·[x > ½]",
    "pressure2": "pressure2, a hill with two dents, on [0, 1]",
    "f2": "f2, a hill with a pit, on [−1, 1]²",
    "f5": "f5, a plane with two steps along circles, on [−1, 1]²",
    "table": "a table: each replication splits its rows into training and test points",
    "dataset": "a registered data set: each replication splits its rows into training and test points",
}
"""Bundled sources; custom ones are shown by name."""

NOISES = {
    "gaussian": "normal",
    "student": "Student's t",
    "skewed": "skewed (gamma)",
    "heteroscedastic": "normal, its spread changing along the first coordinate,",
}
"""Distributions of the noise."""

LAYOUTS = {
    "iid": "from the training distribution",
    "grid": "on a regular grid, not from the training distribution",
    "shifted": "from a shifted training distribution",
}
"""Distributions of test points."""

AXES = {"procedure": "procedure", "gamma": "γ", "theta": "θ", "lam": "λ", "n": "n", "alpha": "α"}
"""Letters of the axes."""
