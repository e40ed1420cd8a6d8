"""How many tokens a text has, so that answers fit what an assistant reads."""

from pathlib import Path
from typing import Any

from structformer.errors import StructformerError
from structformer.retrieval import encoder_place, query_encoder_folder
from structformer.workspace import Workspace

from structformer_serve.generation import BEST, Generation

_BYTES = 3.0  # bytes per token, assumed where no tokenizer is at hand


class TokenCounter:
    """Counts tokens by the search encoder's own tokenizer, which cuts finer than those of large models; without one, by
    bytes.
    """

    def __init__(self, workspace: Workspace, generation: Generation) -> None:
        self._tokenizer = None
        name = generation.pipelines[BEST].encoder
        if name:
            self._tokenizer = _tokenizer(workspace, name)

    def count(self, text: str) -> int:
        """The number of tokens of a text."""
        if self._tokenizer is None:
            return round(len(text.encode("utf-8", "replace")) / _BYTES + 0.5) if text else 0
        return len(self._tokenizer.encode(_whole(text), add_special_tokens=False).ids)

    def cut(self, text: str, most: int) -> str:
        """The beginning of a text with at most so many tokens, cut behind a line or a word where that is near."""
        if most <= 0:
            return ""
        if self.count(text) <= most:
            return text
        if self._tokenizer is None:
            end = len(text.encode("utf-8", "replace")[: int(most * _BYTES)].decode("utf-8", "ignore"))
        else:
            end = self._tokenizer.encode(_whole(text), add_special_tokens=False).offsets[most - 1][1]
        for mark in ("\n", " "):
            place = text.rfind(mark, 0, end)
            if place > 0.8 * end:
                return text[:place].rstrip()
        return text[:end].rstrip()


def _whole(text: str) -> str:
    """Text without halves of surrogate pairs, which the tokenizer refuses; places stay the same."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _tokenizer(workspace: Workspace, name: str) -> Any | None:
    try:
        from tokenizers import Tokenizer

        for folder in (query_encoder_folder(workspace, name), Path(encoder_place(workspace, name).queries)):
            if (folder / "tokenizer.json").is_file():
                found = Tokenizer.from_file(str(folder / "tokenizer.json"))
                found.no_truncation()
                found.no_padding()
                return found
    except (ImportError, StructformerError):
        pass
    return None
