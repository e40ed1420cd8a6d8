"""The docstrings below a dataclass's fields: the one place where an option is described, for help texts and docs alike.

They are read from the source, since importing the module of an option would bring in torch for a help text.
"""

import ast
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """The docstring of a field, in one line, and its default; None if that is not a literal."""

    text: str
    default: Any

    @property
    def help(self) -> str:
        """The text with the default, where that says something."""
        shown = self.default is not None and not isinstance(self.default, bool) and self.default != ()
        value = f"{self.default:g}" if isinstance(self.default, float) else self.default
        return f"{self.text}  [default: {value}]" if shown else self.text


@cache
def field_docs(module: str, name: str) -> dict[str, FieldDoc]:
    """Return the fields of a dataclass of the package, by its module ("training.options") and its name, in their order.

    >>> field_docs("sampling.example", "SamplingOptions")["min_words"].help
    'Leave out texts with fewer words, as positives and negatives.  [default: 20]'
    """
    path = files("structformer").joinpath(*f"{module.replace('.', '/')}.py".split("/"))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        target.id: statement.value.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    definition = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name)
    docs: dict[str, FieldDoc] = {}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            value = following.value if isinstance(following, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                docs[statement.target.id] = FieldDoc(
                    " ".join(value.value.split()), _default(statement.value, constants)
                )
    return docs


def _default(value: ast.expr | None, constants: dict[str, Any]) -> Any:
    if isinstance(value, ast.Call) and value.args:  # a field with its conditions
        value = value.args[0]
    if isinstance(value, ast.Name):
        return constants.get(value.id)
    try:
        return ast.literal_eval(value) if value is not None else None
    except ValueError:
        return None


def options_page() -> str:
    """Return all options of training and sampling as Markdown: docs/options.md."""
    parts = [
        "# Options",
        "These are the keys of recipes, of `--set KEY=VALUE` and of `TrainingOptions`. For sampling, write\n"
        "`sample.KEY`. Where the default is none, the run chooses. To write this page again:\n"
        "`python -m structformer.text.field_docs > docs/options.md`.",
    ]
    for title, module, name in (
        ("Training", "training.options", "TrainingOptions"),
        ("Sampling", "sampling.example", "SamplingOptions"),
        ("Sets of Examples", "sampling.example", "SetOptions"),
    ):
        rows = [f"| `{key}` | {_shown(doc.default)} | {doc.text} |" for key, doc in field_docs(module, name).items()]
        parts.append(f"## {title}\n\n| key | default | |\n|---|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _shown(default: Any) -> str:
    if default is None or default == ():
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else f"`{default}`" if default == " " else str(default)


if __name__ == "__main__":
    print(options_page(), end="")
