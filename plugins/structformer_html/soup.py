"""Pages as BeautifulSoups, for the code of plugins and for selectors that Lexbor does not know."""

from collections.abc import Callable, Sequence
from typing import Any

from structformer.errors import ReadError
from structformer.formats import SourceFile
from structformer.plugins import load_plugins


def changed(text: str, source: SourceFile, changes: Sequence[Callable[[Any], None]] = ()) -> str:
    """Return a page as plugins change it by structformer_html_page, and a theme by its own rules.

    Nobody pays for a soup if none does. Raises ReadError if a plugin's code raises.
    """
    hook = load_plugins().manager.hook.structformer_html_page
    if not changes and not hook.get_hookimpls():
        return text
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(text, "lxml")
    for change in changes:
        change(soup)
    try:
        hook(soup=soup, source=source)
    except Exception as error:
        raise ReadError(f"a plugin's structformer_html_page failed ({type(error).__name__}: {error})") from error
    return str(soup)
