"""A corpus's static encoder in a folder of its own: as it is, which needs no workspace, and as sentence-transformers'
`StaticEmbedding`, a vector for each word of the corpus.

Forms: tokenizers' tokenizer.json (a WordLevel model), safetensors, sentence-transformers' modules.json."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file
from structformer import __version__
from structformer.document import MARKS, UNSPACED
from structformer.errors import ModelError
from structformer.models import ModelRecord, checked_model, ranker_kind, read_record
from structformer.retrieval import OpenedIndex
from structformer.static_encoder import LONGEST, OF_UNSPACED, SATURATION, StaticEncoder, words_of
from structformer.storage import write_json
from structformer.text import IGNORABLE
from structformer.workspace import Workspace, check_folder, new_folder
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordLevel

_EMBEDDING, _LENGTH_ONE = "0_StaticEmbedding", "1_Normalize"
_UNKNOWN = "[UNK]"
_AT_ONCE = 8192  # words


def export_static(workspace: str | Path | Workspace, name: str, folder: Path, *, force: bool = False) -> int:
    """Write a static encoder of the workspace with the vectors of all words of its index; gives their number.

    Raises ModelError on an unknown model or one of another kind, WorkspaceError without an index, UsageError where the
    folder must not be written (outputs.py)."""
    workspace = Workspace(workspace)
    check_folder(folder, workspace, force=force)
    record = read_record(workspace, name)
    kind = ranker_kind(record.kind)
    encoder = None if kind.needs_torch else kind.load(str(checked_model(workspace, name)))
    if not isinstance(encoder, StaticEncoder):
        raise ModelError(f"{name} is a {record.kind} model, not a static encoder")
    words = _words(OpenedIndex(workspace))
    with new_folder(folder, workspace, force=force) as made:
        encoder.save(made)
        (made / _EMBEDDING).mkdir()
        (made / _LENGTH_ONE).mkdir()
        save_file({"embedding.weight": _vectors(encoder, words)}, made / _EMBEDDING / "model.safetensors")
        _tokenizer(words).save(str(made / _EMBEDDING / "tokenizer.json"))
        modules = [
            {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{path[2:]}"}
            for number, path in enumerate((_EMBEDDING, _LENGTH_ONE))
        ]
        (made / "modules.json").write_text(json.dumps(modules, indent=2), encoding="utf-8")
        write_json(made / "config_sentence_transformers.json", {"similarity_fn_name": "cosine"})
        (made / "README.md").write_text(_card(name, record, encoder, len(words)), encoding="utf-8")
    return len(words)


def _words(opened: OpenedIndex) -> list[str]:
    """Return the words of an index, the most frequent first; of scripts without spaces single characters alone."""
    counts: Counter[str] = Counter()
    for unit in opened.units:
        counts.update(words_of(unit.ranker_text))
    for document in opened.documents:
        counts.update(dict.fromkeys(words_of(document.overview), 0))
    words = (word for word in counts if word[0] != OF_UNSPACED or len(word) == len(OF_UNSPACED) + 1)
    return sorted(words, key=lambda word: (-counts[word], word))


def _vectors(encoder: StaticEncoder, words: list[str]) -> npt.NDArray[np.float32]:
    """Return (1 + words, dimensions) vectors, the first of what is unknown."""
    vectors = np.zeros((1 + len(words), encoder.dimensions), np.float32)
    for start in range(0, len(words), _AT_ONCE):
        vectors[1 + start : 1 + start + _AT_ONCE] = encoder.words(words[start : start + _AT_ONCE])
    return vectors


def _tokenizer(words: list[str]) -> Tokenizer:
    """Return words in normal form, and of scripts without spaces characters."""
    vocabulary = [_UNKNOWN, *(word.removeprefix(OF_UNSPACED) for word in words)]
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(vocabulary)}, unk_token=_UNKNOWN))
    # Unicode's NFKC_Casefold, as far as living languages need it.
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(f"[{IGNORABLE}]"), ""),
            normalizers.NFKC(),
            normalizers.Lowercase(),
            normalizers.Replace("\u00df", "ss"),
            normalizers.Replace("\u03c2", "\u03c3"),
            normalizers.NFKC(),
        ]
    )
    of_words = pre_tokenizers.Split(Regex(f"[\\p{{L}}\\p{{N}}_{MARKS}]+"), "removed", invert=True)
    of_characters = pre_tokenizers.Split(Regex(f"[{UNSPACED}]"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([of_words, of_characters])
    return tokenizer


def _card(name: str, record: ModelRecord, encoder: StaticEncoder, words: int) -> str:
    """Return the folder's README.md."""
    return f"""---
library_name: structformer
pipeline_tag: sentence-similarity
tags:
- structformer
- sentence-transformers
- {record.kind}
---
# {name}

A static encoder of {encoder.dimensions} dimensions, learned by structformer {record.training["tool_version"]} from the
structure of a corpus alone (fingerprint `{record.training["corpus"]}`): no labels, no pretrained weights. Written by
structformer {__version__}. The weights derive from the corpus, whose license applies.

## Use

```python
from structformer.static_encoder import StaticEncoder

encoder = StaticEncoder.load("path/to/this/folder")
encoder.encode_queries(["how do I ..."]) @ encoder.encode_documents(["a passage"]).T
```

It needs numpy and scipy, no torch. {len(encoder.features)} words and n-grams of letters have a vector; a word is the
sum of its own, and a text that of its words.

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("path/to/this/folder")
model.encode(["how do I ..."])
```

This gives about the same vectors, from one vector for each of the corpus's {words} words. The differences: it
ignores words that the corpus lacks, where the encoder above reads their n-grams; a word that occurs c times in a text
counts c times, not {1 + SATURATION:g} c / (c + {SATURATION:g}); a word of over {LONGEST} letters is unknown; and of
scripts without spaces single characters are read, no pairs.
"""
