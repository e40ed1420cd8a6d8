"""Web archives (WARC, ISO 28500:2017): the pages of a crawl as members, each named by its address."""

import re
from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from structformer.errors import ReadError

_PAGES = ("text/", "application/xhtml", "application/xml")


def warc_pages(stream: BinaryIO, limit: int) -> Iterator[tuple[str, str, bytes | None]]:
    """(name, address, content) of fetched pages; None for content over `limit` bytes. Raises ValueError on damage."""
    from warcio.archiveiterator import ArchiveIterator

    try:
        for record in ArchiveIterator(stream):
            if record.rec_type not in ("response", "resource"):
                continue
            address = (record.rec_headers.get_header("WARC-Target-URI") or "").strip("<>")
            headers = record.http_headers
            status = headers.get_statuscode() if headers is not None else "200"
            kind = (headers or record.rec_headers).get_header("Content-Type") or ""
            if status != "200" or not kind.lower().startswith(_PAGES) or not address.startswith(("http:", "https:")):
                continue
            data = record.content_stream().read(limit + 1)
            yield page_name(address, kind), address, data if len(data) <= limit else None
    except ReadError:  # the stream's budget is spent
        raise
    except Exception as error:  # whatever warcio says of damaged data: AttributeError too
        raise ValueError(str(error) or type(error).__name__) from error


def page_name(address: str, kind: str) -> str:
    """Return a file's name for a page: its host and path, with the suffix that its kind has."""
    try:
        parts = urlsplit(address)
    except ValueError:  # of brackets, or signs that no host has
        parts = urlsplit(f"//unknown/{address.partition('://')[2]}")
    path = unquote(parts.path).strip("/")
    if not path or parts.path.endswith("/"):
        path = f"{path}/index".strip("/")
    if parts.query:
        path += f"?{parts.query}"
    if kind.lower().startswith(("text/html", "application/xhtml")) and not re.search(
        r"\.x?html?$", path, re.IGNORECASE
    ):
        path += ".html"
    return f"{(parts.hostname or 'unknown').lower()}/{path}"
