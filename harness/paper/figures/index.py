"""List the figures and the runs they need, without importing Matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.backends.address import find_local_folder
from harness.core.errors import UserError
from harness.paper.printed import SEARCH
from harness.paper.studies import load_subset
from harness.scenario.load import Loaded, load

FIGURES = range(1, 9)
NEEDED = {3: ("gp1", (SEARCH,)), 6: ("gp1", (SEARCH,)), 5: ("heaviside", ("10", SEARCH))}
NEEDED[7] = NEEDED[5]
"""Study and values of θ of each figure that is drawn from a store."""
QUICK = 400
"""Largest n of `--quick`."""


def parse_numbers(text: str) -> list[int]:
    """Parse the numbers of figures from the command line.

    Examples
    --------
    >>> parse_numbers("all"), parse_numbers("4,1")
    ([1, 2, 3, 4, 5, 6, 7, 8], [1, 4])
    """
    if text == "all":
        return list(FIGURES)
    parts = [part.strip() for part in text.split(",")]
    wrong = [part for part in parts if not (part.isdecimal() and int(part) in FIGURES)]
    if wrong:
        raise UserError(f"--figures must be numbers from 1 to 8, as in 1,4, got {wrong[0]!r}")
    return sorted({int(part) for part in parts})


def list_sizes(study: str, quick: bool) -> list[int]:
    """List the n of a study: all eleven, or those of `--quick`."""
    return [n for n in load(f"paper/{study}").extent.grid.n if not quick or n <= QUICK]


def load_needed_studies(figures: Sequence[int], quick: bool) -> dict[str, Loaded]:
    """Load the published scenarios at the n and θ that the figures show."""
    asked = dict(NEEDED[number] for number in figures if number in NEEDED)
    return {study: load_subset(study, list_sizes(study, quick), thetas) for study, thetas in asked.items()}


def get_folder(results: str) -> Path:
    """Return the folder for figures: beside local stores, otherwise in the current folder."""
    return find_local_folder(results) / "paper-figures"
