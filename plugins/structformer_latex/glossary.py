"""Acronyms and glossary terms as they are printed: whole where they first occur, short from then on."""

from dataclasses import dataclass, field

from structformer_latex.commands import by_name
from structformer_latex.cursor import options
from structformer_latex.output import Part

_USES = """gls Gls GLS glspl Glspl glsentrylong glsentryshort glsentryname glsentrytext glsfirst
    Glsfirst glstext Glstext glsname acrshort Acrshort acrlong Acrlong acrfull Acrfull acrshortpl acrlongpl
    acrfullpl ac Ac acs Acs acl Acl acf Acf acp Acp acsp aclp acfp glsxtrshort Glsxtrshort glsxtrlong Glsxtrlong
    glsxtrfull Glsxtrfull glsxtrshortpl glsxtrlongpl glsxtrfullpl glsdesc Glsdesc glsentrydesc glssymbol
    glsentrysymbol"""

_OTHERS = ("plural", "longplural", "description", "symbol")


@dataclass(eq=False)
class Glossary(Part):
    """The terms of a document, and which of them are used so far."""

    _terms: dict[str, dict[str, str]] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    def _define(self, command: str) -> None:
        argument, plain = self._cursor.argument, self._output.plain
        is_acronym = command in ("newacronym", "newabbreviation")
        given = options(self._cursor.optional() or "") if is_acronym else {}
        label, fields = argument().strip(), {"longplural": given.get("longplural", "")}
        if command in ("newglossaryentry", "DeclareAcronym", "longnewglossaryentry"):
            fields |= options(argument())
            if command == "longnewglossaryentry":
                fields["description"] = argument()
        else:  # acrodef{label}[short]{long}, newacronym[options]{label}{short}{long}
            fields |= {"short": argument() if is_acronym else self._cursor.optional() or "", "long": argument()}
        fields["short"] = next(filter(None, map(fields.get, ("short", "text", "name"))), label)
        fields["long"] = fields.get("long") or fields.get("first", "")
        term = self._terms[label] = {key: plain(fields.get(key, "")) for key in ("short", "long", *_OTHERS)}
        self._used.discard(label)
        if command == "acro":
            builder = self._output.builder
            builder.line()
            builder.text(f"{term['short']} {term['long']}")
            builder.line()

    def _mark(self, command: str) -> None:
        """A term counts as used, or as not used."""
        change = self._used.discard if command == "glsreset" else self._used.add
        change(self._cursor.argument().strip())

    def _use(self, command: str) -> None:
        self._cursor.optional()
        self._output.builder.text(self._printed(command, self._cursor.argument().strip()))
        if command[1:].startswith("ls") and self._cursor.peek() == "[":  # an ending: \gls{api}['s]
            self._output.typeset(self._cursor.optional() or "")

    def _entry(self, command: str) -> None:
        """For the list alone: \\glossary{words}, memoir's \\glossary(key){term}{words}."""
        self._cursor.optional()
        self._cursor.drop("({{" if self._cursor.peek() == "(" else "{")

    def _printed(self, command: str, label: str) -> str:
        """Return the text that `command` prints for a term; the label of an unknown one."""
        term = self._terms.get(label) or {"short": label, **dict.fromkeys(("long", *_OTHERS), "")}
        name = command.lower()
        short, long = term["short"], term["long"]
        if name.endswith(("pl", "acp", "acsp", "aclp", "acfp")):
            short, long = term["plural"] or f"{short}s", long and (term["longplural"] or f"{long}s")
        if "desc" in name or "symbol" in name:
            text = term["description" if "desc" in name else "symbol"] or short
        elif "long" in name or name in ("acl", "aclp"):
            text = long or short
        elif "short" in name or name in ("acs", "acsp", "glsname", "glsentryname", "glstext", "glsentrytext"):
            text = short
        else:
            is_whole = label not in self._used or "full" in name or "first" in name or name in ("acf", "acfp")
            text = f"{long} ({short})" if long and is_whole else short
            self._used.add(label)
        if command == "GLS":
            return text.upper()
        return text[:1].upper() + text[1:] if command[0].isupper() else text

    COMMANDS = by_name(
        ("newacronym newabbreviation newglossaryentry DeclareAcronym acrodef acro newacro", _define),
        ("longnewglossaryentry", _define),
        (_USES, _use),
        ("glossary", _entry),
        ("glsreset glsunset acused", _mark),
    )
