"""Read a table from a .csv file with a header line, or from an .npz file with arrays X and y.

Every error message is one line and begins with the keyword to change, `file` or `target`.
"""

from __future__ import annotations

import csv
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scenarios.sources import _validation
from scenarios.sources.types import Array

# Raised by np.load and its members for pickles, text, a single array and damaged archives.
_NOT_AN_NPZ = (ValueError, TypeError, AttributeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)

LARGEST = 1 << 28
"""Largest size in bytes of the unpacked arrays of an .npz file, which can be a thousand times that of the file."""

Line = tuple[int, list[str]]
"""Line number in the file, and the cells of that line."""


def read_table(file: str, target: str | None = None) -> tuple[Array, Array]:
    """Read the inputs, shape (rows, columns), and the targets, shape (rows,), of a table.

    Parameters
    ----------
    file
        Path of a .csv or .npz file.
    target
        Name of the target column of a .csv file; the last column if None. The other columns are the inputs, in order.

    Raises
    ------
    ValueError
        If the file can't be read or isn't a table of finite numbers, or if there is no column `target`.
    """
    path = Path(file) if isinstance(file, str) else None
    if path is None or path.suffix.lower() not in (".csv", ".npz"):
        raise ValueError(f"file must be the path of a .csv or .npz file, got {_validation.quote_value(file)}")
    if not path.is_file():
        raise ValueError(f"file must be the path of an existing file, got {file!r} (looked for {path.absolute()})")
    try:
        return _read_csv(path, target) if path.suffix.lower() == ".csv" else _read_npz(path, target)
    except OSError as error:
        raise ValueError(f"file must be readable, got {file!r} ({error.strerror or error})") from None


def _read_csv(path: Path, target: str | None) -> tuple[Array, Array]:
    lines = _read_lines(path)
    names = _parse_header(path, next(lines, None))
    column = _find_target_column(path, names, target)
    cells = np.fromiter((cell for line in lines for cell in _parse_numbers(path, names, line)), dtype=np.float64)
    if not len(cells):
        raise ValueError(f"file must have rows of numbers below its header, got none in {path}")
    rows = cells.reshape(-1, len(names))
    return np.delete(rows, column, axis=1), rows[:, column].copy()


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
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ValueError(f"file must have different column names, got {repeated[0]!r} more than once in {path}")
    if len(names) < 2:
        raise ValueError(f"file must have two comma-separated columns or more, got only {names[0]!r} in {path}")
    return names


def _find_target_column(path: Path, names: list[str], target: str | None) -> int:
    if target is None:
        return len(names) - 1
    if target in names:
        return names.index(target)
    known = ", ".join(names) if len(names) <= 12 else f"{', '.join(names[:12])}, …"
    raise ValueError(
        f"target must be a column of {path} ({known}), "
        f"got {_validation.quote_value(target)}{_validation.suggest_name(target, names)}"
    )


def _parse_numbers(path: Path, names: list[str], line: Line) -> list[float]:
    number, cells = line
    if len(cells) != len(names):
        raise ValueError(
            f"file must have {len(names)} cells in every line, as in its header, "
            f"got {len(cells)} at line {number} of {path}"
        )
    values = [_parse_number(cell) for cell in cells]
    for name, cell, value in zip(names, cells, values, strict=True):
        if value is None or not isfinite(value):
            raise ValueError(
                f"file must hold finite numbers below its header, got {_validation.quote_value(cell)} "
                f"in column {name!r} at line {number} of {path}"
            )
    return [value for value in values if value is not None]


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
