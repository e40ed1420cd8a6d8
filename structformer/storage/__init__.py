"""Files that are written whole or not at all, and that are known to be what was written."""

from typing import TYPE_CHECKING

from structformer.lazy_names import lazy_names
from structformer.storage.files import (
    building_folder,
    bytes_digest,
    fsync_folder,
    read_errors,
    read_json,
    read_only,
    read_toml,
    replacing_folder,
    sha256_of,
    temporary_name,
    write_bytes,
    write_json,
    writing_errors,
)
from structformer.storage.seal import SEAL, Sealed, seal, seal_of

if TYPE_CHECKING:
    from structformer.storage.parquet import numbers, parquet_writer  # with numpy and pyarrow

__all__ = [
    "SEAL", "Sealed", "building_folder", "bytes_digest", "fsync_folder", "numbers", "parquet_writer", "read_errors",
    "read_json", "read_only", "read_toml", "replacing_folder", "seal", "seal_of", "sha256_of", "temporary_name",
    "write_bytes", "write_json", "writing_errors",
]  # fmt: skip
__getattr__ = lazy_names(__name__)
