"""Starting from nothing: a WordPiece tokenizer trained on the corpus and a BERT of random weights."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from structformer.did_you_mean import did_you_mean
from structformer.errors import ModelError
from structformer.models.loading import quiet_transformers
from structformer.storage.files import sha256_of

# (layers, width, heads) of Turc et al. 2019, "Well-Read Students Learn Better", table 1, and BERT-base.
SIZES = {"tiny": (2, 128, 2), "mini": (4, 256, 4), "small": (4, 512, 8), "base": (12, 768, 12)}
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_MAX_CHARACTERS = 1000
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # of which the first there is is read


def make_scratch_model(
    texts: Callable[[], Iterable[str]], folder: Path, *, size: str, seed: int, vocabulary: int = 30_522
) -> None:
    """Write a tokenizer of the texts (read twice) and an untrained BERT to `folder`. Raises ModelError on an unknown
    size.
    """
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    if size not in SIZES:
        raise ModelError(f"no size {size!r}; {did_you_mean(size, SIZES)}")
    layers, width, heads = SIZES[size]
    folder.mkdir(parents=True, exist_ok=True)
    words = train_wordpiece(texts, vocabulary)
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    quiet_transformers()
    tokenizer = BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=True, model_max_length=512)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
    )
    BertModel(config).save_pretrained(folder)


def weights_digest(location: str) -> str:
    """Return a short digest of a folder's weights; a hub name's is of the name."""
    there = [path for name in _WEIGHTS if (path := Path(location) / name).exists()]
    return (sha256_of(there[0]) if there else hashlib.sha256(location.encode()).hexdigest())[:16]


def train_wordpiece(texts: Callable[[], Iterable[str]], vocabulary: int) -> list[str]:
    """Return a WordPiece vocabulary of the texts, the same for the same texts."""
    from tokenizers import BertWordPieceTokenizer
    from tokenizers.normalizers import BertNormalizer

    normalizer = BertNormalizer(lowercase=True)
    counts: Counter[str] = Counter()
    for text in texts():
        counts.update(normalizer.normalize_str(text))
    characters = sorted(
        c for c, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MAX_CHARACTERS] if not c.isspace()
    )
    # The trainer numbers continuation characters in the order of a hash table and breaks ties by number, so that its
    # vocabulary differs from run to run; given up front, they have fixed numbers.
    fixed = [*_SPECIAL, *characters, *(f"##{c}" for c in characters)]
    trained = BertWordPieceTokenizer(lowercase=True)
    trained.train_from_iterator(
        texts(), vocab_size=max(vocabulary, len(fixed)), min_frequency=2, special_tokens=fixed, show_progress=False
    )
    return [word for word, _ in sorted(trained.get_vocab().items(), key=lambda item: item[1])]
