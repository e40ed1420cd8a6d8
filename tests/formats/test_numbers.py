"""No number is falsified: whatever marks up a power, an index or a fraction, no two numbers run together."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading import one, text

TITLE = "<front><article-meta><title-group><article-title>T</article-title></title-group></article-meta></front>"
PAGES = {
    "html": "<h1>T</h1><p>{}</p>",
    "markdown": "# T\n\n{}\n",
    "latex": "\\begin{{document}}{}\\end{{document}}",
    "xml": f"<article>{TITLE}<body><sec><title>S</title><p>{{}}</p></sec></body></article>",
}
# What says that B is raised over, lowered below or divided into A.
IN_MARKUP = ["A<sup>B</sup>", "A<sub>B</sub>"]
IN_MATHML = [f"<math><{name}><mn>A</mn><mn>B</mn></{name}></math>" for name in ("mfrac", "msup", "msub")]
FORMS = [
    *(("markdown", form) for form in IN_MARKUP),
    *((format, form) for format in ("html", "xml") for form in (*IN_MARKUP, *IN_MATHML)),
    *(("latex", f"A\\text{name}script{{B}}") for name in ("super", "sub")),
    ("latex", "\\nicefrac{A}{B}"),
]
NUMBER = re.compile(r"[0-9]+|[⁰¹²³⁴⁵⁶⁷⁸⁹]+|[₀₁₂₃₄₅₆₇₈₉]+")
PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "01234567890123456789")
DIGITS = st.text("0123456789", min_size=1, max_size=4)


@pytest.mark.parametrize(("format", "form"), FORMS)
@settings(deadline=None, max_examples=50)
@given(first=DIGITS, second=DIGITS, third=DIGITS)
def test_no_two_numbers_run_together(format, form, first, second, third):
    said = form.replace("A", first).replace("B", second)
    found = text(one(PAGES[format].format(f"{said} of {third}{said}"), format))
    numbers = [number.translate(PLAIN) for number in NUMBER.findall(found)]
    in_front = [third, first] if form[0] != "A" else [third + first]  # a fraction begins a number of its own
    assert numbers == [first, second, *in_front, second]
