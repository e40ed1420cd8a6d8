"""Domains: what a directive describes (`.. function:: boil(p)`) has a place and a name, and the roles that
refer to it (:func:`boil`) are links.

A link's target is the role as written, with the module and the class around it: `:func:knots.Rope:tie`. Python, C, C++
and JavaScript share their names, since which of them a role without a domain means is for a project's settings to say.
Source: the Sphinx documentation, "Domains"; names are looked up in the order of its Python domain."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

_CODE = """function class exception method classmethod staticmethod attribute property data decorator decoratormethod
    type struct union enum enumerator member var macro concept""".split()
_DESCRIBE_CODE = frozenset((*_CODE, *(f"auto{word}" for word in _CODE)))
SIGNED = _DESCRIBE_CODE | {"option"}  # directives whose argument is no prose
_CODE_ROLES = frozenset((*_CODE, *"func meth attr exc obj const deco".split()))
_HOLD_MEMBERS = frozenset("class exception struct union enum type autoclass autoexception".split())
_MODULES = frozenset("module automodule currentmodule".split())
SCOPES = _MODULES | {"program"}  # directives that say where the objects are that follow
_NO_MODULES = ("c:", "cpp:", "js:", "rst:")  # domains whose names a Python module does not begin
# Roles that say how a text looks, or what it is, and not what describes it; and how names of such begin.
_LOOKS = frozenset(
    """abbr command cite p t dfn expr file guilabel icon index kbd mailheader makevar manpage math menuselection
    mimetype newsgroup octicon program regexp samp sup sub texpr token""".split()
)
_LOOKS_BEGIN = ("bdg", "external", "fa", "material-")
ICON = re.compile(r"octicon|iconify|fa[bdlrst]?|material-(?:outlined|regular|round|sharp|twotone)")  # roles of icons
_DESCRIBE_NOTHING = frozenset({"describe", "object", "currentmodule", "program"})
# Of roles, and directives, that are called otherwise.
_KINDS = {"mod": "module", "automodule": "module", "dir": "directive", "cmdoption": "option"}
UNSEEN = frozenset("sectionauthor moduleauthor codeauthor tabularcolumns".split())  # directives, by default
VERSIONS = {  # what is printed of a change
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
}
NUMBER_PLACE = re.compile(r"\s*(?:%s|\{number\})")  # of a figure, which only the whole site knows
_MAX_ENDS = 3  # parts of a name that `.Rope.tie` may give
_BRACKETS = re.compile(r"<[^<>]*>")
_AFTER_NAME = re.compile(r"[\[(={]|->|(?<!:):(?!:)")
_AFTER_CLASS = frozenset({"final", "const"})
_NAME = re.compile(r"[\w$.@]*\w")
_WORD = re.compile(r"([^\s(]+)(?:\(.*|\s+[\[<{(-].*)?")  # and what it takes
_OPTION = re.compile(r"(?:/|--|-|\+)?[^\s=\[]+")
_TARGET = re.compile(r":[\w+.-]+:[^:]*:.+")
OF_OTHERS = re.compile(r"\w[\w.-]*:(?![\s:])")  # what another project has, by the name of its inventory
NOT_IN_ID = re.compile(r"[^\w.]+")


@dataclass(slots=True)
class Objects:
    """The objects that a document describes, and those around the place that is being read."""

    ids: dict[str, str] = field(default_factory=dict)  # by name; of several places, the first
    module: str = ""
    program: str = ""
    around: list[str] = field(default_factory=list)  # the classes

    def scope(self, name: str) -> str:
        """Return the prefix of names at this place, for a role or directive of this name."""
        return self.around[-1] if self.around else "" if name.startswith(_NO_MODULES) else self.module

    @contextmanager
    def describing(self, directive: str, signatures: Sequence[str], *, is_listed: bool = True) -> Iterator[list[str]]:
        """Give the ids of what a directive describes while its content is read. is_listed: not `:no-index:`."""
        kind = directive.rpartition(":")[2]
        if kind == "program":
            self.program = " ".join(signatures)
        if kind in _MODULES:
            self.module = "".join(signatures).replace("None", "")
        named = [name for signature in signatures for name in self._described(directive, signature)]
        new = {name: _place(name) for name in named if is_listed and name not in self.ids}
        self.ids.update(new)
        classes = [name[5:] for name in named[:1] if kind in _HOLD_MEMBERS]
        self.around += classes
        for name in tuple(new):
            for end in _ends(name):
                self.ids.setdefault(end, new[name])
        yield list(dict.fromkeys(new.values()))
        del self.around[len(self.around) - len(classes) :]

    def _described(self, directive: str, signature: str) -> list[str]:
        """Return the names of what a signature describes, each with its kind."""
        kind = directive.rpartition(":")[2]
        kind = _KINDS.get(kind, kind)
        if kind == "option":
            options = (_OPTION.match(part.strip()) for part in signature.split(", "))
            return [f"option:{self.program} {option[0]}".replace(": ", ":") for option in options if option]
        if kind in _DESCRIBE_CODE:
            name, scope = described(signature), self.scope(directive)
            if name and scope and not name.startswith(f"{scope}."):
                own = self.around[-1].rpartition(".")[2] + "." if self.around else "."
                name = f"{scope}.{name.removeprefix(own)}"
            return [f"code:{name}"] if name else []
        word = _WORD.fullmatch(signature)
        return [f"{kind}:{word[1]}"] if word and kind not in _DESCRIBE_NOTHING else []

    def place(self, target: str) -> str:
        """Return a target's place in this document, "#" and its id; "" where it is described elsewhere."""
        return next((f"#{self.ids[name]}" for name in _names(target) if name in self.ids), "")


def _place(name: str) -> str:
    """Return the id of what has this name, as it is in HTML: `boil`, `envvar-PEAR`, `cmdoption-pot-hot`."""
    kind, _, rest = name.partition(":")
    return rest if kind == "code" else NOT_IN_ID.sub("-", f"{'cmd' * (kind == 'option')}{kind}-{rest}").strip("-")


def _ends(name: str) -> Iterator[str]:
    """Yield what else leads to a name: its last parts; of what is no code, the name without its kind."""
    kind, _, rest = name.partition(":")
    if kind == "code":
        parts = rest.split(".")[1:][-_MAX_ENDS:]
        yield from ("code:." + ".".join(parts[start:]) for start in range(len(parts)))
    elif kind != "module":
        yield f":{rest.rpartition(' ')[2]}"


def described(signature: str) -> str:
    """The name that a signature in Python, C, C++ or JavaScript describes, its parts joined by dots; "" for none."""
    for _ in range(_MAX_ENDS):
        signature = _BRACKETS.sub("", signature)
    words = [word for word in _AFTER_NAME.split(signature, maxsplit=1)[0].split() if word not in _AFTER_CLASS]
    name = words[-1].lstrip("*&~").replace("::", ".") if words else ""
    return name if _NAME.fullmatch(name) and not name.endswith("operator") else ""


def last_part(name: str) -> str:
    """Return the text that `~knots.Rope.tie` shows."""
    return name.replace("::", ".").rpartition(".")[2].lstrip("~")


def target_of(role: str, name: str, objects: Objects) -> str:
    """Return the target of a reference by a role; "" where the role refers to nothing that a directive may describe."""
    kind = role.rpartition(":")[2]
    if kind in _LOOKS or role.startswith(_LOOKS_BEGIN):
        return ""
    if kind in _CODE_ROLES:
        name = name.removesuffix("()").replace("::", ".")
        return f":{kind}:{objects.scope(role)}:{name}" if _NAME.fullmatch(name) else ""
    if kind == "option":
        *program, option = name.split() or [""]
        option = found[0] if (found := _OPTION.match(option)) else option
        around = "" if OF_OTHERS.match(name) else objects.program
        return ":option::" + " ".join((*(program or [around]), option)).strip()
    return f":{kind}::{name}" if len(name.split()) == 1 and any(c.isalpha() for c in name) else ""


def is_object(target: str) -> bool:
    """Whether a link's target is what a directive describes."""
    return _TARGET.fullmatch(target) is not None


def _names(target: str) -> list[str]:
    """Return the names that a target may mean, best first, each with its kind."""
    _, role, scope, name = target.split(":", 3)
    if role not in _CODE_ROLES:
        return [f"{_KINDS.get(role, role)}:{name}", f":{name}"]
    parts = scope.split(".") if scope else []
    around = [".".join((*parts[:count], name.removeprefix("."))) for count in range(1, len(parts) + 1)]
    meant = [*reversed(around), name[1:], name] if name.startswith(".") else [name, *around]
    return [f"code:{each}" for each in meant]


def object_names(target: str) -> Iterator[str]:
    """Yield the names of documents, with the place in them behind "#", that a target may mean."""
    names = _names(target)
    if not names[0].startswith("option:") or OF_OTHERS.match(names[1][1:]):  # a text is shown for other options
        yield f"//objects/{names[0]}"  # what no page describes is described elsewhere
    for name in names:
        is_end = name.startswith((":", "code:."))
        yield f"object:{name}" if is_end else f"object:{name}#{_place(name)}"
