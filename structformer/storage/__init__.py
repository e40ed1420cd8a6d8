"""Files that are written whole or not at all, and that are known to be what was written."""

from __future__ import annotations

from structformer.storage.files import read_json, replacing_folder, write_bytes, write_json, writing_errors
from structformer.storage.seal import Sealed, seal

__all__ = ["Sealed", "read_json", "replacing_folder", "seal", "write_bytes", "write_json", "writing_errors"]
