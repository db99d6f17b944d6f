"""Describe what the paths of a planned study can decide, in lines and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.core.text import format_count
from harness.display.parts import Part

_MOST_ROWS = 6
"""Numbers of α up to which each has a row."""


def list_decisions(decisions: Mapping[str, Any]) -> list[Part]:
    """Describe the precision that a number of paths is expected to have, and the cells that are the whole line."""
    lines = [
        *warn_of_alpha(_get_alpha(one) for one in decisions["alphas"]),
        *_format_whole_lines(decisions["whole_line"]),
    ]
    known = [one for one in decisions["alphas"] if one["se"] is not None]
    paths = format_count(decisions["paths"], "path")
    if decisions["paths"] < 2:
        return [f"{paths}: no standard errors and no verdicts; ask for two paths or more", *lines]
    if not known:
        return [*lines]
    is_range = len(known) > _MOST_ROWS
    each = [min(known, key=_get_alpha), max(known, key=_get_alpha)] if is_range else known
    some = f", the smallest and the largest of {len(known)} α" if is_range else ""
    head = (
        f"what {paths} can decide in {format_count(decisions['cells'], 'cell')}{some}, if test points of a path have a "
        f"correlation of 1/(n + 2), here at most {decisions['correlation']:.2g} (an assumption: see docs/how-sure.md):"
    )
    columns = [
        "α",
        "error of coverage at the level",
        f"decided with probability {100 * decisions['power']:g} %",
        "cells that have their level",
    ]
    return [head, [columns, *(_format_row(one, decisions["paths"]) for one in each)], *lines]


def warn_of_alpha(alphas: Iterable[float]) -> list[str]:
    """Warn of error rates above a half, which were probably meant as levels.

    Examples
    --------
    >>> warn_of_alpha([0.1, 0.9])
    ['warning: α is the error rate: α = 0.9 asks for regions of level 0.1; did you mean α = 0.1?']
    """
    head = "warning: α is the error rate:"
    return [
        f"{head} α = {one:g} asks for regions of level {1 - one:g}; did you mean α = {1 - one:g}?"
        for one in alphas
        if one > 0.5
    ]


def _get_alpha(one: Mapping[str, Any]) -> float:
    return float(one["alpha"])


def _format_row(one: Mapping[str, Any], paths: int) -> list[str]:
    distance = _format_distance(one["above"], one["below"])
    return [f"{one['alpha']:g}", f"{one['se']:.2g}", distance, _format_level(one, paths)]


def _format_distance(above: float | None, below: float | None) -> str:
    """Format the distances from the border that are decided."""
    if below is None:
        return "too few paths to say"
    if above is None:
        return f"{below:.2g} below the border, none above"
    return f"{max(above, below):.2g} from the border"


def _format_level(one: Mapping[str, Any], paths: int) -> str:
    """Format whether cells that have their level are shown valid."""
    needed = one["paths_at_level"]
    found = "shown valid" if needed <= paths else f"shown valid by {needed} paths"
    return f"{found} ({one['tolerance']:.2g} above the border)"


def _format_whole_lines(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Format a warning of cells that are the whole line, with one line for each α and set of procedures."""
    sizes: dict[tuple[float, tuple[str, ...]], list[int]] = {}
    for one in cells:
        sizes.setdefault((one["alpha"], tuple(one["procedures"])), []).append(one["n"])
    rows = [
        f"  α = {alpha:g}, n = {', '.join(map(str, sorted(each)))}: {', '.join(names)}"
        for (alpha, names), each in sizes.items()
    ]
    head = "warning: regions that are the whole line, since their exact level is 1 (choose a larger α or n):"
    return [head, *rows] if rows else []
