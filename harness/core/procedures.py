"""Describe the procedures that figures and reports know: what each is, what it is for, and how it is drawn.

A new procedure of a family needs one entry here; without one it is shown with a default description and a stroke that
no other procedure of the figure has. Exact levels are not here: a family computes them (`Family.level`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

_DASHED, _DOTTED = (0, (4, 1.5)), (0, (1.2, 1.2))


@dataclass(frozen=True)
class Stroke:
    """Colour, marker and line style of a procedure.

    In-sample residuals are solid, leave-one-out dashed, studentised dotted. Hues are those of `ckrr.plot_bands`.
    """

    colour: str
    marker: str
    line: Any
    """Line style as Matplotlib takes it."""


@dataclass(frozen=True)
class Procedure:
    """What figures and reports know of a procedure."""

    name: str
    description: str
    stroke: Stroke
    target: Literal["y*", "f(x*)"] = "y*"
    """What its intervals are meant to cover."""
    meaning: str = ""
    """What stands in brackets after the name, where that misleads readers; see `format_procedure`."""


PROCEDURES = {
    one.name: one
    for one in (
        Procedure(
            "GPR-f",
            "Bayesian interval for y* from a Gaussian process, σ² estimated",
            Stroke("#808080", "o", "solid"),
            meaning="new observation",
        ),
        Procedure(
            "GPR-p",
            "Bayesian interval for f(x*), without the noise of a new observation",
            Stroke("#d98e04", "s", _DASHED),
            target="f(x*)",
            meaning="latent mean",
        ),
        Procedure("RRCM", "conformal region from absolute in-sample residuals", Stroke("#0b6fb5", "^", "solid")),
        Procedure(
            "RRCM-loo", "conformal region from absolute leave-one-out residuals", Stroke("#56b4e9", "v", _DASHED)
        ),
        Procedure(
            "CRR",
            "conformal region, half of the error on each side, from in-sample residuals",
            Stroke("#117a55", "D", "solid"),
        ),
        Procedure(
            "CRR-loo",
            "conformal region, half of the error on each side, from leave-one-out residuals",
            Stroke("#5cba8f", "P", _DASHED),
        ),
        Procedure("RRCM-std", "conformal region from absolute studentised residuals", Stroke("#7b4ea3", "<", _DOTTED)),
        Procedure(
            "CRR-std",
            "conformal region, half of the error on each side, from studentised residuals",
            Stroke("#b982d1", ">", _DOTTED),
        ),
        Procedure("RRCM-w", "RRCM, weighted for covariate shift", Stroke("#073f66", "$\\spadesuit$", "solid")),
        Procedure("RRCM-loo-w", "RRCM-loo, weighted for covariate shift", Stroke("#1f6f9f", "8", _DASHED)),
        Procedure("CRR-w", "CRR, weighted for covariate shift", Stroke("#0a4a34", "$\\clubsuit$", "solid")),
        Procedure("CRR-loo-w", "CRR-loo, weighted for covariate shift", Stroke("#2f8f63", "H", _DASHED)),
        Procedure("RRCM-std-w", "RRCM-std, weighted for covariate shift", Stroke("#4d2a70", ".", _DOTTED)),
        Procedure("CRR-std-w", "CRR-std, weighted for covariate shift", Stroke("#8a4fa8", "$\\maltese$", _DOTTED)),
        Procedure("GPR-t", "Bayesian interval for y* with σ² unknown: Student's t", Stroke("#3d3d3d", "X", _DOTTED)),
        Procedure("split", "split conformal interval: half of the points to fit", Stroke("#c0392b", "h", "solid")),
        Procedure("jackknife+", "jackknife+ interval", Stroke("#8c564b", "d", "solid")),
        Procedure("CV+", "CV+ interval, from fits that leave a fold out", Stroke("#e377c2", "p", _DASHED)),
        Procedure(
            "J+GP",
            "jackknife+ interval from errors in posterior standard deviations",
            Stroke("#a0522d", "*", _DOTTED),
        ),
    )
}
"""Procedures by name."""


def format_procedure(name: str) -> str:
    """Return the name of a procedure for readers: with its meaning, where the paper's letters may be read wrongly.

    GPR-f and GPR-p are the paper's names. To others f is the function, and GPR-f the interval for it, which is GPR-p.
    Scenarios, stores, CSV, JSON and commands have the name alone.

    Examples
    --------
    >>> format_procedure("GPR-f"), format_procedure("CRR"), format_procedure("forest")
    ('GPR-f (new observation)', 'CRR', 'forest')
    """
    meaning = PROCEDURES[name].meaning if name in PROCEDURES else ""
    return f"{name} ({meaning})" if meaning else name


def describe_procedure(name: str, about: str = "") -> str:
    """Return the description of a procedure; for an unknown one, what its family says, or that it is a custom one.

    Examples
    --------
    >>> describe_procedure("RRCM"), describe_procedure("forest")
    ('conformal region from absolute in-sample residuals', 'a custom procedure')
    """
    return PROCEDURES[name].description if name in PROCEDURES else about or "a custom procedure"


def is_for_function(name: str) -> bool:
    """Return whether the intervals of a procedure are meant to cover f(x*), and not y*."""
    return name in PROCEDURES and PROCEDURES[name].target == "f(x*)"


def assign_strokes(names: Sequence[str]) -> dict[str, Stroke]:
    """Assign a stroke to every procedure: known ones have fixed strokes, others share the unused ones in turn."""
    free = [one.stroke for name, one in PROCEDURES.items() if name not in names]
    free = free or [one.stroke for one in PROCEDURES.values()]
    others = [name for name in names if name not in PROCEDURES]
    taken = {name: free[place % len(free)] for place, name in enumerate(others)}
    return {name: PROCEDURES[name].stroke if name in PROCEDURES else taken[name] for name in names}
