"""Turn the columns of a table into inputs and targets: numbers as they are, booleans as 0 and 1, categories one-hot.

A column of text with the categories c₁ < c₂ < … becomes one column for each of them, in this order and in its place:
1 in the rows that have the category, 0 elsewhere. Every error message is one line and begins with the keyword to
change, `file` or `target`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scenarios.sources import _validation
from scenarios.sources.types import Array

LARGEST = 1 << 28
"""Largest size in bytes of unpacked arrays, which can be a thousand times that of the file."""
MOST_CATEGORIES = 50
"""Largest number of categories of a column."""
_MISSING = {"", "na", "n/a", "#n/a", "nan", "<na>", "null", "?"}
"""Cells that stand for a missing value, in lower case."""
_DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([T ].*)?")
MEND_MISSING = "fill it in, or leave out its row or its column"
"""What to do about a missing value."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table: numbers, or indices into its categories."""

    name: str
    values: Array
    categories: tuple[str, ...] | None = None
    """Sorted names of the categories; None for a column of numbers."""


def is_missing(cell: str) -> bool:
    """Return whether a cell stands for a missing value: empty, NA, N/A, NaN, null or a question mark."""
    return cell.strip().lower() in _MISSING


def make_categorical(name: str, codes: Array, categories: Sequence[str], where: Path) -> Column:
    """Make a column from text: true and false are the numbers 1 and 0, other words are categories.

    Parameters
    ----------
    name, where
        Names of the column and of its file.
    codes
        For each row, the index of its category.
    categories
        Names of the categories, in any order.

    Raises
    ------
    ValueError
        If the text is dates.
    """
    if all(map(_DATE.fullmatch, categories)):
        raise make_date_error(name, categories[0], where)
    words = [each.lower() for each in categories]
    if set(words) <= {"true", "false"}:
        return Column(name, np.array([word == "true" for word in words], dtype=np.float64)[codes.astype(np.intp)])
    names = sorted(set(categories))
    place = {each: i for i, each in enumerate(names)}
    places = np.array([place[each] for each in categories], dtype=np.float64)
    return Column(name, places[codes.astype(np.intp)], tuple(names))


def make_date_error(name: str, got: str, where: Path) -> ValueError:
    """Make the error for a column of dates."""
    return ValueError(
        f"file must have numbers, text or booleans in its columns, got dates ({_validation.quote_value(got)}) "
        f"in column {name!r} of {where}: replace them by numbers, such as days since the first, or leave the column out"
    )


def check_names(names: Sequence[str], where: Path) -> None:
    """Raise ValueError unless there are two different column names or more, and none is empty."""
    if "" in names:
        place = f"column {names.index('') + 1} of {where}"
        mend = "name it or leave it out; pandas writes its index so, unless you say to_csv(…, index=False)"
        raise ValueError(f"file must have a name for every column, got none for {place}: {mend}")
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ValueError(f"file must have different column names, got {repeated[0]!r} more than once in {where}")
    if len(names) < 2:
        got = f"only {names[0]!r}" if names else "none"
        raise ValueError(f"file must have two columns or more (in a .csv file, between commas), got {got} in {where}")


def find_target(names: Sequence[str], target: str | None, where: Path) -> int:
    """Return the index of the target column: the last one if `target` is None."""
    if target is None:
        return len(names) - 1
    if target in names:
        return names.index(target)
    known = ", ".join(names) if len(names) <= 12 else f"{', '.join(names[:12])}, …"
    raise ValueError(
        f"target must be a column of {where} ({known}), "
        f"got {_validation.quote_value(target)}{_validation.suggest_name(target, names)}"
    )


def encode(columns: Sequence[Column], target: int, where: Path) -> tuple[Array, Array]:
    """Return the inputs, shape (rows, columns), and the targets, shape (rows,), of a table.

    Raises
    ------
    ValueError
        If the target is text, a column has too many categories, or the inputs would be too large.

    Examples
    --------
    >>> colour = Column("colour", np.array([1.0, 0.0, 1.0]), ("blue", "red"))
    >>> X, y = encode([colour, Column("price", np.array([5.0, 6.0, 7.0]))], 1, Path("my.csv"))
    >>> X
    array([[0., 1.],
           [1., 0.],
           [0., 1.]])
    """
    y, inputs = columns[target], [*columns[:target], *columns[target + 1 :]]
    if y.categories is not None:
        got = f"text such as {_validation.quote_value(y.categories[0])} in column {y.name!r} of {where}"
        raise ValueError(f"target must be a column of numbers, got {got}")
    rows = len(y.values)
    for column in inputs:
        _check_categories(column, rows, where)
    widths = [1 if column.categories is None else len(column.categories) for column in inputs]
    if max(widths) > 1 and 8 * rows * sum(widths) > LARGEST:
        size = f"{8 * rows * sum(widths) >> 20} MB: {rows} rows × {sum(widths)} columns, one for each category"
        raise ValueError(f"file must make inputs of at most {LARGEST >> 20} MB, got {size} in {where}")
    return np.column_stack([_encode_column(column) for column in inputs]), y.values.copy()


def _check_categories(column: Column, rows: int, where: Path) -> None:
    if column.categories is None:
        return
    count, mend = len(column.categories), "leave the column out, or replace it by numbers or groups"
    if count > MOST_CATEGORIES:
        raise ValueError(
            f"file must have at most {MOST_CATEGORIES} categories in a column of text, "
            f"got {count} in column {column.name!r} of {where}: {mend}"
        )
    if count == rows > 1:
        raise ValueError(
            "file must have categories that repeat in a column of text, "
            f"got {count} different ones in {rows} rows of column {column.name!r} of {where}: {mend}"
        )


def _encode_column(column: Column) -> Array:
    """Return one column of numbers, or one for each category."""
    if column.categories is None:
        return column.values[:, None]
    return np.asarray(column.values[:, None] == np.arange(len(column.categories)), dtype=np.float64)
