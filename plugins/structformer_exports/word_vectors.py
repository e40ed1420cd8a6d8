"""Word vectors: read from a file as GloVe and word2vec write them, or learned from texts by word2vec."""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from structformer.errors import ModelError, UsageError
from structformer.extras import needed_for

_TOKEN = re.compile(r"\w+|[^\w\s]")
_DIMENSIONS, _EPOCHS, _LEAST_OFTEN = 100, 10, 3


@dataclass(frozen=True, slots=True)
class WordVectors:
    """Words and their vectors."""

    numbers: dict[str, int]
    """The row of each word in the matrix."""
    matrix: npt.NDArray[np.float32]
    """(words, dimensions) float32."""

    def of(self, text: str) -> npt.NDArray[np.float32]:
        """Return (words, dimensions) float32: unit vectors of the text's words, without those that have none."""
        numbers = [self.numbers[word] for word in tokens(text) if word in self.numbers]
        vectors = self.matrix[numbers]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def tokens(text: str) -> list[str]:
    """Return the text's words in lower case, and its signs."""
    return _TOKEN.findall(text.lower())


def read_word_vectors(path: Path) -> WordVectors:
    """Vectors of a text file: a word and its numbers in each line, with word2vec's first line of sizes or without.

    Raises UsageError naming the line."""
    numbers: dict[str, int] = {}
    rows: list[npt.NDArray[np.float32]] = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                word, *values = line.rstrip().split(" ")
                if (number == 1 and len(values) == 1) or not word:
                    continue
                try:
                    row = np.array(values, np.float32)
                except ValueError:
                    row = np.empty(0, np.float32)
                if not len(row) or (rows and len(row) != len(rows[0])) or not np.isfinite(row).all():
                    raise UsageError(
                        f"{path}, line {number}: expected a word and "
                        f"{f'its {len(rows[0])} numbers' if rows else 'its numbers'}"
                    )
                if word not in numbers:
                    numbers[word] = len(rows)
                    rows.append(row)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file of word vectors (UTF-8)") from None
    if not rows:
        raise UsageError(f"{path} has no word vectors")
    return WordVectors(numbers, np.stack(rows))


def write_word_vectors(path: Path, vectors: WordVectors) -> None:
    """Write vectors as word2vec's text form has them."""
    with path.open("w", encoding="utf-8") as out:
        out.write(f"{len(vectors.numbers)} {vectors.matrix.shape[1]}\n")
        for word, number in vectors.numbers.items():
            out.write(f"{word} {' '.join(f'{value:.5g}' for value in vectors.matrix[number])}\n")


def learn_word_vectors(
    texts: Callable[[], Iterable[str]], *, dimensions: int = _DIMENSIONS, seed: int = 0
) -> WordVectors:
    """Skip-gram vectors with negative sampling of all words that the texts hold three times and more, by gensim; the
    same for the same texts. texts: gives them, each of the several times that they are read.

    Source: Mikolov et al., "Distributed Representations of Words and Phrases and their Compositionality", NeurIPS
    2013. Raises MissingPackage without gensim, ModelError where no word is frequent enough."""
    with needed_for("learning word vectors"):
        from gensim.models import Word2Vec

    class Sentences:
        def __iter__(self) -> Iterator[Sequence[str]]:
            for text in texts():
                yield from (words for line in text.split("\n") if (words := tokens(line)))

    # Python's own hashes differ from run to run.
    model = Word2Vec(
        vector_size=dimensions,
        min_count=_LEAST_OFTEN,
        sg=1,
        seed=seed,
        epochs=_EPOCHS,
        hashfxn=lambda text: zlib.crc32(text.encode()),
        workers=1,
    )
    model.build_vocab(Sentences())
    if not len(model.wv):
        raise ModelError(f"no word occurs {_LEAST_OFTEN} times in the corpus: it is too small for word vectors")
    model.train(Sentences(), total_examples=model.corpus_count, epochs=model.epochs)
    return WordVectors(dict(model.wv.key_to_index), np.asarray(model.wv.vectors, np.float32))
