"""Export a store to a file of another format, chosen by its ending."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from harness.backends.address import is_url
from harness.core.errors import UserError
from harness.core.text import fold_whitespace
from harness.interchange.csv_file import METADATA, write_csv, write_metadata
from harness.interchange.netcdf_file import write_netcdf
from harness.interchange.parquet_file import write_parquet
from harness.interchange.study import StoredStudy, describe_file, open_study
from harness.interchange.tables import make_table
from harness.parsing.selections import Selection
from harness.parsing.targets import check_folder, open_draft
from harness.results.replications import count_damaged, format_damage
from harness.store.manifest import ROOT

PACKAGES = {".nc": ("h5netcdf", "h5py"), ".parquet": ("pyarrow",), ".csv": ()}
"""Endings of the files that can be written, with the packages that each format needs."""


def export(
    store: str | Path,
    path: str | Path,
    replications: bool = False,
    where: Selection = (),
    overwrite: bool = False,
) -> Path:
    """Write the cube of a store, or its replications, to a file for other programs, and return its path.

    The file is written completely or not at all, and replications are read block by block.

    Parameters
    ----------
    store : str or Path
        Path or URL of a store, or a scenario, which stands for its default store.
    path : str or Path
        File to write. Its ending is the format: .nc (NetCDF-4), .parquet or .csv, which gets its units and descriptions
        in a second file, `<path>-metadata.json`.
    replications : bool
        Whether to write every replication: in a table instead of the cube, in NetCDF beside it, in a group for each n.
    where : mapping or str, optional
        Values to select along some axes. Default: all.
    overwrite : bool
        Whether to replace existing files.

    Raises
    ------
    UserError
        If there is no such store or value, the file exists or can't be written, or a package is missing.
    """
    if is_url(str(path)):
        raise UserError(f"{path}: export writes files on this machine: name a path without a protocol")
    target = Path(path)
    check_target(target, overwrite)
    study = open_study(store, where)
    try:
        _write(study, target, replications)
    except OSError as error:
        if error.filename is not None and Path(str(error.filename)).parent != target.parent:
            raise  # of the store
        raise UserError(f"{target} can't be written: {fold_whitespace(error.strerror or error)}") from None
    return target


def check_target(target: Path, overwrite: bool) -> None:
    """Raise UserError unless a file of this name can be written and its packages are installed."""
    ending = target.suffix.lower()
    if ending not in PACKAGES:
        raise UserError(f"{target} must end in .nc (NetCDF), .parquet or .csv, got {ending or 'no ending'}")
    missing = [name for name in PACKAGES[ending] if find_spec(name) is None]
    if missing:
        raise UserError(f"{target}: {ending} files need {' and '.join(missing)}: pip install 'ckrr[export]'")
    check_folder(target, "export")
    inside = next((folder for folder in target.resolve().parents if (folder / ROOT).exists()), None)
    if inside is not None:
        raise UserError(f"{target} is inside the store {inside}: choose a file outside of it")
    for each in reversed(list_files(target)):
        if each.is_file() and not overwrite:
            raise UserError(f"{each} exists: choose another name, or replace it with --overwrite")
        if not each.is_file() and (each.exists() or each.is_symlink()):
            raise UserError(f"{each} exists and is not a regular file: choose another name")


def list_files(target: Path) -> list[Path]:
    """Return the files that an export writes, the one that was asked for last."""
    beside = [target.with_name(f"{target.name}{METADATA}")] if target.suffix.lower() == ".csv" else []
    return [*beside, target]


def _write(study: StoredStudy, target: Path, replications: bool) -> None:
    about, ending = describe_file(study), target.suffix.lower()
    with open_draft(target) as draft:
        if ending == ".nc":
            write_netcdf(study, about, draft, replications)
        elif ending == ".parquet":
            write_parquet(make_table(study, replications), about, draft)
        else:
            table = make_table(study, replications)
            write_csv(table, draft)
            with open_draft(list_files(target)[0]) as beside:
                write_metadata(table, about, target.name, beside)


def list_notes(store: str, target: Path, replications: bool) -> list[str]:
    """Return what a reader of an exported file should know about its store: what is missing, and why."""
    study = open_study(store, ())
    found = []
    if not study.manifest.has_ended:
        found.append("the last run hasn't ended, so the cube may lack its latest results: `ckrr run` completes it")
    if lost := count_damaged(study.url):
        found.append(format_damage(lost))
    if replications and target.suffix.lower() != ".nc":
        omitted = {
            "pointwise": "hit and point_width have a value at each test point",
            "bins": "coverage_by_x has 36 values",
            "scale_hat": "scale_hat has a value for each coordinate",
        }
        whole = "which a row can't hold: .nc files have them"
        found += [f"{what}, {whole}" for kept, what in omitted.items() if kept in study.manifest.keep]
    return found
