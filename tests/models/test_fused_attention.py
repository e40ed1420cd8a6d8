"""The attention that whole collections are encoded with is BERT's own, in fewer products."""

from __future__ import annotations

import numpy as np
import torch
from structformer.models.base import resolve_base_model
from structformer.models.bi_encoder import BiEncoder, fuse_attention
from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel

TEXTS = ["mend a sail", "a sail is mended with thread and wax, " * 40, "oars", ""]


def small_bert(**options: object) -> BertModel:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64, **options
    )
    config._attn_implementation = "eager"
    return BertModel(config).eval()


def test_fused_attention_gives_what_it_replaces():
    """Over texts of several lengths, so that some tokens are padding."""
    model, tokens = small_bert(), torch.arange(30).reshape(3, 10)
    mask = torch.tensor([[1] * 10, [1] * 4 + [0] * 6, [1] + [0] * 9])
    with torch.inference_mode():
        wanted = model(input_ids=tokens, attention_mask=mask).last_hidden_state
        fuse_attention(model)
        found = model(input_ids=tokens, attention_mask=mask).last_hidden_state
    assert not hasattr(model.encoder.layer[0].attention.self, "query")
    assert torch.allclose(found[mask.bool()], wanted[mask.bool()], atol=1e-5)


def test_decoders_and_other_architectures_stay_as_they_are():
    decoder = small_bert(is_decoder=True)
    fuse_attention(decoder)
    assert hasattr(decoder.encoder.layer[0].attention.self, "query")
    other = DistilBertModel(DistilBertConfig(vocab_size=50, dim=48, n_layers=1, n_heads=4, hidden_dim=64))
    names = [name for name, _ in other.named_modules()]
    fuse_attention(other)
    assert [name for name, _ in other.named_modules()] == names


def test_a_collection_is_encoded_as_single_texts_are():
    encoder = BiEncoder.load(resolve_base_model("auto", "bi-encoder").location)
    wanted, found = encoder.encode_documents(TEXTS), encoder.for_bulk().encode_documents(TEXTS)
    assert (wanted * found).sum(1).min() > 0.999
    again = encoder.encode_documents(TEXTS)  # the encoder itself is not changed
    assert np.array_equal(again, wanted)
