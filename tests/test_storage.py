"""Writing that survives being interrupted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from structformer.corpus.storage import replacing_folder


def fail_while_writing(final: Path, then: Callable[[], object] = lambda: None) -> None:
    """Begin to replace a folder, and fail."""
    with replacing_folder(final) as folder:
        (folder / "a").write_text("half")
        then()
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


def test_what_a_killed_writer_left_is_put_right(tmp_path):
    final = tmp_path / "index"
    (tmp_path / ".old-99-index").mkdir()
    (tmp_path / ".old-99-index" / "a").write_text("old")
    (tmp_path / ".tmp-99-index").mkdir()
    seen: list[str] = []
    with pytest.raises(RuntimeError):
        fail_while_writing(final, lambda: seen.append((final / "a").read_text()))
    assert seen == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["index"]
