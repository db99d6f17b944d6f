"""Commands that read stores: `ckrr table`, `figure`, `report`, `errors` and `replay`; and `merge`, which joins them."""

from __future__ import annotations

import json

import click

from harness.cli.common import (
    EXIT_FAILED,
    design_option,
    echo,
    json_option,
    shorten_path,
    user_errors,
    where_option,
)


@click.command()
@click.argument("stores", nargs=-1, required=True, metavar="STORE...")
@click.option(
    "--measure",
    default="",
    metavar="NAMES",
    help="Measures, separated by commas. [default: coverage, the expected one if the store has it]",
)
@click.option("--rows", metavar="AXES", help="Axes, separated by commas. [default: procedure and the remaining axes]")
@click.option("--columns", metavar="AXES", help="Axes, separated by commas. [default: n, or study]")
@where_option
@click.option("--versus", metavar="PROCEDURE", help="Show paired differences from this procedure.")
@click.option("--adjust", is_flag=True, help="Reduce errors by conformal coverages, whose expectations are exact.")
@design_option
@click.option(
    "--format",
    "form",
    default="text",
    show_default=True,
    type=click.Choice(["text", "markdown", "latex", "csv", "json"]),
)
@user_errors
def table(
    stores: tuple[str, ...],
    measure: str,
    rows: str | None,
    columns: str | None,
    where: tuple[str, ...],
    versus: str | None,
    adjust: bool,
    design: str | None,
    form: str,
) -> None:
    """Print a table of measures of STORE with their Monte-Carlo errors.

    Several STOREs make a table of procedures × studies, with ranks and paired differences, of one cell of each: of
    several values in --where, a study takes the first that it has.

    MEASURES: coverage, coverage_expected, error, mad, verdict, width, relative_width, unbounded, failed and more (a
    wrong name lists all); for several stores also rank and difference.
    """
    from harness.results.formats import FORMATS
    from harness.results.studies.tables import table as made

    echo(FORMATS[form](made(stores, measure, rows, columns, where, versus, adjust, design)))


@click.command()
@click.argument("store")
@click.argument("name", default="coverage")
@click.option(
    "--where", "wheres", multiple=True, metavar="AXIS=VALUE,...", help="Select values, e.g. theta=ml,lam=0.1."
)
@click.option("--versus", metavar="PROCEDURE", help="For relative and difference: compare with this procedure.")
@click.option("-o", "--output", metavar="FILE", help="A .png, .svg or .pdf file. [default: NAME.png]")
@user_errors
def figure(store: str, name: str, wheres: tuple[str, ...], versus: str | None, output: str | None) -> None:
    """Draw NAME of STORE.

    NAME is one of coverage, target, lollipop, width, relative, difference, calibration, nested, tradeoff, pointwise,
    conditional, paths, failures and seconds.
    """
    from harness.figures import draw, save
    from harness.figures.export import check_ending
    from harness.figures.registry import check_name
    from harness.parsing.selections import parse_where

    check_name(name, versus)
    path = output or f"{name}.png"
    check_ending(path)  # before the work
    save(draw(store, name, parse_where(wheres), versus), path)
    echo(f"wrote {path}")


@click.command()
@click.argument("stores", nargs=-1, required=True, metavar="STORE...")
@click.option(
    "-o",
    "--output",
    metavar="FILE.html",
    help="Where to write it. [default: beside the store, NAME.html; comparison.html for several]",
)
@where_option
@click.option("--versus", metavar="PROCEDURE", help="Compare others with this procedure.")
@click.option("--drawn", type=click.IntRange(min=0), help="Combinations of γ, θ, λ and α with figures. [default: 16]")
@design_option
@user_errors
def report(
    stores: tuple[str, ...],
    output: str | None,
    where: tuple[str, ...],
    versus: str | None,
    drawn: int | None,
    design: str | None,
) -> None:
    """Write a report of the study in STORE as one HTML file: verdicts, tables, figures, and how it was computed.

    Several STOREs make a comparison of their procedures: which are valid on which data, ranks, and paired differences.
    One cell of each is compared: of several values in --where, a study takes the first that it has.
    """
    from harness.core.text import format_size
    from harness.report.write import write_report
    from harness.store.locate import find_store

    shown = [shorten_path(find_store(store)) for store in stores]
    path = write_report(stores, output, where, versus, drawn, design, shown)
    echo(f"wrote {path} ({format_size(path.stat().st_size)})")


@click.command()
@click.argument("store")
@json_option
@user_errors
def errors(store: str, as_json: bool) -> None:
    """List the failures in STORE by message, each with a count and an example."""
    from harness.cli.text import format_errors
    from harness.maintenance.failures import group_failures
    from harness.store.locate import find_store

    store = find_store(store)
    found = group_failures(store)
    echo(json.dumps(found) if as_json else format_errors(found, shorten_path(store)))


@click.command()
@click.argument("store")
@click.option("--n", type=int, required=True)
@click.option("--path", type=int, required=True)
@click.option("--draw", type=int, default=0, show_default=True)
@click.option("--theta", help="A number, or the name of a search for θ. [default: all]")
@click.option("--lam", type=float, help="[default: all]")
@click.option("--gamma", type=float, help="[default: all]")
@click.option("--save", type=click.Path(dir_okay=False), help="Write data, fits and regions to this .npz file.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False),
    help="Draw the regions of cells with 1-d inputs to this .png, .svg or .pdf file.",
)
@click.option("--trust", is_flag=True, help="Run the code contained in the store: only if you trust its author.")
@user_errors
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
    trust: bool,
) -> int:
    """Recompute one replication of STORE here, and compare it with the stored results.

    This runs the source of the study. A bundled source needs no flag, nor does a file that is also in this directory.
    Any other code needs --trust.
    """
    from harness.cli.text import format_replay
    from harness.core.errors import UserError
    from harness.core.labels import parse_theta
    from harness.figures import export
    from harness.maintenance.replay import CellSelection, check_code, extract_arrays, replay_one as again

    if plot:
        export.check_ending(plot)  # before the work
    check_code(store, trust)
    asked = CellSelection(n, path, draw, gamma, None if theta is None else parse_theta(theta), lam)
    found = again(store, asked, lambda text: echo(text, err=True))
    echo(format_replay(found))
    if found.killed_process and found.failures and (save or plot):
        raise UserError("--save and --plot need a replication that doesn't kill its process")
    if save or plot:
        arrays = extract_arrays(store, asked)
        if save:
            import numpy as np

            np.savez(save, **arrays)  # type: ignore[arg-type]
            echo(f"wrote {save}: {', '.join(sorted({key.rpartition('/')[2] for key in arrays}))} of each cell")
        if plot:
            from harness.figures.plots.bands import draw_bands

            export.save(draw_bands(store, arrays, f"n = {n}, path {path}, draw {draw}"), plot)
            echo(f"wrote {plot}")
    return 0 if found.equal else EXIT_FAILED


@click.command()
@click.argument("stores", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="STORE", help="The store to make.")
@user_errors
def merge(stores: tuple[str, ...], output: str) -> None:
    """Merge STORES of one study, computed in several places, into a new store."""
    from harness.core.text import format_count
    from harness.maintenance.merge import merge_stores as merged

    done, total = merged(stores, output)
    echo(f"wrote {output}: {done} of {format_count(total, 'unit')} complete")
    if done < total:
        echo("units that lack a value which another store has (an α, say) are left out: `ckrr run` computes them")
