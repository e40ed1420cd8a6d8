"""The folder that holds everything made of a corpus, and what commands write outside it."""

from structformer.workspace.user_outputs import (
    check_file,
    check_folder,
    check_place,
    is_workspace,
    new_file,
    new_folder,
)
from structformer.workspace.workspace import (
    ADVICE,
    FOLDERS,
    FORMAT,
    MARKER,
    Hold,
    Publication,
    Source,
    Workspace,
    checked_name,
    dated_name,
)

__all__ = [
    "ADVICE", "FOLDERS", "FORMAT", "MARKER", "Hold", "Publication", "Source", "Workspace", "check_file",
    "check_folder", "check_place", "checked_name", "dated_name", "is_workspace", "new_file", "new_folder",
]  # fmt: skip
