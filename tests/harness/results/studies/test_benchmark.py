"""Ranks and paired differences are those that a plain loop over raw replications finds."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

from harness import difference, verdicts
from harness.core.labels import list_axis_values
from harness.core.types import Array
from harness.results.studies.benchmark import Benchmark, make_benchmark
from harness.results.studies.comparison import ALONE, compute_ranks
from harness.results.studies.selection import Study
from harness.statistics.comparisons import compare_pair
from tests.harness.report.stores import krr
from tests.harness.results.studies import stores
from tests.harness.studies import replications
from tests.harness.toy import ToyFamily


@pytest.fixture(scope="module")
def made(real: list[str]) -> Benchmark:
    return make_benchmark(real, stores.WHERE)


def read(study: Study, procedure: str, variable: str) -> Array:
    """Replications of one cell, straight from the arrays, over path and draw."""
    grid = study.manifest.extent.grid
    places = [list(list_axis_values(grid, axis)).index(study.cell[axis]) for axis in ("gamma", "theta", "lam", "alpha")]
    found = replications(Path(study.url), study.cell["n"], variable)
    return np.asarray(found[:, :, grid.procedure.index(procedure), *places], dtype=float)


def rank_slowly(made: Benchmark, study: Study) -> dict[str, float]:
    """Count, for each procedure that is shown valid, how many are shown narrower, and how many neither."""
    judged = verdicts(study.url).sel(study.cell)["verdict"]
    valid = [name for name in ("GPR-f", "RRCM", "RRCM-loo", "CRR-loo") if judged.sel(procedure=name) != "invalid"]
    valid = [name for name in valid if judged.sel(procedure=name) != "undecided"]
    ranks = {}
    for one in valid:
        ranks[one] = 1.0
        for other in valid:
            widths = [read(study, name, "width")[..., 1] for name in (one, other)]
            all_of_them = np.ones(widths[0].shape, bool)
            sign = compare_pair(widths[0], all_of_them, widths[1], all_of_them, 1 - 0.05 / made.pairs)
            ranks[one] += 0 if one == other else {-1: 0.0, 0: 0.5, 1: 1.0}[int(sign)]
    return ranks


def test_ranks_are_those_of_a_plain_loop(made: Benchmark) -> None:
    assert made.pairs == 2 * 6, "GPR-p is for f(x*), and four others make six pairs in each study"
    for one in made.comparisons:
        assert len(one.ranks) > 2
        assert one.ranks == rank_slowly(made, one.study)
        assert sum(one.ranks.values()) == len(one.ranks) * (len(one.ranks) + 1) / 2


def test_differences_are_paired_and_simultaneous(made: Benchmark) -> None:
    for one in made.comparisons:
        apart = difference(one.study.url, "RRCM", "width", level=1 - 0.05 / 12).sel(one.study.cell)
        assert set(one.differences) == {"GPR-f", "RRCM", "RRCM-loo", "CRR-loo"}
        for name, found in one.differences.items():
            for part in ("value", "low", "high"):
                assert getattr(found, part) == float(apart[part].sel(procedure=name))


def test_the_selected_cell_is_read(real: list[str], tmp_path: Path) -> None:
    """With several values on every axis."""
    url = krr(
        tmp_path / "axes.zarr", grid__gamma=[0.5, 0.1], grid__lam=[1, 0.1], replications={"paths": 30, "draws": 1}
    )
    made = make_benchmark([url, real[1]], "gamma=0.1,0,lam=0.1,theta=100,10,n=20,39,alpha=0.1", versus="RRCM")
    one = made.comparisons[0]
    apart = difference(url, "RRCM", "width").sel(one.study.cell)
    assert one.differences["GPR-f"].value == float(apart["value"].sel(procedure="GPR-f")) != 0


class FreeToy(ToyFamily):
    """A procedure as wide as `exact` that has no use for θ and λ."""

    procedures = ("free",)
    axes = ()
    reference = None
    searches = ()


FREE = FreeToy()


def test_a_family_without_theta_is_found_at_every_theta(toys: list[str], tmp_path: Path) -> None:
    families = ["tests.harness.toy:FAMILY", "tests.harness.results.studies.test_benchmark:FREE"]
    names = ["exact", "wide", "free"]
    url = stores.toy(tmp_path / "both.zarr", family=families, grid__theta=[1, "best"], grid__procedure=names)
    for where in ("theta=1", "theta=best,1"):
        one = make_benchmark([url, toys[0]], where).comparisons[0]
        assert one.study.cell["theta"] == where[6:].split(",")[0]
        assert one.differences["free"].value == 0
        assert one.get_verdict("free") == one.get_verdict("exact")


def test_scores_are_compared_by_their_mean(real: list[str]) -> None:
    made = make_benchmark(real, stores.WHERE, by="interval_score")
    one = made.comparisons[1]
    mine, others = (read(one.study, name, "interval_score") for name in ("RRCM-loo", "RRCM"))
    assert np.isfinite(mine).all()
    assert one.differences["RRCM-loo"].value == pytest.approx((mine - others).mean(), rel=1e-9)
    assert one.ranks["RRCM-loo"] < one.ranks["RRCM"]


def test_ties_share_a_rank_as_usual() -> None:
    """Where ties are transitive, ranks are those of SciPy."""
    for sizes in product((1, 2, 3), repeat=4):
        names = list("abcd")
        values = dict(zip(names, sizes, strict=True))
        signs = {(p, q): int(np.sign(values[p] - values[q])) for p, q in combinations(names, 2)}
        assert list(compute_ranks(names, signs).values()) == rankdata(sizes).tolist()


def test_only_procedures_shown_valid_are_ranked(toys: list[str]) -> None:
    made = make_benchmark(toys)
    for one in made.comparisons:
        assert one.ranks == {"exact": 1.0, "wide": 2.0}
        assert one.smallest == "exact"
        assert one.left_out == {"random": one.get_verdict("random"), "split": "invalid"}
    mean, record = made.get_mean_rank("wide"), made.count_outcomes("wide")
    assert mean is not None
    assert record is not None
    assert (mean.value, mean.studies) == (2.0, 2)
    assert (record.wins, record.ties, record.losses) == (0, 0, 2)
    assert made.get_mean_rank("split") is None
    assert made.count_outcomes("exact") is None
    other = make_benchmark(toys, versus="wide").count_outcomes("exact")
    assert str(other) == "2/0/0"


def test_the_first_of_one_has_no_rank(toys: list[str]) -> None:
    made = make_benchmark(toys, "procedure=exact,split")
    assert [one.ranks for one in made.comparisons] == [{}, {}]
    assert made.comparisons[0].left_out == {"split": "invalid", "exact": ALONE}
    assert made.get_mean_rank("exact") is None


def test_the_whole_line_is_not_compared(real: list[str]) -> None:
    """At n = 19 and α = 0.1 CRR-loo has an error of 0 on each side."""
    jump = make_benchmark([real[0], real[1]], "theta=10,100,n=39,alpha=0.05")
    assert jump.comparisons[0].left_out["CRR-loo"] == "the whole line by arithmetic"
    assert "CRR-loo" not in jump.comparisons[0].differences
    assert jump.pairs == 2 * 3
