"""BERT's self-attention as one product for queries, keys and values: CPUs are slow at narrow matrices."""

from typing import Any

import torch


def fuse_attention(model: torch.nn.Module) -> None:
    """Fuse each layer's self-attention of a BERT in place, no other's. The model can then not be trained or saved."""
    from transformers.models.bert.modeling_bert import BertSelfAttention

    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is BertSelfAttention and not child.is_decoder:
                setattr(module, name, _FusedSelfAttention(child))


class _FusedSelfAttention(torch.nn.Module):
    """Takes the place of a BertSelfAttention; the scale of the products is in the weights of the queries."""

    def __init__(self, plain: Any) -> None:
        super().__init__()
        self._heads, self._size = plain.num_attention_heads, plain.attention_head_size
        parts = (plain.query, plain.key, plain.value)
        self.joined = torch.nn.Linear(plain.query.in_features, 3 * self._heads * self._size)
        with torch.no_grad():
            self.joined.weight.copy_(torch.cat([part.weight for part in parts]))
            self.joined.bias.copy_(torch.cat([part.bias for part in parts]))
            self.joined.weight[: self._heads * self._size] *= plain.scaling
            self.joined.bias[: self._heads * self._size] *= plain.scaling

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None = None, **_: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """((texts, tokens, dimensions), (texts, heads, tokens, tokens)). attention_mask: added to the products."""
        texts, tokens, _width = hidden_states.shape
        joined = self.joined(hidden_states).view(texts, tokens, 3, self._heads, self._size)
        query, key, value = joined.permute(2, 0, 3, 1, 4)
        weights = query @ key.transpose(-1, -2)
        # All of a text's tokens see the same ones, so one row tells whether any is padding.
        if attention_mask is not None and attention_mask[..., 0, :].any():
            weights += attention_mask
        weights = torch.softmax(weights, -1)
        return (weights @ value).transpose(1, 2).reshape(texts, tokens, -1), weights
