"""A file of Office Open XML as a zip that is safe to give to a converter: its XML within bounds, and nothing else.

Source: ECMA-376 Part 2 (Open Packaging Conventions), which forbids document type declarations in such files.
"""

import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO

from structformer.errors import ReadError
from structformer.formats import as_utf8

MAX_BYTES = 200_000_000  # of XML, unpacked
MAX_PARTS = 20_000
_XML = (".xml", ".rels")
_SAYINGS = "docProps/"  # what files say of themselves: a date that is none costs converters the whole file
_OLD = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the container of Office 97, and of encrypted files
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)


def safe_package(data: bytes, rewrite: Callable[[str, bytes], bytes] = lambda name, part: part) -> BytesIO:
    """The file with its XML alone; pictures are there by name and empty. rewrite: what a part is to be, by its name.

    Raises ReadError on what is damaged, encrypted, too large or has a document type.
    """
    if data.startswith(_OLD):
        raise ReadError("encrypted, or from Office 97: save it without a password, in a current format")
    packed = BytesIO()
    left = MAX_BYTES
    try:
        with zipfile.ZipFile(BytesIO(data)) as given, zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as kept:
            infos = {info.filename: info for info in given.infolist() if not info.is_dir()}
            if len(infos) > MAX_PARTS:
                raise ReadError(f"over {MAX_PARTS} parts: refused")
            for name, info in infos.items():
                part = b""
                if name.lower().endswith(_XML):
                    with given.open(info) as stream:
                        part = stream.read(left + 1)
                    left -= len(part)
                    if left < 0:
                        raise ReadError(f"unpacks to over {MAX_BYTES / 1e6:.0f} MB of XML: refused")
                    if b"<!DOCTYPE" in as_utf8(part):
                        raise ReadError(f"{name} has a document type, which such files must not have: refused")
                    part = rewrite(name, part) if not name.startswith(_SAYINGS) else b"<a/>"
                kept.writestr(zipfile.ZipInfo(name), part)
    except _BROKEN as error:
        raise ReadError(f"damaged ({error or type(error).__name__})") from error
    packed.seek(0)
    return packed
