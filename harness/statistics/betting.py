"""Decide whether cells keep their level with a guarantee for every law of coverage, by betting.

The rule of `harness.statistics.sequential` assumes that the paths it has seen are like those it hasn't. P paths miss a
kind that u = ln(1/δ_c)/P of all paths are with a probability of up to δ_c, and u is 0.17 for 50 paths and 200 cells. If
rare bad paths carry the errors, that rule calls cells valid that aren't: in 44 % of grids of 200 cells at the border
if one path in ten covers 0.6, and in all of them if one in fifty covers nothing. Therefore a valid cell is reported
with u: unless more than u of all paths are unlike those seen.

The rule of this module needs no such reserve (Waudby-Smith & Ramdas 2023). With X_p the coverage of path p, and a the
border, somebody who starts with a capital of 1 bets that the coverage is above a, and another one that it is below ::

    K⁺_P = Π(1 + λ_p·(X_p − a)),    0 ≤ λ_p ≤ 0.9/a             valid    if K⁺ ≥ 2/δ_c at a look
    K⁻_P = Π(1 − λ_p·(X_p − a)),    0 ≤ λ_p ≤ 0.9/(1 − a)       invalid  if K⁻ ≥ 2/δ_c at a look

If the coverage isn't above a, K⁺ ever reaches 2/δ_c with a probability of at most δ_c/2 (Ville), and so for K⁻. Half of
the capital is bet with λ_p = d/(v + d²) from the mean a ± d and the variance v of the earlier paths, to which one path
at a with the variance 0.01 is added; this is Σ ±(X − a)/(0.01 + Σ(X − a)²). An eighth each is bet with 0.9, 0.45, 0.225
and 0.09 of the largest λ.

There is no word for cells at the border and none for conservative ones. A valid cell whose coverage is near its level
costs 4 to 5 times as many paths as with the other rule, and an invalid one as many. A cell far above its level may cost
fewer, since the other rule has to wait while path means are skewed.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from harness.core.types import Array, Bools, Values
from harness.statistics.looks import Counts, list_looks, sum_to_looks
from harness.statistics.sequential import Decision, find_certain
from harness.statistics.verdicts import EMPTY, INVALID, UNDECIDED, VALID, get_code

_CAP = 0.9
"""The largest bet loses this part of the capital at worst."""
_CONSTANT_BETS = (0.9, 0.45, 0.225, 0.09)
"""Parts of the largest bet that are bet on every path."""
_ADAPTIVE = 0.5
"""Part of the capital that is bet by what earlier paths gave; the constant bets share the rest."""
_PRIOR = 0.01
"""Variance of the path that is added to the earlier ones."""
_TINY = 1e-9


def bound_unseen(paths: Values, wrong: float | Array) -> Array:
    """Return u = ln(1/δ_c)/P, the part of all paths that P of them may have failed to show.

    Examples
    --------
    >>> float(bound_unseen(np.array(830), 0.05 / 200).round(4))
    0.01
    """
    return np.asarray(-np.log(wrong) / np.asarray(paths, dtype=float))


def decide_by_betting(
    values: Values,
    ok: Bools,
    failed: Bools,
    target: Array,
    tolerance: Array,
    wrong: float | Array,
    exact: Bools | bool = False,
) -> Decision:
    """Decide whether cells keep their level, for every law of coverage. For the parameters, see `sequential.decide`.

    Examples
    --------
    >>> hits = np.full((1000, 1), 0.8)
    >>> found = decide_by_betting(hits, hits > 0, hits < 0, np.array(0.9), np.array(0.02), 0.05)
    >>> bool(found.codes == get_code(INVALID)), int(found.paths)
    (True, 50)
    """
    shape, looks = values.shape[2:], list_looks(len(values))
    ok, failed = np.broadcast_to(ok, values.shape), np.broadcast_to(failed, values.shape)
    border = np.clip(np.broadcast_to(target - tolerance, shape), _TINY, 1 - _TINY)
    bar = np.log(2 / np.asarray(wrong))
    above, below = (
        compute_capital(sign * _average_draws(values, ok, failed, filled, border), cap, looks) >= bar
        for sign, filled, cap in ((1, 0.0, _CAP / border), (-1, 1.0, _CAP / (1 - border)))
    )
    certain, is_refuted = find_certain(values, ok, np.broadcast_to(exact & (target == 1), shape), looks)
    return _walk(above | certain, below, looks, np.asarray(~ok.any(axis=(0, 1))), is_refuted)


def _average_draws(values: Values, ok: Bools, failed: Bools, filled: float, border: Array) -> Array:
    """Return the mean of each path less the border, where failed draws count as `filled`; 0 for paths without draws."""
    counts = (ok | failed).sum(axis=1)
    centred = np.where(failed, filled, np.where(ok, values, border)) - border
    return np.asarray(centred.sum(axis=1, dtype=float) / np.maximum(counts, 1))


def compute_capital(gains: Array, cap: Array, looks: Counts) -> Array:
    """Return the logarithm of the capital at each look, over looks and cells.

    Parameters
    ----------
    gains : array
        What a bet of 1 gains on each path: ±(X − a).
    cap : array
        The largest bet, for each cell.
    looks : array of int
        Numbers of paths at which to look.
    """
    past, squares = (np.cumsum(each, axis=0) - each for each in (gains, gains**2))
    bets = [np.clip(past / (_PRIOR + squares), 0.0, cap), *(part * cap for part in _CONSTANT_BETS)]
    capitals = np.stack([sum_to_looks(np.log1p(bet * gains), looks) for bet in bets])
    parts = np.array([_ADAPTIVE, *[(1 - _ADAPTIVE) / len(_CONSTANT_BETS)] * len(_CONSTANT_BETS)])
    return np.asarray(logsumexp(capitals, axis=0, b=parts.reshape(-1, *[1] * gains.ndim)))


def _walk(above: Bools, below: Bools, looks: Counts, empty: Bools, is_refuted: Bools) -> Decision:
    """Return the verdicts that follow from the capitals at all looks, in their order."""
    if not len(looks):
        nothing = np.zeros(empty.shape, dtype=np.int64)
        codes = np.where(empty, get_code(EMPTY), get_code(UNDECIDED))
        return Decision(codes, nothing, nothing, nothing > 0)
    either = above | below
    first, is_decided = either.argmax(axis=0), either.any(axis=0) & ~empty
    is_valid = np.take_along_axis(above, first[None], axis=0)[0]
    word = np.where(is_valid, get_code(VALID), get_code(INVALID))
    word = np.where(is_decided, word, np.where(empty, get_code(EMPTY), get_code(UNDECIDED)))
    paths = np.where(is_decided, looks[first], 0)
    against = (np.where(is_valid, below, above).any(axis=0) | is_refuted) & is_decided
    return Decision(word, paths, paths, against)
