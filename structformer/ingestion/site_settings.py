"""What the settings of site generators say of a site's address. They are read as text: nothing in them is executed, and
an address that is worked out by a program is none.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from structformer.formats.generators import BARE, FOLDER, HTML, SiteFacts, is_address
from structformer.formats.included import without_spans

_TOP_LEVEL = re.compile(r"^([\w-]+)[ \t]*:[ \t]*(\S.*)$", re.MULTILINE)
_TABLE = re.compile(r"[ \t]*\[([\w.-]+)\]")
_ENTRY = re.compile(r"""[ \t]*([\w.-]+)[ \t]*=[ \t]*("[^"]*"|'[^']*'|true\b)""")
_BLOCK_COMMENT, _COMMENT_ENDS = re.compile(r"(/\*)"), {"/*": re.compile(r"\*/")}
_LINE_COMMENT = re.compile(r"(?:^|(?<=[\s;,{}()]))//.*$", re.MULTILINE)
_BASE_URL = re.compile(r"^html_baseurl\s*=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)
_NAME = re.compile(r"""^[ \t]*["']?(?:project|title)["']?[ \t]*[:=][ \t]*(["'`])([^"'`$\n]{1,100})\1""", re.MULTILINE)


def site_name(file: str, text: str) -> str:
    """What settings call the site: site_name, title, name or project, as a plain string."""
    if file.endswith((".yml", ".yaml")):
        found = _top_level(text)
        return found.get("site_name") or found.get("title") or found.get("name", "")
    named = _NAME.search(text)
    return named[2] if named else ""


def _jekyll(text: str) -> SiteFacts:
    found = _top_level(text)
    rule = FOLDER if found.get("permalink") == "pretty" else HTML
    return SiteFacts(_address(found.get("url", ""), found.get("baseurl", "")), rule, (found.get("source", ""),))


def _sphinx(text: str) -> SiteFacts:
    found = _BASE_URL.search(text)
    return SiteFacts(_address(found[1] if found else ""), HTML)


def _mdbook(text: str) -> SiteFacts:
    found = dict(_toml(text))
    return SiteFacts(_address(found.get("output.html.site-url", "")), HTML, (found.get("book.src", "src"),))


def _hugo(found: dict[str, str]) -> SiteFacts:
    """Of Hugo, which does not tell capitals from small letters, and of Zola."""
    found = {key.lower(): value for key, value in found.items()}
    rule = HTML if found.get("uglyurls") == "true" else FOLDER
    address = found.get("baseurl", found.get("base_url", ""))
    return SiteFacts(_address(address), rule, (found.get("contentdir", "content"),))


def _hugo_json(text: str) -> SiteFacts:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    entries = value.items() if isinstance(value, dict) else ()
    return _hugo({key: each if isinstance(each, str) else str(each is True).lower() for key, each in entries})


def _astro(text: str) -> SiteFacts:
    text = _without_comments(text)
    address = _address(_property(text, "site"), _property(text, "base", "/"))
    return SiteFacts(address, FOLDER, ("src/content/docs", "src/pages"))


def _vitepress(text: str) -> SiteFacts:
    """Its settings have a host only where it is to write a sitemap."""
    text = _without_comments(text)
    rule = BARE if re.search(r"\bcleanUrls\s*:\s*true\b", text) else HTML
    address = _address(_property(text, "hostname"), _property(text, "base", "/"))
    return SiteFacts(address, rule, (_property(text, "srcDir"),))


def _docfx(text: str) -> SiteFacts:
    """Its settings have an address where it is to write a sitemap; those of Microsoft's documentation have the folder
    of their site in the path of its breadcrumbs.
    """
    try:
        build: Any = json.loads(text)["build"]
        pages: Any = next((each for each in build["content"] if each.get("src")), {})
        sitemap, breadcrumbs = build.get("sitemap") or {}, build.get("globalMetadata", {}).get("breadcrumb_path", "")
        host = _address(sitemap.get("baseUrl", ""))
        learn = _address("https://learn.microsoft.com", breadcrumbs.split("/")[1]) if breadcrumbs[:1] == "/" else ""
        within = f"{str(pages.get('dest') or '').strip('/')}/".lstrip("/")
        return SiteFacts(host or learn, HTML if host else BARE, (str(pages.get("src", "")),), within)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return SiteFacts()


_SCRIPTS = ("js", "ts", "mjs", "mts", "cjs")
READERS: dict[str, Callable[[str], SiteFacts]] = {
    "_config.yml": _jekyll,
    "conf.py": _sphinx,
    "book.toml": _mdbook,
    "docfx.json": _docfx,
    **{f"{name}.toml": (lambda text: _hugo(dict(_toml(text)))) for name in ("hugo", "config")},
    **{f"hugo.{suffix}": (lambda text: _hugo(_top_level(text))) for suffix in ("yaml", "yml")},
    "hugo.json": _hugo_json,
    **{f"astro.config.{suffix}": _astro for suffix in _SCRIPTS},
    **{f".vitepress/config.{suffix}": _vitepress for suffix in _SCRIPTS},
}


def _address(host: str, base: str = "") -> str:
    """An address of a host and the path of the site there; "" where the first is none."""
    if not is_address(host):
        return ""
    return f"{host.rstrip('/')}/{base.strip('/')}".rstrip("/") + "/" if base else host


def _top_level(text: str) -> dict[str, str]:
    """The scalars at the top of a YAML file, which templates and tags may make unreadable as a whole."""
    return {key: _scalar(value.strip()) for key, value in _TOP_LEVEL.findall(text)}


def _scalar(value: str) -> str:
    if value[:1] in ("'", '"'):
        return value[1:].partition(value[0])[0]
    return value.partition(" #")[0].strip()


def _toml(text: str) -> Iterator[tuple[str, str]]:
    """The strings and truths of a TOML file, each with the name of its table in front."""
    table = ""
    for line in text.splitlines():
        if found := _TABLE.match(line):
            table = f"{found[1]}."
        elif found := _ENTRY.match(line):
            yield table + found[1], found[2].strip("\"'")


def _without_comments(text: str) -> str:
    return _LINE_COMMENT.sub("", without_spans(text, _BLOCK_COMMENT, _COMMENT_ENDS))


def _property(text: str, name: str, default: str = "") -> str:
    """The first plain string that a script gives a property."""
    found = re.search(rf"\b{name}\s*:\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|`([^`$\n]*)`)", text)
    return next((each for each in found.groups() if each is not None), default) if found else default
