"""Next.js, and what takes its router's folders over, such as SvelteKit."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from structformer.formats import SiteGenerator, SourceFile

_GROUP = re.compile(r"\([\w.-]+\)/")
_PAGES = ("page.mdx", "page.md")


def _published(path: str, metadata: Mapping[str, Any], source: SourceFile) -> Iterator[str]:
    """Yield a page's path without the folders in parentheses, which are in no address; a/page.mdx is a/index.md."""
    if "(" in path:
        yield _GROUP.sub("", path)
    folder, _, file = path.rpartition("/")
    if file in _PAGES:
        yield f"{folder}/index.md".lstrip("/")


NEXTJS = SiteGenerator("nextjs", "Next.js", markdown=("mdx",), published=_published)
