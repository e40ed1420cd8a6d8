"""Acronyms and glossary terms as they are printed: whole where they first occur, short from then on."""

import re
from dataclasses import dataclass
from typing import ClassVar

from structformer_latex.commands import Handler, by_name
from structformer_latex.cursor import Cursor
from structformer_latex.output import Output, Part

_USES = """gls Gls GLS glspl Glspl glslink glsdisp glsentrylong glsentryshort glsentryname glsentrytext glsfirst
    Glsfirst glstext Glstext glsname acrshort Acrshort acrlong Acrlong acrfull Acrfull acrshortpl acrlongpl
    acrfullpl ac Ac acs Acs acl Acl acf Acf acp Acp acsp aclp acfp"""
_FIELD = re.compile(r"(?:^|,)\s*(\w[\w -]*?)\s*=\s*(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|[^,{}]*)", re.DOTALL)


@dataclass(slots=True)
class _Term:
    short: str
    long: str = ""
    plural: str = ""
    used: bool = False


class Glossary(Part):
    """The terms of a document."""

    def __init__(self, cursor: Cursor, output: Output) -> None:
        super().__init__(cursor, output)
        self._terms: dict[str, _Term] = {}

    def _define(self, command: str) -> None:
        argument, plain = self._cursor.argument, self._output.plain
        if command in ("newglossaryentry", "DeclareAcronym", "longnewglossaryentry"):
            label = argument().strip()
            fields = {key.strip(): value.strip().strip("{}") for key, value in _FIELD.findall(argument())}
            if command == "longnewglossaryentry":
                argument()
            short = fields.get("short") or fields.get("text") or fields.get("name") or label
            long = fields.get("long", "") or fields.get("first", "")
            self._terms[label] = _Term(plain(short), plain(long), plain(fields.get("plural", "")))
            return
        if command == "newacronym":
            self._cursor.optional()
            label, short, long = argument().strip(), argument(), argument()
        else:  # acrodef{label}[short]{long}
            label = argument().strip()
            short = self._cursor.optional() or label
            long = argument()
        self._terms[label] = _Term(plain(short), plain(long))

    def _use(self, command: str) -> None:
        self._cursor.optional()
        text = self._printed(command, self._cursor.argument().strip())
        self._cursor.optional()
        self._output.builder.text(text)

    def _printed(self, command: str, label: str) -> str:
        """What `command` prints of a term; the label of an unknown one."""
        term = self._terms.get(label)
        name = command.lower()
        if term is None:
            text = label
        elif "long" in name or name in ("acl", "aclp"):
            text = term.long or term.short
        elif "short" in name or name in ("acs", "acsp", "glsname", "glsentryname", "glstext", "glsentrytext"):
            text = term.short
        elif term.long and (not term.used or "full" in name or "first" in name or name in ("acf", "acfp")):
            text = f"{term.long} ({term.short})"
        else:
            text = term.short
        if term is not None:
            term.used = True
        if name.endswith(("pl", "acp", "acsp", "aclp", "acfp")):
            text = term.plural if term is not None and term.plural else f"{text}s"
        if command == "GLS":
            return text.upper()
        return text[:1].upper() + text[1:] if command[0].isupper() else text

    COMMANDS: ClassVar[dict[str, Handler]] = by_name(
        ("newacronym newglossaryentry DeclareAcronym acrodef newacro longnewglossaryentry", _define),
        (_USES, _use),
    )
