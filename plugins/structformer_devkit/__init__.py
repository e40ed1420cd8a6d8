"""The rules that plugins keep, as checks: `structformer plugins check`, or pytest; and the package of a new plugin."""

from typing import TYPE_CHECKING, Any

from structformer.lazy_names import lazy_names
from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer_devkit.formats import RULES, Broken, Sample, check_format, mark_problems
    from structformer_devkit.site_generators import check_site_generator

__all__ = ["RULES", "Broken", "Sample", "check_format", "check_site_generator", "mark_problems"]
__getattr__ = lazy_names(__name__)


@hookimpl
def structformer_commands(app: Any) -> None:
    help_line = "List the installed plugins, check one, or start your own."
    app.add_lazy("plugins", "structformer_devkit.command:command", help_line, "More")
