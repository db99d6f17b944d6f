"""Compare procedures over studies: mean ranks, and how often each is shown to be better than a reference.

All intervals of all studies hold together: each has the level 1 − (1 − 0.95)/m (Bonferroni), where m counts the pairs
of procedures in all studies, ranked or not. So with probability at least 0.95 no difference that is shown is wrong, in
any study. That allows for the comparisons made here, not for a choice of cells after looking at them.

Nothing else is averaged over studies. Coverages have different targets and meanings from one data set to another, and
few data sets, chosen by hand, are no sample of a population of data sets. For the same reason there is no test over
studies (Friedman, Nemenyi): it would treat them as such a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from harness.parsing.selections import Selection
from harness.results.studies.comparison import (
    RANKED_BY,
    StudyComparison,
    compare_study,
    count_pairs,
    get_cell,
    judge_study,
)
from harness.results.studies.selection import Study, choose_reference, select_studies
from harness.statistics.comparisons import compute_simultaneous_level
from harness.statistics.intervals import LEVEL


@dataclass(frozen=True)
class MeanRank:
    """Mean of the ranks of a procedure over the studies in which it is ranked."""

    value: float
    studies: int
    """Number of these studies."""


@dataclass(frozen=True)
class Record:
    """Number of studies in which a procedure is shown to be smaller than the reference, tied with it, or larger."""

    wins: int
    ties: int
    losses: int

    @property
    def studies(self) -> int:
        """Number of studies in which both are ranked."""
        return self.wins + self.ties + self.losses

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Procedures compared over studies."""

    comparisons: Sequence[StudyComparison]
    reference: str
    """Procedure that differences and relative widths refer to."""
    by: str
    """Measure that procedures are ranked by."""
    pairs: int
    """Number of comparisons that the intervals allow for."""
    level: float
    """Probability that no difference shown is wrong."""

    @property
    def studies(self) -> list[Study]:
        """The studies, in the order in which they were named."""
        return [one.study for one in self.comparisons]

    @property
    def procedures(self) -> list[str]:
        """All procedures, in the order of the first study that has them."""
        return list(dict.fromkeys(name for study in self.studies for name in study.procedures))

    def get_mean_rank(self, procedure: str) -> MeanRank | None:
        """Return the mean rank of a procedure; None if it is ranked in no study."""
        ranks = [one.ranks[procedure] for one in self.comparisons if procedure in one.ranks]
        return MeanRank(sum(ranks) / len(ranks), len(ranks)) if ranks else None

    def count_outcomes(self, procedure: str) -> Record | None:
        """Count wins, ties and losses against the reference, where both are ranked; None for the reference itself."""
        if procedure == self.reference:
            return None
        both = [one for one in self.comparisons if {procedure, self.reference} <= one.ranks.keys()]
        signs = [one.differences[procedure].sign for one in both]
        return Record(signs.count(-1), signs.count(0), signs.count(1))

    @property
    def is_balanced(self) -> bool:
        """Whether the same procedures are ranked in all studies, so that mean ranks can be compared."""
        return len({frozenset(one.ranks) for one in self.comparisons}) == 1


def make_benchmark(
    stores: Sequence[str | Path],
    where: Selection | None = None,
    versus: str | None = None,
    by: str = RANKED_BY[0],
    design: str | None = None,
    level: float = LEVEL,
) -> Benchmark:
    """Compare the procedures of several studies.

    Parameters
    ----------
    stores : sequence of str or Path
        Paths or URLs of two or more stores, or scenarios, which stand for their default stores.
    where : mapping or str, optional
        Values to select along some axes, so that one cell of each procedure and study is left; see `select_studies`.
    versus : str, optional
        Procedure that others are compared with. Default: the first one that all studies have, with an exact level if
        possible.
    by : {"width", "interval_score"}
        What procedures are ranked by.
    design : {"fixed", "anytime"}, optional
        Design of the verdicts. Default: as each study needs it.
    level : float
        Probability that no difference shown is wrong, in all studies together.
    """
    studies = select_studies(stores, where)
    judged = [judge_study(study, design) for study in studies]
    exact = [_list_exact(study, found) for study, found in zip(studies, judged, strict=True)]
    reference = choose_reference(studies, versus, set.intersection(*exact))
    pairs = sum(count_pairs(study, found) for study, found in zip(studies, judged, strict=True))
    each = compute_simultaneous_level(pairs, level)
    comparisons = [
        compare_study(study, found, reference, by, each) for study, found in zip(studies, judged, strict=True)
    ]
    return Benchmark(comparisons, reference, by, pairs, level)


def _list_exact(study: Study, judged: xr.Dataset) -> set[str]:
    """Return the procedures with an exact level, which doesn't depend on any result."""
    return {name for name in study.procedures if get_cell(judged["promised"], study, name)}
