"""Starting from nothing: a WordPiece tokenizer trained on the corpus and a BERT of random weights."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from structformer.errors import ModelError

# (layers, width, heads) of Turc et al. 2019, "Well-Read Students Learn Better", table 1, and BERT-base.
SIZES = {"tiny": (2, 128, 2), "mini": (4, 256, 4), "small": (4, 512, 8), "base": (12, 768, 12)}
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def make_scratch_model(texts: Iterable[str], folder: Path, *, size: str, seed: int, vocabulary: int = 30_522) -> None:
    """Write a tokenizer trained on `texts` and an untrained BERT of `size` to `folder`.

    Raises ModelError on an unknown size.
    """
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    if size not in SIZES:
        raise ModelError(f"no size {size!r}; there are: {', '.join(SIZES)}")
    layers, width, heads = SIZES[size]
    trained = BertWordPieceTokenizer(lowercase=True)
    trained.train_from_iterator(texts, vocab_size=vocabulary, min_frequency=2, special_tokens=list(_SPECIAL), show_progress=False)
    folder.mkdir(parents=True, exist_ok=True)
    trained.save_model(str(folder))
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=True, model_max_length=512)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads, intermediate_size=4 * width
    )
    BertModel(config).save_pretrained(folder)
