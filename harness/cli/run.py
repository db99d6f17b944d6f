"""`ckrr run` and `ckrr plan`."""

from __future__ import annotations

import json
from typing import Any

import click

from harness.cli.common import (
    EXIT_CLUSTER,
    EXIT_FAILED,
    accept_changed_option,
    cluster_told,
    echo,
    json_told,
    retry_told,
    scenarios_given,
    settings_told,
    shown,
    store_told,
    told,
    workers_told,
)
from harness.execution.interrupts import stoppable


@click.command()
@scenarios_given
@store_told
@settings_told
@workers_told
@cluster_told
@click.option("--smoke", is_flag=True, help="Two replications of the smallest n, in a store of its own.")
@retry_told
@accept_changed_option
@json_told
@told
def run(
    scenarios: tuple[str, ...],
    store: str | None,
    settings: tuple[str, ...],
    workers: int | None,
    cluster: str | None,
    smoke: bool,
    retry: bool,
    accept_changed: bool,
    as_json: bool,
) -> int:
    """Run SCENARIO: the path of a .toml file, or the name of a packaged one (see `ckrr list`).

    The same command goes on where an earlier run stopped.
    """
    from harness.core.errors import Mistake
    from harness.execution.clusters import described, warm_up

    if store is not None and len(scenarios) > 1:
        raise Mistake("--store takes one scenario; give each its own run, or leave --store out")
    with stoppable():
        on = (workers, described(cluster, workers))
        warm_up(on[1], workers)
        from harness.scenario.load import load  # half a second, in which what workers are forked from starts

        loaded = [load(each, settings) for each in scenarios]  # all are checked before the first one starts
        return max(_run(each, store, on, smoke, as_json, retry=retry, accept_changed=accept_changed) for each in loaded)


def _run(
    loaded: Any, store: str | None, on: tuple[int | None, Any], smoke: bool, as_json: bool, **options: bool
) -> int:
    from harness.execution import prepare
    from harness.submit.locate import at_work

    if smoke:
        loaded = prepare.smoked(loaded)
        prepare.make_room(loaded, store, at_work, on[1])
    prepared = prepare.prepare(loaded, store, on[0], cluster=on[1], **options)
    if not as_json:
        announce(prepared)
    outcome = outcome_of(prepared)
    if outcome is None:
        return EXIT_CLUSTER
    _report(prepared, outcome, as_json)
    return EXIT_FAILED if outcome.failed else 0


def outcome_of(prepared: Any) -> Any:
    """Runs what is left; None if the cluster died, which is told."""
    from harness.core.errors import Broken, Stopped
    from harness.execution import driver
    from harness.execution.progress import suitable

    try:
        return driver.run(prepared, suitable())
    except Stopped as stopped:
        driver.stopped(prepared)
        raise KeyboardInterrupt(str(stopped)) from None
    except KeyboardInterrupt:
        driver.stopped(prepared)
        raise KeyboardInterrupt("stopped: what is done is kept, the same command goes on") from None
    except Broken as broken:
        echo(f"error: {broken}", err=True)
        return None


def announce(prepared: Any) -> None:
    """Says what is about to be done."""
    from harness.core.text import counted, duration

    plan, name = prepared.plan, prepared.loaded.scenario.name
    count, units = sum(plan.replications_of.values()), len(plan.units)
    if units:
        workers = prepared.machine.workers
        parts = (counted(count, "replication"), counted(units, "unit"), counted(workers, "worker"))
        long = f"about {duration(plan.duration)}" if plan.duration > 5 else "a few seconds"
        echo("{}: {} in {}, {} on {}".format(name, *parts[:2], long, parts[2]))
    else:
        echo(f"{name}: complete, nothing to do")


def _report(prepared: Any, outcome: Any, as_json: bool) -> None:
    from harness.backends.errors import telling
    from harness.cli.text import coverage_text
    from harness.cube.reader import open_cube
    from harness.execution.facts import outcome_facts

    if as_json:
        echo(json.dumps(outcome_facts(prepared, outcome)))
        return
    with telling(outcome.url):  # the cube is read as it is shown
        echo(coverage_text(open_cube(outcome.url), prepared.loaded.extent))
    if outcome.failed:
        echo(f"{outcome.failed} replications of cells failed: ckrr errors {shown(outcome.url)} says why")
    echo(f'the cube: xarray.open_zarr("{shown(outcome.url)}")')
    echo(f"what it says, in one file: ckrr report {shown(outcome.url)}")


@click.command()
@scenarios_given
@store_told
@settings_told
@workers_told
@cluster_told
@retry_told
@accept_changed_option
@json_told
@told
def plan(
    scenarios: tuple[str, ...],
    store: str | None,
    settings: tuple[str, ...],
    workers: int | None,
    cluster: str | None,
    retry: bool,
    accept_changed: bool,
    as_json: bool,
) -> None:
    """Say what a run of SCENARIO would do and cost, and do nothing."""
    from harness.cli.plan_text import plan_text
    from harness.execution import prepare
    from harness.execution.clusters import described
    from harness.execution.facts import plan_facts
    from harness.planning.plan import check_fits
    from harness.scenario.load import load

    file = described(cluster, workers)
    for each in [load(one, settings) for one in scenarios]:
        prepared = prepare.prepare(each, store, workers, retry=retry, cluster=file, accept_changed=accept_changed)
        facts = plan_facts(prepared)
        echo(json.dumps(facts) if as_json else plan_text(facts))
        check_fits(prepared.plan, prepared.machine, each.where)
