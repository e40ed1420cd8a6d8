"""Words as numbers that their letters can be read from again, so that a model needs no vocabulary: any two words are
told apart, and the n-graphs of all words of a batch are found by arithmetic."""

from collections.abc import Iterable
from functools import lru_cache

import torch

from structformer_kernels.ngraphs import LONGEST_NGRAPH

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz#"
_NUMBERS = {letter: number for number, letter in enumerate(_LETTERS, 1)}  # 0 is not a letter
_BASE = len(_LETTERS) + 1
_FIRST, _REST = 12, 11  # letters that 64 bits hold, and that they hold beside the side
LONGEST_WORD = _FIRST + _REST  # longer words are cut


def _packed(letters: str) -> int:
    return sum(_NUMBERS[letter] * _BASE**place for place, letter in enumerate(letters))


@lru_cache(maxsize=65_536)
def packed_word(word: str) -> tuple[int, int]:
    """Return a word of 0-9 and a-z as two numbers: its first twelve letters and the others."""
    return _packed(word[:_FIRST]), _packed(word[_FIRST:LONGEST_WORD])


def packed_ngraphs(ngraphs: Iterable[str]) -> torch.Tensor:
    """Return (n-graphs,) int64, ascending: the numbers that `words_and_ngraphs` looks for."""
    return torch.tensor(sorted({_packed(ngraph) for ngraph in ngraphs}), dtype=torch.long)


def ngraph_places(words: torch.Tensor, known: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(found,) places in `known` of the n-graphs of all words, word after word, and (words,) where each word's begin.

    words: (words, 2) int64 packed; a word of no letters has no n-graph. known: what `packed_ngraphs` gives.
    """
    device = words.device
    parts = [
        words[:, part, None] // _BASE ** torch.arange(count, device=device) % _BASE
        for part, count in enumerate((_FIRST, _REST))
    ]
    letters = torch.cat(parts, 1)
    lengths = (letters > 0).sum(1)
    framed = torch.nn.functional.pad(letters, (1, 1))
    edge = (lengths > 0).long() * _NUMBERS["#"]
    framed[:, 0] = edge
    framed.scatter_(1, (lengths + 1)[:, None].clamp(max=LONGEST_WORD + 1), edge[:, None])
    codes = []
    for length in range(1, LONGEST_NGRAPH + 1):
        windows = framed.unfold(1, length, 1)
        powers = _BASE ** torch.arange(length, device=device)
        codes.append((windows * powers).sum(-1) * (windows[..., -1] > 0))
    code = torch.cat(codes, 1)
    places = torch.searchsorted(known, code).clamp(max=len(known) - 1)
    there = known[places] == code
    counts = there.sum(1)
    return places[there], counts.cumsum(0) - counts
