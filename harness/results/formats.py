"""Format tables as text, Markdown, LaTeX (booktabs), CSV and JSON.

CSV and JSON are for programs: one record for each cell, with all digits. The other formats are for readers: numbers are
rounded to their standard errors.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from itertools import groupby
from math import isfinite

from harness.results.tables import NAMED, Table, format_axis_label

_NAMES = {"gamma": r"$\gamma$", "theta": r"$\theta$", "lam": r"$\lambda$", "alpha": r"$\alpha$", "n": "$n$"}
_PARTS = ("value", "se", "low", "high")


def format_markdown(made: Table) -> str:
    """Format a table as Markdown, with all labels in every row so that rows can be sorted."""
    heads = [*made.rows, *(made.format_head(key) for key in made.column_keys)]
    rule = [*("---" for _ in made.rows), *("---:" for _ in made.column_keys)]
    body = [
        [*map(format_axis_label, made.rows, key), *(made.format_cell(key, column) for column in made.column_keys)]
        for key in made.row_keys
    ]
    lines = [f"| {' | '.join(_escape_markdown(one) for one in row)} |" for row in [heads, rule, *body]]
    return "\n\n".join([made.caption, "\n".join(lines), *made.notes])


def _escape_markdown(text: str) -> str:
    return text.replace("|", r"\|")


def format_latex(made: Table) -> str:
    """Format a table as LaTeX with booktabs; heads of several axes span the columns that share them."""
    columns = "l" * len(made.rows) + "r" * len(made.column_keys)
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_format_caption(made.caption)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
    ]
    lines += _format_heads(made)
    lines.append(r"\midrule")
    for row in made.format_lines()[1:]:
        labels, numbers = row[: len(made.rows)], row[len(made.rows) :]
        lines.append(" & ".join([*map(_format_number, labels), *map(_format_number, numbers)]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


_FIXED = re.compile(r"\b(n|gamma|theta|lam|alpha) = ([^,;]+)")


def _format_caption(caption: str) -> str:
    """Format a caption as LaTeX, with the values of fixed axes, such as "n = 100", as mathematics."""
    what, _, at = caption.rpartition("; ")
    if not what or not _FIXED.match(at):
        return _escape_tex(caption)
    return f"{_escape_tex(what)}; {_FIXED.sub(lambda match: _format_equation(match[1], match[2]), at)}"


def _format_heads(made: Table) -> list[str]:
    """Return a line of LaTeX for each axis of the columns; the last one also names the axes of the rows."""
    names, lines = [_NAMES.get(axis, axis) for axis in made.rows], list[str]()
    for depth in range(1, len(made.columns) + 1):
        last = depth == len(made.columns)
        runs = [(key[-1], len(list(some))) for key, some in groupby(key[:depth] for key in made.column_keys)]
        heads = [_format_head(made.columns[depth - 1], one, count) for one, count in runs]
        lines.append(" & ".join([*(names if last else [""] * len(names)), *heads]) + r" \\")
        if not last:
            lines.append(_format_rules(len(names), [count for _, count in runs]))
    return lines or [" & ".join([*names, "value"]) + r" \\"]


def _format_head(axis: str, value: str, count: int) -> str:
    word = _escape_tex(format_axis_label(axis, value)) if axis in NAMED else _format_equation(axis, value)
    return word if count == 1 else rf"\multicolumn{{{count}}}{{c}}{{{word}}}"


def _format_equation(axis: str, value: str) -> str:
    r"""Format an axis and its value as mathematics, or as text if the value isn't a number.

    Examples
    --------
    >>> _format_equation("theta", "100"), _format_equation("theta", "ml")
    ('$\\theta = 100$', '$\\theta$ = ml')
    """
    name, number = _NAMES.get(axis, axis), _format_number(value)
    return f"{name[:-1]} = {number[1:]}" if number.startswith("$") and name.endswith("$") else f"{name} = {number}"


def _format_rules(start: int, spans: Sequence[int]) -> str:
    """Return the rules under heads that span several columns, from their numbers of columns."""
    found, at = [], start + 1
    for count in spans:
        found.append(rf"\cmidrule(lr){{{at}-{at + count - 1}}}")
        at += count
    return " ".join(found)


_POWER = re.compile(r"(-?\d+(?:\.\d+)?)e([+-]\d+)")
_MATHS = str.maketrans({"±": r"\pm", "−": "-", "(": r"\ (", "–": r"\textrm{--}", "∞": r"\infty"})
_WORD = re.compile(r" (of|to) ")
_FIRST = tuple("0123456789-−")
_SPECIAL: dict[str, str | int | None] = {
    **{sign: rf"\{sign}" for sign in "&%#_${}"},
    "±": r"$\pm$",
    "−": "$-$",
    "·": r"$\cdot$",
    "*": "$^*$",
    "|": "$|$",
    "–": "--",
    "α": r"$\alpha$",
    "γ": r"$\gamma$",
    "θ": r"$\theta$",
    "λ": r"$\lambda$",
}


def _format_number(text: str) -> str:
    r"""Format a number, with its error, as mathematics; escape any other text.

    Examples
    --------
    >>> _format_number("0.901 ± 0.003"), _format_number("1e-06"), _format_number("valid"), _format_number("inf")
    ('$0.901 \\pm 0.003$', '$10^{-6}$', 'valid', '$\\infty$')
    """
    if text[:1] not in _FIRST:
        return r"$\infty$" if text == "inf" else _escape_tex(text)
    return f"${_WORD.sub(_format_word, _POWER.sub(_format_power, text).translate(_MATHS))}$"


def _format_word(match: re.Match[str]) -> str:
    return rf"\textrm{{ {match[1]} }}"


def _format_power(match: re.Match[str]) -> str:
    factor = "" if match[1] == "1" else rf"{match[1]} \cdot "
    return f"{factor}10^{{{int(match[2])}}}"


def _escape_tex(text: str) -> str:
    return text.translate(str.maketrans(_SPECIAL))


def list_cells(made: Table) -> list[dict[str, object]]:
    """Return a record for each cell of a table: labels of its axes, its verdict if it has one, and its estimate."""
    return [
        {
            **dict(zip([*made.rows, *made.columns], [*row, *column], strict=True)),
            **({cell.word_key: cell.word} if cell.word_key else {}),
            **{part: getattr(cell, part) for part in _PARTS},
        }
        for row in made.row_keys
        for column in made.column_keys
        if (cell := made.cells.get((row, column))) is not None
    ]


def format_csv(made: Table) -> str:
    """Format a table as CSV with a header line; NaN, such as an unknown error, is an empty field."""
    lines, out = list_cells(made), io.StringIO()
    words = {cell.word_key for cell in made.cells.values() if cell.word_key}
    heads = [*made.rows, *made.columns, *sorted(words), *_PARTS] if lines else []
    writer = csv.DictWriter(out, heads, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: "" if value != value else value for key, value in line.items()} for line in lines)
    return out.getvalue().rstrip("\n")


def format_json(made: Table) -> str:
    """Format a table as a JSON list of objects; infinite values are strings ("inf"), NaN is null."""
    return json.dumps([{key: _to_json_value(value) for key, value in line.items()} for line in list_cells(made)])


def _to_json_value(value: object) -> object:
    if not isinstance(value, float) or isfinite(value):
        return value
    return None if value != value else str(value)


FORMATS: dict[str, Callable[[Table], str]] = {
    "text": str,
    "markdown": format_markdown,
    "latex": format_latex,
    "csv": format_csv,
    "json": format_json,
}
"""Functions that format a table, by the name of the format."""
