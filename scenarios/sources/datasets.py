"""Read registered data sets from the packages that have them inside, without importing these packages."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from scenarios.sources import _validation
from scenarios.sources.columns import LARGEST
from scenarios.sources.marking import source
from scenarios.sources.read_table import read_table
from scenarios.sources.registry import DATASETS, Dataset
from scenarios.sources.tables import Table, check_options, make_table

_NOT_READABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, csv.Error)
"""Raised for a file of a package that isn't as it was when the data set was registered."""


@source
def make_dataset(dataset: str, test_points: int = 200, scale: bool = True, file: str | None = None) -> Table:
    """Make a source from a registered data set.

    Parameters
    ----------
    dataset
        Name of the data set in `DATASETS`.
    test_points
        Number of rows that each draw uses as test points.
    scale
        Whether to map each input column to [0, 1] and to standardise the target.
    file
        Path of a copy of the canonical data, such as a store has; default: read the installed package.
    """
    check_options(test_points, scale)
    entry = find_dataset(dataset)
    if file is not None and not is_copy(entry, Path(file)):
        raise ValueError(f"file must be a copy of the data set {dataset!r}, got {file!r}: leave it out")
    with TemporaryDirectory(prefix="ckrr-") as folder:
        copy = Path(folder) / f"{dataset}.csv"
        copy.write_bytes(read_dataset(dataset) if file is None else Path(file).read_bytes())
        X, y = read_table(str(copy), entry.target)
    return make_table(X, y, test_points, scale, f"the data set {dataset!r}")


def find_dataset(name: str) -> Dataset:
    """Return the entry of a data set, or raise ValueError with the names that there are."""
    return DATASETS[_validation.check_choice("dataset", name, tuple(DATASETS))]


def is_copy(entry: Dataset, path: Path) -> bool:
    """Return whether a file has the canonical data of a data set."""
    is_readable = path.is_file() and path.stat().st_size <= LARGEST
    return is_readable and sha256(path.read_bytes()).hexdigest() == entry.sha256


@lru_cache(maxsize=1)
def read_dataset(name: str) -> bytes:
    """Return the canonical data of a data set, read from the installed package that has it.

    Raises
    ------
    ValueError
        If the package isn't installed, or has other rows than when the data set was registered.
    """
    entry = find_dataset(name)
    package = entry.package.partition("==")[0]
    spec = find_spec(entry.module)
    if spec is None or not spec.submodule_search_locations:
        text = f"dataset {name!r} is inside the package {package}, which isn't installed"
        raise ValueError(f"{text}: run pip install 'ckrr[data]'")
    folder = Path(spec.submodule_search_locations[0]).parent
    try:
        data = _make_canonical(entry, folder)
    except _NOT_READABLE:
        data = b""
    if sha256(data).hexdigest() != entry.sha256:
        text = f"dataset {name!r} must have the {entry.rows} rows of {entry.package}"
        raise ValueError(
            f"{text}, got others from {package} {_get_version(package)} in {folder}: run pip install '{entry.package}'"
        )
    return data


def _get_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


def _make_canonical(entry: Dataset, folder: Path) -> bytes:
    """Return the inputs and the target as a .csv file, with the cells as the package has them."""
    parts = [_read_rows(folder / file, entry) for file in entry.files]
    rows = (list(chain(*cells)) for cells in zip(*parts, strict=True))
    header = list(entry.header) or next(rows, [])
    kept = [header.index(name) for name in (*entry.inputs, entry.target)]
    labels = [entry.labels.get(header[i], {}) for i in kept]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header[i] for i in kept)
    writer.writerows([names.get(row[i], row[i]) for i, names in zip(kept, labels, strict=True)] for row in rows)
    return text.getvalue().encode()


def _read_rows(path: Path, entry: Dataset) -> Iterator[list[str]]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".zip":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            data = archive.read(archive.namelist()[0])
    return csv.reader(io.StringIO(data.decode(), newline=""), delimiter=entry.delimiter)
