"""Vocabularies as tables: which elements are sections, titles, paragraphs, references; and a user's own, from TOML."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from structformer.document import LinkKind
from structformer.errors import UsageError

from structformer_xml.marks import (
    DITA_CELLS,
    DITA_MARKS,
    DITA_ROWS,
    DOCBOOK_MARKS,
    JATS_MARKS,
    MALLARD_MARKS,
    PRETEXT_MARKS,
    RFC_MARKS,
    SHARED_MARKS,
    TEI_MARKS,
    Part,
    Parts,
    check_marks,
)

_PARAGRAPHS = frozenset(
    """p para simpara formalpara l lg ab line verse-line shortdesc cmd stepresult info attrib refpurpose seg speech sp stage td th entry
    term dt dd dlentry sli li item listitem""".split()
)
_LINES = frozenset(
    "tr row li listitem item member sli l verse-line ref bibl dlentry varlistentry step seg fn biblioentry bibliomixed".split()
)
_CELLS = frozenset("td th entry cell stentry".split())
_VERBATIM = frozenset(
    "programlisting screen literallayout synopsis codeblock pre preformat eg code-block msgblock".split()
)
_EMBEDDED = frozenset(
    """graphic inline-graphic media inline-media supplementary-material inline-supplementary-material imagedata videodata audiodata
    textdata inlinegraphic image imageobject mediaobject object xi-include""".split()
)
_INLINE = frozenset(
    """emphasis em strong b i u s tt code literal sub sup subscript superscript italic bold monospace sc small-caps underline overline
    strike roman sans-serif named-content styled-content abbrev abbr acronym citetitle command option parameter function methodname
    classname constant varname filename envar type replaceable userinput prompt computeroutput systemitem application keycap keycode
    guibutton guimenu guimenuitem guilabel quote q phrase foreignphrase firstterm glossterm token tag sgmltag markup symbol wordasword
    link ulink xref ext-link uri ref ptr email email anchor hi name persname placename orgname date title-ref ph cite keyword uicontrol
    codeph filepath systemoutput varname apiname wintitle menucascade msgph parmname inline-formula inline-graphic tex-math math
    mml:math interfacename property returnvalue errorname errortype errorcode structfield structname exceptionname enumvalue void
    modifier initializer footnoteref citation citerefentry refentrytitle manvolnum productname trademark personname firstname surname
    given-names string-name person-group collab year volume fpage lpage source pub-id x break label index-term indexterm""".split()
)
# Inline elements that may stand within a word, or that hold the punctuation between their neighbours.
_WITHIN_WORDS = frozenset(
    """emphasis em strong b i u s tt hi sub sup subscript superscript italic bold monospace sc small-caps underline overline strike
    roman sans-serif styled-content named-content phrase q quote c g ex am x break lb pb cb gb milestone anchor indexterm index-term
    xref footnoteref label tex-math inline-formula""".split()
)

_RAISED = frozenset("sup superscript hi[rend=sup] hi[rend=superscript]".split())
_LOWERED = frozenset("sub subscript hi[rend=sub] hi[rend=subscript]".split())
_MATTER = frozenset("front body back".split())


@dataclass(frozen=True)
class Vocabulary:
    """Meanings of one vocabulary's elements. Names are local names, without namespace."""

    name: str
    roots: frozenset[str] = frozenset()
    namespaces: tuple[str, ...] = ()
    sections: frozenset[str] = frozenset()
    """Elements that are a section when they have a title."""
    any_section: bool = False
    """Whether every element with a title is a section, except for those in `untitled`."""
    untitled: frozenset[str] = frozenset()
    """With `any_section`: elements that are not sections though they have a title."""
    titles: frozenset[str] = frozenset({"title"})
    """Elements that name the section they are in, also from within one of its `wrappers`."""
    wrappers: frozenset[str] = frozenset()
    """Elements of a section that may hold its title."""
    document_titles: frozenset[str] = frozenset()
    """Elements whose text is the document's title without being a heading, as "parent/child"."""
    inner_documents: frozenset[str] = frozenset()
    """Sections that have a document's title of their own."""
    labels: frozenset[str] = frozenset({"label", "num", "titleabbrev"})
    """Elements that precede a title, or serve as the title if nothing else does."""
    titled_by: Mapping[str, str] = field(default_factory=dict)
    """By element, the attribute that says its title if it is a section, and else the words that precede its text."""
    numbered: tuple[str, ...] = ()
    """Attributes that say what kind of section it is; with `n`, a section that has no title is called by both."""
    matter: frozenset[str] = frozenset()
    """Elements that hold sections and have no title: what follows a section there belongs to that section."""
    default_titles: Mapping[str, str] = field(default_factory=dict)
    """By element, the title that it gets when it has none of its own."""
    skipped: frozenset[str] = frozenset()
    """Elements that are not text; their links are kept, without a place."""
    blocks: frozenset[str] = frozenset()
    """Elements that begin on a line of their own within a paragraph too, and hold others."""
    paragraphs: frozenset[str] = _PARAGRAPHS
    lines: frozenset[str] = _LINES
    cells: frozenset[str] = _CELLS
    verbatim: frozenset[str] = _VERBATIM
    inline: frozenset[str] = _INLINE
    targets: tuple[tuple[str, str], ...] = ()
    """Attributes that hold a reference, each with what precedes its value: "#" for an id."""
    references: frozenset[str] = frozenset()
    referring_anywhere: bool = True
    """Whether an attribute that holds an address makes a link of any element."""
    unreferring: frozenset[str] = frozenset()
    """Elements whose reference is part of the display, and makes no link."""
    embedded: frozenset[str] = _EMBEDDED
    """Images and other media."""
    citations: frozenset[str] = frozenset()
    see_also: frozenset[str] = frozenset()
    """Elements, or "element[attribute=value]", that list related pages."""
    named_by: frozenset[str] = frozenset()
    """Elements that refer to what they name when they are in a list of related pages."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Elements whose text is metadata of the document, with the key that it gets."""
    skipped_in: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By element, the elements in which it is skipped, however deep in them it is."""
    within_words: frozenset[str] = _WITHIN_WORDS
    """Elements that may be inside a word, so that no blank is put around them."""
    joints: Mapping[str, str] = field(default_factory=dict)
    """By element, what is put between its children if it has no text between them; a blank for elements not listed."""
    brackets: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By element, what is put before and after its text."""
    choices: frozenset[str] = frozenset()
    """Elements that say by `choice` and `rep` what is put before and after their text."""
    breaks: frozenset[str] = frozenset()
    """Elements that end a word unless they say break="no"."""
    readings: frozenset[str] = frozenset()
    """Elements whose children say one thing in several ways."""
    variants: frozenset[str] = frozenset()
    """Children of `readings` that are never taken."""
    notes: frozenset[str] = frozenset({"footnote", "fn", "note"})
    """Footnotes, which do not belong to a title that they are in and are in brackets in a sentence."""
    signs: frozenset[str] = frozenset()
    """Elements, or "element[attribute=value]", that refer to footnotes."""
    raised: frozenset[str] = _RAISED
    """Elements that are set raised."""
    lowered: frozenset[str] = _LOWERED
    """Elements that are set lowered."""
    calls: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """For each element that shows how a function is called, the elements of the function's name and of a parameter."""
    examples: frozenset[str] = frozenset()
    """Elements that show markup, which has no meaning there."""
    man_pages: frozenset[str] = frozenset()
    """Elements that name another page by its name and number."""
    marks: Mapping[str, str] = field(default_factory=lambda: SHARED_MARKS)
    """Elements that are lists, tables, code and other parts of a text; see structformer_xml.marks."""
    meanings: dict[str, tuple[str, int, bool, Part | Parts | None]] = field(
        default_factory=dict, init=False, compare=False
    )
    """Meaning of each tag, filled in as tags are met."""

    def kind(self, target: str, element: str) -> LinkKind:
        """Return the kind of a reference outside of a see-also list."""
        if element in self.embedded:
            return LinkKind.EMBED
        if element in self.citations:
            return LinkKind.CITATION
        return LinkKind.XREF if target.startswith("#") else LinkKind.HYPERLINK


_XLINK = "{http://www.w3.org/1999/xlink}href"
_TARGETS = (
    ("linkend", "#"),
    ("rid", "#"),
    ("linkends", "#"),
    (_XLINK, ""),
    ("href", ""),
    ("url", ""),
    ("target", ""),
    ("targetdoc", "olink:"),
    ("fileref", ""),
)

DOCBOOK = Vocabulary(
    name="docbook",
    roots=frozenset("set book part chapter appendix article refentry reference refsect1 sect1 preface".split()),
    namespaces=("http://docbook.org/ns/docbook",),
    sections=frozenset(
        """set book part chapter appendix preface article section sect1 sect2 sect3 sect4 sect5 simplesect refentry refsect1 refsect2
        refsect3 refsection refsynopsisdiv reference bibliography glossary index dedication colophon acknowledgements partintro topic
        setindex""".split()
    ),
    wrappers=frozenset(
        """info articleinfo bookinfo chapterinfo sectioninfo sect1info sect2info sect3info sect4info sect5info partinfo prefaceinfo
        appendixinfo setinfo refentryinfo referenceinfo refsect1info refsect2info refsectioninfo bibliographyinfo glossaryinfo indexinfo
        docinfo titlepage""".split()
    ),
    skipped=frozenset("indexterm remark colspec spanspec footnoteref".split()),
    targets=_TARGETS,
    references=frozenset("xref link ulink biblioref olink uri".split()),
    unreferring=frozenset(
        """footnoteref tocentry tocdiv synopfragmentref coref co area areaset callout constraint productionrecap annotation include
        nonterminal""".split()
    ),
    referring_anywhere=False,
    citations=frozenset({"biblioref"}),
    see_also=frozenset({"refsect1[role=seealso]", "section[role=seealso]", "sect1[role=seealso]"}),
    named_by=frozenset("function methodname classname interfacename command citerefentry constant".split()),
    metadata={"refname": "refname", "refpurpose": "description", "manvolnum": "manvolnum"},
    default_titles={"bibliography": "Bibliography", "glossary": "Glossary"},
    inline=_INLINE | {"arg", "group"},
    notes=frozenset({"footnote"}),
    joints={"group": " | ", "keycombo": "+", "menuchoice": " > ", "type": "|"},
    brackets={"manvolnum": ("(", ")"), "initializer": (" = ", ""), "quote": ("“", "”")},
    choices=frozenset({"arg", "group"}),
    calls={
        **dict.fromkeys(("methodsynopsis", "constructorsynopsis", "destructorsynopsis"), ("methodname", "methodparam")),
        "funcprototype": ("funcdef", "paramdef"),
    },
    breaks=frozenset({"sbr"}),
    man_pages=frozenset({"citerefentry"}),
    marks=DOCBOOK_MARKS,
)

JATS = Vocabulary(
    name="jats",
    roots=frozenset({"article", "book-part", "pmc-articleset"}),
    sections=frozenset(
        "sec abstract trans-abstract ack ref-list app sub-article response glossary notes fn-group floats-group".split()
    ),
    matter=_MATTER | frozenset("article app-group book-body book-back sub-article response".split()),
    document_titles=frozenset({"title-group/article-title", "book-part-meta/title-group", "title-group/title"}),
    inner_documents=frozenset({"sub-article", "response"}),
    default_titles={
        "ref-list": "References",
        "ack": "Acknowledgments",
        "glossary": "Abbreviations",
        "app": "Appendix",
        "notes": "Notes",
        "fn-group": "Notes",
        "floats-group": "Figures and tables",
    },
    skipped=frozenset(
        """journal-meta contrib-group aff author-notes pub-date history permissions article-id article-categories counts custom-meta-group
        self-uri elocation-id fpage-meta funding-group processing-meta related-article alternate-form trans-title-group
        conference support-group issue-part product related-object x-aff sec-meta object-id""".split()
    ),
    blocks=frozenset(
        """fig fig-group table-wrap table-wrap-group caption disp-quote boxed-text list def-list array statement
        supplementary-material verse-group""".split()
    ),
    lines=_LINES | {"disp-formula", "list-item"},
    breaks=frozenset({"break"}),
    verbatim=_VERBATIM | {"code"},  # in a line it is inline
    targets=_TARGETS,
    references=frozenset("xref ext-link uri self-uri related-article related-object inter-ref".split()),
    unreferring=frozenset({"license", "permissions"}),  # what they refer to, their text refers to
    citations=frozenset({"xref[ref-type=bibr]"}),
    see_also=frozenset({"related-article"}),
    metadata={"journal-title": "journal", "kwd": "keywords"},
    skipped_in=dict.fromkeys(
        ("volume", "issue", "fpage", "lpage"), frozenset({"article-meta", "front-stub", "book-meta"})
    ),
    brackets={"label": (" ", " ")},
    readings=frozenset("alternatives citation-alternatives collab-alternatives name-alternatives semantics".split()),
    signs=frozenset("xref[ref-type=fn] xref[ref-type=author-notes] xref[ref-type=corresp]".split()),
    marks=JATS_MARKS,
)

BITS = replace(
    JATS,
    name="bits",
    roots=frozenset({"book", "book-part-wrapper"}),
    sections=JATS.sections
    | frozenset("book-part front-matter-part book-app preface foreword dedication index toc".split()),
    wrappers=frozenset("book-part-meta title-group index-title-group toc-title-group".split()),
    document_titles=frozenset({"book-title-group/book-title"}),
    skipped=(JATS.skipped | frozenset("collection-meta book-id book-part-id".split())) - {"conference"},
)

TEI = Vocabulary(
    name="tei",
    roots=frozenset({"TEI", "TEI.2", "teiCorpus"}),
    namespaces=("http://www.tei-c.org/ns/1.0",),
    sections=frozenset("div div0 div1 div2 div3 div4 div5 div6 div7 listBibl entry entryFree".split()),
    titles=frozenset({"head", "orth"}),  # of a dictionary's entry the headword
    wrappers=frozenset({"form"}),
    cells=frozenset({"cell"}),
    numbered=("subtype", "type"),
    document_titles=frozenset({"titleStmt/title"}),
    matter=_MATTER | {"div"},
    default_titles={"listBibl": "References", "figure": "Figures and tables"},
    # Of the header the abstract is text, which GROBID writes there.
    skipped=frozenset(
        """fileDesc encodingDesc revisionDesc xenoData calendarDesc correspAction correspContext correspDesc creation
        langUsage listTranspose particDesc settingDesc textClass textDesc del fw facsimile sourceDoc standOff""".split()
    ),
    paragraphs=_PARAGRAPHS
    | frozenset(
        """byline castItem closer dateline docAuthor docDate docImprint opener salute signed speaker titlePart
        trailer""".split()
    ),
    targets=(("target", ""), ("url", ""), ("ref", "")),
    references=frozenset("ref ptr graphic note".split()),
    lines=_LINES - {"ref", "tr"},
    inline=_INLINE | {"bibl", "orth"},
    brackets={"label": (" ", " ")},
    breaks=frozenset("lb pb cb gb milestone".split()),
    readings=frozenset({"choice", "app", "subst"}),
    variants=frozenset("sic orig abbr".split()),
    examples=frozenset({"egXML"}),
    marks=TEI_MARKS,
)

DITA = Vocabulary(
    name="dita",
    roots=frozenset("topic concept task reference glossentry troubleshooting map bookmap dita".split()),
    sections=frozenset(
        """topic concept task reference glossentry troubleshooting section example refsyn map bookmap chapter part appendix topichead
        context prereq postreq result steps-informal""".split()
    ),
    titles=frozenset({"title", "glossterm", "mainbooktitle"}),
    wrappers=frozenset({"booktitle"}),
    skipped=frozenset({"prolog", "indexterm", "draft-comment", "titlealts"}),
    paragraphs=_PARAGRAPHS - {"term"},
    lines=_LINES | DITA_ROWS,
    cells=_CELLS | DITA_CELLS,
    inline=_INLINE | {"term", "tm"},
    notes=frozenset({"fn"}),
    joints={"menucascade": " > "},
    brackets={"q": ("“", "”")},
    targets=(("href", ""), ("conref", ""), ("conkeyref", "")),
    references=frozenset("xref link topicref chapter appendix part keydef".split()),
    see_also=frozenset({"related-links"}),
    marks=DITA_MARKS,
)

# The XML of RFCs and Internet-Drafts, of both versions (RFC 7749 and RFC 7991).
RFC = Vocabulary(
    name="rfc",
    roots=frozenset({"rfc"}),
    sections=frozenset("rfc section note references".split()),
    titles=frozenset({"name", "title"}),
    wrappers=frozenset({"front"}),
    titled_by=dict.fromkeys(("section", "note", "references", "figure", "texttable"), "title")
    | {"t": "hangText", "reference": "anchor"},
    skipped=frozenset("author date area workgroup keyword seriesInfo iref cref format link svg".split()),
    skipped_in={"abstract": frozenset({"reference"})},
    paragraphs=_PARAGRAPHS | {"t"},
    lines=_LINES | {"reference"},
    cells=_CELLS | {"ttcol", "c"},
    verbatim=_VERBATIM | {"artwork", "sourcecode"},
    inline=_INLINE | frozenset("title eref relref bcp14 spanx br contact vspace".split()),
    within_words=(_WITHIN_WORDS - {"c"}) | frozenset("tt eref relref bcp14 spanx contact".split()),
    breaks=frozenset({"br", "vspace"}),
    targets=(("linkend", "#"), ("target", "")),
    references=frozenset("xref eref relref".split()),
    notes=frozenset(),
    marks=RFC_MARKS,
)

# The help of GNOME's programs.
MALLARD = Vocabulary(
    name="mallard",
    namespaces=("http://projectmallard.org/1.0/",),
    sections=frozenset({"page", "section"}),
    skipped=frozenset({"info", "comment"}),
    inline=_INLINE | frozenset("gui guiseq key keyseq app file sys input output cmd var media span".split()),
    within_words=_WITHIN_WORDS | frozenset("app file sys input output cmd var span code link".split()),
    paragraphs=_PARAGRAPHS - {"cmd"},
    verbatim=_VERBATIM | {"code"},
    joints={"guiseq": " > ", "keyseq": "+"},
    targets=(("xref", ""), ("href", ""), ("src", "")),
    references=frozenset({"link", "gui", "media"}),
    embedded=frozenset({"media"}),
    see_also=frozenset({"link[type=seealso]"}),
    marks=MALLARD_MARKS,
)

_SIGNS = "pretext=PreTeXt latex=LaTeX mdash=— ndash=– ellipsis=… etc=etc. q=“|” sq=‘|’ m=$|$ tag=<|> tage=<|/> attr=@"

# PreTeXt, for open textbooks. An empty element stands for a word or a sign.
PRETEXT = Vocabulary(
    name="pretext",
    roots=frozenset({"pretext", "mathbook"}),
    sections=frozenset(
        """book article part chapter section subsection subsubsection paragraphs preface acknowledgement biography appendix
        exercises worksheet handout references glossary reading-questions solutions""".split()
    ),
    paragraphs=_PARAGRAPHS - {"term"},
    skipped=frozenset("docinfo idx notation latex-image asymptote sageplot prefigure shortlicense shorttitle".split()),
    blocks=frozenset("ul ol dl md me men mdn program console sage blockquote figure table listing tabular".split()),
    lines=_LINES | {"mrow", "cline"},
    inline=_INLINE | set("m c fn alert pubtitle articletitle foreign init acro kbd tage attr mdash ndash".split()),
    within_words=_WITHIN_WORDS | set("m fn tag tage attr init acro alert latex mdash ndash ellipsis".split()),
    verbatim=_VERBATIM | {"program", "console"},
    notes=frozenset({"fn"}),
    brackets={
        name: (before, after)
        for name, signs in (each.split("=", 1) for each in _SIGNS.split())
        for before, _, after in (signs.partition("|"),)
    },
    breaks=frozenset({"nbsp"}),
    targets=(("ref", "#"), ("href", "")),
    references=frozenset("xref url".split()),
    marks=PRETEXT_MARKS,
)

GENERIC = Vocabulary(
    name="generic",
    any_section=True,
    lines=_LINES - {"ref"},
    untitled=frozenset(
        """figure fig table table-wrap example equation formula image media list note tip warning caution important annotation caption
        procedure step abstract info header meta metadata head bibliography-entry biblioentry ref cite citation link reference book-ref
        item entry kwd-group fn-group""".split()
    ),
    sections=frozenset(
        "section subsection sec chapter appendix part article book document doc page topic div div1 div2 div3 sect1 sect2".split()
    ),
    titles=frozenset({"title", "heading"}),
    document_titles=frozenset(  # of laws, of patents
        f"{each}/invention-title" for each in ("us-bibliographic-data-application", "us-bibliographic-data-grant")
    )
    | {"p/docTitle"},
    breaks=frozenset({"br", "eol", "lb"}),
    wrappers=frozenset({"info", "header", "meta", "metadata", "head", "front", "properties"}),
    skipped=frozenset({"style", "script"}),
    targets=_TARGETS,
    references=frozenset("xref link ulink ext-link ref ptr uri reference a see seealso cite related citation".split()),
    see_also=frozenset({"seealso", "see-also", "related", "related-links"}),
)

BUILT_IN = (DOCBOOK, JATS, BITS, TEI, DITA, RFC, MALLARD, PRETEXT)
NAMESPACES = [namespace for each in BUILT_IN for namespace in each.namespaces]
_DOCTYPE_WORDS = {"docbook": "DocBook", "bits": "BITS", "jats": "JATS", "tei": "TEI", "dita": "DITA"}


# By the names of their root elements. A document that one of a higher rank takes in is a part of that: a chapter of a
# book, but not a page of another page.
RANKS = {
    name.encode(): rank
    for rank, names in enumerate(
        ("refentry TEI", "appendix teiCorpus", "article chapter preface topic", "part reference", "book", "set"), 1
    )
    for name in names.split()
}
ABOVE_ALL = 9


def choose(root_name: str, public_id: str, children: frozenset[str]) -> Vocabulary:
    """Return the vocabulary of a document by its DOCTYPE, or by its root element and what is in it."""
    if root_name in BITS.roots and children & {"book-meta", "book-part", "book-body"}:
        return BITS
    for vocabulary in BUILT_IN:
        if _DOCTYPE_WORDS.get(vocabulary.name, "\n") in public_id or (vocabulary is JATS and "NLM//DTD" in public_id):
            return vocabulary
    if root_name in ("article", "sec", "body", "book-part") and (
        children & {"front", "body", "sec", "front-stub"} or root_name == "sec"
    ):
        return JATS
    is_dita = root_name == "bookmap" or not children.isdisjoint(_DITA_SIGNS)
    likely = (TEI, RFC, PRETEXT, DITA if is_dita else DOCBOOK)
    return next((vocabulary for vocabulary in likely if root_name in vocabulary.roots), GENERIC)


_DITA_SIGNS = frozenset(
    "shortdesc body conbody taskbody refbody glossdef prolog related-links topicref topicmeta glossterm".split()
)


def from_toml(text: str, origin: str) -> Vocabulary:
    """Return a user's mapping. Raises UsageError that names the key which is wrong.

    Keys are the fields of `Vocabulary`: lists of element names, `targets` as a table attribute = prefix, `marks` as a table
    element = kind of part, `extends` for a built-in one whose entries stay.
    """
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{origin}: {error}") from error
    known = {each.name: each for each in (*BUILT_IN, GENERIC)}
    extended = table.pop("extends", None)
    if extended is not None and extended not in known:
        raise UsageError(f"{origin}: extends = {extended!r}; built in: {', '.join(known)}")
    base = known.get(extended, Vocabulary(name="own"))
    names = {each.name for each in fields(Vocabulary) if each.init}
    chosen: dict[str, Any] = {}
    for key, value in table.items():
        if key not in names:
            raise UsageError(f"{origin}: no key {key!r}; choose from: {', '.join(sorted(names | {'extends'}))}")
        current = getattr(base, key)
        if isinstance(current, frozenset):
            if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
                raise UsageError(f"{origin}: {key} must be a list of element names")
            chosen[key] = frozenset(value) | (current if extended or key in _COMMON else frozenset())
        elif key == "targets":
            if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
                raise UsageError(f'{origin}: targets must be a table like {{ href = "", ref = "#" }}')
            chosen[key] = (*value.items(), *(current if extended else ()))
        elif key == "marks":
            chosen[key] = {**current, **check_marks(value, origin)}
        elif type(value) is not type(current) and not isinstance(value, dict | list):
            raise UsageError(f"{origin}: {key} must be {type(current).__name__}")
        else:
            chosen[key] = tuple(value) if isinstance(current, tuple) else value
    return Vocabulary(**{**{each: getattr(base, each) for each in names}, **chosen})


_COMMON = frozenset({"paragraphs", "lines", "cells", "verbatim", "inline", "raised", "lowered"})
