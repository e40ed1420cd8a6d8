"""Marks of a vocabulary's elements on the text: a table of names for each, and how an entry is read.

A key is an element's name, "element[attribute=value]", or "above/element", where `above` is the name of the element
around it or the kind of part that this one is. The last form comes first, the plain name last. A value is a kind of
mark, and words of which the first that says something is its detail; "@name" is an attribute's value. "" is not a part.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from structformer.document import MarkKind
from structformer.errors import UsageError

_NOTES = "note tip warning caution important"
_NO_LANGUAGES = frozenset("text txt plain plaintext none nohighlight other".split())
_LANGUAGE = re.compile(r"(?:lang(?:uage)?-)?([a-z][a-z0-9+#._/-]{0,30})")


def _by_element(elements: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of a table that names the elements of each value."""
    return {key: value for value, keys in elements.items() for key in keys.split()}


SHARED_MARKS = {"table/table": ""} | _by_element(
    {
        "list": "ul",
        "list @start 1": "ol",
        "item": "li",
        "definitions": "dl",
        "term": "dt",
        "definition": "dd",
        "table": "table",
        "row": "tr",
        "row header": "thead/tr",
        "cell": "td th",
        "code @language @lang": "pre preformat code-block",
        "quote": "blockquote",
        "note": _NOTES,
        "title": "note/title",
        "figure": "figure",
        "caption": "table/title figure/title caption figcaption",
        "emphasis": "em i italic emphasis",
        "strong": "strong b bold",
        "code_span": "code tt monospace",
    }
)
DOCBOOK_MARKS: Mapping[str, str] = {
    **SHARED_MARKS,
    **dict.fromkeys(("figure/screenshot", "figure/mediaobject", "screenshot/mediaobject"), ""),
    **_by_element(
        {
            "list": "itemizedlist simplelist calloutlist stepalternatives",
            "list @startingnumber 1": "orderedlist",
            "list 1": "procedure substeps",
            "item": "listitem member callout step",
            "definitions": "variablelist glosslist",
            "term": "varlistentry/term glossentry/glossterm",
            "definition": "varlistentry/listitem glossdef",
            "table": "informaltable",
            "row": "row",
            "row header": "thead/row",
            "cell": "entry",
            "code @language @role": "programlisting screen synopsis",
            "code": """literallayout[class=monospaced] cmdsynopsis funcsynopsis methodsynopsis constructorsynopsis
            destructorsynopsis fieldsynopsis""",
            "quote": "epigraph",
            "note": "danger example sidebar",
            "figure": "informalfigure screenshot mediaobject",
            "formula": """equation/mathphrase equation/alt equation/math informalequation/mathphrase
            informalequation/alt informalequation/math""",
            "formula_span": "inlineequation",
            "strong": "emphasis[role=bold] emphasis[role=strong]",
            "emphasis": "replaceable",
            "code_span": """literal command option parameter function methodname classname interfacename constant
            varname filename envar type userinput computeroutput prompt systemitem property
            returnvalue errorname errortype errorcode structfield structname exceptionname enumvalue
            token symbol sgmltag tag markup package""",
        }
    ),
}
JATS_MARKS = (
    SHARED_MARKS
    | {"alternatives/table": ""}
    | _by_element(
        {
            "list": "list",
            "list 1": """list[list-type=order] list[list-type=alpha-lower] list[list-type=alpha-upper]
        list[list-type=roman-lower] list[list-type=roman-upper]""",
            "item": "list-item",
            "definitions": "def-list",
            "term": "def-item/term",
            "definition": "def",
            "table": "table-wrap",
            "caption": "table/label figure/label",
            "code @language": "code",
            "quote": "disp-quote",
            "note sidebar": "boxed-text",
            "title": "note/caption note/label",
            "figure": "fig",
            "formula": "disp-formula/tex-math disp-formula/math disp-formula/alternatives",
            "formula_span": "inline-formula",
        }
    )
)
TEI_MARKS: Mapping[str, str] = {
    **{key: value for key, value in SHARED_MARKS.items() if key not in _NOTES.split()},
    # Elsewhere these stand in a line: a quotation in a sentence, a footnote.
    **{f"div{number}/{each}": each for number in ("", *range(8)) for each in ("quote", "note")},
    **_by_element(
        {
            "list": "list",
            "list 1": "list[type=ordered] list[rend=ordered] list[rend=numbered]",
            "item": "item",
            "definitions": "list[type=gloss]",
            "term": "definitions/label",
            "definition": "definitions/item",
            "row": "row",
            "row header": "row[role=label]",
            "cell": "cell",
            "caption": "table/head figure/head",
            "code": "eg",
            "code xml": "egXML",
            "quote": "cit body/quote",
            "formula": "formula",
            "formula_span": "p/formula",
            "": "cit[type=trans] cit[type=translation] tr",  # words in a dictionary
            "strong": "hi[rend=bold] hi[rend=b]",
            "emphasis": "emph hi[rend=italic] hi[rend=i] hi[rend=it]",
            "code_span": "gi att ident",
        }
    ),
}
DITA_ROWS = frozenset("sthead strow chhead chrow prophead property".split())
DITA_CELLS = frozenset(
    "choptionhd chdeschd choption chdesc proptypehd propvaluehd propdeschd proptype propvalue propdesc".split()
)
DITA_MARKS = SHARED_MARKS | _by_element(
    {
        "list": "sl steps-unordered choices",
        "list 1": "steps substeps",
        "item": "sli step substep choice",
        "definitions": "parml",
        "term": "pt",
        "definition": "pd",
        "table": "simpletable choicetable properties",
        "row": "row strow chrow property",
        "row header": "thead/row sthead chhead prophead",
        "cell": f"entry stentry {' '.join(sorted(DITA_CELLS))}",
        "code @outputclass": "codeblock screen msgblock",
        "quote": "lq",
        "note @type": "note hazardstatement",
        "figure": "fig",
        "code_span": """codeph filepath cmdname varname apiname option parmname userinput systemoutput msgph synph
        xmlelement xmlatt""",
    }
)
RFC_MARKS = SHARED_MARKS | _by_element(
    {
        "list": "list",
        "list 1": "list[style=numbers] list[style=letters]",
        "item": "list/t",
        "table": "texttable",
        "cell": "ttcol c",
        "code @type": "artwork sourcecode",
        "note": "aside",
        "caption": "figure/name table/name",
        "code_span": "spanx[style=verb]",
        "emphasis": "spanx",
    }
)
MALLARD_MARKS = SHARED_MARKS | _by_element(
    {
        "list": "list",
        "list 1": "steps list[type=numbered]",
        "item": "item",
        "definitions": "terms",
        "term": "definitions/title",
        "definition": "definitions/item",
        "code @mime": "screen code",
        "note @style": "note",
        "code_span": "cmd file input output sys var",
        "emphasis": "em",
    }
)
PRETEXT_MARKS = SHARED_MARKS | _by_element(
    {
        "term": "definitions/title",
        "definition": "definitions/li",
        "table": "tabular",
        "row": "row",
        "cell": "cell",
        "code @language": "program console cd sage",
        "note": "theorem lemma corollary proposition definition axiom example problem remark assemblage aside proof",
        "formula": "me men md mdn",
        "formula_span": "m",
        "code_span": "c cline tag tage attr",
        "strong": "alert term",
    }
)


@dataclass(frozen=True, slots=True)
class Part:
    """An element as a part of a text: a kind of mark, and the words that its detail is taken from."""

    kind: MarkKind
    words: tuple[str, ...] = ()

    def detail(self, name: str, attributes: Mapping[str, str]) -> str:
        """Return the first of the words that fits the kind."""
        for word in self.words:
            value = attributes.get(word[1:], "") if word[0] == "@" else word
            value = value.strip().lower()
            if self.kind is MarkKind.CODE:
                found = _LANGUAGE.fullmatch(value)
                if found is None or found[1] in _NO_LANGUAGES:
                    continue
                value = found[1]
            elif self.kind is MarkKind.LIST and not (value.isascii() and value.isdecimal()):
                continue
            if value:
                return value
        return name.lower() if self.kind is MarkKind.NOTE else ""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that an element of one name may be: by the element above it, by its attributes, else."""

    plain: Part | None
    above: Mapping[str, Part | None]
    attributes: tuple[tuple[str, str, Part | None], ...]

    def choose(self, above: str, above_kind: MarkKind | None, attributes: Mapping[str, str]) -> Part | None:
        """Return the part that it is here."""
        for around in (above, above_kind):
            if around is not None and around in self.above:
                return self.above[around]
        for key, value, part in self.attributes:
            if attributes.get(key) == value:
                return part
        return self.plain


_KEY = re.compile(r"(?:(?P<above>[^/\[\]]+)/)?(?P<name>[^/\[\]]+)(?:\[(?P<key>[^=\]]+)=(?P<value>[^\]]*)\])?")


def parts_of(name: str, marks: Mapping[str, str]) -> Part | Parts | None:
    """Return a table's entry for the elements of one name."""
    above: dict[str, Part | None] = {}
    attributes: list[tuple[str, str, Part | None]] = []
    for entry, value in marks.items():
        found = _KEY.fullmatch(entry)
        if found is None or found["name"] != name:
            continue
        if found["above"] is not None:
            above[found["above"]] = _part(value)
        elif found["key"] is not None:
            attributes.append((found["key"], found["value"], _part(value)))
    plain = _part(marks.get(name, ""))
    return Parts(plain, above, tuple(attributes)) if above or attributes else plain


def _part(value: str) -> Part | None:
    kind, *words = value.split() or [""]
    return Part(MarkKind(kind), tuple(words)) if kind else None


def check_marks(table: object, origin: str) -> dict[str, str]:
    """Return a user's own entries. Raises UsageError that names the one which is wrong."""
    if not isinstance(table, dict):
        raise UsageError(f'{origin}: marks must be a table like {{ step = "item", hint = "note" }}')
    kinds = sorted(set(MarkKind) - {MarkKind.PARAGRAPH})
    for key, value in table.items():
        if _KEY.fullmatch(key) is None:
            raise UsageError(f"{origin}: marks: {key!r}: write element, above/element or element[attribute=value]")
        if not isinstance(value, str) or (value.split() and value.split()[0] not in kinds):
            raise UsageError(f"{origin}: marks: {key} = {value!r}; choose from: {', '.join(kinds)}")
    return table
