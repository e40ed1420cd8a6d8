"""Writing that survives being interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest
from structformer.storage.files import remove, replacing_folder


def fail_while_writing(final: Path) -> None:
    """Begin to replace a folder, and fail."""
    with replacing_folder(final) as folder:
        (folder / "a").write_text("half")
        raise RuntimeError("a failure in the middle")


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path):
    final = tmp_path / "index"
    with replacing_folder(final) as folder:
        (folder / "a").write_text("1")
    with pytest.raises(RuntimeError):
        fail_while_writing(final)
    assert (final / "a").read_text() == "1"
    with replacing_folder(final) as folder:
        (folder / "b").write_text("3")
    assert [path.name for path in final.iterdir()] == ["b"]
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_what_cannot_be_deleted_stays(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("1")
    remove(tmp_path / "none")

    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    remove(tmp_path / "a")
    assert (tmp_path / "a").read_text() == "1"
