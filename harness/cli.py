"""The command line. What a command needs is loaded when it runs, so that `ckrr status` starts at once."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import click

from harness.stopping import leave, stoppable

EXIT_FAILED, EXIT_MISTAKE, EXIT_CLUSTER = 1, 2, 3


def _told(command: Callable[..., int | None]) -> Callable[..., NoReturn]:
    """A user's mistake is told in a line, never with a traceback; what a command returns is its exit code."""

    @wraps(command)
    def outer(*args: Any, **kwargs: Any) -> NoReturn:
        from harness.nouns import Mistake

        try:
            sys.exit(command(*args, **kwargs) or 0)
        except Mistake as mistake:
            for line in str(mistake).splitlines():
                click.echo(f"error: {line}", err=True)
            sys.exit(EXIT_MISTAKE)
        except BrokenPipeError:  # whoever read our output has enough of it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except KeyboardInterrupt as interrupt:
            click.echo(str(interrupt) or "stopped", err=True)
            leave()
        except OSError as error:
            if error.filename is None and error.errno is None:
                raise
            click.echo(f"error: {error.filename or 'the store'}: {error.strerror}", err=True)
            sys.exit(EXIT_MISTAKE)

    return outer


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ckrr")
def main() -> None:
    """Simulation studies of prediction intervals: scenario files in, an xarray cube of coverage and widths out."""


_scenarios = click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO...")
_store = click.option("--store", metavar="URL", help="Where results go. [default: results/NAME.zarr]")
_settings = click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override, as grid.n=[25,50].")
_workers = click.option("--workers", type=click.IntRange(min=1), help="Processes. [default: one a core]")
_cluster = click.option("--cluster", metavar="FILE", help="A cluster file, as local.toml or slurm.toml.")
_where = click.option("--where", multiple=True, metavar="AXIS=VALUES", help="Only these, as n=100,400,alpha=0.05.")
_retry = click.option("--retry-failed", "retry", is_flag=True, help="Do again what failed in earlier runs.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@main.command()
@_scenarios
@_store
@_settings
@_workers
@_cluster
@click.option("--smoke", is_flag=True, help="Two replications of the smallest n, in a store of its own.")
@_retry
@_json
@_told
def run(
    scenarios: tuple[str, ...],
    store: str | None,
    settings: tuple[str, ...],
    workers: int | None,
    cluster: str | None,
    smoke: bool,
    retry: bool,
    as_json: bool,
) -> int:
    """Run SCENARIO: the path of a .toml file, or the name of a packaged one (see `ckrr list`).

    The same command goes on where an earlier run stopped.
    """
    from harness.clusters import described
    from harness.loading import load
    from harness.nouns import Mistake

    if store is not None and len(scenarios) > 1:
        raise Mistake("--store takes one scenario; give each its own run, or leave --store out")
    with stoppable():
        loaded = [load(each, settings) for each in scenarios]  # all are checked before the first one starts
        on = (workers, described(cluster, workers))
        return max(_run(each, store, on, smoke, retry, as_json) for each in loaded)


def _run(loaded: Any, store: str | None, on: tuple[int | None, Any], smoke: bool, retry: bool, as_json: bool) -> int:
    from harness import driver

    if smoke:
        loaded = driver.smoked(loaded)
        driver.forget(store or driver.default_store(loaded))
    prepared = driver.prepare(loaded, store, on[0], retry=retry, cluster=on[1])
    if not as_json:
        _announce(prepared)
    outcome = _outcome(prepared)
    if outcome is None:
        return EXIT_CLUSTER
    _report(prepared, outcome, as_json)
    return EXIT_FAILED if outcome.failed else 0


def _outcome(prepared: Any) -> Any:
    """Runs what is left; None if the cluster died, which is told."""
    from harness import driver
    from harness.execute import Broken, Stopped
    from harness.progress import suitable

    try:
        return driver.run(prepared, suitable())
    except Stopped as stopped:
        driver.stopped(prepared)
        raise KeyboardInterrupt(str(stopped)) from None
    except KeyboardInterrupt:
        driver.stopped(prepared)
        raise KeyboardInterrupt("stopped: what is done is kept, the same command goes on") from None
    except Broken as broken:
        click.echo(f"error: {broken}", err=True)
        return None


def _announce(prepared: Any) -> None:
    from harness.progress import duration
    from harness.show import counted

    plan, name = prepared.plan, prepared.loaded.scenario.name
    count, units = sum(plan.replications_of.values()), len(plan.units)
    if units:
        workers = prepared.machine.workers
        parts = (counted(count, "replication"), counted(units, "unit"), counted(workers, "worker"))
        long = f"about {duration(plan.duration)}" if plan.duration > 5 else "a few seconds"
        click.echo("{}: {} in {}, {} on {}".format(name, *parts[:2], long, parts[2]))
    else:
        click.echo(f"{name}: complete, nothing to do")


def _report(prepared: Any, outcome: Any, as_json: bool) -> None:
    from harness.cube import open_cube
    from harness.remote import telling
    from harness.show import coverage_text, outcome_facts

    if as_json:
        click.echo(json.dumps(outcome_facts(prepared, outcome)))
        return
    with telling(outcome.url):  # the cube is read as it is shown
        click.echo(coverage_text(open_cube(outcome.url), prepared.loaded.extent))
    if outcome.failed:
        click.echo(f"{outcome.failed} replications of cells failed: ckrr errors {_shown(outcome.url)} says why")
    click.echo(f'the cube: xarray.open_zarr("{_shown(outcome.url)}")')
    click.echo(f"what it says, in one file: ckrr report {_shown(outcome.url)}")


def _shown(url: str) -> str:
    """As short as it can be typed here."""
    path = Path(url)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else url


@main.command()
@_scenarios
@_store
@_settings
@_workers
@_cluster
@_retry
@_json
@_told
def plan(
    scenarios: tuple[str, ...],
    store: str | None,
    settings: tuple[str, ...],
    workers: int | None,
    cluster: str | None,
    retry: bool,
    as_json: bool,
) -> None:
    """Say what a run of SCENARIO would do and cost, and do nothing."""
    from harness import driver
    from harness.clusters import described
    from harness.loading import load
    from harness.planning import check_fits
    from harness.show import plan_facts, plan_text

    file = described(cluster, workers)
    for each in [load(one, settings) for one in scenarios]:
        prepared = driver.prepare(each, store, workers, retry=retry, cluster=file)
        facts = plan_facts(prepared)
        click.echo(json.dumps(facts) if as_json else plan_text(facts))
        check_fits(prepared.plan, prepared.machine, each.where)


@main.command()
@click.argument("store", metavar="STORE|SCENARIO")
@click.option("--verify", "checked", is_flag=True, help="Read every chunk, and name what is torn or missing.")
@click.option("--precision", type=float, metavar="SE", help="How many paths a standard error of coverage needs.")
@click.option("--watch", "followed", is_flag=True, help="Follow it until it is complete, or nobody is at work on it.")
@_json
@_told
def status(store: str, checked: bool, precision: float | None, followed: bool, as_json: bool) -> int:
    """Say how far the study in STORE is, or that of SCENARIO in its default store."""
    from harness.show import status_text
    from harness.state import status as state, store_of

    store = store_of(store, begun=checked or precision is not None)
    if checked and (code := _verify(store)):
        return code
    if followed:
        return _watch(store)
    facts = state(store)
    needs = None if precision is None else _needs(store, precision)
    if as_json:
        click.echo(json.dumps(facts if needs is None else {**facts, "precision": [vars(one) for one in needs]}))
        return 0
    click.echo(status_text(facts))
    if needs is not None and precision is not None:
        from harness.show import precision_text

        click.echo(precision_text(needs, precision))
    return 0


def _watch(store: str) -> int:
    """Follows a study; the code is that of its run, as far as it can be told."""
    from harness.show import status_text
    from harness.watching import watch

    facts = watch(store)
    click.echo(err=True)
    click.echo(status_text(facts))
    told = facts["submission"]
    if facts["complete"]:
        return EXIT_FAILED if facts["failed"] else 0
    return told["code"] if told is not None and told["code"] else EXIT_CLUSTER


@main.command()
@click.argument("scenario")
@_store
@_settings
@_workers
@_cluster
@_retry
@_json
@_told
def submit(
    scenario: str,
    store: str | None,
    settings: tuple[str, ...],
    workers: int | None,
    cluster: str | None,
    retry: bool,
    as_json: bool,
) -> int:
    """Hand SCENARIO over to a driver of its own, and leave: it goes on without you."""
    from harness import driver
    from harness.clusters import described
    from harness.loading import load
    from harness.show import submitted_text
    from harness.submit.submitting import submit as hand_over

    file = described(cluster, workers)
    prepared = driver.prepare(load(scenario, settings), store, workers, retry=retry, cluster=file)
    done = hand_over(prepared, cluster, workers, lambda text: click.echo(text, err=True))
    if as_json:
        one = done.submission
        facts = {"store": done.url, "id": one.id if one else None, "at_work": done.running, "heard_of": done.lives}
        click.echo(json.dumps(facts))
    else:
        click.echo(submitted_text(prepared, done, _shown(done.url)))
    return 0


@main.command()
@click.argument("store", metavar="STORE|SCENARIO")
@click.option("--workers", "of_workers", is_flag=True, help="Those of the workers, too.")
@_told
def logs(store: str, of_workers: bool) -> None:
    """Show what the driver of the study in STORE has logged, and its workers."""
    from harness.place import place
    from harness.state import store_of
    from harness.submit.logbook import logs as kept

    found = kept(place(store_of(store, begun=False)))
    if not any(found):
        click.echo("no logs: it wasn't submitted, or its driver hasn't started yet (`ckrr status`)", err=True)
    for text in found[: 1 + of_workers]:
        click.echo(text, nl=False)


@main.command()
@click.argument("store", metavar="STORE|SCENARIO")
@_told
def cancel(store: str) -> None:
    """End what is at work on STORE: what is done is kept."""
    from harness.place import place
    from harness.state import store_of
    from harness.submit.cancelling import cancel as end

    who = end(place(store_of(store, begun=False)), lambda text: click.echo(text, err=True))
    click.echo(f"ended {who}: what is done is kept")


def _needs(store: str, target: float) -> list[Any]:
    from harness.results.precision import precision

    return list(precision(store, target))


def _verify(store: str) -> int:
    from harness.verify import verify

    count, torn = verify(store)
    for one in torn:
        click.echo(f"{one.unit}: {one.what}", err=True)
    units = sum(not one.frame for one in torn)
    if units:
        click.echo(f"{units} of {count} units are no good: `ckrr run` computes them again", err=True)
    if units < len(torn):
        click.echo("what isn't a unit is written anew by `ckrr run`, from what the store knows", err=True)
    if torn:
        return EXIT_FAILED
    click.echo(f"all {count} units read, nothing is torn", err=True)
    return 0


@main.command()
@click.argument("store")
@click.option(
    "--measure", "measures", default="coverage", show_default=True, metavar="NAMES", help="Separated by commas."
)
@click.option("--rows", metavar="AXES", help="Separated by commas. [default: procedure and what is left]")
@click.option("--columns", metavar="AXES", help="[default: n]")
@_where
@click.option("--versus", metavar="PROCEDURE", help="Paired differences from this one.")
@click.option(
    "--format",
    "form",
    default="text",
    show_default=True,
    type=click.Choice(["text", "markdown", "latex", "csv", "json"]),
)
@_told
def table(
    store: str,
    measures: str,
    rows: str | None,
    columns: str | None,
    where: tuple[str, ...],
    versus: str | None,
    form: str,
) -> None:
    """Print measures of STORE with their Monte-Carlo errors.

    MEASURES: coverage, error, mad, verdict, width, relative_width, unbounded, failed and more (a wrong name lists all).
    """
    from harness.results.formats import FORMATS
    from harness.results.runs import parse_where
    from harness.results.tables import table as made

    axes = [None if text is None else _names(text) for text in (rows, columns)]
    click.echo(FORMATS[form](made(store, _names(measures), axes[0], axes[1], parse_where(where), versus)))


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@main.command()
@click.argument("store")
@_json
@_told
def errors(store: str, as_json: bool) -> None:
    """Say what failed in STORE: by message, with a count and an example."""
    from harness.failures import groups
    from harness.show import errors_text
    from harness.state import store_of

    store = store_of(store)
    found = groups(store)
    click.echo(json.dumps(found) if as_json else errors_text(found, _shown(store)))


@main.command()
@click.argument("store")
@click.option("--n", type=int, required=True)
@click.option("--path", type=int, required=True)
@click.option("--draw", type=int, default=0, show_default=True)
@click.option("--theta", help="A number or the name of a search. [default: all]")
@click.option("--lam", type=float, help="[default: all]")
@click.option("--gamma", type=float, help="[default: all]")
@click.option("--save", type=click.Path(dir_okay=False), help="Write data, fits and regions to this .npz file.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw the bands of a 1-d cell to this picture.")
@_told
def replay(
    store: str,
    n: int,
    path: int,
    draw: int,
    theta: str | None,
    lam: float | None,
    gamma: float | None,
    save: str | None,
    plot: str | None,
) -> int:
    """Compute one replication of STORE again, here, and say whether it is what the store has."""
    from harness.nouns import Mistake
    from harness.replay import Asked, looked_into, replay as again
    from harness.show import replay_text
    from harness.wiring import theta_of

    asked = Asked(n, path, draw, gamma, None if theta is None else theta_of(theta), lam)
    found = again(store, asked, lambda text: click.echo(text, err=True))
    click.echo(replay_text(found))
    if found.deadly and found.failures and (save or plot):
        raise Mistake("--save and --plot need a replication that doesn't end its process")
    if save or plot:
        arrays = looked_into(store, asked)
        if save:
            import numpy as np

            np.savez(save, **arrays)  # type: ignore[arg-type]
            click.echo(f"wrote {save}: {', '.join(sorted({key.rpartition('/')[2] for key in arrays}))} of each cell")
        if plot:
            from harness.bands import draw_bands

            draw_bands(store, arrays, plot)
            click.echo(f"wrote {plot}")
    return 0 if found.equal else EXIT_FAILED


@main.command()
@click.argument("store")
@click.argument("name", default="coverage")
@click.option("--where", "wheres", multiple=True, metavar="AXIS=VALUE,...", help="Choose, as theta=ml,lam=0.1.")
@click.option("-o", "--output", metavar="FILE", help="A .png or .svg file. [default: NAME.png]")
@_told
def figure(store: str, name: str, wheres: tuple[str, ...], output: str | None) -> None:
    """Draw NAME of STORE: coverage, width, tradeoff, pointwise, paths, failures or seconds."""
    from harness.figures import draw, save
    from harness.figures.drawing import check_name
    from harness.figures.files import check_ending
    from harness.results.runs import parse_where

    check_name(name)
    path = output or f"{name}.png"
    check_ending(path)  # before the work
    save(draw(store, name, parse_where(wheres)), path)
    click.echo(f"wrote {path}")


@main.command()
@click.argument("store")
@click.option("-o", "--output", metavar="FILE.html", help="Where to write it. [default: beside the store, NAME.html]")
@click.option("--drawn", type=click.IntRange(min=0), help="Choices of γ, θ, λ and α that have figures. [default: 12]")
@_told
def report(store: str, output: str | None, drawn: int | None) -> None:
    """Write the study in STORE as one HTML file: verdicts, tables, figures, and how it was made."""
    from harness.report.writing import write
    from harness.state import store_of

    path = write(store, output, _shown(store_of(store)), drawn)
    click.echo(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)")


@main.command()
@click.argument("stores", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="STORE", help="The store to make.")
@_told
def merge(stores: tuple[str, ...], output: str) -> None:
    """Join STORES of one study, made in several places, into a new one."""
    from harness.merging import merge as merged

    done = merged(stores, output)
    click.echo(f"wrote {output}: {done} units are complete; `ckrr run` computes what is missing")


@main.command()
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
@_workers
@_cluster
@_json
@_told
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
    from harness.clusters import described
    from harness.nouns import Mistake
    from harness.paper.printed import asked
    from harness.paper.report import Report
    from harness.paper.study import scenario, store_of, studies

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
    click.echo(json.dumps(found.facts()) if as_json else found.text())
    return EXIT_FAILED if failed else 0


def _figures(asked: str, quick: bool, results: str, on: tuple[int | None, Any], as_json: bool) -> int:
    """Runs what the figures need, draws them, and says what was written."""
    from harness.paper.figures.numbers import folder_of, needs, numbers
    from harness.paper.figures.writing import write
    from harness.paper.study import store_of

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
                click.echo(f"wrote {' and '.join(map(str, files))}")
    if as_json:
        click.echo(json.dumps({"written": list(map(str, written)), "failed": failed}))
    return EXIT_FAILED if failed else 0


def _paper_report(output: str | None, quick: bool, results: str, on: tuple[int | None, Any], as_json: bool) -> int:
    """Runs what the report needs, and writes it."""
    from harness.paper.page.needs import Needs
    from harness.report.writing import check, put

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
    click.echo(json.dumps(told) if as_json else f"wrote {target} ({size})")
    return EXIT_FAILED if failed else 0


def _reproduced(loaded: Any, stores: dict[str, str], on: tuple[int | None, Any], quiet: bool) -> int | None:
    """Runs what the stores lack, and says before how long it takes; how many cells failed, None if it broke off."""
    from harness import driver
    from harness.progress import duration

    plans = [driver.prepare(one, stores[name], on[0], cluster=on[1]) for name, one in loaded.items()]
    left = sum(prepared.plan.duration for prepared in plans)
    if not quiet:
        for prepared in plans:
            _announce(prepared)
        if len(plans) > 1 and left > 5:
            click.echo(f"in all about {duration(left)}; stopped, the same command goes on")
    failed = 0
    for prepared in plans:
        outcome = _outcome(prepared)
        if outcome is None:
            return None
        failed += outcome.failed
    return failed


@main.command(name="list")
@_json
@_told
def list_(as_json: bool) -> None:
    """List the scenarios that come along."""
    import tomllib

    from harness.packaged import scenario_files
    from harness.show import table

    found = [(name, tomllib.loads(path.read_text())) for name, path in scenario_files().items()]
    if as_json:
        click.echo(json.dumps([{"name": name, "description": one.get("description", "")} for name, one in found]))
        return
    click.echo(table([[name, one.get("description", "")] for name, one in found], left=2))


@main.command()
@click.argument("name")
@_told
def new(name: str) -> None:
    """Write a scenario file NAME.toml to start from, with every key explained."""
    from harness.nouns import Mistake
    from harness.packaged import packaged

    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if not path.stem.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise Mistake(f"NAME must have only letters, digits, '.', '_' and '-', got {path.stem!r}")
    if path.exists():
        raise Mistake(f"{path} is there already: choose another name")
    text = (packaged() / "new.txt").read_text().replace('name = "new"', f'name = "{path.stem}"')
    path.write_text(text)
    click.echo(f"wrote {path}; try it with: ckrr run {path} --smoke")


if __name__ == "__main__":
    main()
