"""Passages read in the context of their document: late chunking (Günther et al., arXiv 2409.04701), and InSeNT's
training for it (Conti et al., EMNLP 2025, arXiv 2505.24782).

A document's passages go through the model together, as one text, and each gets the mean of its own tokens' vectors. So
"It was founded in 1850" can know whose sentence it is. The document tree gives what InSeNT's training needs without a
label: queries from titles and sentences, and a passage's siblings as the negatives of its own sequence.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, groupby, islice
from operator import attrgetter, itemgetter
from random import Random

import numpy as np
import numpy.typing as npt
import torch
from structformer.errors import UsageError
from structformer.models import BiEncoder, RankerOptions, length_buckets, longest_input
from structformer.sampling import Example
from structformer.training import Objective, Prepared, Reading, TokenBatch, and_others, in_order

LONGEST_WINDOW = 8192  # tokens
CONTEXT = 0.25  # of a window's tokens: what is before it in the document, as far as it fits
IN_SEQUENCE = 0.5  # the weight of the document's own negatives, lambda of the released code
SCALE = 20.0  # of cosines, as there
_BETWEEN, _PLACE = "\x1e", "\x1f"
_IN_WINDOW = re.compile(f"([0-9]{{1,6}}){_PLACE}", re.ASCII)
_PLAIN = str.maketrans({_BETWEEN: " ", _PLACE: " "})
_BATCH = 64  # windows that are tokenized together
_PASSAGE_TOKENS = 256
Vectors = npt.NDArray[np.float32]
See = Callable[[int, Vectors], None]


@dataclass(frozen=True, slots=True)
class Window:
    """Passages of a document that are read together, as token ids."""

    ids: list[int]
    spans: list[tuple[int, int]]
    """Of each passage, the first of its tokens and the one behind its last."""


class ContextualEncoder(BiEncoder):
    """A bi-encoder that reads a document's passages together, as many as fit into its window.

    As in the released code, passages are joined by the tokenizer's separator, which is in no passage's mean, while
    [CLS] is in the first one's; and a document that is longer than the window is read in several, each beginning with
    passages of the one before: there ten of them, here as many as fit into a quarter.
    """

    kind = "contextual"

    @classmethod
    def start(cls, location: str, kind: str, options: RankerOptions) -> BiEncoder:
        """Raises UsageError on another pooling than the mean: a passage has no [CLS] of its own."""
        if options.pooling not in (None, "mean"):
            raise UsageError(f"a contextual passage is the mean of its tokens: leave out --pooling {options.pooling}")
        return super().start(location, kind, replace(options, pooling="mean"))

    @cached_property
    def window(self) -> int:
        """The tokens that are read together."""
        return min(LONGEST_WINDOW, longest_input(self.model) or LONGEST_WINDOW)

    def in_context(self, passages: Iterable[str], documents: Iterable[int]) -> Iterator[str]:
        """Yield the texts for `encode_documents`, one a passage in the order of their documents: each with those of its
        window, so that equal texts have equal vectors. documents: the number of each passage's document.
        """
        for _, own in groupby(zip(documents, passages, strict=True), key=itemgetter(0)):
            texts = [text.translate(_PLAIN) for _, text in own]
            for start, first, end in self._cut([len(ids) for ids in self._tokens(texts, _PASSAGE_TOKENS)]):
                window = _BETWEEN.join(texts[start:end])
                yield from (f"{number - start}{_PLACE}{window}" for number in range(first, end))

    def encode_in_context(self, documents: Sequence[Sequence[str]]) -> list[Vectors]:
        """For each document the (passages, dimensions) float32 vectors of its passages, unit length."""
        numbers = [number for number, passages in enumerate(documents) for _ in passages]
        texts = self.in_context((text for passages in documents for text in passages), numbers)
        ends = np.cumsum([len(passages) for passages in documents])[:-1]
        return np.split(self.encode_documents(list(texts)), ends)

    def encode_documents(self, documents: Sequence[str]) -> Vectors:
        """Return vectors of passages as `in_context` gives them, and of other texts each by itself."""
        return self._read(documents, None)

    def encode_documents_with_tokens(self, documents: Sequence[str], see: See) -> Vectors:
        return self._read(documents, see)

    @torch.inference_mode()
    def _read(self, texts: Sequence[str], see: See | None) -> Vectors:
        wanted: dict[str, list[tuple[int, int]]] = {}  # by window: the place of a text in it, and its number
        for number, text in enumerate(texts):
            found = _IN_WINDOW.match(text)
            window, place = (text[found.end() :], int(found[1])) if found else (text.translate(_PLAIN), 0)
            wanted.setdefault(window, []).append((min(place, window.count(_BETWEEN)), number))
        training = self.model.training
        self.model.eval()
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        keys = list(wanted)
        for batch in (keys[start : start + _BATCH] for start in range(0, len(keys), _BATCH)):
            windows = self.windows([window.split(_BETWEEN) for window in batch], _PASSAGE_TOKENS)
            for rows in length_buckets([len(each.ids) for each in windows], self.model.device.type):
                ids = {"input_ids": [windows[row].ids for row in rows]}
                padded = self.tokenizer.pad(ids, padding_side="right", return_tensors="pt").to(self.model.device)
                hidden = self.model(**padded).last_hidden_state
                pooled = self.of_spans(hidden, span_table([windows[row].spans for row in rows])).cpu().numpy()
                for at, row in enumerate(rows):
                    for place, number in wanted[batch[row]]:
                        vectors[number] = pooled[at, place]
                        if see is not None:
                            see(number, hidden[at, slice(*windows[row].spans[place])].float().cpu().numpy())
        self.model.train(training)
        return vectors

    def fitting(self, passages: Sequence[str], max_tokens: int) -> int:
        """Return how many of the first passages a window holds, at least one."""
        before, after = self._ends
        ends = len(before) + np.cumsum([len(ids) + len(after) for ids in self._tokens(passages, max_tokens)])
        return max(1, int((ends <= self.window).sum()))

    def windows(self, documents: Sequence[Sequence[str]], max_tokens: int) -> list[Window]:
        """Each document's passages as one window, each passage cut to max_tokens. What does not fit has no tokens."""
        remaining = iter(self._tokens([text for passages in documents for text in passages], max_tokens))
        before, after = self._ends
        windows = []
        for passages in documents:
            ids, spans, begun = list(before), [], self.prompts["document"].skipped
            for own in islice(remaining, len(passages)):
                ids += own[: max(0, self.window - len(ids) - len(after))]
                spans.append((begun, len(ids)))
                ids += after if len(ids) + len(after) <= self.window else []
                begun = len(ids)
            windows.append(Window(ids, spans))
        return windows

    def of_spans(self, hidden: torch.Tensor, spans: torch.Tensor) -> torch.Tensor:
        """Return (texts, spans, dimensions) float32, unit length: the means of tokens' vectors, through the model's own
        layers. hidden: (texts, tokens, width); spans: (texts, spans, 2). An empty one has a vector of zeros, or of the
        layers' biases.
        """
        spans = spans.to(hidden.device)
        at = torch.arange(hidden.shape[1], device=hidden.device)
        inside = ((at >= spans[..., :1]) & (at < spans[..., 1:])).float()
        with torch.autocast(hidden.device.type, enabled=False):
            means = torch.bmm(inside, hidden.float()) / inside.sum(2, keepdim=True).clamp(min=1)
        rows = means.flatten(0, 1)[:, None]
        return self.pool(rows, torch.ones(rows.shape[:2], device=rows.device)).view(*means.shape[:2], -1)

    @cached_property
    def _ends(self) -> tuple[list[int], list[int]]:
        """The tokens before a window's passages, the prompt's among them, and those behind each passage."""
        prompt = self.prompts["document"].text
        own = self.tokenizer(prompt, add_special_tokens=False)["input_ids"] if prompt else []
        before, after = ([token for token, _ in each] for each in (self._frame.before, self._frame.after))
        return [*before, *own], after

    def _tokens(self, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
        """Return ids of each text's first tokens, without special ones."""
        first, last = len(self._frame.before), len(self._frame.after)
        rows = self.encode_tokens(texts, [max_tokens + first + last] * len(texts))["input_ids"]
        return [row[first : len(row) - last] for row in rows]

    def _cut(self, lengths: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Return windows of a document's passages: (first that is read, first that is new, the one after the last)."""
        before, after = self._ends
        room = self.window - len(before)
        costs = [length + len(after) for length in lengths]
        first = 0
        while first < len(costs):
            start = end = first
            used = 0
            while start and used + costs[start - 1] <= min(CONTEXT * room, room - costs[first]):
                start -= 1
                used += costs[start]
            while end < len(costs) and (end == first or used + costs[end] <= room):
                used += costs[end]
                end += 1
            yield start, first, end
            first = end


class InSeNTObjective(Objective):
    """A query's passage against the other passages of its document, which are read with it, and against those of the
    batch's other documents: lambda times the first loss, 1 - lambda times the second.

    Source: arXiv 2505.24782 and its released code (weighted loss, lambda .5, cosines times 20). Not as there: a
    document is the passages of an Example in the order of its sections, and its text is read once for each of its
    queries. Neither passages of other documents that are word for word the query's own are its negatives, nor those of
    the same document in another Example. An Example's negatives of other documents are read by themselves.
    """

    ranker: ContextualEncoder

    def prepare(self, examples: Sequence[Example], rng: Random) -> Prepared:
        passages = self._passages(examples)
        windows = [[passage.text for passage in own] for _, own in groupby(passages, attrgetter("window"))]
        # Each Example has its positive once, and the passages are in the order of the Examples.
        right = (passage.text == examples[passage.example].documents[0] for passage in passages)
        positives = [at for at, is_right in enumerate(right) if is_right]
        asked, prompt = [example.queries[0] for example in examples], self.ranker.prompts["query"]
        queries = self.ranker.encode_tokens(asked, [self.options.query_tokens] * len(asked), [prompt] * len(asked))
        read = [Window(ids, [(prompt.skipped, len(ids))]) for ids in queries["input_ids"]]
        read += self.ranker.windows(windows, self.options.document_tokens)
        encoded = {"input_ids": [each.ids for each in read], "attention_mask": [[1] * len(each.ids) for each in read]}
        places = {
            "spans": span_table([each.spans for each in read]),
            "passages": torch.tensor([(len(asked) + each.window, each.at) for each in passages]),
            "positives": torch.tensor(positives),
            **_negatives(examples, passages, positives),
        }
        return Prepared(list(examples), [], {"texts": self._batches(encoded, rng)}, places, len(passages))

    def beside(self, prepared: Prepared, others: Sequence[Sequence[Example]]) -> None:
        positives = prepared.places["positives"].tolist()
        passages = self._passages(prepared.examples)
        for examples in others:
            passages += [replace(passage, example=-1) for passage in self._passages(examples)]
        prepared.places |= _negatives(prepared.examples, passages, positives)
        prepared.places["gathered"] = torch.tensor(1)

    def _passages(self, examples: Sequence[Example]) -> "list[_Passage]":
        """Return the passages that a chunk's queries are compared with, those of one window after another."""
        passages: list[_Passage] = []
        number_of_window = count()
        for number, example in enumerate(examples):
            own, others = self._texts(example)
            for window in (own, *([text] for text in others)):
                document, at_window = example.document_id if window is own else "", next(number_of_window)
                passages += [_Passage(at_window, at, number, document, text) for at, text in enumerate(window)]
        return passages

    def _texts(self, example: Example) -> tuple[list[str], list[str]]:
        """Return (texts of the Example's document that fit a window, in order, with the positive; the others')."""
        size = self._size(example)
        sections: dict[str, int] = {}
        for text, section in zip(example.documents[:size], example.sections[:size], strict=True):
            sections.setdefault(text, section)
        positive = example.documents[0]
        own = [positive, *(text for text, section in sections.items() if section >= 0 and text != positive)]
        own = own[: self.ranker.fitting(own, self.options.document_tokens)] if sections[positive] >= 0 else own[:1]
        others = [text for text, section in sections.items() if section < 0 and text != positive]
        return sorted(own, key=lambda text: sections[text]), others

    def read(self, prepared: Prepared, name: str, batch: TokenBatch) -> Reading:
        """A row is the vectors of a text's spans."""
        moved = batch.to(self.model.device)
        hidden = self.model(**moved.features).last_hidden_state
        return self.ranker.of_spans(hidden, prepared.places["spans"][moved.numbers]), None

    def combined(self, prepared: Prepared, rows: dict[str, list[torch.Tensor]]) -> torch.Tensor:
        vectors = in_order(prepared.batches["texts"], rows["texts"])
        places = {name: place.to(vectors.device) for name, place in prepared.places.items()}
        queries = vectors[: len(prepared.examples), 0]
        candidates = vectors[places["passages"][:, 0], places["passages"][:, 1]]
        if "gathered" in places:
            candidates = and_others(candidates)
        scores = queries @ candidates.T * SCALE
        right = scores.gather(1, places["positives"][:, None])[:, 0]

        def loss(counted: torch.Tensor) -> torch.Tensor:
            return torch.logsumexp(scores.masked_fill(~counted, float("-inf")), 1) - right

        return IN_SEQUENCE * loss(places["in_sequence"]) + (1 - IN_SEQUENCE) * loss(places["in_batch"])


@dataclass(frozen=True, slots=True)
class _Passage:
    """A candidate of a step."""

    window: int
    at: int
    """Its place in the window."""
    example: int
    document: str
    """The id of its document; "" of another one than the Example's."""
    text: str


def _negatives(
    examples: Sequence[Example], passages: Sequence[_Passage], positives: Sequence[int]
) -> dict[str, torch.Tensor]:
    """For the two losses the (Examples, passages) bool of the candidates, the positive among them."""
    numbers = {each: number for number, each in enumerate(dict.fromkeys(passage.text for passage in passages))}
    texts = torch.tensor([numbers[passage.text] for passage in passages])
    documents = [example.document_id for example in examples]
    known = {each: number for number, each in enumerate(dict.fromkeys(documents))}
    of_examples = torch.tensor([known[each] for each in documents])
    of_passages = torch.tensor([known.get(passage.document, -1) for passage in passages])
    owners = torch.tensor([passage.example for passage in passages])
    own = owners == torch.arange(len(examples))[:, None]
    same_document = of_passages == of_examples[:, None]
    right = torch.zeros(own.shape, dtype=torch.bool)
    right[torch.arange(len(examples)), torch.tensor(positives)] = True
    in_batch = ~same_document & (texts != texts[torch.tensor(positives)][:, None])
    return {"in_sequence": (own & same_document) | right, "in_batch": in_batch | right}


def span_table(spans: Sequence[Sequence[tuple[int, int]]]) -> torch.Tensor:
    """Return (texts, most spans of a text, 2) int; a text with fewer has empty ones behind its own."""
    most = max(len(own) for own in spans)
    return torch.tensor([[*own, *[(0, 0)] * (most - len(own))] for own in spans])
