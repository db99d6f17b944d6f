"""`ckrr status`, and studies that are handed over: `ckrr submit`, `logs`, `cancel`."""

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
    settings_told,
    shown,
    store_told,
    told,
    workers_told,
)


@click.command()
@click.argument("store", metavar="STORE|SCENARIO")
@click.option("--verify", "checked", is_flag=True, help="Read every chunk, and name what is torn or missing.")
@click.option("--precision", type=float, metavar="SE", help="How many paths a standard error of coverage needs.")
@click.option("--watch", "followed", is_flag=True, help="Follow it until it is complete, or nobody is at work on it.")
@json_told
@told
def status(store: str, checked: bool, precision: float | None, followed: bool, as_json: bool) -> int:
    """Say how far the study in STORE is, or that of SCENARIO in its default store."""
    from harness.monitor.state import status as state
    from harness.monitor.text import status_text
    from harness.store.locate import store_of

    told, store = store, store_of(store, begun=checked or precision is not None)
    if checked and (code := _verify(store)):
        return code
    if followed:
        return _watch(store)
    facts = state(told)
    needs = None if precision is None else _needs(store, precision)
    if as_json:
        echo(json.dumps(facts if needs is None else {**facts, "precision": [vars(one) for one in needs]}))
        return 0
    echo(status_text(facts))
    if needs is not None and precision is not None:
        from harness.cli.text import precision_text

        echo(precision_text(needs, precision))
    return 0


def _watch(store: str) -> int:
    """Follows a study; the code is that of its run, as far as it can be told."""
    from harness.monitor.follow import watch
    from harness.monitor.text import status_text

    facts = watch(store)
    echo(status_text(facts))
    told = facts["submission"]
    if facts["complete"]:
        return EXIT_FAILED if facts["failed"] else 0
    return told["code"] if told is not None and told["code"] else EXIT_CLUSTER


def _needs(store: str, target: float) -> list[Any]:
    from harness.results.required_paths import precision

    return list(precision(store, target))


def _verify(store: str) -> int:
    from harness.backends.base import place
    from harness.maintenance.verify import verify
    from harness.store.arrays import restore
    from harness.store.manifest import COPY, ROOT

    if restore(place(store)):
        echo(f"{ROOT} was lost or damaged: rebuilt from {COPY}", err=True)
    count, torn = verify(store)
    for one in torn:
        echo(f"{one.unit}: {one.what}", err=True)
    units = sum(not one.frame for one in torn)
    if units:
        echo(f"{units} of {count} units are no good: `ckrr run` computes them again", err=True)
    if units < len(torn):
        echo("what isn't a unit is written anew by `ckrr run`, from what the store knows", err=True)
    if torn:
        return EXIT_FAILED
    echo(f"all {count} units read, nothing is torn", err=True)
    return 0


@click.command()
@click.argument("scenario")
@store_told
@settings_told
@workers_told
@cluster_told
@retry_told
@accept_changed_option
@json_told
@told
def submit(
    scenario: str,
    store: str | None,
    settings: tuple[str, ...],
    workers: int | None,
    cluster: str | None,
    retry: bool,
    accept_changed: bool,
    as_json: bool,
) -> int:
    """Hand SCENARIO over to a driver of its own, and leave: it goes on without you."""
    from harness.cli.text import submitted_text
    from harness.execution import prepare
    from harness.execution.clusters import described
    from harness.scenario.load import load
    from harness.submit.launch import submit as hand_over

    file = described(cluster, workers)
    prepared = prepare.prepare(
        load(scenario, settings), store, workers, retry=retry, cluster=file, accept_changed=accept_changed
    )
    done = hand_over(prepared, cluster, workers, lambda text: echo(text, err=True))
    if as_json:
        one = done.submission
        facts = {"store": done.url, "id": one.id if one else None, "at_work": done.running, "heard_of": done.lives}
        echo(json.dumps(facts))
    else:
        echo(submitted_text(prepared, done, shown(done.url)))
    return 0


@click.command()
@click.argument("store", metavar="STORE|SCENARIO")
@click.option("--workers", "of_workers", is_flag=True, help="Those of the workers, too.")
@told
def logs(store: str, of_workers: bool) -> None:
    """Show what the driver of the study in STORE has logged, and its workers."""
    from harness.backends.base import place
    from harness.core.errors import Mistake
    from harness.store.locate import store_of
    from harness.submit.logs import logs as kept

    found = kept(place(store_of(store, begun=False)))
    if not any(found):
        raise Mistake(f"{store}: there are no logs, since no driver of a submission has started here yet")
    if of_workers and not found[1]:
        echo("no logs of workers: they are kept every half a minute, where they have something to say", err=True)
    for text in found[: 1 + of_workers]:
        echo(text, nl=bool(text) and not text.endswith("\n"))


@click.command()
@click.argument("store", metavar="STORE|SCENARIO")
@told
def cancel(store: str) -> None:
    """End what is at work on STORE: what is done is kept."""
    from harness.backends.base import place
    from harness.store.locate import store_of
    from harness.submit.cancel import cancel as end

    who = end(place(store_of(store, begun=False)), lambda text: echo(text, err=True))
    echo(f"ended {who}: what is done is kept")
