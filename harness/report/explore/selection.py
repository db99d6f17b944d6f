"""Choose the cells that the page has data of: all, or values spread over the axes if they are too many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from shlex import quote

import numpy as np

from harness.core.schema.cube import CUBE_DIMS
from harness.core.types import Bools, Values
from harness.report.sections.columns import list_labels
from harness.report.sections.facts import Facts
from harness.report.sections.figures import choose_values
from harness.report.sections.glossary import AXES
from harness.statistics.verdicts import EMPTY

MOST = 10_000
"""Cells up to which the page has all."""
_THINNED = ("gamma", "theta", "lam", "n", "alpha")
"""Axes that lose values where there are more; every procedure stays."""


@dataclass(frozen=True, eq=False)
class CellChoice:
    """Chosen values of each axis, and which of their cells have a result."""

    places: Mapping[str, Sequence[int]]
    """Indices along each axis of the cube."""
    has_result: Bools
    """Mask over the chosen values: cells that the scenario doesn't exclude and that have been computed."""

    def take(self, values: Values) -> Values:
        """Return the values of the chosen cells with a result, in C order, from an array over the axes of the cube."""
        return np.asarray(values[np.ix_(*self.places.values())][self.has_result])

    @cached_property
    def indices(self) -> list[tuple[int, ...]]:
        """Indices of these cells along the axes of the whole cube."""
        chosen = [np.array(one) for one in self.places.values()]
        found = [one[at] for one, at in zip(chosen, np.nonzero(self.has_result), strict=True)]
        return list(zip(*(one.tolist() for one in found), strict=True))


def choose_cells(facts: Facts, most: int = MOST) -> CellChoice:
    """Choose at most about `most` cells: every procedure, and of the longest other axes fewer values.

    The first and the last value of an axis stay, and the value that the page shows first.
    """
    procedures = facts.verdicts.sizes["procedure"]
    chosen = choose_values(facts, max(most // procedures, 1), _THINNED)
    places = {axis: chosen.get(axis, list(range(procedures))) for axis in CUBE_DIMS}
    known = (facts.included & (facts.verdicts["verdict"] != EMPTY)).transpose(*CUBE_DIMS).to_numpy()
    return CellChoice(places, np.asarray(known[np.ix_(*places.values())], dtype=bool))


def describe_choice(facts: Facts, chosen: CellChoice) -> str:
    """Say which cells aren't in the page; empty if all are."""
    whole = facts.verdicts.sizes
    fewer = [axis for axis in _THINNED if len(chosen.places[axis]) < whole[axis]]
    if not fewer:
        return ""
    told = [f"{len(chosen.places[axis])} of {whole[axis]} values of {AXES[axis]}" for axis in fewer]
    cells = int((facts.included & (facts.verdicts["verdict"] != EMPTY)).sum())
    return (
        f"To keep the file small, this part has {int(chosen.has_result.sum())} of {cells} cells: every procedure, and "
        f"{', '.join(told)}, spread over the range."
    )


def format_rest(facts: Facts, chosen: CellChoice, shown: str) -> str:
    """Return the command that prints a value that isn't in the page; empty if all are."""
    for axis in _THINNED:
        labels = list_labels(facts, axis)
        rest = [text for i, text in enumerate(labels) if i not in chosen.places[axis]]
        if rest:
            return f"ckrr table {quote(shown)} --where {quote(f'{axis}={rest[0]}')}"
    return ""
