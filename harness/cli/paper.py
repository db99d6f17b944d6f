"""`ckrr paper`: tables, figures, a report."""

from __future__ import annotations

import json
from typing import Any

import click

from harness.cli.common import EXIT_CLUSTER, EXIT_FAILED, cluster_told, echo, json_told, told, workers_told
from harness.cli.run import announce, outcome_of
from harness.execution.interrupts import stoppable


@click.command()
@click.option("--table", "tables", multiple=True, type=click.IntRange(1, 4), help="One of them. [default: all four]")
@click.option(
    "--figures",
    is_flag=False,
    flag_value="all",
    metavar="[NUMBERS]",
    help="Draw the paper's figures instead: all eight, or as 1,4.",
)
@click.option(
    "--report",
    is_flag=True,
    help="Write one HTML file instead: tables, figures, and what the studies of the paper's text say of its claims.",
)
@click.option("-o", "--output", metavar="FILE", help="Where the report goes. [default: paper.html beside the stores]")
@click.option(
    "--quick",
    is_flag=True,
    help="f2 with θ = 10 and 100 alone: 64 numbers, in under 3 minutes on two cores. In figures, n up to 400. For "
    "claims, gp1, heaviside and f2 at small n.",
)
@click.option("--results", default="results", show_default=True, metavar="FOLDER", help="Where the stores are.")
@workers_told
@cluster_told
@json_told
@told
def paper(
    tables: tuple[int, ...],
    figures: str | None,
    report: bool,
    output: str | None,
    quick: bool,
    results: str,
    workers: int | None,
    cluster: str | None,
    as_json: bool,
) -> int:
    """Compute the paper's four tables again, and compare them with the 256 printed numbers; or draw its figures; or
    write a report of all.

    What is in the stores is used, and the same command goes on where an earlier run stopped.
    """
    from harness.core.errors import Mistake
    from harness.execution.clusters import described
    from harness.paper.printed import asked
    from harness.paper.studies import scenario, store_of, studies
    from harness.paper.summary import Report

    on = (workers, described(cluster, workers))
    if (len(tables) > 0) + (figures is not None) + report > 1:
        raise Mistake("--table, --figures and --report are different things: give one of them")
    if output is not None and not report:
        raise Mistake("-o is for --report: tables are printed, and figures go into a folder beside the stores")
    if report:
        return _paper_report(output, quick, results, on, as_json)
    if figures is not None:
        return _figures(figures, quick, results, on, as_json)
    needs = studies(asked(tables, quick))
    if not needs:
        raise Mistake("--quick has numbers of tables 3 and 4 alone: leave --quick out")
    with stoppable():
        loaded = {name: scenario(name, numbers) for name, numbers in needs.items()}
        stores = {name: store_of(results, name) for name in loaded}
        failed = _reproduced(loaded, stores, on, as_json)
    if failed is None:
        return EXIT_CLUSTER
    found = Report(needs, stores)
    echo(json.dumps(found.facts()) if as_json else found.text())
    return EXIT_FAILED if failed else 0


def _figures(asked: str, quick: bool, results: str, on: tuple[int | None, Any], as_json: bool) -> int:
    """Runs what the figures need, draws them, and says what was written."""
    from harness.paper.figures.index import folder_of, needs, numbers
    from harness.paper.figures.write import write
    from harness.paper.studies import store_of

    chosen = numbers(asked)
    with stoppable():
        loaded = needs(chosen, quick)
        stores = {name: store_of(results, name) for name in loaded}
        failed = _reproduced(loaded, stores, on, as_json)
        if failed is None:
            return EXIT_CLUSTER
        written = []
        for number in chosen:
            files = write(number, stores, folder_of(results), quick)
            written += files
            if not as_json:
                echo(f"wrote {' and '.join(map(str, files))}")
    if as_json:
        echo(json.dumps({"written": list(map(str, written)), "failed": failed}))
    return EXIT_FAILED if failed else 0


def _paper_report(output: str | None, quick: bool, results: str, on: tuple[int | None, Any], as_json: bool) -> int:
    """Runs what the report needs, and writes it."""
    from harness.paper.page.runs import Needs
    from harness.report.write import check, put

    needs = Needs(results, quick)
    target = needs.file(output)
    check(target)
    with stoppable():
        failed = _reproduced(needs.loaded, needs.stores, on, as_json)
        if failed is None:
            return EXIT_CLUSTER
        page = needs.page()
        put(target, page.html())
    size = f"{target.stat().st_size / 1e6:.1f} MB"
    told = {"written": str(target), "failed": failed, "claims": page.found.facts()}
    echo(json.dumps(told) if as_json else f"wrote {target} ({size})")
    return EXIT_FAILED if failed else 0


def _reproduced(loaded: Any, stores: dict[str, str], on: tuple[int | None, Any], quiet: bool) -> int | None:
    """Runs what the stores lack, and says before how long it takes; how many cells failed, None if it broke off."""
    from harness.core.text import duration
    from harness.execution import prepare

    plans = [prepare.prepare(one, stores[name], on[0], cluster=on[1]) for name, one in loaded.items()]
    left = sum(prepared.plan.duration for prepared in plans)
    if not quiet:
        for prepared in plans:
            announce(prepared)
        if len(plans) > 1 and left > 5:
            echo(f"in all about {duration(left)}; stopped, the same command goes on")
    failed = 0
    for prepared in plans:
        outcome = outcome_of(prepared)
        if outcome is None:
            return None
        failed += outcome.failed
    return failed
