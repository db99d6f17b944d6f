"""The command `ckrr check`: coverage as a gate."""

from __future__ import annotations

import json
from pathlib import Path

import click

from harness.cli.common import (
    EXIT_FAILED,
    EXIT_UNDECIDED,
    design_option,
    discard_output,
    echo,
    json_option,
    shorten_path,
    user_errors,
    where_option,
)


@click.command()
@click.argument("store")
@where_option
@click.option(
    "--allow",
    default="",
    metavar="WORDS",
    help="Verdicts that pass besides valid and conservative, separated by commas: undecided (more paths would decide), "
    "borderline (too close to the limit to decide: up to 1.5 tolerances below the level), no_result.",
)
@design_option
@json_option
@click.option("--junit", metavar="FILE.xml", help="Write JUnit XML, with a test case for each cell.")
@user_errors
def check(store: str, where: tuple[str, ...], allow: str, design: str | None, as_json: bool, junit: str | None) -> int:
    """Check that the procedures in STORE keep their coverage; for continuous integration.

    Exit code 0: every selected cell is shown to cover its level less the tolerance. 1: a cell is shown not to. 4: none
    is, but some cell is undecided, borderline or has no result (see --allow). 2: the request has a mistake.

    Procedures whose intervals are for f(x*), such as GPR-p, are judged on f(x*), not on y*. Cells where
    exchangeability is broken by design are judged, too: select others with --where.
    """
    from harness.parsing.selections import parse_names, parse_where
    from harness.report.write import check_target, write_atomically
    from harness.results.check import FAILED, PASSED, check as check_store
    from harness.results.junit import is_junit, render_junit
    from harness.store.locate import find_store

    target = Path(junit) if junit is not None else None
    if target is not None:
        check_target(target, (".xml",), "--junit", is_junit)  # before the work
    outcome = check_store(store, parse_where(where), parse_names(allow), design)
    name = shorten_path(find_store(store))
    if target is not None:
        write_atomically(target, render_junit(outcome, name))
    try:
        echo(json.dumps({"store": name, **outcome.to_dict()}, allow_nan=False) if as_json else str(outcome))
    except BrokenPipeError:  # a gate doesn't open because nobody reads its output
        discard_output()
    return {PASSED: 0, FAILED: EXIT_FAILED}.get(outcome.result, EXIT_UNDECIDED)
