"""Grades of a language model for a question and a page, from 0 to 3: what it is sent, and what its answer says.

The four grades and one request a pair are those of UMBRELA (Upadhyay et al., 2024), after Thomas et al., "Large
language models can accurately predict searcher preferences" (SIGIR 2024); the words are ours.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from structformer.errors import UsageError
from structformer.storage import read_toml

from structformer_lab.model_answers import Prompt

RELEVANT = 2  # the least grade of a page that answers, as UMBRELA makes two of four
_CLOSING = re.compile(r"<(?=\s*/?\s*(?:question|page)\b)", re.IGNORECASE)
_OUT_OF = re.compile(r"(?:/|\bout of)\s*3\b", re.IGNORECASE)
_DIGIT = r"(?<![\d.,-])([0-3])(?![.,]?\d)"
_FIRST = re.compile(rf"\W*{_DIGIT}")
_NAMED = re.compile(rf"(?:grade|score|relevance|rating)\W{{0,9}}(?:is\W)?{_DIGIT}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Template:
    """The texts of a request; {query} and {passage} in `user` are placeholders."""

    system: str
    user: str

    @classmethod
    def read(cls, path: Path | None = None) -> Template:
        """Return the template in a TOML file, the package's own without one. Raises UsageError."""
        table = read_toml(path or Path(__file__).with_name("judge.toml"))
        texts = [str(table.get(name, "")).strip() for name in ("system", "user")]
        if set(table) != {"system", "user"} or "{query}" not in texts[1] or "{passage}" not in texts[1]:
            raise UsageError(f"{path}: a prompt has two texts, `system`, and `user` with {{query}} and {{passage}}")
        return cls(*texts)

    def prompt(self, query: str, passage: str) -> Prompt:
        """Return the request about a page for a query, whose quotations these cannot end. Its key is of all of it."""
        values = {"{query}": _CLOSING.sub("&lt;", query), "{passage}": _CLOSING.sub("&lt;", passage)}
        asked = re.sub(r"\{query\}|\{passage\}", lambda match: values[match[0]], self.user)
        key = hashlib.sha256(f"{self.system}\n\n{asked}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return Prompt(key, [{"role": "system", "content": self.system}, {"role": "user", "content": asked}])


def grade_of(answer: str) -> int | None:
    """Return the grade that an answer gives: what it begins with, else the last that it names as one, else the only
    digit from 0 to 3 in it; None of other answers.
    """
    text = _OUT_OF.sub("", answer).strip()
    if match := _FIRST.match(text):
        return int(match[1])
    digits = set(_NAMED.findall(text)[-1:]) or set(re.findall(_DIGIT, text))
    return int(digits.pop()) if len(digits) == 1 else None
