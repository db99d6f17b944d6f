"""Tables from files: .csv with a line of column names, or .npz with arrays X and y.

Every message is one line and begins with the keyword that is to be changed, `file` or `target`.
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

# What np.load and its members raise on pickles, on text, on a single array and on damaged archives.
_NOT_AN_NPZ = (ValueError, TypeError, AttributeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)

LARGEST = 1 << 28
"""Bytes of the arrays in an .npz file: compressed, they may take a thousandth of it."""

Line = tuple[int, list[str]]
"""The number of a line in its file, and its cells."""


def read_table(file: str, target: str | None = None) -> tuple[Array, Array]:
    """The inputs, shape (rows, columns), and the targets, shape (rows,).

    Parameters
    ----------
    file
        The path of a .csv or .npz file.
    target
        The target's column in a .csv file; the last one if None. The other columns are the inputs, in their order.
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
    """The lines that aren't blank."""
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
    """The number a cell holds, NaN and infinity among them; None if it isn't one."""
    try:
        return None if "_" in cell else float(cell)  # Python reads 1_000 as a number; a table means something else
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
        # np.load would leave a file that it opens itself open where it is damaged
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
    """Return the bytes that an archive's members claim to have; `zipfile` gives no more of them than that."""
    with zipfile.ZipFile(path) as archive:
        return sum(member.file_size for member in archive.infolist())
