"""The file of --log-file: what a command says, warns of and fails with, each line with its time and level."""

import logging
import warnings
from typing import Any

_LOG = logging.getLogger("structformer.command")
_LOG.propagate = False  # what is logged here is on the terminal already
_LOG.addHandler(logging.NullHandler())


def open_log(path: str) -> None:
    """Append to a file from now on what the command and its libraries log, and warnings. Raises OSError."""
    file = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    _LOG.setLevel(logging.INFO)
    _LOG.addHandler(file)
    terminal = [logging.lastResort] if logging.lastResort else []  # as without other handlers
    logging.getLogger().handlers += [file, *terminal]
    shown = warnings.showwarning

    def show(message: Warning | str, *rest: Any, **more: Any) -> None:
        log(str(message), logging.WARNING)
        shown(message, *rest, **more)

    warnings.showwarning = show


def log(text: str, level: int = logging.INFO) -> None:
    """Write the lines of a text to the log file, if there is one."""
    for line in filter(str.strip, text.splitlines()):
        _LOG.log(level, "%s", line)


def log_files() -> list[logging.Handler]:
    """Return the handler of the log file, for a logger that has handlers of its own; none without a log file."""
    return [each for each in _LOG.handlers if isinstance(each, logging.FileHandler)]


def close_log(code: int) -> None:
    """Log how the command ended, and close the file."""
    log(f"exit code {code}")
    for file in log_files():
        _LOG.removeHandler(file)
        logging.getLogger().removeHandler(file)
        file.close()
