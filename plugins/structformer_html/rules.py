"""How pages are read: HTML's own words and those of all known site generators, merged once."""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from structformer.formats import HtmlPages, HtmlRules, SiteGenerator
from structformer.plugins import load_plugins

# Words that make an element a note by themselves: kinds that pages use for nothing else, and words for notes.
NOTES = frozenset(
    """note tip warning important caution danger hint attention seealso theorem lemma proof corollary proposition remark
    versionadded versionchanged versionremoved deprecated topic sidebar""".split()
)
CONTENTS_CLASSES = frozenset({"toc", "table-of-contents"})
# Words that pages of any origin use.
_ANY = HtmlRules(
    furniture=frozenset(
        """breadcrumb breadcrumbs pagination prev-next edit-page-link skip-link skip-to-content back-to-top noprint
        metadata-stub katex-html hideme footnote-back footnote-backref data-footnote-backref reversefootnote sourceLink
        functionSourceLink dont-index onthispage sidebar-overlay footer TOCbug""".split()
    ),
    furniture_ids=frozenset({"toc", "footer", "site-nav", "sidebar", "navbar", "breadcrumbs", "cookie-banner"}),
    notes=NOTES | {"see-also", "admonition", "alert"},
    note_prefixes=frozenset({"admonition", "alert"}),
    note_titles=frozenset({"admonition-title", "admonition-heading", "alert-title", "alert-heading", "title"}),
    code_languages=frozenset({"language", "highlight"}),
    # Of highlighters of code, where they hold nothing else.
    line_numbers=frozenset(
        """linenos lineno linenodiv ln lnum gutter gl hljs-ln-numbers hljs-ln-n linenumber line-number linenumbers
        code-line-number sourceLineNo source-line-no""".split()
    ),
    see_also=frozenset({"seealso", "see-also", "related-topics", "related-links", "relatedlinks", "seealsolist"}),
    side_notes=frozenset({"marginnote", "sidenote"}),
    formula_images=frozenset({"math", "latex", "tex"}),
)
_WORDS = tuple(field.name for field in fields(HtmlRules) if isinstance(getattr(_ANY, field.name), frozenset))


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """Rules of all generators, as flat sets; a theme's rules hold on every page and come first."""

    words: HtmlRules
    """The words of all together."""
    pages: tuple[tuple[SiteGenerator, HtmlPages], ...]
    by_meta: tuple[tuple[str, SiteGenerator], ...]
    theme: HtmlRules
    changes: tuple[Callable[[Any], None], ...]
    signs: frozenset[str]
    """Classes that say what an element is, if it is not furniture."""
    kind_at_end: re.Pattern[str]
    language: re.Pattern[str]
    language_around: re.Pattern[str]
    beside: str
    """A selector of what is not content, wherever it is."""
    navigation: str

    def made_by(self, generator: object) -> SiteGenerator | None:
        """Return the generator that a page's `<meta name=generator>` names."""
        name = generator.lower() if isinstance(generator, str) else ""
        return next((each for start, each in self.by_meta if name.startswith(start)), None) if name else None


@lru_cache(maxsize=8)
def rules_of(theme: str = "") -> Rules:
    """Return the rules of all generators, and of a user's theme in TOML. Raises UsageError if that is none."""
    own = load_plugins().theme(theme) if theme else None
    generators = (*(() if own is None else (own,)), *load_plugins().site_generators.values())
    words = HtmlRules(
        **{name: getattr(_ANY, name).union(*(getattr(each.html, name) for each in generators)) for name in _WORDS}
    )
    ends = "|".join(map(re.escape, sorted(words.note_prefixes, key=len, reverse=True)))
    around = "|".join(map(re.escape, sorted(words.code_languages, key=len, reverse=True)))
    sidebars = [f".{each}" for each in sorted(words.furniture) if "sidebar" in each]
    bars = [f".{each}" for each in sorted(words.furniture) if each.startswith("nav")]
    return Rules(
        words,
        tuple((each, pages) for each in generators for pages in each.html.pages),
        tuple((start, each) for each in generators for start in each.html.meta),
        own.html if own is not None else HtmlRules(),
        tuple(change for each in generators if (change := each.html.change) is not None),
        words.see_also | words.notes | words.side_notes | words.callouts | {"math", "figure"},
        re.compile(rf"(?:{ends})-{{1,2}}(\w+)"),
        # language-c, lang-c, brush: c
        re.compile(rf"(?:^|\s)(?:{around}|lang|src|brush)[-:]\s*([\w+#.-]+)", re.IGNORECASE),
        # Around code; `lang-` would be the page's own language there.
        re.compile(rf"(?:^|\s)(?:{around})-([\w+#.-]+)"),
        ", ".join(("nav, header, footer, aside, button, dialog, [role=navigation], [role=search]", *sidebars)),
        ", ".join(("nav", *bars)),
    )
