"""Many requests to a language model of the user's own, each answer journaled as it comes: a killed run goes on where it
was, and no answer is paid for twice.
"""

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
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
_THOUGHTS = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)  # that some models write before they answer
_SHOWN = 80  # characters of an answer that could not be read

Progress = Callable[[int, int], None]


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


def named(model: LanguageModel) -> LanguageModel:
    """Return the model with its name, which its server is asked for unless it was given. Raises WorkspaceError."""
    try:
        return model.named()
    except ModelUnavailable as error:
        raise WorkspaceError(f"the language model could not be asked: {error}") from error


def tokens(characters: int) -> int:
    """Return about how many tokens that many characters are."""
    return -(-characters // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class AnswerJournal:
    """The answers to prompts of one kind, a line of JSON each."""

    path: Path
    name: str
    """The name of an answer's value in its line."""
    read: Callable[[str], Any]
    """Returns the value of an answer's text, in JSON's types; None if the text has no such value."""

    def answers(self) -> dict[str, Any]:
        """Return the values by the keys of their prompts. A line that a kill has cut is left out. Raises WorkspaceError
        if the journal cannot be read.
        """
        values: dict[str, Any] = {}
        try:
            for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else ():
                with suppress(ValueError, KeyError, TypeError):
                    row = json.loads(line)
                    values[str(row["key"])] = row[self.name]
        except (OSError, ValueError) as error:
            raise WorkspaceError(f"{self.path} cannot be read ({error})") from error
        return values

    def ask(
        self, model: LanguageModel, prompts: Iterator[Prompt], total: int, at_once: int | None, progress: Progress
    ) -> str:
        """Ask each of `total` prompts once. Return a line about answers without a value, "" if there are none: they are
        not kept, so the next run asks for them again.

        Raises WorkspaceError if the model could not be asked for all; what it has answered is kept.
        """
        failures = kept = done = 0
        reason, unread = "", list[str]()
        model, most = named(model) if total else model, at_once or AT_ONCE
        waiting: dict[Future[tuple[str, str]], Prompt] = {}
        with writing_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = self.path.open("a", encoding="utf-8")
        with file, ThreadPoolExecutor(most) as threads, writing_errors(self.path):
            file.write("\n" if file.tell() else "")  # after a line that a kill has cut
            while True:
                while failures < _FAILURES and len(waiting) < most and (prompt := next(prompts, None)):
                    waiting[threads.submit(_answer, model, prompt)] = prompt
                if not waiting:
                    break
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    prompt, (answer, problem), done = waiting.pop(future), future.result(), done + 1
                    failures, reason, kept = (failures + 1, problem, kept) if problem else (0, reason, kept + 1)
                    if (value := None if problem else self.read(_THOUGHTS.sub("", answer))) is not None:
                        row = {"key": prompt.key, "model": model.name, self.name: value}
                        file.write(json.dumps(row, ensure_ascii=True) + "\n")
                        file.flush()
                    elif not problem:
                        unread.append(" ".join(answer.split())[:_SHOWN])
                progress(done, total)
        if kept < total:
            raise WorkspaceError(
                f"the language model could not be asked for {total - kept:,} of {total:,} answers: {reason}. What it "
                "answered is kept: the same command goes on from there"
            )
        count = f"answers that could not be read: {len(unread):,}, the first of them {unread[:1]}"
        return f"{count}. They are not kept: the same command asks again" if unread else ""


def _answer(model: LanguageModel, prompt: Prompt) -> tuple[str, str]:
    """Return (the answer, why there is none)."""
    try:
        return "".join(model.answer(prompt.messages)), ""
    except ModelUnavailable as error:
        return "", str(error)
