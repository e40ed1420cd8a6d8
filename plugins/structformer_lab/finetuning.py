"""Fine-tuning on judged queries, the papers' second setting: Examples from judgements, of passages with negatives that
BM25 finds, or of documents with negatives from a run.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from structformer import __version__
from structformer.corpus import Corpus
from structformer.errors import UsageError
from structformer.graph import ReferenceGraph
from structformer.models import model_folder, ranker_kind, read_record
from structformer.sampling import (
    DevelopmentSet,
    DocumentView,
    Example,
    PassageTable,
    Samples,
    SamplingOptions,
    nearly_equal,
    word_set,
    write_examples,
    write_passages,
)
from structformer.storage import building_folder, sha256_of, write_json
from structformer.text import section_passages, with_path
from structformer.training import (
    BOTH,
    DocumentTexts,
    JudgedCandidates,
    Source,
    candidate_documents,
    judged_candidates,
    made_by_first,
    relevant_documents,
)
from structformer.workspace import Publication, Workspace

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Sequence[tuple[str, float]]]
# A query, the id and the number of a relevant document, and the numbers of the negatives drawn for it.
_Group = tuple[str, str, int, list[int]]

TASK = "judged"
PASSAGES, DOCUMENTS = "passages", "documents"  # what Examples of judgements are made of
_HITS = 200
_SMALLEST_TO_HOLD_OUT = 20
HELD_OUT = 0.2
_MOST_HELD_OUT = 500  # each is asked of the ranker before and after, with a hundred documents
_HARD_NEGATIVES = 3
_MAX_ASKED = 150
_MAX_PER_DOCUMENT = 10
_POOL = 400
# Options that fine-tuning chooses where its user does not, whatever the loss makes of them.
UNASKED = {"hard_negatives": _HARD_NEGATIVES}


def finetuning_options(workspace: Workspace, model: str | None, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The options of fine-tuning a model, or without one the base of the ranker that `chosen` names, with what the user
    chose over them. Raises ModelError without the model.
    """
    if model is None:
        kind = ranker_kind(chosen.get("ranker") or "cross-encoder")
        settings: dict[str, Any] = {"ranker": kind.name, "side": BOTH}
    else:
        record = read_record(workspace, model)
        kind = ranker_kind(record.kind)
        if kind.trainer:
            raise UsageError(f"{model} is a {record.kind}, learned from the corpus alone: it cannot be fine-tuned")
        settings = {
            "ranker": record.training["options"]["ranker"],
            "base_model": str(model_folder(workspace, model)),
            "name": f"{Path(model).name}-finetuned",
        }
    settings |= {
        "mix": {TASK: 1.0},
        "learning_rate": kind.finetuning_rate,
        "hard_negatives": _HARD_NEGATIVES if kind.in_batch_negatives else None,
    }
    return settings | {key: value for key, value in chosen.items() if value is not None}


def judged_source(
    workspace: Workspace,
    queries: Mapping[str, str],
    qrels: Qrels,
    *,
    negatives: int,
    seed: int,
    of: str = PASSAGES,
    run: Run | None = None,
    held_out: float = HELD_OUT,
) -> tuple[Source, list[str]]:
    """Return examples and development set of judged queries, and the judged documents that the corpus does not have. Of
    several processes the first writes them.

    Of passages: the positive of a query and a relevant document is the document's passage that BM25 ranks first for the
    query, or its first; the negatives are passages of documents not judged relevant, best first. Of documents: the
    positive is the relevant document; the negatives are drawn at random from the query's first hundred documents in the
    run, or without one in BM25's order, that are not relevant.

    held_out: the share of the queries that judges the training, by seed: none of fewer than twenty, at most 500. Raises
    UsageError when no query has a relevant document in the corpus, and on a run without documents of it."""
    workspace = Workspace(workspace)

    def written() -> tuple[DevelopmentSet | JudgedCandidates | None, list[str]]:
        corpus = Corpus.open(workspace)
        numbers = {name: number for number, name in enumerate(corpus.document_ids())}
        relevant = relevant_documents(queries, qrels, numbers)
        unknown = sorted({document for judged in qrels.values() for document in judged if document not in numbers})
        names = sorted(relevant)
        Random(f"judged/{seed}").shuffle(names)
        held = names[: held_count(len(names), held_out)]
        judged = _Judged(queries, qrels, relevant, numbers, sorted(set(names) - set(held)), held, negatives, seed)
        if of == DOCUMENTS:
            return _of_documents(workspace, corpus, judged, run), unknown
        return _of_passages(workspace, corpus, judged), unknown

    made, unknown = made_by_first(written)
    return Source(Samples.open(workspace, TASK), made, "held-out queries"), unknown


def held_count(queries: int, share: float = HELD_OUT) -> int:
    """Return how many of the judged queries judge the training."""
    return min(int(share * queries), _MOST_HELD_OUT) if queries >= _SMALLEST_TO_HOLD_OUT else 0


@dataclass(frozen=True, slots=True)
class _Judged:
    """Judged queries to fine-tune on."""

    queries: Mapping[str, str]
    qrels: Qrels
    relevant: Mapping[str, set[str]]
    """Ids of each query's relevant documents."""
    numbers: Mapping[str, int]
    """The corpus's documents by id."""
    asked: list[str]
    """Queries to learn from."""
    held: list[str]
    """Queries to judge by."""
    negatives: int
    seed: int

    def digest(self) -> str:
        """Of queries and judgements."""
        value = [dict(self.queries), {query: dict(grades) for query, grades in self.qrels.items()}]
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _of_passages(workspace: Workspace, corpus: Corpus, judged: _Judged) -> DevelopmentSet | None:
    """Publish Examples of passages. Returns what judges the training."""
    cut = passages_of(corpus, {document for relevant in judged.relevant.values() for document in relevant}, judged.seed)
    with workspace.publishing("structformer finetune") as publication, building_folder(workspace.cache) as built:
        passages = built / "passages"
        write_passages(corpus, passages, seed=judged.seed, held_out=0.0)
        graph = ReferenceGraph.open(workspace, corpus)
        table = PassageTable(passages, graph, SamplingOptions(negatives_from="lexical"))
        _write(publication, corpus, _examples(judged, cut[0], table), judged.seed, judged.digest())
    return _development(judged, *cut)


def _of_documents(workspace: Workspace, corpus: Corpus, judged: _Judged, run: Run | None) -> JudgedCandidates | None:
    """Publish Examples of documents; returns what judges the training. Raises UsageError without any to draw."""
    asked, held = ({name: judged.queries[name] for name in names} for names in (judged.asked, judged.held))
    candidates = candidate_documents(workspace, corpus, asked | held, judged.numbers, run)
    groups = _groups(judged, candidates)
    if not groups:
        raise UsageError("no judged query has a candidate beside its relevant documents, so there are no negatives")
    wanted = {number for _, _, positive, negatives in groups for number in (positive, *negatives)}
    wanted |= {number for name in held for number in candidates[name]}
    with workspace.publishing("structformer finetune") as publication, building_folder(workspace.cache) as built:
        digest = hashlib.sha256(json.dumps([judged.digest(), groups]).encode())
        with DocumentTexts(corpus, wanted, built / "texts") as texts:
            _write(publication, corpus, _of_groups(groups, texts), judged.seed, digest.hexdigest())
            return judged_candidates(held, judged.relevant, judged.numbers, candidates, texts) if held else None


def triples_source(workspace: Workspace, path: Path, *, seed: int) -> Source:
    """Examples of triples: a query, a text that answers it and one that doesn't, between tabs, a line each, as MS MARCO
    has them. Read as a stream; a line that is none is an error that names it. Raises UsageError.

    Nothing is held out to judge by, so the weights of the last step are kept.
    """

    def written() -> None:
        corpus = Corpus.open(workspace)
        with workspace.publishing("structformer finetune") as publication:
            _write(publication, corpus, _triples(path), seed, sha256_of(path))

    made_by_first(written)
    return Source(Samples.open(workspace, TASK), None, "nothing")


def _write(publication: Publication, corpus: Corpus, examples: Iterator[Example], seed: int, digest: str) -> None:
    """Write Examples that were not drawn, with the manifest that `Samples` needs; digest: of their sources."""
    folder = publication.folder(TASK)
    counts = write_examples(folder / "00000", examples)
    manifest = {
        "corpus": corpus.fingerprint,
        "tool_version": __version__,
        "tasks": [TASK],
        "seed": seed,
        "held_out": 0.0,
        "options": {},
        "digest": digest[:16],
        "census": {"examples": counts, "dropped": {}},
        "parts": [{"name": "00000", "examples": counts}],
    }
    write_json(folder / "manifest.json", manifest)


def _triples(path: Path) -> Iterator[Example]:
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                parts = [part.strip() for part in line.rstrip("\n").split("\t")]
                if len(parts) != 3 or not all(parts):
                    raise UsageError(f"{path}, line {number}: not a query, a positive and a negative between tabs")
                query, positive, negative = parts
                yield Example(TASK, (query, query), (positive, negative), f"line {number}", (-1, -1))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error})") from error


def _examples(judged: _Judged, cut: Mapping[str, list[str]], table: PassageTable) -> Iterator[Example]:
    """cut: the passages of the relevant documents."""
    for name in judged.asked:
        query = judged.queries[name]
        hits = [(document, with_path(path, text)) for document, path, text in table.search(query, _HITS)]
        right = {judged.numbers[document] for document in judged.relevant[name]}
        for document in sorted(judged.relevant[name]):
            best = next((text for number, text in hits if number == judged.numbers[document]), None)
            positive = best if best is not None else next(iter(cut.get(document, [])), None)
            if positive is None:
                continue
            words = word_set(positive)
            wrong = (text for number, text in hits if number not in right)
            others = (text for text in wrong if not nearly_equal(words, word_set(text)))
            texts = (positive, *dict.fromkeys(islice(others, judged.negatives)))
            yield Example(TASK, (query,) * len(texts), texts, document, (-1,) * len(texts))


def passages_of(corpus: Corpus, documents: set[str], seed: int) -> tuple[dict[str, list[str]], list[str]]:
    """Return some documents' passages by id, and a random choice of the others' in constant memory."""
    rng = Random(f"judged pool/{seed}")
    passages: dict[str, list[str]] = {}
    pool: list[str] = []
    seen = 0
    for document in corpus.documents():
        view = DocumentView(document, SamplingOptions())
        for number, section in enumerate(view.sections):
            for piece in (each.text for each in section_passages(section)):
                text = with_path(view.path_text(number), piece)
                if document.id in documents:
                    passages.setdefault(document.id, []).append(text)
                    continue
                seen += 1
                if len(pool) < _POOL:
                    pool.append(text)
                elif (place := rng.randrange(seen)) < _POOL:
                    pool[place] = text
    return passages, pool


def _development(judged: _Judged, cut: Mapping[str, list[str]], pool: list[str]) -> DevelopmentSet | None:
    """Return queries with their relevant documents' passages, among a pool of others; None without any passage."""
    texts: list[str] = []
    places: dict[str, range] = {}
    relevant = judged.relevant
    chosen = [name for name in judged.held[:_MAX_ASKED] if any(cut.get(document) for document in relevant[name])]
    for name in chosen:
        for document in sorted(relevant[name]):
            if document not in places:
                some = cut.get(document, [])[:_MAX_PER_DOCUMENT]
                places[document] = range(len(texts), len(texts) + len(some))
                texts += some
    if not chosen:
        return None
    answers = [frozenset(number for document in relevant[name] for number in places[document]) for name in chosen]
    return DevelopmentSet([judged.queries[name] for name in chosen], texts + pool, answers)


def _groups(judged: _Judged, candidates: Mapping[str, Sequence[int]]) -> list[_Group]:
    """A group of each relevant document of each query, with negatives drawn at random from its candidates that are not
    relevant; of a query without such candidates there is none. candidates: documents by query.
    """
    groups = []
    for name in judged.asked:
        right = {judged.numbers[document] for document in judged.relevant[name]}
        others = [number for number in candidates[name] if number not in right]
        for document in sorted(judged.relevant[name]) if others else ():
            rng = Random(f"judged negatives/{judged.seed}/{name}/{document}")
            drawn = rng.sample(others, min(judged.negatives, len(others)))
            groups.append((judged.queries[name], document, judged.numbers[document], drawn))
    return groups


def _of_groups(groups: Sequence[_Group], texts: DocumentTexts) -> Iterator[Example]:
    """Yield the groups as Examples, the positive first. A negative that says what the positive says is left out."""
    for query, origin, number, negatives in groups:
        positive = texts[number]
        others = (texts[negative] for negative in negatives)
        documents = (positive, *dict.fromkeys(other for other in others if other != positive))
        yield Example(TASK, (query,) * len(documents), documents, origin, (-1,) * len(documents))
