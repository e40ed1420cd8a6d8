"""The command line: one module per command, which parses, calls the library and prints."""

from typing import TYPE_CHECKING

from structformer.lazy_names import lazy_names

if TYPE_CHECKING:
    from structformer.cli.brief import BriefCommand, completed
    from structformer.cli.common import (
        PROGRESS_LINES,
        Number,
        Output,
        OutputPath,
        WorkspacePath,
        common_options,
        default_option,
        force_option,
        named,
        path_option,
        printable,
        read_option_file,
        save_config,
        seconds,
        several_option,
        table,
        threads_option,
    )
    from structformer.cli.evaluate import judged, judged_option, read_beir, show
    from structformer.cli.ingest import base_url_option
    from structformer.cli.log_file import log, log_files
    from structformer.cli.search import (
        as_text,
        fresh_index,
        opened,
        search_options,
        show_hits,
        show_search,
        stale_option,
    )
    from structformer.cli.train import check_corpus, chosen_options, training_flags
    from structformer.cli.training_view import of_first_process, print_result, watched

__all__ = [
    "PROGRESS_LINES", "BriefCommand", "Number", "Output", "OutputPath", "WorkspacePath", "as_text", "base_url_option",
    "check_corpus", "chosen_options", "common_options", "completed", "default_option", "force_option", "fresh_index",
    "judged", "judged_option", "log", "log_files", "named", "of_first_process", "opened", "path_option",
    "print_result", "printable", "read_beir", "read_option_file", "save_config", "search_options", "seconds",
    "several_option", "show", "show_hits", "show_search", "stale_option", "table", "threads_option", "training_flags",
    "watched",
]  # fmt: skip
__getattr__ = lazy_names(__name__)
