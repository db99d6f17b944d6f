"""Read the numbers that the paper prints, and select some of them."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

SEARCH = "ml-cobyla"
"""Name of the paper's "ml" in the scenarios."""
QUICK = ("f2", ("10", "100"))
"""Study and values of θ of `--quick`: they need neither a preparation nor a search."""
ALPHA = (0.01, 0.05, 0.1, 0.25)
"""Values of α in the paper."""
ERROR, MAD = "error_rate_pct", "mad_pct"
"""Measures, as `PrintedNumber.measure` names them."""


@dataclass(frozen=True)
class PrintedNumber:
    """One number printed in the paper."""

    table: int
    study: str
    """Scenario that computes it: paper/<study>."""
    procedure: str
    measure: str
    """`error_rate_pct`: 100·(1 − coverage), averaged over replications. `mad_pct`: its largest distance from α."""
    n: int
    gamma: float
    lam: float
    theta: str
    """θ as the scenarios name it."""
    alpha: float | None
    """None for a measure over all α."""
    text: str
    """The number with its printed digits."""

    @property
    def decimals(self) -> int:
        """Number of digits printed after the point."""
        return len(self.text.partition(".")[2])

    def __str__(self) -> str:
        alpha = "" if self.alpha is None else f", α = {self.alpha:g}"
        return f"table {self.table}: {self.procedure}, γ = {self.gamma:g}, λ = {self.lam:g}, θ = {self.theta}{alpha}"


def read_printed() -> list[PrintedNumber]:
    """Read all 256 numbers of the four tables.

    Examples
    --------
    >>> len(read_printed())
    256
    >>> print(read_printed()[0], "is printed as", read_printed()[0].text)
    table 1: GPR-f, γ = 1e-06, λ = 1e-06, θ = 100, α = 0.01 is printed as 0.9
    """
    return [_parse_row(row) for row in read_rows("printed.csv")]


def _parse_row(row: Mapping[str, str]) -> PrintedNumber:
    return PrintedNumber(
        int(row["table"]),
        row["study"],
        row["procedure"],
        row["measure"],
        int(row["n"]),
        float(row["gamma"]),
        float(row["lam"]),
        SEARCH if row["theta"] == "ml" else row["theta"],
        float(row["alpha"]) if row["alpha"] else None,
        row["value"],
    )


def read_rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV file of this package."""
    with files(__package__).joinpath(name).open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def select_printed(tables: Sequence[int] = (), quick: bool = False) -> list[PrintedNumber]:
    """Return the numbers of some tables, or of all; with `quick` only those of the subset `QUICK`."""
    found = [one for one in read_printed() if not tables or one.table in tables]
    study, thetas = QUICK
    return [one for one in found if one.study == study and one.theta in thetas] if quick else found
