"""Many requests to a language model of the user's own, each answer journaled as it comes: a killed run goes on where it
was, and no answer is paid for twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structformer.errors import WorkspaceError
from structformer.storage import writing_errors

from structformer_web import LanguageModel, ModelUnavailable, language_model

AT_ONCE = 4  # requests; a server that answers one at a time lets the others wait
PATIENCE = 300.0  # seconds of silence: the others' answers, and the reading of the prompt, by a model on a few cores
CHARACTERS_PER_TOKEN = 4  # for estimates
_LONGEST = 20  # times the patience that an answer may take, as long as it goes on coming
_FAILURES = 3  # in a row, after which the server is left alone
_SHOWN = 80  # characters of an answer that could not be read


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request, known to the journal by its key."""

    key: str
    messages: list[dict[str, str]] = field(repr=False)


def patient_model(address: str, name: str | None, patience: float | None) -> LanguageModel:
    """Return the model at --llm, which may be silent for `patience` seconds. Raises UsageError."""
    silence = patience or PATIENCE
    return language_model(
        address, name or "", option="--llm", silence_seconds=silence, answer_seconds=_LONGEST * silence
    )


def tokens(characters: int) -> int:
    """Return about how many tokens that many characters are."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def said_of_unread(unread: list[str]) -> str:
    """Return a line about answers that could not be read, with the beginning of the first."""
    return (
        f"answers that could not be read: {len(unread):,}, the first of them {unread[0]!r}. Not kept: the same "
        "command asks again"
    )


def read_answers(journal: Path) -> dict[str, dict[str, Any]]:
    """Return the rows of a journal by their keys, the last of each; {} without a journal. A line that a kill has cut is
    left out. Raises WorkspaceError if the file cannot be read.
    """
    rows: dict[str, dict[str, Any]] = {}
    try:
        lines = journal.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return rows
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{journal} cannot be read ({error})") from error
    for line in lines:
        try:
            row = json.loads(line)
            rows[str(row["key"])] = row
        except (ValueError, KeyError, TypeError):
            continue
    return rows


def ask_all(
    model: LanguageModel,
    prompts: Iterator[Prompt],
    journal: Path,
    read: Callable[[str], dict[str, Any] | None],
    *,
    total: int,
    at_once: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[str]:
    """Ask each prompt once, and write what `read` makes of its answer into the journal. Return the beginnings of the
    answers that it can make nothing of (None): they are not kept, so the next run asks for them again.

    Raises WorkspaceError if the model could not be asked for all; what it has answered is kept.
    """
    done = failures = kept = 0
    reason, unread = "", list[str]()
    try:
        model = model.named() if total else model
    except ModelUnavailable as error:
        raise WorkspaceError(f"the language model could not be asked: {error}") from error
    waiting: dict[Future[tuple[str, str]], Prompt] = {}
    with writing_errors(journal):
        journal.parent.mkdir(parents=True, exist_ok=True)
        file = journal.open("a", encoding="utf-8")
    with file, ThreadPoolExecutor(at_once or AT_ONCE) as threads, writing_errors(journal):
        if file.tell():
            file.write("\n")  # after a line that a kill has cut
        while True:
            while failures < _FAILURES and len(waiting) < (at_once or AT_ONCE) and (prompt := next(prompts, None)):
                waiting[threads.submit(_answer, model, prompt)] = prompt
            if not waiting:
                break
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                prompt, (answer, problem), done = waiting.pop(future), future.result(), done + 1
                failures, reason = (failures + 1, problem) if problem else (0, reason)
                if problem:
                    continue
                kept += 1
                if (value := read(answer)) is None:
                    unread.append(" ".join(answer.split())[:_SHOWN])
                else:
                    row = {"key": prompt.key, "model": model.name, **value}
                    file.write(json.dumps(row, ensure_ascii=True) + "\n")
                    file.flush()
            progress(done, total)
    if kept < total:
        raise WorkspaceError(
            f"the language model could not be asked for {total - kept:,} of {total:,} answers: {reason}. What it "
            "answered is kept: the same command goes on from there"
        )
    return unread


def _answer(model: LanguageModel, prompt: Prompt) -> tuple[str, str]:
    """Return (the answer, why there is none)."""
    try:
        return "".join(model.answer(prompt.messages)), ""
    except ModelUnavailable as error:
        return "", str(error)
