"""Rules that tell from a file's name whether it is a document, before any format looks into it."""

import re

from structformer.extras import install_command
from structformer.formats.link_names import without_template

# Code, configuration, data and media: never a document by its content, whatever its comments and strings look like.
_OTHER_SUFFIXES = frozenset(
    """ada asm awk bash bat bats bzl c cc cfg clj cljs cmake cmd cnf conf cpp cs css csv cxx d dart diff dockerfile
    drawio dtd editorconfig el elm env erl ex exs f f90 fish go gradle graphql groovy h hcl hh hpp hrl hs hxx
    ini j java jl js json json5 jsonl jsx kt kts less lisp lock log lua m m4 make map mjs mk ml mli mm nix nim
    patch php pl plist pm properties proto ps1 psd1 psm1 puml py pyi pyx r rake rb rkt rng rnc rs s sass sbt
    scala scm scss sed sh sol spec sql sty cls svelte svg swift tcl tf toml ts tsv tsx v vb vhd vhdl vim vue wat
    xib xsd xsl xslt yaml yml zig zsh ai avi bmp bin class dll doc docx dvi ear eot eps exe flac gif ico jar
    jpeg jpg mkv mov mp3 mp4 o obj odt ogg otf pdf png ppt pptx ps psd pyc so tif tiff ttf war wasm wav webm
    webp woff woff2 xls xlsx""".split()
)
# Names that are not prose.
_OTHER_NAMES = frozenset(
    """makefile gnumakefile dockerfile containerfile vagrantfile jenkinsfile gemfile rakefile procfile brewfile podfile
    fastfile justfile owners codeowners cname gitattributes gitignore configure build workspace mime.types robots.txt
    ads.txt""".split()
)
_QUERIES = re.compile(r"(?:^|/)(?:queries|topics|qrels?)\b[^/]*\.(?:jsonl|json|tsv|csv|txt|xml)$", re.IGNORECASE)
# What formats without a plugin here are, and what to do about them.
_UNREAD = {
    **dict.fromkeys((".doc", ".odt", ".rtf"), "save it as .docx, HTML or Markdown"),
    **dict.fromkeys((".ppt", ".odp"), "save it as .pptx"),
    ".rdoc": "RDoc: export it to HTML",
    ".pod": "POD: export it to HTML",
    ".texi": "Texinfo: build it as HTML",
    **dict.fromkeys((".xls", ".ods"), "save it as .xlsx or CSV"),
    ".jsonl": "records without an id and a text of the usual names: --fields says which is which",
}
_OFFICE = frozenset((".pdf", ".docx", ".pptx", ".xlsx"))
_RECORDS = frozenset((".json", ".ndjson", ".csv", ".tsv"))  # among other things


def unread_hint(suffix: str) -> str:
    """Say what would read files of a suffix without an installed format; "" if they are not documents."""
    return install_command("office") if suffix.lower() in _OFFICE else _UNREAD.get(suffix.lower(), "")


def fields_hint(suffix: str) -> str:
    """Return how files that may hold records under names of their own are read; "" for another suffix."""
    may_be = suffix.lower() in _RECORDS
    return "if they hold records, say what their parts are called: --fields id=NAME,text=NAME" if may_be else ""


def holds_queries(path: str) -> bool:
    """Whether a file is a collection's queries or judgements, by its name: they are asked and are not documents."""
    return _QUERIES.search(path) is not None


def may_be_document(path: str, head: bytes) -> bool:
    """Whether a file that no format claims may be a document: no code by its suffix, name or first line."""
    name = without_template(path).rpartition("/")[2].lower()
    stem, dot, suffix = name.rpartition(".")
    if head.startswith(b"#!"):
        return False
    return name.lstrip(".") not in _OTHER_NAMES and not (dot and stem and suffix in _OTHER_SUFFIXES)
