"""Words for what a scenario names. What isn't here goes by its name."""

from __future__ import annotations

SOURCES = {
    "gp": "each path is a Gaussian process with the kernel exp(−θ‖x − x′‖²)",
    "heaviside": "a jump: f(x) = 1 if x > ½, else 0, on [0, 1]",
    "f6": "f6, smooth pieces with a jump, on [0, 1]: (1 − 4x²)·[x < ½] + 2(x − ½)·[x > ½]",
    "pressure2": "pressure2, a smooth curve with a steep end, on [0, 1]",
    "f2": "f2, a smooth surface on the unit square",
    "f5": "f5, a surface with jumps along two circles, on the unit square",
    "table": "a table: each replication puts its rows into train and test points anew",
}

PROCEDURES = {
    "GPR-f": "Bayesian interval for y* from a Gaussian process, σ² estimated",
    "GPR-p": "Bayesian interval for f(x*), without the noise of a new observation",
    "RRCM": "conformal region from absolute in-sample residuals",
    "RRCM-loo": "conformal region from absolute leave-one-out residuals",
    "RRCM-std": "conformal region from absolute studentised residuals",
    "CRR": "conformal region, half of the error on each side, from in-sample residuals",
    "CRR-loo": "conformal region, half of the error on each side, from leave-one-out residuals",
    "CRR-std": "conformal region, half of the error on each side, from studentised residuals",
}

NOISES = {
    "gaussian": "normal",
    "student": "of Student's law",
    "skewed": "skewed (gamma)",
    "heteroscedastic": "normal, its spread changing along the first coordinate,",
}
"""The laws of noise."""

LAYOUTS = {
    "iid": "from the law of the train points",
    "grid": "on a regular grid, not from the train points' law",
    "shifted": "from a law that is shifted against the train points'",
}
"""How test points lie."""

OF_THE_FUNCTION = ("GPR-p",)
"""Procedures whose intervals are for f(x*), not for y*."""

AXES = {"procedure": "procedure", "gamma": "γ", "theta": "θ", "lam": "λ", "n": "n", "alpha": "α"}
"""The letters of the axes."""
