"""AsciiDoc's inline markup, in linear time: once no end of a kind of mark is found, no other is looked for."""

import re
from collections.abc import Callable
from functools import partial
from html import unescape

from structformer.document import LinkKind, MarkKind
from structformer.formats import UNNAMED, Script, TreeBuilder

from structformer_asciidoc.attributes import Attributes, element_attributes
from structformer_html import SCRIPTS, Tag, tokens

_START = re.compile(
    r"""(?P<escape>\\)(?=(?:\*\*?|__?|``?|\#\#?|\+{1,3}|\^|~|<<|\[\[|\(\(|\w+:|--
        |[-=]>|<[-=]|\((?:C|R|TM)\)|(?<=\w\\)'(?=[^\W\d_])))
    | (?P<break>[ \t]\+(?=\n|\Z))
    | (?P<passed>\+\+\+|\$\$)
    | <<(?P<xref>)(?=[^\s<>])
    | \[\[\[(?P<biblio>[\w:.-]{1,200}+)(?:,(?P<label>[^\]\n]{0,200}+))?\]\]\]
    | \[\[(?P<anchor>[\w:.-]{1,200}+)(?:,(?P<reftext>[^\]\n]{0,200}+))?\]\]
    | (?P<term>\(\(\(?)(?=[^\s()])
    | (?<![\w/])(?P<url>(?:<?(?:https?|ftp|irc)://[^\s<>\[\]]|\{\w[\w-]{0,99}\}(?=[^\s<>\[\]]{0,500}\[))[^\s<>\[\]]*)
    | (?P<macro>footnote(?:ref)?|(?<![\w:/.-])[a-zA-Z](?:(?!footnote)\w){0,30}+):(?:(?<=xref:):)?
      (?P<target>(?![\s:])[^\s\[\]]{0,1000}+)\[
    | (?P<roles>\[[^\[\]\n]{1,100}\])?(?P<wide>\*\*|__|``|\#\#|\+\+)
    | (?P<small>[\^~])(?P<raised>[^\s^~]{1,100}+)(?P=small)
    | (?P<role>\[[^\[\]\n]{1,100}\])?(?<![\w;:}])(?!(?<=&)\#)(?P<mark>[*_`\#+'])(?=\S)
    """,
    re.VERBOSE,
)
_ENDS = {mark: re.compile(rf"(?<=\S){re.escape(mark)}(?![\w{re.escape(mark)}])") for mark in "*_#+'"}
_ENDS["`"] = re.compile(r"(?<=\S)`(?![\w`\"'])")
_MARKS = {"*": MarkKind.STRONG, "_": MarkKind.EMPHASIS, "'": MarkKind.EMPHASIS, "`": MarkKind.CODE_SPAN}
_QUOTED = re.compile(r"([\"'])`(?=\S)([^`]{1,300}+)`\1")
_REPLACED = re.compile(r"\((?:C|R|TM)\)|`'|(?<=\s)--(?=\s)|(?<=\w)--(?=\w)")
_REPLACEMENTS = {"(C)": "©", "(R)": "®", "(TM)": "™", "`'": "’", "--": "—"}
_ICONS = {"check": "✓", "times": "✗"}  # that say something
_BRACKET = re.compile(r"\\?[\[\]]")
FORMULAS = frozenset({"stem", "latexmath", "asciimath"})
# What is passed through is marked up all the same.
_READ_ON = re.compile(r"quotes|macros|normal|(?:\A|,)[qmn]+(?:,|\Z)")
_WRITES_TAGS = frozenset("c v n specialchars specialcharacters verbatim normal".split())  # as text
# HTML's elements within a line; any other begins one.
_SPANS = frozenset(
    """a abbr b bdi bdo big button cite code data del dfn em font i img ins kbd label mark q s samp small span
    strike strong time tt u var wbr""".split()
)
_DEEPEST = 8


class Inline:
    """Gives words and references to a builder. has_compat_marks: the older rules; texts: what ids show."""

    def __init__(self, builder: TreeBuilder, attributes: Attributes) -> None:
        self.has_compat_marks = False
        self.texts: dict[str, str] = {}
        self._builder = builder
        self._attributes = attributes

    def write(self, text: str) -> None:
        """Give a text, with its attribute references, to the builder."""
        if "pp}" in text:  # signs that pass nothing on
            text = text.replace("{cpp}", "C&#43;&#43;").replace("{pp}", "&#43;&#43;")
        text = self._attributes.spelt_out(text)
        if '`"' in text or "`'" in text:
            text = _QUOTED.sub(lambda found: f"“{found[2]}”" if found[1] == '"' else f"‘{found[2]}’", text)
        self._write(text, 0)

    def _write(self, text: str, depth: int, *, is_code: bool = False) -> None:
        place, dead = 0, set[str]()
        while depth < _DEEPEST and (found := _START.search(text, place)) is not None:
            self._flow(text[place : found.start()], is_code)
            place = found.end()
            if found["escape"]:
                place += 2 if text[place : place + 2] in ("**", "__", "``", "##", "++", "<<", "[[") else 1
                self._flow(text[found.end() : place], is_code)
            elif (end := self._token(found, text, depth, dead, is_code)) > 0:
                place = end
            else:  # a mark that nothing ends: its first character is text, what follows may be another
                place = found.start() + 1
                self._flow(text[found.start() : place], is_code)
        self._flow(text[place:], is_code)

    def _flow(self, text: str, is_code: bool) -> None:
        if not is_code:
            text = _REPLACED.sub(lambda found: _REPLACEMENTS[found[0]], text)
        self._builder.flow(unescape(text) if "&" in text else text)

    def _token(self, found: re.Match[str], text: str, depth: int, dead: set[str], is_code: bool) -> int:
        """Give a token to the builder; returns where it ends, 0 where it has no end."""
        builder, place = self._builder, found.end()
        if found["break"]:
            builder.line()
        elif found["biblio"] or found["anchor"]:
            builder.add_anchor(id := found["biblio"] or found["anchor"])
            shown = f"[{found['label'] or id}]" if found["biblio"] else found["reftext"]
            if shown:
                self.texts.setdefault(id, shown.strip())
            if found["biblio"]:
                builder.text(shown)
        elif found["xref"] is not None:
            end = _find(text, ">>", place, dead)
            if end >= 0:
                target, _, shown = text[place:end].partition(",")
                self._reference(target.strip(), shown.strip(), depth)
            return end + 2 if end >= 0 else 0
        elif found["url"]:
            return self._url(found, text, depth, dead)
        elif found["macro"]:
            is_nested = found["macro"] == "footnote" or text.startswith(("+", "`+"), place)
            end = _balanced(text, place, dead) if is_nested else _find(text, "]", place, dead)
            is_read = end >= 0 and self._macro(found["macro"], found["target"], text[place:end], depth, is_code)
            return end + 1 if is_read else 0
        elif found["small"]:
            builder.open_script(Script.RAISED if found["small"] == "^" else Script.LOWERED)
            self._flow(found["raised"], is_code)
            builder.close_script()
        elif sign := found["passed"] or found["term"]:
            end = _find(text, sign.replace("(", ")"), place, dead)
            writers: dict[str, Callable[[str], object]] = {"$$": builder.flow, "+++": self.html}
            if end >= 0 and sign != "(((":
                writers.get(sign, partial(self._write, depth=depth + 1))(text[place:end])
            return end + len(sign) if end >= 0 else 0
        else:
            return self._quoted(found, text, depth, dead)
        return place

    def _quoted(self, found: re.Match[str], text: str, depth: int, dead: set[str]) -> int:
        mark, place = found["wide"] or found["mark"], found.end()
        if mark == "'" and not self.has_compat_marks:
            return 0
        end = _find(text, mark, place, dead)
        if end <= place:
            return 0
        if (roles := found["roles"] or found["role"]) and "#" in roles:
            self._builder.add_anchor(roles.strip("[]").partition("#")[2].partition(".")[0])
        inner, kind = text[place:end], _MARKS.get(mark[0])
        if mark == "+" and self.has_compat_marks:
            kind = MarkKind.CODE_SPAN
        with self._builder.marked(kind):
            if mark[0] == "+" or (mark == "`" and self.has_compat_marks):
                self._builder.flow(inner)
            elif kind is MarkKind.CODE_SPAN and (len(inner) > 2 and inner[0] == inner[-1] == "+"):
                self._builder.flow(inner.strip("+"))
            else:
                self._write(inner, depth + 1, is_code=kind is MarkKind.CODE_SPAN)
        return end + len(mark)

    def _reference(self, target: str, shown: str, depth: int) -> None:
        """A reference to an id here, named after its title if it has no text, or to another page."""
        path, mark, fragment = target.partition("#")
        page = path if mark or "$" in path or path.endswith((".adoc", ".asciidoc", ".html")) else ""
        if not page:
            self._link("#" + (fragment or path), shown or UNNAMED, depth, LinkKind.XREF)
            return
        name = page.rpartition("$")[2].rpartition(":")[2].rpartition("/")[2]
        self._link(target, shown or name.rpartition(".")[0] or name, depth)

    def _url(self, found: re.Match[str], text: str, depth: int, dead: set[str]) -> int:
        url, place = found["url"], found.end()
        if text[place : place + 1] == "[" and (end := _find(text, "]", place, dead)) >= 0:
            self._link(url.lstrip("<"), text[place + 1 : end].replace("\\]", "]") or url, depth)
            return end + 1
        if url[0] == "<" and text[place : place + 1] == ">":
            self._link(url[1:], url[1:], depth)
            return place + 1
        if url[0] == "<":
            return 0
        kept = url.rstrip(".,;:!?)'\"`*_+")
        self._link(kept, kept, depth)
        return found.start() + len(kept)

    def _macro(self, name: str, target: str, text: str, depth: int, is_code: bool) -> bool:
        """Give a macro to the builder; False where it is none."""
        builder, text = self._builder, text.replace("\\]", "]")
        if name in ("image", "icon"):
            positional, named = element_attributes(text)
            alternative = named.get("alt") or (positional or [""])[0]
            if name == "image":
                builder.add_image(self._attributes.image(target), alternative)
            else:
                builder.flow(alternative if "alt" in named else _ICONS.get(target, ""))
        elif name == "anchor":
            builder.add_anchor(target)
        elif name == "xref" and target:
            is_page = "#" in target or "." in target
            self._reference(target if is_page else f"#{target}", _shown(text), depth)
        elif name in ("link", "mailto") and target:
            target = target.strip("+")
            self._link(target if name == "link" else f"mailto:{target}", text or target, depth)
        elif name.startswith("footnote"):
            text = text.partition(",")[2] if name == "footnoteref" else text
            if text:  # the note that is meant again was shown where it stands
                builder.flow(" (")
                self._write(text, depth + 1)
                builder.flow(")")
        elif name == "pass":
            say = partial(self._write, depth=depth + 1) if _READ_ON.search(target) else builder.flow
            if _WRITES_TAGS.isdisjoint(target.split(",")):
                self.html(text, say)
            else:
                say(text)
        elif name in FORMULAS:
            builder.marked_text(MarkKind.FORMULA_SPAN, text)
        elif name == "menu" and target:
            builder.flow(" > ".join(filter(None, (target, text))))
        elif name in ("kbd", "btn", "indexterm2") and not target:
            self._write(text, depth + 1)
        elif name != "indexterm":  # a project's own, of which nothing is known: git's linkgit:git-add[1] names a page
            if is_code or not target:
                return False
            if text.isdigit():
                self._link(target, f"{target}({text})", depth)
            else:
                self._write(text or target, depth + 1)
        return True

    def html(self, text: str, say: Callable[[str], None] | None = None) -> None:
        """Write the text that a reader sees of HTML passed through. say: takes the words, in place of the builder."""
        builder, is_hidden = self._builder, False
        for token in tokens(text):
            if not isinstance(token, Tag):
                if not is_hidden:
                    (say or builder.flow)(token)
                continue
            is_hidden = token.name in ("script", "style") and not token.closing
            if (script := SCRIPTS.get(token.name)) is None:
                if token.name not in _SPANS:
                    builder.line()
            elif token.closing:
                builder.close_script()
            else:
                builder.open_script(script)

    def _link(self, target: str, text: str, depth: int, kind: LinkKind = LinkKind.HYPERLINK) -> None:
        builder, shown = self._builder, _shown(text)
        if target.startswith("{"):  # an address that begins with an attribute which only the site's build knows
            target = f"//{target}"
        if builder.in_link:
            self._write(shown, depth + 1)
            return
        builder.open_link(target, kind)
        if shown == target:
            builder.flow(shown)
        else:
            self._write(shown or target, depth + 1)
        builder.close_link()


def _shown(text: str) -> str:
    """Return the text of a link, without what else its brackets hold."""
    if "=" in text or text.startswith('"'):
        positional, named = element_attributes(text)
        if named or text.startswith('"'):
            text = (positional or [""])[0]
    return text.strip().removesuffix("^")


def _find(text: str, end: str, place: int, dead: set[str]) -> int:
    """Return where a mark's end is, none within brackets that are escaped; -1 where there is none."""
    if end in dead:
        return -1
    if end in _ENDS:  # a mark that ends only before a character that is not part of a word
        closing = _ENDS[end].search(text, place)
        at = closing.start() if closing is not None else -1
    else:
        at = text.find(end, place)
    while end == "]" and at > 0 and text[at - 1] == "\\":
        at = text.find(end, at + 1)
    if at < 0:
        dead.add(end)
    return at


def _balanced(text: str, place: int, dead: set[str]) -> int:
    """Return where the bracket closes that is open before a place; -1 where it does not."""
    depth = 1
    for bracket in _BRACKET.finditer(text, place) if "balanced" not in dead else ():
        if bracket[0][0] != "\\":
            depth += 1 if bracket[0] == "[" else -1
        elif bracket[0] == "\\]" and depth > 1:  # it closes one in the text, as Asciidoctor wants them escaped
            depth -= 1
        if not depth:
            return bracket.start()
    dead.add("balanced")
    return -1
