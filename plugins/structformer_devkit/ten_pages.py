"""Ten small pages as a search engine gets them, and what it should find of them, worked out by the formulas.

The texts are short, since Lucene keeps the lengths of longer ones in a byte, which rounds them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from structformer.retrieval import Ranked, idf, in_order, saturation

from structformer_engines import EngineDocument, EngineUnit, Vector

DIMENSIONS = 8
CHECKED = "structformer plugins check"  # what such an index says that its corpus is
# Each page's sections, in words as they would be stemmed. Some differ by an accent alone, or are long, or Chinese.
_PAGES: Mapping[str, tuple[str, ...]] = {
    "Mast": ("mast hold sail upright", "crack mast glue crack clamp crack overnight", "mast"),
    "Keel": ("keel keep boat upright", "scrape keel paint keel before spring"),
    "Rudder": ("rudder turn boat", "mend rudder glue wood", "rudder hang on two iron pin"),
    "Anchor": ("anchor hold boat on sand", "anchor chain rust"),
    "Sail": ("sail pull boat", "wash sail fresh water dry sail wind", "fold sail loose", "reef sail strong wind"),
    "Winch": ("winch pull rope", "oil winch spring autumn"),
    "Rope": ("rope hold sail", "splice rope rope rope", "coil rope dry place", "rope"),
    "Lantern": ("lantern shine night", "ou lantern hang hook", "où lantern shine lantern"),
    "船": ("船 帆 船 錨", "帆 wind"),
    "Insurance": ("haftpflichtversicherungsgesellschaftsvertreter visit boat", "pay boat insurance"),
}
# Words that are asked for: rare and common ones, one that no page has, several together.
QUERIES = (
    ("anchor",),
    ("boat",),
    ("rope", "sail"),
    ("glue", "crack", "mast", "spring"),
    ("où",),
    ("ou", "wind", "submarine"),
    ("帆", "船"),
    ("haftpflichtversicherungsgesellschaftsvertreter",),
)


def units() -> list[EngineUnit]:
    """Return the pages' sections, with vectors of several lengths whose inner products are of both signs."""
    rng = np.random.default_rng(0)
    pages = enumerate(_PAGES.items())
    sections = [(page, title, *each) for page, (title, texts) in pages for each in enumerate(texts)]
    return [
        EngineUnit(
            number,
            page,
            rng.normal(size=DIMENSIONS).astype(np.float32),
            text.split(),
            {
                "document_id": f"{title.lower()}.md",
                "section": section,
                "title": title,
                "path": [title, text],
                "anchor": None if section == 0 else f"s{section}",
                "text": f'"{text}",\nit\'s said: {{}} \\ % \U0001f600',
                "metadata": {"tags": ["boat", "é"], "year": 1900 + page, "share": 0.5, "draft": page % 2 == 0},
            },
        )
        for number, (page, title, section, text) in enumerate(sections)
    ]


def documents() -> list[EngineDocument]:
    """Return the pages, each with the words of all its sections."""
    return [EngineDocument(number, " ".join(texts).split()) for number, texts in enumerate(_PAGES.values())]


def facts(of_units: Sequence[EngineUnit], of_documents: Sequence[EngineDocument]) -> dict[str, Any]:
    """Return the facts of an index of them, in the form that `structformer export` gives it."""
    return {
        "encoders": [["base", "0" * 16]],
        "corpus": CHECKED,
        "language": "en",
        "weights": {"dense": 1.0, "overview": 0.5, "lexical": 0.25, "document": 0.125},
        "units": len(of_units),
        "terms_of_a_unit": sum(len(unit.terms) for unit in of_units) / len(of_units),
        "terms_of_a_document": sum(len(each.terms) for each in of_documents) / len(of_documents),
    }


def vectors() -> list[Vector]:
    """Return vectors that are asked for."""
    rng = np.random.default_rng(1)
    return [rng.normal(size=DIMENSIONS).astype(np.float32) for _ in range(4)]


def nearest(of_units: Sequence[EngineUnit], vector: Vector) -> Ranked:
    """Return all units by inner product, best first."""
    return in_order((unit.number, float(unit.vector @ vector)) for unit in of_units)


def by_words(texts: Sequence[EngineUnit] | Sequence[EngineDocument], terms: Sequence[str]) -> Ranked:
    """All texts that have one of the terms by BM25 (Robertson and Zaragoza 2009, eq. 3.15, with Lucene's idf)."""
    counted = {text.number: Counter(text.terms) for text in texts}
    average = sum(count.total() for count in counted.values()) / len(counted)
    weights = {term: idf(sum(term in count for count in counted.values()), len(counted)) for term in terms}
    return in_order(
        (number, sum(weights[term] * saturation(count[term], count.total(), average) for term in terms if count[term]))
        for number, count in counted.items()
        if any(count[term] for term in terms)
    )
