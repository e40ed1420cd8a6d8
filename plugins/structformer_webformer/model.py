"""Webformer's two encoders: of texts, which is the base model and all that is kept, and of nodes over them.

Source: Guo et al., SIGIR 2022, section 3."""

from collections.abc import Sequence
from random import Random
from typing import Any

import torch
from structformer.errors import ModelError
from structformer.models import length_buckets
from structformer.training import IGNORED, MaskedHead, Masker
from torch.nn import Embedding, Linear
from torch.nn.functional import cosine_similarity, embedding, embedding_bag, log_softmax, normalize, softplus

from structformer_webformer.batches import Batch, Masked, Node
from structformer_webformer.trees import MOST_CHILDREN


def masked_node(seen: torch.Tensor, masked: torch.Tensor) -> torch.Tensor:
    """MNP, a scalar: how far what is in a masked child's place is from what would be there without the mask, as
    1 - cosine.

    seen, masked: (nodes, dimensions), the node encoder's outputs at the child's place.
    """
    return (1 - cosine_similarity(seen, masked, dim=-1)).mean()


def matching(asked: torch.Tensor, own: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """PCM and SNM, a scalar: -log of the softmax over a node's own child and a node of another page, at its own.

    asked: (nodes, dimensions) of the parent or of a sibling, projected; it is brought to length one. own, other: as
    many vectors of nodes.
    """
    unit = normalize(asked, dim=-1)
    return softplus((unit * other).sum(-1) - (unit * own).sum(-1)).mean()


def child_order(logits: torch.Tensor, places: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """COP, a scalar: the Kullback-Leibler divergence of what is said of shuffled children's order from that order.

    logits: (nodes, most children); places: (nodes, most children) where each child is among the shuffled ones,
    anything beyond the children; counts: (nodes,) of children, two or more. The order as a distribution gives a child
    the number of children behind it, over the sum of these numbers.
    """
    real = torch.arange(places.shape[1], device=places.device) < counts[:, None]
    behind = (counts[:, None] - 1 - places).masked_fill(~real, 0).float()
    target = behind / behind.sum(1, keepdim=True)
    each: torch.Tensor = torch.special.xlogy(target, target) - target * log_softmax(logits.float(), -1)
    return each.sum(1).mean()


_IN_FRONT = 2  # of the children: [CLS] and the tag
_TYPES = 3
LOSSES = ("mlm", "mnp", "pcm", "snm", "cop")


class Webformer(torch.nn.Module):
    """encoder: the base model; head: of its masked words. What is added begins with nothing known: types of tokens at
    zero, so that the encoder begins as the base, and one layer of BERT for nodes.
    """

    def __init__(self, encoder: Any, head: MaskedHead, tokenizer: Any) -> None:
        """Raises ModelError where the tokenizer lacks a special token."""
        super().__init__()
        from transformers import BertConfig, BertModel

        self.cls, self.mask, self.pad = tokenizer.cls_token_id, tokenizer.mask_token_id, tokenizer.pad_token_id
        if None in (self.cls, self.mask, self.pad):
            raise ModelError("Webformer learns masked words: take a base model with [CLS], [MASK] and [PAD], as BERT's")
        known, width = encoder.config, int(encoder.config.hidden_size)
        words = encoder.get_input_embeddings().weight
        if words.shape[1] != width:
            raise ModelError("this base model's word vectors are not of its layers' width: take one like BERT")
        self.encoder, self.head = encoder, head
        # Tokens of the text itself have no type of their own: what is kept reads plain text as it was trained to.
        self.types = Embedding(_TYPES, width, padding_idx=0)
        torch.nn.init.zeros_(self.types.weight)
        config = BertConfig(
            vocab_size=1,  # words are the base model's
            hidden_size=width,
            num_hidden_layers=1,
            num_attention_heads=int(known.num_attention_heads),
            intermediate_size=int(getattr(known, "intermediate_size", 4 * width)),
            max_position_embeddings=_IN_FRONT + MOST_CHILDREN,
        )
        self.nodes = BertModel(config, add_pooling_layer=False)
        self.project = Linear(width, width)
        self.order = Linear(width, MOST_CHILDREN)

    @property
    def words(self) -> torch.Tensor:
        """(vocabulary, width) word vectors, which both encoders share."""
        weight: torch.Tensor = self.encoder.get_input_embeddings().weight
        return weight

    def forward(
        self, batch: Batch, masked: Sequence[Masked], masker: Masker, rng: Random, batch_tokens: int | None = None
    ) -> dict[str, torch.Tensor]:
        """Return the losses by their names, scalars; those that the batch asks nothing for are left out."""
        losses: dict[str, torch.Tensor] = {}
        vectors, mlm = self.read_texts(batch, masker, rng, batch_tokens)
        if mlm is not None:
            losses["mlm"] = mlm
        for level in batch.levels:
            if level:
                vectors = torch.cat([vectors, self.read_nodes(*self.rows(level, vectors))[:, 0]])
        return losses | (self.node_losses(batch, masked, vectors) if masked else {})

    def read_texts(
        self, batch: Batch, masker: Masker, rng: Random, batch_tokens: int | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return (texts, width), each text's [CLS], and the mean loss of the masked words, None without any."""
        chosen = [masker.masked((self.cls, *text.ids), rng) for text in batch.texts]
        types = [(0, *text.types) for text in batch.texts]
        buckets = length_buckets([len(ids) for ids, _ in chosen], self.words.device.type, batch_tokens)
        vectors, sums, count = [], [], 0
        for numbers in buckets:
            ids = self._padded([chosen[number][0] for number in numbers], self.pad)
            labels = self._padded([chosen[number][1] for number in numbers], IGNORED)
            kinds = self._padded([types[number] for number in numbers], 0)
            lengths = torch.tensor([len(chosen[number][0]) for number in numbers], device=ids.device)
            mask = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
            hidden = self.encoder(
                inputs_embeds=embedding(ids, self.words) + self.types(kinds), attention_mask=mask.long()
            ).last_hidden_state
            vectors.append(hidden[:, 0])
            asked = (labels != IGNORED).sum(1)
            sums.append((self.head(hidden, labels) * asked).sum())
            count += int(asked.sum())
        order = torch.tensor([number for numbers in buckets for number in numbers], device=self.words.device)
        vectors_in_order = torch.cat(vectors)[torch.argsort(order)]
        return vectors_in_order, torch.stack(sums).sum() / count if count else None

    def rows(self, nodes: Sequence[Node], vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the input of the node encoder: (nodes, 2 + most children, width) of [CLS], the tag, its tokens' mean,
        and the children, and (nodes, 2 + most children) which of them are there.
        """
        device = vectors.device
        children = self._padded([node.children for node in nodes], 0, MOST_CHILDREN)
        counts = torch.tensor([len(node.children) for node in nodes], device=device)
        sizes = torch.tensor([len(node.tag) for node in nodes], device=device)
        ids = torch.tensor([token for node in nodes for token in node.tag], dtype=torch.long, device=device)
        tags = embedding_bag(ids, self.words, sizes.cumsum(0) - sizes, mode="mean")
        first = self.words[self.cls].expand(len(nodes), -1)
        there = torch.arange(MOST_CHILDREN, device=device) < counts[:, None]
        mask = torch.cat([torch.ones_like(there[:, :1]), (sizes > 0)[:, None], there], 1)
        front = torch.stack([first, tags], 1)
        return torch.cat([front, vectors[children].to(front.dtype)], 1), mask

    def read_nodes(self, rows: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return (nodes, 2 + most children, width): the node encoder's outputs."""
        nodes: torch.Tensor = self.nodes(inputs_embeds=rows, attention_mask=mask.long()).last_hidden_state
        return nodes

    def node_losses(self, batch: Batch, masked: Sequence[Masked], vectors: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the losses of the questions about nodes. vectors: of all texts and nodes, by number."""
        device, nodes = vectors.device, batch.nodes
        rows, mask = self.rows([nodes[each.node] for each in masked], vectors)
        every = torch.arange(len(masked), device=device)
        place = _IN_FRONT + torch.tensor([each.child for each in masked], device=device)
        hidden = rows.clone()
        hidden[every, place] = self.words[self.mask]
        beyond = range(MOST_CHILDREN)
        order = torch.tensor([[*each.order, *beyond[len(each.order) :]] for each in masked], device=device)
        moved = _IN_FRONT + order
        shuffled = torch.cat([rows[:, :_IN_FRONT], rows[every[:, None], moved]], 1)
        seen, without, mixed = self.read_nodes(torch.cat([rows, hidden, shuffled]), mask.repeat(3, 1)).chunk(3)
        losses = {
            "mnp": masked_node(seen[every, place], without[every, place]),
            "cop": child_order(
                self.order(mixed[:, 0]),
                torch.argsort(order, dim=1),
                torch.tensor([len(each.order) for each in masked], device=device),
            ),
        }
        told = [number for number, each in enumerate(masked) if each.other is not None]
        if told:
            own, other = rows[every, place][told], vectors[[each.other for each in masked if each.other is not None]]
            sibling = _IN_FRONT + torch.tensor([each.sibling for each in masked], device=device)
            losses["pcm"] = matching(self.project(without[told, 0]), own, other)
            losses["snm"] = matching(self.project(rows[every, sibling][told]), own, other)
        return losses

    def _padded(self, rows: Sequence[Sequence[int]], value: int, width: int | None = None) -> torch.Tensor:
        longest = width or max(len(row) for row in rows)
        filled = [[*row, *[value] * (longest - len(row))] for row in rows]
        return torch.tensor(filled, dtype=torch.long, device=self.words.device)
