"""Commands that run studies and plan them: `ckrr run` and `ckrr plan`."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
    scenarios_argument,
    settings_option,
    shorten_path,
    store_option,
    try_each,
    until_option,
    user_errors,
    workers_option,
)
from harness.execution.interrupts import handle_interrupts


@click.command()
@scenarios_argument
@store_option
@settings_option
@until_option
@budget_option
@workers_option
@cluster_option
@click.option("--smoke", is_flag=True, help="Run two replications of the smallest n, in a separate store.")
@retry_option
@accept_changed_option
@json_option
@user_errors
def run(
    scenarios: tuple[str, ...],
    store: str | None,
    settings: tuple[str, ...],
    until: str | None,
    budget: int | None,
    workers: int | None,
    cluster: str | None,
    smoke: bool,
    retry: bool,
    accept_changed: bool,
    as_json: bool,
) -> int:
    """Run SCENARIO: the path of a .toml file, or the name of a bundled scenario (see `ckrr list`).

    A suite, such as data/all, runs its scenarios one after another, each into its own store.

    The same command resumes where an earlier run stopped.
    """
    from harness.execution.clusters import read_file, warm_up

    asked = _select(scenarios, store)
    done: list[str] = []
    with handle_interrupts():
        on = (workers, read_file(cluster, workers))
        warm_up(on[1], workers)
        loaded, code = _load(asked, settings, until, budget)  # all are checked before the first one starts

        def run_one(each: Any) -> int:
            code = _run(each, store, on, smoke, as_json, retry=retry, accept_changed=accept_changed)
            done.extend([each.scenario.name] if code in (0, EXIT_FAILED) else [])
            return code

        code = max(code, try_each(loaded, run_one, asked.has_suite))
    if asked.has_suite and done and not (smoke or as_json):
        _suggest_report(done)
    return code


def _select(scenarios: tuple[str, ...], store: str | None) -> Any:
    """Return the scenarios of a command, with those of suites; raise UserError if several would share a store."""
    from harness.core.errors import UserError
    from harness.scenario.suite import expand_suites

    asked = expand_suites(scenarios)
    if store is not None and len(asked.references) > 1:
        raise UserError("--store takes one scenario; give each its own run, or leave --store out")
    return asked


def _load(asked: Any, settings: tuple[str, ...], until: str | None, budget: int | None) -> tuple[list[Any], int]:
    """Load scenarios, and return them with an exit code; mistakes in those of a suite are printed."""
    from harness.scenario.load import load  # takes half a second, in which the fork server starts

    loaded: list[Any] = []
    code = try_each(asked.references, lambda each: loaded.append(load(each, settings, until, budget)), asked.has_suite)
    return loaded, code


def _suggest_report(names: list[str]) -> None:
    """Print the command that compares the studies of a suite."""
    from harness.store.locate import get_default_store

    echo(f"all of them in one report: ckrr report {' '.join(map(get_default_store, names))}")


def _run(
    loaded: Any, store: str | None, on: tuple[int | None, Any], smoke: bool, as_json: bool, **options: bool
) -> int:
    from harness.execution import prepare
    from harness.submit.locate import find_active_driver

    if smoke:
        loaded = prepare.reduce_to_smoke(loaded)
        prepare.remove_earlier_smoke(loaded, store, find_active_driver, on[1])
    prepared = prepare.prepare(loaded, store, on[0], cluster=on[1], **options)
    if not as_json:
        announce(prepared)
    outcome = try_run(prepared)
    if outcome is None:
        return EXIT_CLUSTER
    _report(prepared, outcome, as_json)
    return EXIT_FAILED if outcome.failed else 0


def try_run(prepared: Any) -> Any:
    """Run the remaining work; if the cluster fails, print the error and return None."""
    from harness.core.errors import ClusterError, StoppedError
    from harness.execution import driver, lifecycle
    from harness.execution.progress import choose_progress

    try:
        return driver.run_prepared(prepared, choose_progress())
    except StoppedError as stopped:
        lifecycle.mark_stopped(prepared)
        raise KeyboardInterrupt(str(stopped)) from None
    except KeyboardInterrupt:
        lifecycle.mark_stopped(prepared)
        raise KeyboardInterrupt("stopped: what is done is kept, the same command resumes") from None
    except ClusterError as broken:
        echo(f"error: {broken}", err=True)
        return None


def announce(prepared: Any) -> None:
    """Print the remaining work and its estimated duration."""
    from harness.core.text import format_count, format_duration
    from harness.execution.facts import plan_to_dict
    from harness.planning.plan_text import format_until

    plan, name = prepared.plan, prepared.loaded.scenario.name
    if prepared.loaded.scenario.replications.until is not None:
        echo("\n".join([f"{name} in {shorten_path(prepared.backend.url)}", *format_until(plan_to_dict(prepared))]))
        return
    count, units = sum(plan.replications_of.values()), len(plan.units)
    if units:
        workers = prepared.machine.workers
        parts = (format_count(count, "replication"), format_count(units, "unit"), format_count(workers, "worker"))
        long = f"about {format_duration(plan.duration)}" if plan.duration > 5 else "a few seconds"
        echo("{}: {} in {}, {} on {}".format(name, *parts[:2], long, parts[2]))
    else:
        echo(f"{name}: complete, nothing to do")


def _report(prepared: Any, outcome: Any, as_json: bool) -> None:
    from harness.backends.errors import translate_errors
    from harness.cli.text import format_coverage
    from harness.cube.reader import open_cube
    from harness.execution.facts import format_answers, outcome_to_dict

    if as_json:
        echo(json.dumps(outcome_to_dict(prepared, outcome)))
        return
    with translate_errors(outcome.url):  # the cube is read lazily
        echo(format_coverage(open_cube(outcome.url), prepared.loaded.extent))
    for line in format_answers(outcome.answers, outcome.rounds):
        echo(line)
    if outcome.failed:
        echo(f"{outcome.failed} replications of cells failed: ckrr errors {shorten_path(outcome.url)} says why")
    echo(f'the cube: xarray.open_zarr("{shorten_path(outcome.url)}")')
    echo(f"HTML report: ckrr report {shorten_path(outcome.url)}")


@click.command()
@scenarios_argument
@store_option
@settings_option
@until_option
@budget_option
@workers_option
@cluster_option
@retry_option
@accept_changed_option
@click.option("--graph", metavar="FILE", help="Draw the plan to a .svg, .png or .pdf file; takes one scenario.")
@json_option
@user_errors
def plan(
    scenarios: tuple[str, ...],
    store: str | None,
    settings: tuple[str, ...],
    until: str | None,
    budget: int | None,
    workers: int | None,
    cluster: str | None,
    retry: bool,
    accept_changed: bool,
    graph: str | None,
    as_json: bool,
) -> int:
    """Show what a run of SCENARIO would do and cost, without running it."""
    from harness.execution import prepare
    from harness.execution.clusters import read_file
    from harness.execution.facts import plan_to_dict
    from harness.planning.plan import check_fits
    from harness.planning.plan_text import format_plan

    file, asked = read_file(cluster, workers), _select(scenarios, store)
    if graph is not None:
        _check_picture(graph, len(asked.references))
    loaded, code = _load(asked, settings, until, budget)

    def plan_one(each: Any) -> None:
        prepared = prepare.prepare(each, store, workers, retry=retry, cluster=file, accept_changed=accept_changed)
        facts = plan_to_dict(prepared)
        echo(json.dumps(facts) if as_json else format_plan(facts))
        if graph is not None:
            _draw_plan(facts, graph, as_json)
        check_fits(prepared.plan, prepared.machine, each.where)

    return max(code, try_each(loaded, plan_one, asked.has_suite))


def _check_picture(path: str, scenarios: int) -> None:
    """Raise UserError if a plan can't be drawn to a file, before the work of planning."""
    from harness.core.errors import UserError
    from harness.figures.export import check_ending

    check_ending(path)
    if scenarios > 1:
        raise UserError(f"--graph draws one scenario, got {scenarios}: plan each by itself, or leave --graph out")


def _draw_plan(facts: Mapping[str, Any], path: str, as_json: bool) -> None:
    from harness.figures.export import save
    from harness.figures.plots.plan import draw

    save(draw(facts), path)
    echo(f"wrote {path}", err=as_json)
