"""Write a table as a Parquet file, with units and descriptions in its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.core.types import Values
from harness.interchange.columns import Column
from harness.interchange.tables import Table


def write_parquet(table: Table, about: Mapping[str, str | int], path: Path) -> None:
    """Write a table, a row group for each batch; text is dictionary-encoded."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [_make_field(column) for column in table.columns], {key: str(value) for key, value in about.items()}
    )
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in table.batches:
            arrays = map(_make_array, table.columns, batch)
            writer.write_batch(pa.record_batch(list(arrays), schema=schema))


def _make_field(column: Column) -> Any:
    import pyarrow as pa

    kind = pa.dictionary(pa.int32(), pa.string()) if column.words else pa.from_numpy_dtype(column.dtype)
    return pa.field(column.name, kind, nullable=False, metadata=dict(column.attributes))


def _make_array(column: Column, values: Values) -> Any:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(values, list(column.words)) if column.words else pa.array(values)
