"""Read a table from a .csv, .npz, .parquet, .arrow or .feather file.

A .csv file has a header line, an .npz file has arrays X and y. Every error message is one line and begins with the
keyword to change, `file` or `target`.
"""

from __future__ import annotations

import csv
import re
import zipfile
import zlib
from array import array
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scenarios.sources import _validation
from scenarios.sources.columns import (
    LARGEST,
    MEND_MISSING,
    Column,
    check_names,
    encode,
    find_target,
    is_missing,
    make_categorical,
)
from scenarios.sources.read_arrow import ARROW, read_arrow
from scenarios.sources.types import Array

# Raised by np.load and its members for pickles, text, a single array and damaged archives.
_NOT_AN_NPZ = (ValueError, TypeError, AttributeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)
_SEPARATED = re.compile(r"[-+]?\d[\d_,' ]*(\.\d*)?")
"""A number with separators, such as 1_000 or 1,000."""
SUFFIXES = (".csv", ".npz", *ARROW)
"""Endings of the files that can be read."""

Line = tuple[int, list[str]]
"""Line number in the file, and the cells of that line."""


def read_table(file: str, target: str | None = None) -> tuple[Array, Array]:
    """Read the inputs, shape (rows, columns), and the targets, shape (rows,), of a table.

    Parameters
    ----------
    file
        Path of the file.
    target
        Name of the target column; the last column if None. The other columns are the inputs, in order. Columns of text
        are one-hot (`columns.encode`). An .npz file has no column names, and no `target`.

    Raises
    ------
    ValueError
        If the file can't be read or isn't a table without missing values, or if there is no column `target`.
    """
    path = Path(file) if isinstance(file, str) else None
    if path is None or path.suffix.lower() not in SUFFIXES:
        known = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise ValueError(f"file must be the path of a {known} file, got {_validation.quote_value(file)}")
    if not path.is_file():
        raise ValueError(f"file must be the path of an existing file, got {file!r} (looked for {path.absolute()})")
    try:
        return _read_npz(path, target) if path.suffix.lower() == ".npz" else _read_columns(path, target)
    except OSError as error:
        raise ValueError(f"file must be readable, got {file!r} ({error.strerror or error})") from None


def _read_columns(path: Path, target: str | None) -> tuple[Array, Array]:
    if path.suffix.lower() in ARROW:
        columns = read_arrow(path)
        return encode(columns, find_target([column.name for column in columns], target, path), path)
    lines = _read_lines(path)
    names = _parse_header(path, next(lines, None))
    place = find_target(names, target, path)
    return encode(_parse_rows(path, names, lines), place, path)


def _read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines that aren't blank."""
    with path.open(newline="", encoding="utf-8-sig") as text:
        reader = csv.reader(text, skipinitialspace=True)
        try:
            yield from ((reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells))
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(
                f"file must be comma-separated UTF-8 text, got {error} after line {reader.line_num} of {path}"
            ) from None


def _parse_header(path: Path, first: Line | None) -> list[str]:
    if first is None:
        raise ValueError(f"file must have a line of column names and rows of numbers, got the empty file {path}")
    names = [" ".join(name.split()) for name in first[1]]
    if all(_parse_number(name) is not None for name in names):
        raise ValueError(f"file must begin with a line of column names, got numbers in line {first[0]} of {path}")
    check_names(names, path)
    return names


class _Cells:
    """The cells of one column of a .csv file: all numbers or all text, as the first one is."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.values = array("d")
        self.categories: dict[str, int] = {}

    def append(self, cell: str, line: int) -> None:
        """Add a cell, or raise ValueError if it is missing, infinite or of another kind than the first one."""
        value = _parse_number(cell)
        if value is not None and isfinite(value) and not self.categories:
            self.values.append(value)
        elif is_missing(cell):
            raise ValueError(f"file must have no missing values, got {self._quote(cell, line)}: {MEND_MISSING}")
        elif value is None and (self.categories or not self.values) and not _SEPARATED.fullmatch(cell.strip()):
            self.values.append(self.categories.setdefault(cell.strip(), len(self.categories)))
        elif self.categories:
            raise ValueError(f"file must have text in every cell of a column of text, got {self._quote(cell, line)}")
        else:
            raise ValueError(f"file must hold finite numbers in a column of numbers, got {self._quote(cell, line)}")

    def _quote(self, cell: str, line: int) -> str:
        return f"{_validation.quote_value(cell)} in column {self.name!r} at line {line} of {self.path}"

    def make_column(self) -> Column:
        """Return the column of all cells so far."""
        values = np.array(self.values, dtype=np.float64)
        if self.categories:
            return make_categorical(self.name, values, list(self.categories), self.path)
        return Column(self.name, values)


def _parse_rows(path: Path, names: list[str], lines: Iterator[Line]) -> list[Column]:
    columns = [_Cells(path, name) for name in names]
    for number, cells in lines:
        if len(cells) != len(names):
            raise ValueError(
                f"file must have {len(names)} cells in every line, as in its header, "
                f"got {len(cells)} at line {number} of {path}"
            )
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell, number)
    if not columns[0].values:
        raise ValueError(f"file must have rows below its header, got none in {path}")
    return [column.make_column() for column in columns]


def _parse_number(cell: str) -> float | None:
    """Return the number in a cell, which may be NaN or infinite; None if the cell isn't a number."""
    try:
        return None if "_" in cell else float(cell)  # Python reads 1_000 as 1000; in a table it is more likely an error
    except ValueError:
        return None


def _read_npz(path: Path, target: str | None) -> tuple[Array, Array]:
    if target is not None:
        raise ValueError(
            f"target must be left out for {path} (its array y is the target), got {_validation.quote_value(target)}"
        )
    X, y = _load_arrays(path)
    try:
        return _validation.check_inputs_and_targets(X, y)
    except ValueError as error:
        raise ValueError(f"file must hold a table of numbers: {error} in {path}") from None


def _load_arrays(path: Path) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    try:
        size = _compute_unpacked_size(path)
        # np.load leaves a file that it opened itself open if the archive is damaged
        with path.open("rb") as binary, np.load(binary, allow_pickle=False) as arrays:
            missing = sorted({"X", "y"} - set(arrays.files))
            if not missing and size <= LARGEST:
                return arrays["X"], arrays["y"]
    except _NOT_AN_NPZ:
        raise ValueError(f"file must hold arrays of numbers as np.savez writes them, got {path}") from None
    if missing:
        raise ValueError(f"file must have arrays X and y, got no {' and no '.join(missing)} in {path}")
    raise ValueError(f"file must hold arrays of at most {LARGEST >> 20} MB, got {size >> 20} MB in {path}")


def _compute_unpacked_size(path: Path) -> int:
    """Return the total size that an archive's members declare; `zipfile` never reads more than the declared size."""
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())
