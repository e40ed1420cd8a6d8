"""The errors that a user can meet. Each message names the place, what happened and what to do."""


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


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error is about memory: Python's, torch's of a GPU, or torch's of a CPU, which has no class."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError)
        and (type(error).__name__ == "OutOfMemoryError" or "allocate memory" in str(error))
    )
