"""The errors that a user can meet. Each message names the place, what happened and what to do."""

from __future__ import annotations


class StructformerError(Exception):
    """An expected failure; the command line prints its message without a traceback and exits with `exit_code`."""

    exit_code = 1


class UsageError(StructformerError):
    """The request itself is wrong: an unknown option value, a missing file that the user named."""

    exit_code = 2


class ReadError(StructformerError):
    """A source cannot be read as its format. `place` says where in the source, as "line 3" or "byte 17"."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.place = place


class WorkspaceError(StructformerError):
    """The workspace, or a part of it, is missing, broken, locked, out of date or of another version."""


class ModelError(StructformerError):
    """A model cannot be found, loaded or trained."""
