"""Commands that monitor and submit studies: `ckrr status`, `submit`, `logs` and `cancel`."""

from __future__ import annotations

import json
from typing import Any

import click

from harness.cli.common import (
    EXIT_CLUSTER,
    EXIT_FAILED,
    accept_changed_option,
    budget_option,
    cluster_option,
    echo,
    json_option,
    retry_option,
    settings_option,
    shorten_path,
    store_option,
    try_each,
    until_option,
    user_errors,
    workers_option,
)


@click.command()
@click.argument("store", metavar="STORE|SCENARIO")
@click.option("--verify", "checked", is_flag=True, help="Read every chunk, and list what is damaged or missing.")
@click.option(
    "--precision", type=float, metavar="SE", help="Estimate the paths needed for this standard error of coverage."
)
@click.option("--watch", "followed", is_flag=True, help="Follow the study until it is complete or no run is active.")
@json_option
@user_errors
def status(store: str, checked: bool, precision: float | None, followed: bool, as_json: bool) -> int:
    """Show the progress of the study in STORE, or of SCENARIO (or each one of a suite) in its default store."""
    from harness.scenario.suite import expand_suites

    asked = expand_suites([store])
    return try_each(
        asked.references, lambda each: _show_status(each, checked, precision, followed, as_json), asked.has_suite
    )


def _show_status(told: str, checked: bool, precision: float | None, followed: bool, as_json: bool) -> int:
    from harness.monitor.state import status as state
    from harness.monitor.text import format_status
    from harness.store.locate import find_store

    store = find_store(told, begun=checked or precision is not None)
    if checked and (code := _verify(store)):
        return code
    if followed:
        return _watch(store)
    facts = state(told)
    needs = None if precision is None else _compute_needs(store, precision)
    if as_json:
        echo(json.dumps(facts if needs is None else {**facts, "precision": [vars(one) for one in needs]}))
        return 0
    echo(format_status(facts))
    if needs is not None and precision is not None:
        from harness.cli.text import format_precision

        echo(format_precision(needs, precision))
    return 0


def _watch(store: str) -> int:
    """Follow a study, and return the exit code of its run, as far as it is known."""
    from harness.monitor.follow import watch
    from harness.monitor.text import format_status

    facts = watch(store)
    echo(format_status(facts))
    told = facts["submission"]
    if facts["complete"]:
        return EXIT_FAILED if facts["failed"] else 0
    return told["code"] if told is not None and told["code"] else EXIT_CLUSTER


def _compute_needs(store: str, target: float) -> list[Any]:
    from harness.results.required_paths import precision

    return list(precision(store, target))


def _verify(store: str) -> int:
    from harness.maintenance.verify import verify

    count, torn = verify(store, lambda text: echo(text, err=True))
    for one in torn:
        echo(f"{one.unit}: {one.what}", err=True)
    units = sum(not one.outside_units for one in torn)
    if units:
        echo(f"{units} of {count} units are damaged: `ckrr run` computes them again", err=True)
    if units < len(torn):
        echo("damage outside units (metadata, labels, the cube) is repaired by `ckrr run`", err=True)
    if torn:
        return EXIT_FAILED
    echo(f"all {count} units read, nothing is damaged", err=True)
    return 0


@click.command()
@click.argument("scenario")
@store_option
@settings_option
@until_option
@budget_option
@workers_option
@cluster_option
@retry_option
@accept_changed_option
@json_option
@user_errors
def submit(
    scenario: str,
    store: str | None,
    settings: tuple[str, ...],
    until: str | None,
    budget: int | None,
    workers: int | None,
    cluster: str | None,
    retry: bool,
    accept_changed: bool,
    as_json: bool,
) -> int:
    """Submit SCENARIO to run in the background, without waiting for it."""
    from harness.cli.text import format_submission
    from harness.execution import prepare
    from harness.execution.clusters import read_file
    from harness.scenario.load import load
    from harness.submit.launch import submit_study as hand_over

    file = read_file(cluster, workers)
    prepared = prepare.prepare(
        load(scenario, settings, until, budget),
        store,
        workers,
        retry=retry,
        cluster=file,
        accept_changed=accept_changed,
    )
    done = hand_over(prepared, cluster, workers, lambda text: echo(text, err=True))
    if as_json:
        one = done.submission
        facts = {"store": done.url, "id": one.id if one else None, "at_work": done.running, "heard_of": done.is_alive}
        echo(json.dumps(facts))
    else:
        echo(format_submission(prepared, done, shorten_path(done.url)))
    return 0


@click.command()
@click.argument("store", metavar="STORE|SCENARIO")
@click.option("--workers", "of_workers", is_flag=True, help="Show the workers' logs, too.")
@user_errors
def logs(store: str, of_workers: bool) -> None:
    """Show the logs of the submitted study in STORE: its driver's, and with --workers its workers'."""
    from harness.backends.base import open_backend
    from harness.core.errors import UserError
    from harness.store.locate import find_store
    from harness.submit.logs import read_logs as kept

    found = kept(open_backend(find_store(store, begun=False)))
    if not any(found):
        raise UserError(f"{store}: there are no logs: no submitted driver has started here yet")
    if of_workers and not found[1]:
        echo("no logs of workers: they are saved every half a minute, if workers have logged anything", err=True)
    for text in found[: 1 + of_workers]:
        echo(text, nl=bool(text) and not text.endswith("\n"))


@click.command()
@click.argument("store", metavar="STORE|SCENARIO")
@user_errors
def cancel(store: str) -> None:
    """End the run that is active on STORE: what is done is kept."""
    from harness.backends.base import open_backend
    from harness.store.locate import find_store
    from harness.submit.cancel import cancel as end

    who = end(open_backend(find_store(store, begun=False)), lambda text: echo(text, err=True))
    echo(f"ended {who}: what is done is kept")
