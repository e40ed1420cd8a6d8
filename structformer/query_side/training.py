"""`train` as users call it: the query side of a bi-encoder where that is what is asked for, else whole rankers.

The loss of the query side: the hybrid should find a question's document among all passages."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
import torch

from structformer.corpus import Corpus
from structformer.did_you_mean import checked_options
from structformer.errors import ModelError, UsageError
from structformer.graph import ReferenceGraph
from structformer.models.base import BaseModel, base_for, query_model_for
from structformer.models.bi_encoder import BiEncoder
from structformer.models.known_encoders import training_advice
from structformer.models.sentence_modules import QUERY as QUERY_TEXT
from structformer.notebook import Bars, in_notebook, notebook_progress
from structformer.query_side.training_queries import ROUND_TRIP, Judge, TrainingQueries, query_weights, training_queries
from structformer.retrieval.documents.copies import Copies
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.index import Index, has_vectors, is_stale
from structformer.retrieval.indexing import build_index
from structformer.retrieval.learning.pseudo_query_scores import NOTHING, PseudoQueryScores, UntrainedSearch
from structformer.retrieval.learning.structure import structure_halves
from structformer.retrieval.questions.pseudo_queries import ALL_SOURCES, SOURCES, read_query_log
from structformer.retrieval.vector_making import made_vectors
from structformer.retrieval.vectors.dense import DenseIndex
from structformer.retrieval.vectors.encoder_names import STRUCTURE
from structformer.retrieval.vectors.encoder_places import base_place, load_untrained
from structformer.retrieval.words.lexical import LexicalIndex
from structformer.sampling import Example
from structformer.sampling.held_out import DevelopmentSet
from structformer.training.data.batching import Batching, Prepared, in_order
from structformer.training.judged import judging
from structformer.training.objectives.objectives import Objective, ObjectiveOptions
from structformer.training.options import BOTH, QUERY, Listener, TrainingOptions, TrainingResult, TrainingStep
from structformer.training.request import RunMode, Source
from structformer.training.run.option_defaults import device_name
from structformer.training.run.option_rules import asks_for_both_sides, begun_with, refuse_meaningless
from structformer.training.run.trainer import train_ranker
from structformer.workspace import Workspace

_GROUPS = 128
LEARNING_RATE = 1e-4
_SITE = 0.5  # of `own_outlines`: of 14 judged corpora, Ruff's site and eight manuals have 0, five sites 1
_EPOCHS, _MOST_SEEN = 12.0, 40_000  # how often each question is seen, and how many in all
Progress = Callable[[str, int, int], None]
_IN_OPTIONS = {each.name: f"options=TrainingOptions({each.name}=...)" for each in fields(TrainingOptions)}
_SCALE = 1.3  # scores, in standard deviations, are multiplied by this before the softmax
# What leaving the base's vector costs: 1 - cosine of a question's vector with the untrained one, times this. With
# none the git manual lost what npm's gained; 2 to 6 gained on all, 15 gained less.
_ANCHOR = 6.0
_TRAINED_LAYERS = 3  # the last ones: as good as all six of MiniLM's at half of the time


@checked_options(**_IN_OPTIONS, max_time="options=TrainingOptions(max_seconds=...)")
def train(
    workspace: str | Path | Workspace = ".structformer",
    options: TrainingOptions | None = None,
    *,
    dry_run: bool = False,
    resume: bool = False,
    force: bool = False,
    development: DevelopmentSet | judging.Judge | None = None,
    listener: Listener | None = None,
    progress: Progress | None = None,
) -> TrainingResult:
    """Train a ranker on the workspace's corpus; a bi-encoder's query side by default on a CPU, see `trained_side`.

    Query-side training needs an index with the untrained encoder's vectors, which is made first where it is missing,
    and leaves it as it is: the search uses the trained encoder at once. progress: reports that work. development:
    judged queries to choose the checkpoint by, in the place of held-out structure. For all else see
    `structformer.training.train_ranker`, which trains whole rankers. Raises what that raises."""
    workspace, options = Workspace(workspace), options or TrainingOptions()
    mode = RunMode(
        dry_run=dry_run, resume=resume, force=force, development=development, listener=listener or _listener()
    )
    begun = _begun(workspace, options) if resume else None
    side = begun.side or BOTH if begun else trained_side(options, judged=development is not None)
    if side == BOTH:
        return train_ranker(workspace, options, mode)
    refuse_meaningless(options, QUERY, asdict(begun) if begun else {})
    source = _question_source(workspace, options, mode, notebook_progress(progress))
    seen = None if options.max_steps else min(_EPOCHS, max(1.0, _MOST_SEEN / sum(source.samples.counts.values())))
    chosen = replace(
        options,
        side=QUERY,
        groups=options.groups or _GROUPS,
        learning_rate=options.learning_rate or LEARNING_RATE,
        max_epochs=options.max_epochs or seen,
        train_words=False,
    )
    return train_ranker(workspace, chosen, mode, source=source)


def _listener() -> Listener:
    """Who hears of each step where the caller named nobody: a bar in a notebook, else nobody."""
    if not in_notebook():
        return Listener()
    bars = Bars()

    def step(told: TrainingStep) -> None:
        progress = f"step {told.step} of {told.steps}, {told.seconds_left:.0f} s left"
        bars.show("training", told.step, told.steps, progress)

    return Listener(step=step, note=print)


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of a run, and the search that answers them."""

    search: UntrainedSearch
    asked: PseudoQueryScores
    samples: TrainingQueries
    held: list[int]
    """The questions that are held out to judge by; none of a corpus with too few."""
    taught: list[int]
    """Questions held out of documents that others teach."""
    queries: BaseModel | None
    """The query encoder to start from; None: the base."""


def drawn_questions(
    workspace: Workspace, options: TrainingOptions, mode: RunMode, sources: Sequence[str], progress: Progress | None
) -> Questions:
    """Draw questions and ask the untrained search, which is indexed first if need be. Raises ModelError without any."""
    corpus = Corpus.open(workspace)
    log = read_query_log(Path(options.query_log)) if options.query_log else ()
    base = base_for(workspace, options.base_model, options.ranker)
    queries = query_model_for(workspace, options.base_model, options.ranker)
    place = base_place(base, queries)
    if not has_vectors(workspace, [place]):
        training_advice(corpus, workspace, place.base, mode.listener.note)
    index = _current_index(workspace, mode, progress)
    path = made_vectors(index, place, progress)
    untrained = load_untrained(place)
    units, documents = Units(index.folder / "units.arrow"), IndexedDocuments(index.folder / "documents.arrow")
    halves = structure_halves(workspace, units, documents) if index.has_vectors(STRUCTURE) else None
    search = UntrainedSearch(
        units,
        documents,
        LexicalIndex(index.folder / "lexical", index.manifest["languages"]),
        DenseIndex(path, units.numbers("document")),
        untrained,
        halves,
    )
    asked, samples, held, taught, drawn = training_queries(
        corpus,
        ReferenceGraph.open(workspace, corpus),
        search,
        seed=options.seed,
        sources=tuple(options.mix or sources),
        most=options.questions,
        log=log,
        progress=(lambda done, total: progress("questions", done, total)) if progress else None,
    )
    kept = sum(samples.counts.values()) + len(held) + len(taught)
    mode.listener.say(
        f"{drawn} questions drawn, of {_asked_of(asked, units, documents)}; the untrained search finds {kept} of their "
        f"documents in the first {ROUND_TRIP}"
    )
    if not samples.counts:
        raise ModelError(
            "no sentence of this corpus reads like a question that the rest of its document answers: "
            "`structformer train --side both` learns from its structure instead"
        )
    return Questions(search, asked, samples, held, taught, queries)


def _question_source(
    workspace: Workspace, options: TrainingOptions, mode: RunMode, progress: Progress | None
) -> Source:
    """Return questions to learn from and to be judged by, with the objective that learns from them."""
    drawn = drawn_questions(workspace, options, mode, SOURCES, progress)
    batching = Batching(device_name(), options.batch_tokens)
    return Source(
        drawn.samples,
        Judge(drawn.asked, drawn.held) if drawn.held else None,
        "held-out questions",
        objective=partial(QuerySideObjective, asked=drawn.asked, query_tokens=options.query_tokens, batching=batching),
        passages=drawn.search.encoder.passages or drawn.search.encoder,
        mix=drawn.samples.mix(options.mix),
        query_model=drawn.queries,
        taught=Judge(drawn.asked, drawn.taught) if drawn.taught else None,
        site=drawn.search.own_outlines > _SITE,
    )


def _asked_of(asked: PseudoQueryScores, units: Units, documents: IndexedDocuments) -> str:
    """Return how many of the documents have a question. Of copies only the first one is asked."""
    copies = Copies.of(units)
    apart = sum(not copies.is_copy(number) for number in range(len(documents)))
    having = len({question.document for question in asked.questions})
    return f"all {apart} documents" if having == apart else f"{having} of {apart} documents"


def _current_index(workspace: Workspace, mode: RunMode, progress: Progress | None) -> Index:
    """Return the index of the corpus; made where there is none, but for a dry run."""
    if not workspace.has("index") or is_stale(workspace):
        if mode.dry_run:
            raise ModelError("a dry run of query-side training needs an index: run `structformer index` first")
        mode.listener.say("no index of this corpus yet: making it (structformer index); its time does not count")
        build_index(workspace, encoders=[STRUCTURE], progress=progress)
    return Index(workspace)


def _begun(workspace: Workspace, options: TrainingOptions) -> TrainingOptions | None:
    """Return the options of the unfinished run to resume, if they agree with these on the side."""
    begun = begun_with(workspace, options)
    if begun is None or options.side not in (None, begun.side or BOTH):
        return None
    same = asks_for_both_sides(begun, ALL_SOURCES) == asks_for_both_sides(options, ALL_SOURCES)
    return begun if same else None


def trained_side(options: TrainingOptions, *, judged: bool = False) -> str:
    """ "query" or "both": the asked side; by default the query side for a bi-encoder that starts from trained weights,
    on one CPU, without options for Examples or passages. judged: judged queries choose the checkpoint. Raises
    UsageError where the query side cannot be trained with the options.
    """
    given = list(asks_for_both_sides(options, ALL_SOURCES)) or (["development"] if judged else [])
    if options.side == QUERY and given:
        raise UsageError(
            f"the query side alone cannot be trained with {', '.join(given)}: leave it out, or --side both"
        )
    if options.query_log is not None:
        if given or options.side == BOTH:
            left_out = ", ".join(given) or "--side both"
            raise UsageError(f"only the query side alone learns from a query log: leave out {left_out}")
        return QUERY
    if options.side is not None:
        return options.side
    several = int(os.environ.get("WORLD_SIZE", "1")) > 1
    return BOTH if given or several or device_name() != "cpu" else QUERY


class QuerySideObjective(Objective):
    """Softmax over the corpus's passages of the hybrid's score (cosine, overview's cosine, lexical share), the best
    passage of the question's document that does not hold the question being the right one; and a pull towards the
    untrained vector.

    An Example's `sections[0]` is the number of its question. Questions of a document that has many count less, by the
    root of their number, so that no document fills the training."""

    ranker: BiEncoder

    def __init__(self, ranker: BiEncoder, asked: PseudoQueryScores, *, query_tokens: int, batching: Batching) -> None:
        super().__init__(
            ranker, ObjectiveOptions("infonce", group_size=1, query_tokens=query_tokens, batching=batching)
        )
        self._asked = asked
        self._weights = torch.from_numpy(_weights(asked))
        ranker.model.requires_grad_(False)
        lists = [module for module in ranker.model.modules() if isinstance(module, torch.nn.ModuleList)]
        layers = max(lists, key=len)  # the Transformer's, whatever its architecture calls them
        for layer in layers[-_TRAINED_LAYERS:]:
            layer.requires_grad_(True)

    def prepare(self, examples: Sequence[Example], rng: Random) -> Prepared:
        texts = [example.queries[0] for example in examples]
        prompt = self.ranker.prompts[QUERY_TEXT]
        encoded = self.ranker.encode_tokens(texts, [self.options.query_tokens] * len(texts), [prompt] * len(texts))
        numbers = torch.tensor([example.sections[0] for example in examples])
        batches = {"queries": self._batches(encoded, rng)}
        return Prepared(list(examples), [1] * len(texts), batches, {"questions": numbers}, len(texts))

    def forward(self, prepared: Prepared) -> tuple[torch.Tensor, torch.Tensor | None]:
        per_query = []
        for batch in prepared.batches["queries"]:
            moved = batch.to(self.model.device)
            hidden = self.model(**moved.features).last_hidden_state
            skipped = torch.full((len(hidden),), self.ranker.prompts[QUERY_TEXT].skipped, device=hidden.device)
            per_query.append(self.ranker.pool(hidden, moved.features["attention_mask"], skipped))
        numbers = prepared.places["questions"].tolist()
        with torch.autocast(per_query[0].device.type, enabled=False):
            vectors = in_order(prepared.batches["queries"], per_query).float().cpu()
            losses = self._losses(vectors, numbers)
        return losses.to(self.model.device), None

    def _losses(self, vectors: torch.Tensor, numbers: list[int]) -> torch.Tensor:
        best, wrong = self._asked.best_and_wrong(vectors, numbers)
        softmax = torch.nn.functional.softplus(torch.logsumexp(_SCALE * wrong, 1) - _SCALE * best)
        moved = 1 - (vectors * self._asked.vectors[numbers]).sum(1)
        losses = torch.where(best > NOTHING / 2, softmax, 0.0) + _ANCHOR * moved
        return losses * self._weights[numbers]


def _weights(asked: PseudoQueryScores) -> npt.NDArray[np.float32]:
    """Return (questions,) what each counts, on average 1 in each source, whose shares the mix decides."""
    weights = query_weights(asked, range(len(asked)))
    for source in {question.source for question in asked.questions}:
        of_source = [number for number, question in enumerate(asked.questions) if question.source == source]
        weights[of_source] /= weights[of_source].mean()
    return weights.astype(np.float32)
