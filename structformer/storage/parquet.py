"""Parquet files written row group by row group; a writer that failed stays silent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


@contextmanager
def parquet_writer(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """A writer that is closed at the end of the block, or abandoned when it raises."""
    writer = pq.ParquetWriter(path, schema, compression="zstd")
    try:
        yield writer
        writer.close()
    finally:
        writer.is_open = False  # else pyarrow would try to close it again, and complain, when the object goes
