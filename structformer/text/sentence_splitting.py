"""Cutting readable text into sentences, which resemble queries."""

import re
from collections.abc import Iterator

_FULL_STOPS = "。！？।॥؟۔።։"  # that end a sentence whatever follows
STOPS = (".", "!", "?", *_FULL_STOPS)
CLOSING = "”’」』）》〉】〕\"')]»"  # quotation marks and brackets that may stand behind a stop
_CLOSING = re.escape(CLOSING.replace("»", ""))
# A sentence ends at . ! or ? before white space and something that can begin a sentence, or at CJK full stops with the
# quotation marks and brackets that they close.
_SENTENCE_END = re.compile(
    r"(?P<stop>[.!?][\"'”’»)\]]*)\s+(?=[\"'“„«¿¡(\[]?[A-Z0-9\u00C0-\u024F\u0370-\u1FFF\u2C00-\uFFDC`])"
    rf"|(?P<full_stop>[{_FULL_STOPS}]+(?:[{_CLOSING}]++(?![\u3041-\u309F])"  # と goes on
    rf"|(?![{_CLOSING}])))"
    r"|(?<=[\u0E00-\u0EFF])\s{1,2}(?=[\u0E00-\u0EFF])"
)
# After English: German, Spanish, French, Dutch, Russian, Polish and Czech, but only what ends no sentence of another
# language, so that no language need be known.
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|Eq|Sec|approx|resp"
    r"|(?i:bzw|ca|Nr|ggf|evtl|inkl|vgl|Abb|Bd|Hrsg|sog|Sra?|Uds?|págs?|núm|Mlle|bijv|рис|см|стр|напр|tzn|tzv|např))"
    r"\.|\b[A-Z]\.|(?<!\w)[^\W\d_]\.\s?[^\W\d_]{1,2}\.)$"
)
_LONGEST_ABBREVIATION = 8  # characters, with what must stand before it
# "z. B.", "p. ex.": an abbreviation in two words has not ended with its first.
_GOES_ON = re.compile(r"(?<!\w)[^\W\d_]\.\s[^\W\d_]{1,2}\.")


def sentences(text: str) -> Iterator[str]:
    """Yield the text's sentences; a line break ends one too, since list items, table rows and captions are lines."""
    for line in text.split("\n"):
        start = 0
        for found in _SENTENCE_END.finditer(line):
            end = (
                found.end("stop") if found["stop"] else found.end("full_stop") if found["full_stop"] else found.start()
            )
            if line[found.start()] == ".":
                after = found.start() + 1
                if _ABBREVIATION.search(line, max(start, after - _LONGEST_ABBREVIATION), after):
                    continue
                if line[found.end() : found.end() + 1].islower() or _GOES_ON.match(line, max(start, after - 2)):
                    continue
            if sentence := line[start:end].strip():
                yield sentence
            start = found.end()
        if sentence := line[start:].strip():
            yield sentence
