"""Read the columns of a Parquet, Arrow or Feather file, through pyarrow, which is imported only for such a file.

The file may come from a stranger. Types are checked before rows are read, text is read as indices into a dictionary,
so that a long text in a million rows is held once, and what was read is validated before it is used.
"""

from __future__ import annotations

from pathlib import Path
from struct import error as StructError, unpack_from
from typing import Any

import numpy as np

from scenarios.sources import _validation
from scenarios.sources.columns import (
    LARGEST,
    MEND_MISSING,
    Column,
    check_names,
    is_missing,
    make_categorical,
    make_date_error,
)

ARROW = (".parquet", ".arrow", ".feather")
"""Endings of the files that pyarrow reads."""
_MAGIC = 8
"""Bytes before the first message of an Arrow file."""


def read_arrow(path: Path) -> list[Column]:
    """Return the columns of a Parquet, Arrow or Feather file.

    Raises
    ------
    ValueError
        If pyarrow isn't installed, the file is damaged or too large, or it has missing values, dates or nested columns.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise ValueError(
            f"file needs the package pyarrow, which isn't installed, got {path}: run pip install 'ckrr[data]'"
        ) from None
    try:
        table = _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_ipc(path)
        table.validate(full=True)
        if not table.num_rows:
            raise ValueError(f"file must have rows, got none in {path}")
        return [_make_column(name, table.column(name), path) for name in table.column_names]
    except (pa.ArrowException, OSError, MemoryError, OverflowError, UnicodeDecodeError) as error:
        reason = _validation.quote_value(str(error).partition("\n")[0])
        raise ValueError(f"file must be a whole {path.suffix} file, got {path}: pyarrow says {reason}") from None


def _read_parquet(path: Path) -> Any:
    import pyarrow.parquet as pq

    with path.open("rb") as binary:
        file = pq.ParquetFile(binary)
        _check_schema(file.schema_arrow, path)
        meta, columns = file.metadata, len(file.schema_arrow)
        size = sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups))
        _check_size(max(size, 8 * meta.num_rows * columns), path)
        text = [field.name for field in file.schema_arrow if _is_text(field.type)]
        return pq.ParquetFile(binary, read_dictionary=text).read(use_threads=False)


def _read_ipc(path: Path) -> Any:
    """Read an Arrow file as a stream, since messages that come one after another can be measured before they are read.

    The footer has the number of batches: without it, a file that is cut off would look like a shorter one.
    """
    import pyarrow as pa

    data = pa.py_buffer(path.read_bytes())
    file, stream = pa.ipc.open_file(data), data.slice(_MAGIC)
    _check_schema(file.schema, path)
    columns = len(file.schema)
    _check_size(sum(_measure(message, columns) for message in pa.ipc.MessageReader.open_stream(stream)), path)
    batches = list(pa.ipc.open_stream(stream))
    if len(batches) != file.num_record_batches:
        raise pa.ArrowInvalid(f"{len(batches)} of {file.num_record_batches} batches found")
    return pa.Table.from_batches(batches, file.schema)


def _measure(message: Any, columns: int) -> int:
    """Return the bytes that a message of an Arrow stream takes when it is decompressed.

    Its metadata is a flatbuffer: Message (header: field 2), DictionaryBatch (data: 1), RecordBatch (length: 0,
    buffers: 2, compression: 3). A compressed buffer begins with its length before compression, or −1.
    """
    import pyarrow as pa

    if message.type not in ("record batch", "dictionary"):
        return 0
    meta, body = message.metadata.to_pybytes(), message.body
    try:
        batch = _follow(meta, _find_field(meta, unpack_from("<I", meta)[0], 2))
        if message.type == "dictionary":
            batch = _follow(meta, _find_field(meta, batch, 1))
        length, buffers = _find_field(meta, batch, 0), _follow(meta, _find_field(meta, batch, 2))
        rows = unpack_from("<q", meta, length)[0] if length else 0
        places = [unpack_from("<qq", meta, buffers + 4 + 16 * i) for i in range(unpack_from("<I", meta, buffers)[0])]
        sizes = [size for _, size in places]
        if _find_field(meta, batch, 3):
            data = memoryview(body)
            sizes = [max(size, unpack_from("<q", data, start)[0]) for start, size in places if size]
    except StructError:
        raise pa.ArrowInvalid("a batch has damaged metadata") from None
    return int(max(sum(sizes), 8 * rows * (columns if message.type == "record batch" else 1)))


def _find_field(meta: bytes, table: int, field: int) -> int:
    """Return the place of a field of a flatbuffer's table, or 0 if it is left out."""
    entries = table - unpack_from("<i", meta, table)[0]
    size = unpack_from("<H", meta, entries)[0]
    offset = unpack_from("<H", meta, entries + 4 + 2 * field)[0] if 4 + 2 * field < size else 0
    return int(table + offset if offset else 0)


def _follow(meta: bytes, place: int) -> int:
    """Return the place that an offset in a flatbuffer leads to."""
    return int(place + unpack_from("<I", meta, place)[0])


def _check_size(size: int, path: Path) -> None:
    if size > LARGEST:
        raise ValueError(f"file must hold at most {LARGEST >> 20} MB, got {size >> 20} MB unpacked in {path}")


def _check_schema(schema: Any, path: Path) -> None:
    """Raise ValueError for names that aren't unique, and for types other than numbers, text and booleans."""
    import pyarrow.types as kinds

    check_names(schema.names, path)
    for field in schema:
        if field.name.startswith("__index_level_"):
            raise ValueError(f"file must have no index, got the column {field.name!r} in {path}: write index=False")
        if kinds.is_temporal(field.type):
            raise make_date_error(field.name, str(field.type), path)
        if not (_is_text(field.type) or _is_number(field.type) or kinds.is_null(field.type)):
            raise ValueError(
                f"file must have numbers, text or booleans in its columns, got the type "
                f"{_validation.quote_value(str(field.type))} in column {field.name!r} of {path}: leave the column out"
            )


def _is_number(kind: Any) -> bool:
    import pyarrow.types as kinds

    return any(test(kind) for test in (kinds.is_boolean, kinds.is_integer, kinds.is_floating, kinds.is_decimal))


def _is_text(kind: Any) -> bool:
    """Return whether a type is text, or categories of text."""
    import pyarrow.types as kinds

    plain = kind.value_type if kinds.is_dictionary(kind) else kind
    return bool(kinds.is_string(plain) or kinds.is_large_string(plain) or kinds.is_string_view(plain))


def _make_column(name: str, values: Any, path: Path) -> Column:
    import pyarrow as pa

    if values.null_count:
        row = int(np.argmax(values.is_null().to_numpy()))
        raise _make_missing_error("null", name, row, path)
    if _is_text(values.type):
        return _make_text_column(name, values, path)
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    numbers = values.to_numpy().astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad) and np.isnan(numbers[bad[0]]):
        raise _make_missing_error("NaN", name, int(bad[0]), path)
    if len(bad):
        raise ValueError(f"file must hold finite numbers, got {numbers[bad[0]]} {_locate(name, int(bad[0]), path)}")
    return Column(name, numbers)


def _make_text_column(name: str, values: Any, path: Path) -> Column:
    import pyarrow as pa

    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    whole = encoded.unify_dictionaries().combine_chunks()
    codes = np.asarray(whole.indices.to_numpy(zero_copy_only=False), dtype=np.intp)
    used, places = np.unique(codes, return_inverse=True)
    words: list[str | None] = whole.dictionary.take(pa.array(used)).to_pylist()
    for i, word in enumerate(words):
        if word is None or is_missing(word):
            raise _make_missing_error(word, name, int(np.argmax(places == i)), path)
    return make_categorical(name, places.astype(np.float64), [str(word).strip() for word in words], path)


def _make_missing_error(got: object, name: str, row: int, path: Path) -> ValueError:
    said = got if got in ("null", "NaN") else _validation.quote_value(got)
    return ValueError(f"file must have no missing values, got {said} {_locate(name, row, path)}: {MEND_MISSING}")


def _locate(name: str, row: int, path: Path) -> str:
    return f"in column {name!r} at row {row + 1} of {path}"
