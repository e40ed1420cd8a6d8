"""Whether an encoder reads a corpus's languages, said before the time is spent."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable

from structformer.corpus import Corpus
from structformer.corpus.languages import counted_languages, that_count
from structformer.models.known_encoders import MULTILINGUAL, is_english
from structformer.text.languages import ENGLISH, declared_code
from structformer.workspace import Workspace

_SHOWN = 5  # languages that are named


def language_advice(corpus: Corpus, encoder: str, command: str, *, language: str = "auto") -> str:
    """What to say where an encoder reads English alone and documents are in other languages; "" where all is well, or
    nobody here knows what it reads.

    encoder: the name of the base. command: the line that takes MULTILINGUAL in its place. language: that of the
    documents, where somebody has said it."""
    if not is_english(encoder):
        return ""
    chosen = declared_code(language) if language != "auto" else ""
    found = {chosen: 1} if chosen else counted_languages(corpus)
    others = [code for code in that_count(found) if code != ENGLISH]
    if not others:
        return ""
    share = 1 - found.get(ENGLISH, 0) / sum(found.values())
    named = ", ".join(others[:_SHOWN])
    return (
        f"{100 * share:.0f} % of the documents are in other languages than English ({named}), and "
        f"{'MiniLM' if encoder == 'minilm' else encoder} reads English. The search uses it all the same, beside words "
        "and what the documents themselves teach, with a weight that it learns from these documents: a small one where "
        "the encoder finds little. Without any pretrained encoder, learned from the documents alone, whatever their "
        f"language: index --encoder structure. An encoder of many languages may find more (not measured "
        f"here): {command}"
    )


def another_encoder(command: str, workspace: Workspace, *paths: str) -> str:
    """The line that runs a command with an encoder of many languages."""
    return shlex.join(["structformer", command, *paths, "-w", str(workspace), "--base-model", MULTILINGUAL])


def training_advice(corpus: Corpus, workspace: Workspace, encoder: str, say: Callable[[str], object] | None) -> None:
    """Say what `language_advice` has to say to who trains."""
    in_python = f"structformer.train({str(workspace)!r}, structformer.TrainingOptions(base_model={MULTILINGUAL!r}))"
    advise(language_advice(corpus, encoder, another_encoder("train", workspace) if say else in_python), say)


def advise(advice: str, say: Callable[[str], object] | None) -> None:
    """Say it, if there is something to say; as a warning where nobody listens."""
    if advice and say is not None:
        say(advice)
    elif advice:
        warnings.warn(advice, stacklevel=3)
