"""The command `ckrr export`: results for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.common import echo, user_errors, where_option


@click.command()
@click.argument("store")
@click.argument("file")
@click.option(
    "--replications", is_flag=True, help="Export every replication: in NetCDF beside the cube, in tables instead of it."
)
@where_option
@click.option("--overwrite", is_flag=True, help="Replace an existing FILE.")
@user_errors
def export(store: str, file: str, replications: bool, where: tuple[str, ...], overwrite: bool) -> None:
    """Export the cube of STORE to FILE for other programs: R, Julia, GDAL, spreadsheets.

    The ending of FILE is its format: .nc (NetCDF-4), .parquet or .csv. Units, the meaning of codes and the description
    of the study are inside; those of a .csv file are in FILE-metadata.json. NetCDF and Parquet need
    pip install 'ckrr[export]'.
    """
    from harness.core.text import format_size
    from harness.interchange.write import export as write, list_files, list_notes

    target = write(store, file, replications, where, overwrite)
    for note in list_notes(store, Path(file), replications):
        echo(f"note: {note}", err=True)
    sizes = (f"{each} ({format_size(each.stat().st_size)})" for each in reversed(list_files(target)))
    echo(f"wrote {' and '.join(sizes)}")
