"""State what the paper says about its tables and figures, in our words, and where the runs differ from its text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """What the paper says about one table or figure."""

    says: str
    differs: str = ""
    """Where the author's run differs from the text."""


_GAMMA = (
    "γ was the noise's standard deviation, where the text says variance, and all noise was fresh in every replication."
)
_SQUARE = "The text has the process on [−1, 1]²; it was run on [0, 1]²."
_CAPTION = "The caption says λ where it means γ."

TABLES = {
    1: Statement(
        "Bayesian intervals are roughly valid where the kernel and the noise are known (θ = 100, first and last "
        "column). With little noise and a large λ they are conservative. A wrong θ invalidates them.",
        _SQUARE,
    ),
    2: Statement(
        "On the same data conformal regions are robust to a wrong θ or λ: their error rates stay near α.",
        _SQUARE,
    ),
    3: Statement(
        "On a function that isn't a Gaussian process the error rates of conformal regions don't stray far from α, and "
        "depend little on θ and λ.",
        _GAMMA,
    ),
    4: Statement(
        "There the error rates of Bayesian intervals depend on θ. With θ by maximum likelihood they are conservative, "
        "and closer to α where there is more noise.",
        _GAMMA,
    ),
}

FIGURES = {
    1: Statement(
        "Conformal regions follow the Bayesian bands for y* closely, but these are too wide where there is little "
        "noise. Both grow towards the ends. Conformal regions contain the prediction, but needn't be symmetric.",
        "The text counts 50 training knots; there were 51, each with its own noise.",
    ),
    2: Statement(
        "Far from the training points both kinds of regions have a constant width, given by the training sample alone.",
        "The author's random numbers for this figure aren't known: ours has its own seed.",
    ),
    3: Statement(
        "With next to no noise both kinds of regions are conservative. Where λ is large Bayesian intervals are wider "
        "than conformal regions, whose coverage then comes closer to the level.",
        "The text speaks of the hull's width; the author drew the total length.",
    ),
    4: Statement("What conformal bands look like around a step.", "The text counts 50 training knots; there were 51."),
    5: Statement(
        "On the step, without noise, Bayesian intervals aren't consistently valid, which is seen at λ = 0.1. Conformal "
        "regions show no departure from their level.",
        _CAPTION,
    ),
    6: Statement(
        "With noise conformal regions have their level whatever λ, and Bayesian intervals keep theirs; all are wider.",
        "The text speaks of the hull's width; the author drew the total length.",
    ),
    7: Statement(
        "With noise, too, conformal regions are valid on the step for large n, and Bayesian ones aren't.", _CAPTION
    ),
    8: Statement("The functions to learn in two dimensions: a path of a Gaussian process, and f2.", _SQUARE),
}
