"""Parquet files written row group by row group, of which a writer that failed stays silent; columns as arrays."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
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


def numbers(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int32]:
    """A column of numbers, none missing; pyarrow's own to_numpy would first load pandas where that is installed."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.asarray(np.from_dlpack(whole), np.int32)
