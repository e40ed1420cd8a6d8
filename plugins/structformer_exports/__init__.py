"""A workspace's search in other libraries, one thin module each behind an extra of its name; exports in other tools'
forms; models to the hub and from it; what was read of a file; the reference graph, its dead links and
the graph as a file."""

from typing import TYPE_CHECKING, Any

from structformer.lazy_names import lazy_names
from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer_exports.export_forms import Exported, export
    from structformer_exports.word_vectors import (
        WordVectors,
        learn_word_vectors,
        read_word_vectors,
        write_word_vectors,
    )

__all__ = ["Exported", "WordVectors", "export", "learn_word_vectors", "read_word_vectors", "write_word_vectors"]
__getattr__ = lazy_names(__name__)

_COMMANDS = {
    "inspect": ("Read", "Show what was read of a file, a folder or the corpus."),
    "graph": ("Read", "Show the links between documents: statistics, dead links."),
    "export": ("Share", "Export a model for onnxruntime, the Examples or the corpus."),
    "push": ("Share", "Send a model and its card to the hub."),
    "pull": ("Share", "Fetch a model from the hub into the workspace."),
    "models": ("More", "List encoders that work well as --base-model."),
}


@hookimpl
def structformer_commands(app: Any) -> None:
    for name, (section, help_line) in _COMMANDS.items():
        app.add_lazy(name, f"structformer_exports.commands.{name}:command", help_line, section)
