"""The command `ckrr paper`: reproduce the paper's tables and figures, or write a report."""

from __future__ import annotations

import json
from typing import Any

import click

from harness.cli.common import EXIT_CLUSTER, EXIT_FAILED, cluster_option, echo, json_option, user_errors, workers_option
from harness.cli.run import announce, try_run
from harness.execution.interrupts import handle_interrupts


@click.command()
@click.option(
    "--table", "tables", multiple=True, type=click.IntRange(1, 4), help="Compute this table only. [default: all four]"
)
@click.option(
    "--figures",
    is_flag=False,
    flag_value="all",
    metavar="[NUMBERS]",
    help="Draw the paper's figures instead: all eight, or e.g. 1,4.",
)
@click.option(
    "--report",
    is_flag=True,
    help="Write one HTML report instead: tables, figures, and studies that check the claims in the paper's text.",
)
@click.option("-o", "--output", metavar="FILE", help="File of the report. [default: paper.html beside the stores]")
@click.option(
    "--quick",
    is_flag=True,
    help="Only f2 with θ = 10 and 100: 64 numbers, in under 3 minutes on two cores. For figures, n up to 400. For "
    "claims, gp1, heaviside and f2 at small n.",
)
@click.option("--results", default="results", show_default=True, metavar="FOLDER", help="Folder of the stores.")
@workers_option
@cluster_option
@json_option
@user_errors
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
    """Reproduce the paper's four tables and compare them with the 256 printed numbers, draw its figures, or write a
    report of both.

    Results that are already in the stores are used: the same command resumes where an earlier run stopped.
    """
    from harness.core.errors import UserError
    from harness.execution.clusters import read_file
    from harness.paper.printed import select_printed
    from harness.paper.studies import get_store_url, group_by_study, load_published
    from harness.paper.summary import PaperReport

    on = (workers, read_file(cluster, workers))
    if (len(tables) > 0) + (figures is not None) + report > 1:
        raise UserError("--table, --figures and --report exclude each other: give one of them")
    if output is not None and not report:
        raise UserError("-o is for --report: tables are printed, and figures go into a folder beside the stores")
    if report:
        return _write_report(output, quick, results, on, as_json)
    if figures is not None:
        return _draw_figures(figures, quick, results, on, as_json)
    needs = group_by_study(select_printed(tables, quick))
    if not needs:
        raise UserError("--quick has only numbers of tables 3 and 4: leave --quick out")
    with handle_interrupts():
        loaded = {name: load_published(name, numbers) for name, numbers in needs.items()}
        stores = {name: get_store_url(results, name) for name in loaded}
        failed = _run_missing(loaded, stores, on, as_json)
    if failed is None:
        return EXIT_CLUSTER
    found = PaperReport(needs, stores)
    echo(json.dumps(found.collect_facts()) if as_json else found.format_text())
    return EXIT_FAILED if failed else 0


def _draw_figures(asked: str, quick: bool, results: str, on: tuple[int | None, Any], as_json: bool) -> int:
    """Run what the figures need, draw them, and print the names of the files written."""
    from harness.paper.figures.index import get_folder, load_needed_studies, parse_numbers
    from harness.paper.figures.write import write
    from harness.paper.studies import get_store_url

    chosen = parse_numbers(asked)
    with handle_interrupts():
        loaded = load_needed_studies(chosen, quick)
        stores = {name: get_store_url(results, name) for name in loaded}
        failed = _run_missing(loaded, stores, on, as_json)
        if failed is None:
            return EXIT_CLUSTER
        written = []
        for number in chosen:
            files = write(number, stores, get_folder(results), quick)
            written += files
            if not as_json:
                echo(f"wrote {' and '.join(map(str, files))}")
    if as_json:
        echo(json.dumps({"written": list(map(str, written)), "failed": failed}))
    return EXIT_FAILED if failed else 0


def _write_report(output: str | None, quick: bool, results: str, on: tuple[int | None, Any], as_json: bool) -> int:
    """Run what the report needs, and write it."""
    from harness.core.text import format_size
    from harness.paper.page.runs import RequiredRuns
    from harness.report.write import check_target, write_atomically

    needs = RequiredRuns(results, quick)
    target = needs.resolve_file(output)
    check_target(target)
    with handle_interrupts():
        failed = _run_missing(needs.loaded, needs.stores, on, as_json)
        if failed is None:
            return EXIT_CLUSTER
        page = needs.make_page()
        write_atomically(target, page.render())
    told = {"written": str(target), "failed": failed, "claims": page.found.collect_facts()}
    echo(json.dumps(told) if as_json else f"wrote {target} ({format_size(target.stat().st_size)})")
    return EXIT_FAILED if failed else 0


def _run_missing(loaded: Any, stores: dict[str, str], on: tuple[int | None, Any], quiet: bool) -> int | None:
    """Print the time needed, run what the stores lack, and return the number of failed cells; None if a run aborted."""
    from harness.core.text import format_duration
    from harness.execution import prepare

    plans = [prepare.prepare(one, stores[name], on[0], cluster=on[1]) for name, one in loaded.items()]
    left = sum(prepared.plan.duration for prepared in plans)
    if not quiet:
        for prepared in plans:
            announce(prepared)
        if len(plans) > 1 and left > 5:
            echo(f"in all about {format_duration(left)}; if stopped, the same command resumes")
    failed = 0
    for prepared in plans:
        outcome = try_run(prepared)
        if outcome is None:
            return None
        failed += outcome.failed
    return failed
