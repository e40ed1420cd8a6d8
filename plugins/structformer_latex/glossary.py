"""Acronyms and glossary terms as they are printed: whole where they first occur, short from then on."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

GLOSSARY_COMMANDS = tuple(
    """gls Gls GLS glspl Glspl glslink glsdisp glsentrylong glsentryshort glsentryname glsentrytext glsfirst
    Glsfirst glstext Glstext glsname acrshort Acrshort acrlong Acrlong acrfull Acrfull acrshortpl acrlongpl
    acrfullpl ac Ac acs Acs acl Acl acf Acf acp Acp acsp aclp acfp""".split()
)
_FIELD = re.compile(r"(?:^|,)\s*(\w[\w -]*?)\s*=\s*(\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|[^,{}]*)", re.DOTALL)


@dataclass(slots=True)
class _Term:
    short: str
    long: str = ""
    plural: str = ""
    used: bool = False


class Glossary:
    """The terms of a document. plain: gives the text of LaTeX."""

    def __init__(self, plain: Callable[[str], str]) -> None:
        self._plain = plain
        self._terms: dict[str, _Term] = {}

    def define(self, command: str, optional: Callable[[], str | None], argument: Callable[[], str]) -> None:
        """A definition by `command`, whose arguments are read as they come."""
        if command in ("newglossaryentry", "DeclareAcronym", "longnewglossaryentry"):
            label = argument().strip()
            fields = {key.strip(): value.strip().strip("{}") for key, value in _FIELD.findall(argument())}
            if command == "longnewglossaryentry":
                argument()
            short = fields.get("short") or fields.get("text") or fields.get("name") or label
            long = fields.get("long", "") or fields.get("first", "")
            self._terms[label] = _Term(self._plain(short), self._plain(long), self._plain(fields.get("plural", "")))
            return
        if command == "newacronym":
            optional()
            label, short, long = argument().strip(), argument(), argument()
        else:  # acrodef{label}[short]{long}
            label = argument().strip()
            short = optional() or label
            long = argument()
        self._terms[label] = _Term(self._plain(short), self._plain(long))

    def use(self, command: str, label: str) -> str:
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
