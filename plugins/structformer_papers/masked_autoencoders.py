"""Pre-training a bi-encoder's [CLS] by a weak decoder that must guess a text from it: RetroMAE (Xiao et al., EMNLP
2022), DupMAE (Xiao et al., ACL 2023) and CoT-MAE (Wu et al., AAAI 2023).

They go beside Condenser: the same two texts of an Example, each text's loss a mean over its own words (the released
codes take one mean over a batch's), and what the encoder does not need is saved beside it for a training that goes on.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import torch
from structformer.errors import UsageError
from structformer.models import BiEncoder, RankerOptions
from structformer.sampling import Example
from structformer.training import (
    IGNORED,
    CondenserObjective,
    MaskedHead,
    Masker,
    ObjectiveOptions,
    Prepared,
    Reading,
    TokenBatch,
    fresh_bert,
)
from torch.nn.functional import gelu, linear, log_softmax, scaled_dot_product_attention
from torch.nn.utils.rnn import pad_sequence

from structformer_papers.kinds import MASKED_AUTOENCODER

DUPMAE = "dupmae"
ENCODER_SHARE = 0.3  # of the tokens that are masked for the encoder
HIDDEN_SHARE = 0.5  # of the tokens that RetroMAE's decoder does not see
DECODER_SHARE = 0.45  # of the tokens that are masked for CoT-MAE's decoder
BAG_WEIGHT = 0.1  # of the loss of the bag of words
_SEEN = "seen"  # the feature with what RetroMAE's decoder sees
_OF_OTHER = "other_"  # what the features of CoT-MAE's decoder begin with


class MaskedAutoencoder(BiEncoder):
    """A bi-encoder that is pre-trained so, and saved as any other. It pools [CLS] if nothing else is asked for."""

    @classmethod
    def start(cls, location: str, kind: str, options: RankerOptions) -> BiEncoder:
        return super().start(location, kind, replace(options, pooling=options.pooling or "cls"))


class DecoderObjective(CondenserObjective):
    """A loss of a decoder that reads words at their places: as the encoder embeds them, or, if it has no embeddings of
    places and kinds as BERT has, by fresh ones of these beside its words, which are saved beside the layers.
    """

    taught = MASKED_AUTOENCODER.name

    def __init__(self, ranker: Any, options: ObjectiveOptions, *, head: MaskedHead | None = None, teacher: Any = None):
        super().__init__(ranker, options, head=head, teacher=teacher)
        words, width = ranker.model.get_input_embeddings().weight.shape[1], ranker.model.config.hidden_size
        if words != width:
            raise UsageError(f"the loss {options.loss} needs words as wide as the base's layers: {width}, not {words}")
        self._masker = Masker(ranker.tokenizer, whole_words=options.whole_words, share=ENCODER_SHARE)
        own = getattr(ranker.model, "embeddings", None)
        self.places = None
        if any(getattr(own, f"{each}_embeddings", None) is None for each in ("position", "token_type")):
            self.places = fresh_bert(ranker.model.config).embeddings
            del self.places.word_embeddings  # the encoder's words are read

    @property
    def embeddings(self) -> Any:
        return self.places or self.model.embeddings

    def embedded(self, ids: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        """Return (texts, tokens, width) in the type of `like`, without [CLS]. ids: (texts, tokens)."""
        vectors: torch.Tensor = self.embeddings(inputs_embeds=self.model.get_input_embeddings()(ids))
        return vectors[:, 1:].to(like.dtype)


class RetroMAEObjective(DecoderObjective):
    """Every word of a text guessed by one layer of which each place asks with [CLS] and its position, and sees [CLS]
    and a random half of the text's tokens, another half for each place and never the token itself; and masked words
    guessed by the encoder, of whose tokens 30 % are masked.

    dupmae adds a tenth of the loss of the bag of words: minus the log softmax, over the vocabulary, of each word's
    highest score among the encoder's tokens but [CLS], summed over the text's distinct tokens and divided by its
    number of tokens.

    Source: RetroMAE, section 3, arXiv 2205.12035; DupMAE, arXiv 2211.08769. From the released code: the shares of 30
    and 50 %, the bag of words' weight, scores (by the head for masked words) and division by the length (the paper adds
    up plain sums), the queries' layer norm (DupMAE alone), [SEP] seen everywhere and never guessed. That code hides
    exactly half of the tokens, as whole words, by at most 256 sets; here each place draws every token for itself.
    """

    file = "retromae_head.safetensors"

    def __init__(self, ranker: Any, options: ObjectiveOptions, *, head: MaskedHead | None = None, teacher: Any = None):
        super().__init__(ranker, options, head=head, teacher=teacher)
        self.layers = self.layers[:1]
        self.guessed = ENCODER_SHARE + (2 if self.loss == DUPMAE else 1)
        self._ends = torch.tensor([ranker.tokenizer.cls_token_id, ranker.tokenizer.sep_token_id])

    def prepare(self, examples: Sequence[Example], rng: Random) -> Prepared:
        prepared = super().prepare(examples, rng)
        for batch in prepared.batches["texts"]:
            drawn = torch.Generator().manual_seed(rng.getrandbits(63))
            batch.features[_SEEN] = seen(self._asked(batch), batch.features["attention_mask"], drawn)
        return prepared

    def _asked(self, batch: TokenBatch) -> torch.Tensor:
        """Return (texts, tokens): the words to guess, IGNORED at [CLS], [SEP] and padding."""
        ids, mask = original(batch), batch.features["attention_mask"]
        return ids.masked_fill((mask == 0) | torch.isin(ids, self._ends.to(ids.device)), IGNORED)

    def read(self, prepared: Prepared, name: str, batch: TokenBatch) -> Reading:
        """A row is a text's loss of the decoder, with that of the bag of words for dupmae."""
        moved = batch.to(self.model.device)
        assert self.head is not None
        assert moved.labels is not None
        own = {name: value for name, value in moved.features.items() if name != _SEEN}
        hidden = self.model(**own).last_hidden_state
        asked = self._asked(moved)
        row = self.head(self.decoded(hidden[:, 0], original(moved), moved.features[_SEEN]), asked)
        if self.loss == DUPMAE:
            row = row + BAG_WEIGHT * self.bag_of_words(hidden, asked, own["attention_mask"])
        return row[:, None], self.head(hidden, moved.labels)

    def decoded(self, sentence: torch.Tensor, ids: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
        """(texts, tokens, width): what the decoder makes of each place. sentence: (texts, width), the encoder's [CLS];
        ids: (texts, tokens); visible: (texts, tokens, tokens) bool, what each place sees.
        """
        layer: Any = self.layers[0]
        context = torch.cat([sentence[:, None], self.embedded(ids, sentence)], 1)
        asking = layer.attention.self

        def heads(vectors: torch.Tensor) -> torch.Tensor:
            return vectors.view(*vectors.shape[:2], asking.num_attention_heads, -1).transpose(1, 2)

        queries = self._queries(sentence, ids.shape[1])
        outputs = scaled_dot_product_attention(
            heads(asking.query(queries)),
            heads(asking.key(context)),
            heads(asking.value(context)),
            attn_mask=visible[:, None],
            dropout_p=asking.dropout.p if self.training else 0.0,
        )
        attended = layer.attention.output(outputs.transpose(1, 2).flatten(2), queries)
        decoded: torch.Tensor = layer.output(layer.intermediate(attended), attended)
        return decoded

    def _queries(self, sentence: torch.Tensor, width: int) -> torch.Tensor:
        if self.loss == DUPMAE:
            normed: torch.Tensor = self.embeddings(inputs_embeds=sentence[:, None].expand(-1, width, -1))
            return normed.to(sentence.dtype)
        places = self.embeddings.position_embeddings
        first = 0 if places.padding_idx is None else places.padding_idx + 1  # RoBERTa counts from behind its padding
        at: torch.Tensor = places.weight[first : first + width]
        return sentence[:, None] + at.to(sentence.dtype)

    def bag_of_words(self, hidden: torch.Tensor, asked: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return (texts,): see above. hidden: (texts, tokens, width); asked, mask: (texts, tokens)."""
        assert self.head is not None
        words = self.model.get_input_embeddings().weight
        vectors = self.head.norm(gelu(self.head.dense(hidden[:, 1:])))
        scores = linear(vectors, words, self.head.bias).float().masked_fill(mask[:, 1:, None] == 0, float("-inf"))
        known = asked != IGNORED
        shares = known / known.sum(1, keepdim=True).clamp(min=1)
        weights = torch.zeros(len(asked), len(words), device=asked.device)
        weights.scatter_reduce_(1, asked.clamp(min=0), shares, "amax")  # what is not asked gives 0 to the first word
        return -(weights * log_softmax(scores.amax(1), -1)).sum(1)


class CoTMAEObjective(DecoderObjective):
    """The masked words of a text guessed by two fresh layers that read the other text's [CLS] in the place of its own,
    both ways; and each text's own masked words by the encoder.

    Source: CoT-MAE, section 3, arXiv 2208.07670, and its released code: 30 % of the tokens are masked for the encoder
    and, drawn apart, 45 % for the decoder, whose words are the encoder's embeddings. Not as there: a long text is cut
    behind, no near spans overlap, and a text that is in several pairs of a step learns from one of the others.
    """

    file = "cotmae_head.safetensors"
    guessed = ENCODER_SHARE + DECODER_SHARE

    def __init__(self, ranker: Any, options: ObjectiveOptions, *, head: MaskedHead | None = None, teacher: Any = None):
        super().__init__(ranker, options, head=head, teacher=teacher)
        self._masker_of_other = Masker(ranker.tokenizer, whole_words=options.whole_words, share=DECODER_SHARE)

    def prepare(self, examples: Sequence[Example], rng: Random) -> Prepared:
        prepared = super().prepare(examples, rng)
        batches = prepared.batches["texts"]
        texts = {
            number: ids[mask.bool()].tolist()
            for batch in batches
            for number, ids, mask in zip(batch.numbers, original(batch), batch.features["attention_mask"], strict=True)
        }
        pairs = zip(*(prepared.places[side].tolist() for side in ("queries", "documents")), strict=True)
        # The other text of each text's pair; of one that is in several pairs the last one's.
        others = {text: other for pair in pairs for text, other in (pair, pair[::-1])}
        masked = {number: self._masker_of_other.masked(texts[others[number]], rng) for number in sorted(texts)}
        for batch in batches:
            self._add_others(batch, [masked[number] for number in batch.numbers])
        return prepared

    def _add_others(self, batch: TokenBatch, others: Sequence[tuple[list[int], list[int]]]) -> None:
        """others: (ids with masks, labels) of the text that is guessed from each of the batch's."""
        ids, labels = ([torch.tensor(row) for row in rows] for rows in zip(*others, strict=True))
        for name, rows, padding in (
            ("input_ids", ids, self.ranker.tokenizer.pad_token_id or 0),
            ("attention_mask", [torch.ones_like(row) for row in ids], 0),
            ("labels", labels, IGNORED),
        ):
            batch.features[_OF_OTHER + name] = pad_sequence(rows, batch_first=True, padding_value=padding)

    def read(self, prepared: Prepared, name: str, batch: TokenBatch) -> Reading:
        """A row is the other text's loss of the decoder, from this one's [CLS]."""
        moved = batch.to(self.model.device)
        assert self.head is not None
        assert moved.labels is not None
        own = {name: value for name, value in moved.features.items() if not name.startswith(_OF_OTHER)}
        ids, mask, labels = (moved.features[_OF_OTHER + each] for each in ("input_ids", "attention_mask", "labels"))
        last = self.model(**own).last_hidden_state
        hidden = self.through_layers(torch.cat([last[:, :1], self.embedded(ids, last)], 1), mask)
        return self.head(hidden, labels)[:, None], self.head(last, moved.labels)


def seen(asked: torch.Tensor, mask: torch.Tensor, drawn: torch.Generator) -> torch.Tensor:
    """(texts, tokens, tokens) bool: what each place of RetroMAE's decoder sees. asked, mask: (texts, tokens), the words
    (IGNORED elsewhere) and what is not padding.
    """
    texts, width = asked.shape
    kept = torch.rand(texts, width, width, generator=drawn) >= HIDDEN_SHARE
    visible = (kept | (asked == IGNORED)[:, None]) & (mask > 0)[:, None] & ~torch.eye(width, dtype=torch.bool)
    visible[:, 0, 0] = True  # [CLS], of which nothing is guessed, sees at least itself
    return visible


def original(batch: TokenBatch) -> torch.Tensor:
    """Return (texts, tokens): a masked batch's ids as they were."""
    assert batch.labels is not None
    return torch.where(batch.labels == IGNORED, batch.features["input_ids"], batch.labels)
