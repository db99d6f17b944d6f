"""Write a table as a plain CSV file, with its units and descriptions in a file beside it.

CSV has no place for metadata that wouldn't break its readers. They are in `out.csv-metadata.json`, in the format and
at the place of the W3C's "Metadata Vocabulary for Tabular Data" (CSV on the Web). Numbers have as many digits as
reading them back exactly needs. NaN, INF and -INF are as that standard writes them, and TRUE and FALSE as R reads them.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from harness.core.errors import UserError
from harness.core.types import Values
from harness.interchange.columns import Column
from harness.interchange.tables import Table

METADATA = "-metadata.json"
"""What is appended to the name of a CSV file for that of its metadata."""
_ROWS = 8192
"""Rows that are formatted at once."""
_SPECIAL = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}
_TYPES = {"float64": "double", "float32": "float", "int64": "long", "bool": {"base": "boolean", "format": "TRUE|FALSE"}}
"""Data types of the standard."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a text that a spreadsheet takes for a formula."""


def write_csv(table: Table, path: Path) -> None:
    """Write the rows of a table, with a line of column names before them."""
    for column in table.columns:
        _check_words(column)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in table.columns])
        for batch in table.batches:
            for start in range(0, len(batch[0]), _ROWS):
                some = (values[start : start + _ROWS] for values in batch)
                writer.writerows(zip(*map(_format_values, table.columns, some), strict=True))


def _check_words(column: Column) -> None:
    for word in column.words:
        if word.startswith(_FORMULA):
            raise UserError(
                f"{column.name} {word!r} begins like a formula, which spreadsheets would run: "
                "choose .parquet or .nc, or select others with --where"
            )


def _format_values(column: Column, values: Values) -> Sequence[str]:
    if column.words:
        return [column.words[index] for index in values]
    if values.dtype.kind == "b":
        return ["TRUE" if each else "FALSE" for each in values.tolist()]
    if values.dtype.kind in "iu":
        return list(map(str, values.tolist()))
    texts: list[str] = values.astype(str).tolist()  # the shortest ones that give the same number of the same type
    return texts if np.isfinite(values).all() else [_SPECIAL.get(text, text) for text in texts]


def write_metadata(table: Table, about: Mapping[str, str | int], name: str, path: Path) -> None:
    """Write the metadata of the CSV file `name` to a file beside it."""
    found = {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "url": quote(name),
        "dc:title": about["title"],
        "dc:description": about["description"],
        "dc:source": about["scenario"],
        "dc:identifier": about["fingerprint"],
        "dc:creator": about["source"],
        "tableSchema": {"columns": list(map(_describe_column, table.columns)), "primaryKey": list(table.key)},
    }
    path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _describe_column(column: Column) -> dict[str, Any]:
    words = "|".join(map(re.escape, column.words))
    kind = {"base": "string", "format": words} if words else _TYPES[str(column.dtype)]
    terms = {"long_name": "rdfs:label", "units": "schema:unitText", "description": "dc:description"}
    texts = {terms[key]: text for key, text in column.attributes.items()}
    return {"name": column.name, "titles": column.name, "datatype": kind, "required": True, **texts}
