"""HTML: main content, headings, links and anchors, encodings, hopeless pages."""

from __future__ import annotations

import sys

import pytest
from structformer import Corpus, ReferenceGraph, read
from structformer.document import MarkKind
from structformer.formats.source import SourceFile

from reading import links, one, outline, text
from structformer_html.format import HtmlFormat


def test_a_page():
    page = """<html lang="en"><head><title>Page - The Site</title><style>x</style></head><body><nav>menu</nav>
    <h1 id="top">Page</h1><p>One <b>two</b>.</p><h2>See also</h2><ul><li><a href="b.html">the next</a></li></ul><script>no()</script></body></html>"""
    document = one(page, "html")
    assert outline(document) == [(0, "Page"), (1, "See also")]
    assert (document.title, document.language, document.root.text) == ("Page", "en", "One two.")
    assert links(document) == [("see_also", "b.html", "the next")]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("<nav>menu menu</nav><main><h1>T</h1><p>the content of it</p></main><footer>foot</footer>", "main"),
        ("<div role=navigation>menu</div><article><h1>T</h1><p>the content of it</p></article>", "article"),
        (
            "<div class=sidebar>s</div><div id=mw-content-text><div class=toc>toc</div><h1>T</h1><p>the content of it</p></div>",
            "mediawiki",
        ),
        (
            "<div class='sphinxsidebar'>menu</div><div class=body role=main><section id=a><h1>T<a class=headerlink href='#a'>¶</a></h1><p>the content of it</p>"
            "</section></div>",
            "sphinx",
        ),
        (
            "<article class='md-content__inner md-typeset'><h1>T</h1><p>the content of it</p></article><aside>x</aside>",
            "mkdocs-material",
        ),
        ("<p>the content of it</p>", "body"),
    ],
)
def test_the_content_of_a_page_by_who_made_it(body, told):
    document = one(f"<html><body>{body}</body></html>", "html")
    assert document.metadata["content"] == told
    assert document.root.text == "the content of it"


def test_a_page_that_is_all_navigation_is_not_navigation():
    assert text(one("<body><nav><h1>Map</h1><a href='a'>the way</a></nav></body>", "html")).endswith("Map\nthe way")


def test_ids_name_the_heading_that_they_stand_before_or_around():
    page = "<h1>T</h1><p>a</p><section id=around><h2 id=own>One</h2><p id=inside>b</p></section><a name=before></a><h2>Two</h2><p>c</p><a name=held>&zwnj;</a><h2>Three</h2><p>d</p>"
    sections = {section.title: section for section in one(page, "html").sections()}
    assert sections["One"].anchors == ("around", "own", "inside")
    assert sections["Two"].anchors == ("before",)
    assert (sections["Two"].text, sections["Three"].anchors) == ("c", ("held",))


def test_aria_headings_tables_terms_and_code():
    page = """<h1>T</h1><div role="heading" aria-level="2">Part</div><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
    <dl><dt>term</dt><dd>meaning</dd></dl><pre>x  =\n  1</pre>"""
    document = one(page, "html")
    assert outline(document) == [(0, "T"), (1, "Part")]
    assert document.root.children[0].text == "a | b\n1 | 2\n\nterm\nmeaning\n\nx  =\n  1"


def test_related_pages_by_class_by_term_and_by_rel():
    page = """<head><link rel="related" href="r.html"></head><h1>T</h1><div class="admonition seealso"><a href="a.html">a</a></div>
    <dl><dt>See Also:</dt><dd><a href="b.html">b</a></dd><dt>Since:</dt><dd><a href="c.html">c</a></dd></dl><p>See also <a href="d.html">d</a>.</p>"""
    assert {(kind, target) for kind, target, _ in links(one(page, "html"))} == {
        ("see_also", "r.html"),
        ("see_also", "a.html"),
        ("see_also", "b.html"),
        ("hyperlink", "c.html"),
        ("see_also", "d.html"),
    }


def test_base_and_canonical_address():
    page = "<head><base href='../docs/'><link rel=canonical href='https://www.site.org/docs/page.html'></head><h1>T</h1><a href='x.html'>x</a>"
    document = one(page, "html")
    assert links(document) == [("hyperlink", "../docs/x.html", "x")]
    assert "//site.org/docs/page" in document.names


@pytest.mark.parametrize(
    ("data", "encoding", "title"),
    [
        ('<meta charset="windows-1251"><h1>Привет</h1>'.encode("cp1251"), "windows-1251", "Привет"),
        ("<!-- page --><meta charset=macintosh><h1>Nœuds</h1>".encode("mac-roman"), "macintosh", "Nœuds"),
        ("<h1>Über</h1>".encode(), "utf-8", "Über"),
        (b"\xff\xfe" + "<h1>Sechzehn</h1>".encode("utf-16-le"), "utf-16le", "Sechzehn"),
        ('<?xml version="1.0" encoding="iso-8859-2"?><html><h1>ł</h1>'.encode("iso8859-2"), "iso-8859-2", "ł"),
        (
            b"<!-- " + b"x" * 2000 + b" --><meta charset=shift_jis><h1>" + "日本".encode("shift_jis") + b"</h1>",
            "shift_jis",
            "日本",
        ),
        (b"<h1>plain</h1>", "windows-1252", "plain"),
        ("<title>結び方</title><h1>結び方</h1>".encode("utf-16-le"), "utf-16le", "結び方"),
        ("<title>Größe</title><h1>Größe</h1>".encode("utf-16-be"), "utf-16be", "Größe"),
        ("<meta charset=iso-2022-jp><h1>港の案内</h1>".encode("iso2022_jp"), "iso-2022-jp", "港の案内"),
        ("<h1>港の案内</h1>".encode("iso2022_jp"), "iso-2022-jp", "港の案内"),
        # Microsoft's circled digit, half-width katakana, the yen sign in the Roman set.
        (b"<meta charset=csISO2022JP><h1>\x1b$B-!\x1b(I1\x1b(J\\\x1b(B5</h1>", "iso-2022-jp", "①ｱ¥5"),
        ("<meta charset=iso-2022-jp><h1>港の案内</h1>".encode(), "utf-8", "港の案内"),  # wrongly declared
        ("<meta charset=iso-2022-kr><h1>매듭</h1>".encode("iso2022_kr"), "iso-2022-kr", "매듭"),
        ("<meta charset=hz-gb-2312><h1>绳结指南</h1>".encode("hz"), "hz-gb-2312", "绳结指南"),
    ],
)
def test_encodings(data, encoding, title):
    document = one(data, "html")
    assert (document.metadata["encoding"], document.title) == (encoding, title)


def test_nothing_is_lost_below_deep_nesting_or_after_the_end():
    source = SourceFile(
        "deep.html", b"<body>" + b"<div>" * 50_000 + b"<h1>Head</h1>deep word" + b"</div>" * 50_000 + b"<p>tail"
    )
    [document] = HtmlFormat().read(source, {})
    assert "deep word" in text(document)
    assert "tail" in text(document)
    assert source.warnings == ["nested over 2000 elements deep: tags below that are left out"]
    assert "after" in text(one("<html><body><p>x</p></body></html><p>after the end", "html"))


def test_a_link_in_a_link_ends_it_and_headings_in_headings_stand_apart():
    document = one("<h1>A <h2>B</h2></h1><a href=1>one <a href=2>two</a>", "html")
    assert [title for _, title in outline(document)][-1] == "B"
    assert [(target, shown) for _, target, shown in links(document)] == [("1", "one"), ("2", "two")]


def test_empty_pages_give_no_document():
    assert list(read(b" \n", format="html")) == []


def test_blank_lines_within_code_stay_and_those_around_it_go():
    document = one("<p>before</p><pre><a href=u>\n\none\n</a>\n\ntwo\n<br></pre><p>after</p><pre><br></pre>", "html")
    assert document.root.text == "before\n\none\n\n\ntwo\n\nafter"
    assert links(document) == [("hyperlink", "u", "one")]


def test_notes_beside_the_text_are_content_lists_of_links_are_not():
    page = """<main><h1>T</h1><p>The text of the page stands here.</p><aside class="starlight-aside">Mind <a href="x.html">the gap</a> when you
    leave.</aside><aside><a href="a.html">Elsewhere</a> <a href="b.html">Nowhere</a></aside></main><aside>of the site</aside>"""
    document = one(f"<html><body>{page}</body></html>", "html")
    assert document.root.text == "The text of the page stands here.\n\nMind the gap when you leave."
    assert links(document) == [("hyperlink", "x.html", "the gap")]
    footnote = '<p>Text.</p><aside class="footnote brackets" id="id4" role="doc-footnote">A note.</aside>'
    document = one(f"<html><body>{footnote}</body></html>", "html")
    assert document.root.text == "Text.\n\nA note."
    assert "id4" in document.root.anchors


def test_a_page_that_is_a_list_of_contents_has_that_as_its_content():
    head = '<html><head><title>Commands</title></head><body id="docContent"><div class="navheader"><a href="a.html">Prev</a></div>'
    listed = '<div class="toc"><dl><dt><a href="x.html">ALTER</a> - change the definition of a table</dt></dl></div>'
    document = one(f"{head}{listed}<div class=navfooter>Next</div></body></html>", "html")
    assert document.root.text == "ALTER - change the definition of a table"
    document = one(f"{head}<h2>2.1. Joins</h2><p>{'A page of text. ' * 20}</p>{listed}</body></html>", "html")
    assert outline(document) == [(0, "Commands"), (1, "2.1. Joins")]
    assert "ALTER" not in text(document)
    assert links(document) == []


def test_formulas_are_read_once_whatever_shows_them():
    page = (
        "<h1>T</h1><p>Energy <script type='math/tex'>e=mc^2</script>, <span class=katex><math><semantics><mi>m</mi>"
        "<annotation encoding='application/x-tex'>m</annotation></semantics></math><span class=katex-html>m</span></span></p>"
    )
    assert one(page, "html").root.text == "Energy e=mc^2, m"


def test_a_paper_of_latexml_has_its_footnotes_in_their_sentences_and_its_formulas_in_lines():
    mark = "<sup class=ltx_note_mark>1</sup>"
    note = f"<span class='ltx_note ltx_role_footnote'>{mark}<span class=ltx_note_outer><span class=ltx_note_content>{mark}<span class='ltx_tag ltx_tag_note'>1</span>of oak</span></span></span>"
    cells = "<td class=ltx_eqn_cell><math><mi>x</mi></math></td><td class=ltx_eqn_cell>= 2</td><td class='ltx_eqn_cell ltx_eqn_eqno'>(1)</td>"
    page = (
        f"<h1>Boats</h1><p>A boat{note} floats.</p><table class='ltx_equation ltx_eqn_table'><tr>{cells}</tr></table>"
    )
    assert one(page, "html").root.text == "A boat (of oak) floats.\n\nx = 2"
    assert (
        one("<h1>T</h1><p>A boat<span class=sidenote>of <b>oak</b></span> floats.</p>", "html").root.text
        == "A boat (of oak) floats."
    )


def test_a_heading_that_leads_back_to_its_contents_has_no_link():
    assert links(one("<h1>T</h1><h2><a class=toc-backref href='#id2'>Part</a></h2><p>text</p>", "html")) == []


# As Furo writes it for a short page beside a long list of pages, where the content is less than its share of the text.
FURO = """<!doctype html><html lang="en"><head><title>Knots - Sailing 1.0</title></head><body>
<svg xmlns="http://www.w3.org/2000/svg" style="display: none;"><symbol id="svg-toc" viewBox="0 0 24 24"><title>Contents</title>
<svg stroke="currentColor"><path d="M408 442h480"/></svg></symbol><symbol id="svg-menu"><title>Menu</title></symbol></svg>
<a class="skip-to-content muted-link" href="#furo-main-content">Skip to content</a>
<div class="page"><header class="mobile-header"><div class="header-left"><label class="nav-overlay-icon" for="__navigation">
<span class="icon"><svg><use href="#svg-menu"></use></svg></span></label></div>
<div class="header-center"><a href="index.html"><div class="brand">Sailing 1.0</div></a></div></header>
<aside class="sidebar-drawer">SIDEBAR</aside><div class="main"><div class="content"><div class="article-container">
<a href="#" class="back-to-top muted-link"><svg viewBox="0 0 24 24"><path d="M13 20h-2V8"/></svg><span>Back to top</span></a>
<article role="main" id="furo-main-content"><section id="knots"><h1>Knots<a class="headerlink" href="#knots">¶</a></h1>
<p>Tie them well.</p></section></article></div></div></div></div></body></html>"""


def test_what_a_theme_puts_around_a_short_page_is_not_its_text():
    page = FURO.replace("SIDEBAR", "".join(f"<p><a href='{n}.html'>Of boats and knots {n}</a></p>" for n in range(40)))
    document = one(page, "html")
    assert document.metadata["content"] == "body"
    assert (document.title, text(document)) == ("Knots", "Knots\nTie them well.")
    assert not links(document)


def test_of_a_drawing_the_words_that_are_drawn_are_read():
    drawing = """<svg role="img"><title>A boat's rig</title><desc>Mast and boom.</desc><g><title>node 1</title>
    <text>jib</text></g></svg>"""
    page = f"<body><main><h1>Rig <a href='#rig'><svg><title>Link</title></svg></a></h1><p>See it: {drawing}.</p></main></body>"
    for content in ("main", "all"):
        document = one(page, "html", content=content)
        assert outline(document) == [(0, "Rig")]
        assert text(document).split() == ["Rig", "See", "it:", "jib."]
        assert not links(document)


@pytest.mark.parametrize(
    "link",
    [
        "<a href='#content' class='visually-hidden-focusable'>Skip to main content</a>",
        "<div role='region'><a class='skipToContent_fXgn' href='#__docusaurus_skip'>Weiter</a></div>",
        "<ul><li><a href='#content'>Jump to the content</a></li><li><a href='#search'>Skip to search</a></li></ul>",
        "<a href='#content'>Aller au contenu</a>",
        "<a href='#content'>跳到主要內容</a>",
    ],
)
def test_a_link_past_the_navigation_is_not_text(link):
    document = one(f"<body>{link}<div id=content><h1>T</h1><p>Text.</p></div></body>", "html")
    assert (text(document), links(document)) == ("T\nText.", [])


def test_links_and_headers_of_the_content_stay():
    later = "<h1>T</h1><p>Text. <a href='#end'>Skip to main points</a></p>"
    assert text(one(f"<body>{later}</body>", "html")) == "T\nText. Skip to main points"
    elsewhere = "<p><a href='#skippers'>Skippers</a> <a href='skip.html'>Skip to content</a></p>"
    assert text(one(f"<body>{elsewhere}</body>", "html")).endswith("Skippers Skip to content")
    byline = "<article><header><p>By a sailor</p></header><p>Text.</p></article>"
    title = f"<body><header><h1>Knots</h1><p>A book</p></header><aside>{'x ' * 200}</aside>{byline}</body>"
    assert text(one(title, "html")) == "Knots\nA book\n\nBy a sailor\n\nText."
    plain = "<body><header><p>By a sailor</p></header><p>Text.</p></body>"
    assert text(one(plain, "html")).endswith("By a sailor\n\nText.")


def test_a_page_nested_too_deep_keeps_its_texts_headings_and_links():
    deep = "<div>" * 30_000 + "<h1>Title</h1><p>text <a href=x>there</a></p>" + "</div>" * 30_000
    source = SourceFile("a.html", deep.encode())
    [document] = HtmlFormat().read(source, {})
    assert source.warnings == ["nested over 2000 elements deep: tags below that are left out"]
    assert (document.title, document.root.text) == ("Title", "text there")
    assert links(document) == [("hyperlink", "x", "there")]


def test_of_a_page_of_jekyll_tags_are_carried_out_and_variables_left_out():
    source = """---
title: Oars
---
<html><body><main><h1>{{ page.title }}</h1>
{% if page.old %}<p>An old page.</p>{% else %}<p>A new one.</p>{% endif %}
<p>See <a href="{% link boats/hulls.md %}">hulls</a> and <a href="{{ '/sails' | relative_url }}">sails</a>{{ site.mark }}.
An oar {{ unknown }}moves a boat, and much more than that is said of it here, in words of its own.</p>
{% comment %}<p>Not this.</p>{% endcomment %}
{% highlight ruby %}
a < b
{% endhighlight %}
{% raw %}<p>Shown: {{ as it is }}</p>{% endraw %}
</main></body></html>"""
    [document] = HtmlFormat().read(SourceFile("docs/oars.html", source.encode()), {})
    text = "\n".join(section.text for section in document.sections())
    assert document.title == "Oars"
    assert "An old page." in text
    assert "An oar moves a boat" in text
    assert "Shown: {{ as it is }}" in text
    for left_out in ("A new one", "unknown", "Not this", "{%", "site.mark"):
        assert left_out not in text
    assert [(link.target, link.text) for link in document.links()] == [
        ("/boats/hulls.md", "hulls"),
        ("/sails", "sails"),
    ]
    [code] = [mark for section in document.sections() for mark in section.marks if mark.kind is MarkKind.CODE]
    assert code.detail == "ruby"
    plain = source.partition("---\n<html>")[2].replace("{{ page.title }}", "Oars")
    [other] = HtmlFormat().read(SourceFile("docs/oars.html", f"<html>{plain}".encode()), {})
    assert "{{ unknown }}" in "".join(section.text for section in other.sections())  # no front matter: it is text


REDIRECT = """<!doctype html><html><head><title>Redirecting</title><link rel="canonical" href="https://e.org/knots.html">
<meta http-equiv="Refresh" content="0; url=TARGET"></head><body><h1>Redirecting…</h1>
<a href="TARGET">Click here if you are not redirected.</a></body></html>"""


def test_a_page_that_only_leads_to_another_is_a_name_of_that_one(run, tmp_path):
    pages = {
        "knots.html": "<h1>Knots</h1><p>A bowline holds.</p>",
        "rope.html": "<h1>Rope</h1><p>See <a href='old/bowline.html'>the old page</a>.</p>",
        "old/bowline.html": REDIRECT.replace("TARGET", "../knots.html"),
        "news.html": "<head><meta http-equiv=refresh content=300></head><h1>News</h1><p>This page is read again.</p>",
    }
    for name, page in pages.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(page, encoding="utf-8")
    made = run("ingest", tmp_path / "docs", "-w", tmp_path / "w")
    assert "3 documents, 3 sections" in made.out + made.err
    assert "1 internal links, 0 lead nowhere" in made.out + made.err
    corpus = Corpus.open(tmp_path / "w")
    graph = ReferenceGraph.open(tmp_path / "w", corpus)
    titles = {number: corpus.document_at(number).title for number in range(corpus.document_count)}
    assert [(titles[edge["source_document"]], titles[edge["target_document"]]) for edge in graph.edges()] == [
        ("Rope", "Knots")
    ]


@pytest.mark.parametrize("body", [f"<p>{'word ' * 80}</p>", "<a href='next.html'>next</a> <a href='other.html'>o</a>"])
def test_a_page_that_leads_on_but_says_more_is_a_document(body):
    page = f"<head><meta http-equiv=refresh content='3; url=next.html'></head><h1>T</h1>{body}"
    assert one(page, "html").title == "T"


@pytest.mark.parametrize(
    "html",
    [
        "<pre><span class=linenos>1</span>a = 1\n<span class=linenos>2</span>  b</pre>",
        "<table class=highlighttable><tr><td class=linenos><div class=linenodiv><pre>1\n2</pre></div></td><td class=code><div><pre>a = 1\n  b\n"
        "</pre></div></td></tr></table>",
        "<table class=lntable><tr><td class=lntd><pre><code><span class=lnt>1\n</span><span class=lnt>2\n</span></code></pre></td>"
        "<td class=lntd><pre><code>a = 1\n  b\n</code></pre></td></tr></table>",
        "<pre><code><table class=rouge-table><tbody><tr><td class='rouge-gutter gl'><pre class=lineno>1\n2\n</pre></td>"
        "<td class=rouge-code><pre>a = 1\n  b\n</pre></td></tr></tbody></table></code></pre>",
        "<pre><code><table class=hljs-ln><tr><td class=hljs-ln-numbers data-line-number=1></td><td>a = 1</td></tr><tr><td class=hljs-ln-numbers>"
        "<div class=hljs-ln-n>2</div></td><td>  b</td></tr></table></code></pre>",
        "<pre><code><span style='white-space:pre;user-select:none'>1</span>a = 1\n<span style='user-select:none'>2</span>  b</code></pre>",
        "<div class=code-toolbar><pre>a = 1\n  b</pre><div class=toolbar><div><button>Copy</button></div></div></div>",
        "<div><button>Copy</button> <pre>a = 1\n  b<button>Copy</button></pre></div>",
    ],
)
def test_numbers_of_lines_and_buttons_are_no_code(html):
    section = one(f"<h1>T</h1><p>See:</p>{html}", "html").root
    assert section.text == "See:\n\na = 1\n  b"
    assert [mark.kind.value for mark in section.marks] == ["code"]


def test_numbers_buttons_and_tables_elsewhere_are_text():
    page = (
        "<h1>T</h1><p>Press <button>OK</button> to go.</p><p><span class=ln>Line 4</span></p><table><tr><td>1</td><td>a boat</td></tr></table>"
        "<table><tr><td>A<br>B</td><td>Big</td></tr></table>"
    )
    assert one(page, "html").root.text == "Press OK to go.\n\nLine 4\n\n1 | a boat\n\nA\nB\nBig"


def test_what_a_page_shows_of_words_and_numbers():
    page = (
        "<h1>T</h1><p>Soft&shy;ware of 10<sup>3</sup> kg, 2<sup>-5</sup> m, H<sub>2</sub>O, the 1<sup>st</sup></p><p>3<math><mfrac><mn>1</mn>"
        "<mn>2</mn></mfrac></math> cups, <math><msup><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mn>2</mn></msup><mo>=</mo><msqrt><mi>x</mi>"
        "<mo>+</mo><mn>4</mn></msqrt></math></p><h2>Foo <a href='page.html#foo'>#</a></h2>"
    )
    document = one(page, "html")
    assert document.root.text == "Software of 10³ kg, 2⁻⁵ m, H2O, the 1st\n\n3 1/2 cups, (a+1)²=√(x+4)"
    assert outline(document)[-1] == (1, "Foo")


MENU = '<ul><li><a href="a.html">Home</a><li><a href="b.html">Moorings</a><li><a href="c.html">Charts</a></ul>'
TEXT = "<p>A boat is moored by two lines, one from the bow and one from the stern, and by springs.</p>" * 3


@pytest.mark.parametrize(
    "mark", ["class='menu mainmenu'", "id=navbar", "class=submenu", "class='fancy_toc'", "id=toc2", "id=navLeft"]
)
def test_menus_of_pages_written_by_hand_are_left_out(mark):
    document = one(f"<body><div {mark}>{MENU}</div><h1>Moor</h1>{TEXT}<div {mark}>{MENU}</div>", "html")
    assert document.root.text.count("Moorings") == 0
    assert list(document.links()) == []


@pytest.mark.parametrize(
    "page",
    [
        f"<h1>Moor</h1>{TEXT}<div class=menu><p>Soup of the day, with bread and butter.</p>{MENU}</div>",  # a menu of food
        f"<h1>Moor</h1>{TEXT}<div class=menus>{MENU}</div>",
        f"<h1>Moor</h1><div class=menu>{MENU}</div>",  # of which the page is made
        f"<h1>Moor</h1>{TEXT}<div class=menu><a href=a.html>Moorings</a></div>",
    ],
)
def test_what_is_called_a_menu_and_is_none_stays(page):
    assert "Moorings" in one(f"<body>{page}", "html").root.text


def test_menus_in_menus_are_looked_at_in_linear_time():
    page = "<div class=menu>" * 200 + MENU + "words " * 20_000 + "</div>" * 200
    assert "Moorings" in one(f"<body>{page}", "html").root.text


def test_of_several_first_headings_none_is_the_pages():
    document = one("<title>SELECT</title><div id=top></div><h1>1. Overview</h1>A.<h1>2. Rows</h1>B.", "html")
    assert [document.title, document.root.title] == ["SELECT", "SELECT"]
    assert [child.title for child in document.root.children] == ["1. Overview", "2. Rows"]


RUSTDOC = """<main><section id=main-content><h1>Struct <span>Vec</span> <button id=copy-path>Copy item path</button></h1>
<h2 id=implementations>Implementations<a href="#implementations" class=anchor>§</a></h2><details open><summary>
<section id=method.new><a class="src rightside" href="../src/v.html#2">Source</a><a href="#method.new" class=anchor>§</a>
<h4>pub fn <a href="#method.new" class=fn>new</a>()</h4></section></summary><div class=docblock><p>Constructs.</p></div>
</details></section></main>"""


def test_of_a_page_of_rustdoc_an_items_id_is_its_headings_and_links_to_the_source_are_no_text():
    document = one(RUSTDOC, "html")
    assert outline(document) == [(0, "Struct Vec"), (1, "Implementations"), (2, "pub fn new()")]
    assert text(document) == "Struct Vec\nImplementations\npub fn new()\nConstructs."
    assert document.root.children[0].children[0].anchors == ("method.new",)


def test_buttons_and_code_of_such_names_stay():
    page = "<h1>T</h1><h2><button>Open</button></h2><pre class='src src-sh'>ls</pre><p>As <a class=anchor href='#x'>here</a>.</p>"
    assert text(one(page, "html")) == "T\nOpen\nls\n\nAs here."


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (
            "<title>Proj: Pear Class Reference</title>",
            "<div class=header><div class=summary><a href=l.html>List of all members</a></div><div class=headertitle>"
            "<div class=title>Pear<div class=ingroups><a href=g.html>Fruit</a></div></div></div></div><div class=contents>"
            "<p>A fruit of trees.</p></div>",
        ),
        (
            "<title>Pear - Wikipedia</title>",
            "<h1 id=firstHeading><span>Pear</span></h1><div id=mw-content-text><p>A fruit of trees.</p></div>",
        ),
    ],
)
def test_a_title_that_stands_outside_of_the_text_is_the_pages(head, body):
    document = one(f"<html><head>{head}</head><body>{body}</body></html>", "html")
    assert (document.title, text(document)) == ("Pear", "Pear\nA fruit of trees.")


@pytest.mark.parametrize(
    "added",
    [
        "<span class='theme-doc-version-badge badge'>Version: 3.x</span>",
        "<div class='tocCollapsible_x theme-doc-toc-mobile'><button>On this page</button></div>",
        "<footer class=theme-doc-footer><a href=e>Edit this page</a></footer>",
        "<a href='_modules/f.html#g'><span class=viewcode-link>[source]</span></a>",
        "<a href='#fnref:1' role=doc-backlink>&#8617;&#xFE0E;</a>",
        "<a class=footnote-backref href='#fnref:2'>↩<sup>2</sup></a>",
        "<a href='#p'>¶</a>",
        "<div class=ttc id=a1><div class=ttdeci>int f()</div></div>",
        "<a href=e title='Edit this page' class='md-content__button md-icon'><svg></svg></a>",
        "<a class=sl-anchor-link href='#t'><span class=sr-only>Section titled T</span></a>",
        "<footer><div><a href=e>Edit page</a></div></footer>",
        "<div><h1 class=search-results-title>No results matching</h1></div>",
        "<span style='display: none;'>hidden</span>",
        "<table><tr><td class=NavBarCell1Rev>Class</td><td class=NavBarCell2>NEXT CLASS</td></tr></table>",
        "<div class='sphx-glr-download-link-note admonition note'><p>Go to the end to download the code.</p></div>",
        "<p class=sphx-glr-timing>Total running time: 1 s</p><p class=sphx-glr-signature>Gallery by Sphinx-Gallery</p>",
        "<small class=dont-index>Source: <a href=e>R/oar.R</a></small>",
        "<noframes><h2>Frame Alert</h2></noframes>",
        "<div class='page-toc tocsection onthispage'>On this page</div>",
        "<label class='overlay sidebar-overlay'><span>Hide navigation</span></label>",
        "<div class=footer><span>(c) 2020 Sea</span><span>Generated by dokka</span></div>",
        "<span class=copy-popup-wrapper><span>Link copied to clipboard</span></span>",
        "<table class=TOCbug><tr><td class=TOCbug><a href='#toc'>TOC</a></td></tr></table>",
        "<p align=right><a href='#content'>(top)</a></p><p><a href='#'>Back to top</a></p>",
        "<footer><time datetime=2018>Last updated: 2018</time> <a href=p>Prev</a> <a href=n>Next</a></footer>",
    ],
)
def test_what_themes_and_generators_add_to_a_text_is_none(added):
    page = f"<body><main><h1>T</h1><p>Text of the page.</p><div>{added}</div></main></body>"
    assert text(one(page, "html")) == "T\nText of the page."
    docutils = "<p>Note <a href='#id1' role=doc-backlink>1</a>.</p>"
    assert text(one(f"<h1>T</h1>{docutils}", "html")) == "T\nNote 1."
    assert text(one("<h1>T</h1><p><a href='#topProperty'>top</a></p>", "html")) == "T\ntop"


def test_what_only_listeners_hear_is_no_text_where_others_see_one():
    page = "<p>See <a href=z>Z<span><svg></svg><span class=sr-only>(new window)</span></span></a>.</p><a href=y><svg></svg><span class=sr-only>Y</span></a>"
    assert text(one(f"<h1><span class=visually-hidden>T</span></h1>{page}<p>See <span>X</span>.</p>", "html")) == (
        "T\nSee Z.\n\nY\n\nSee X."
    )


@pytest.mark.parametrize("listeners", ["visuallyhidden", "sr-only", "screen-reader-text"])
def test_what_listeners_hear_of_a_heading_s_link_to_itself_is_not_its_title(listeners):
    to_itself = f"<a class=anchor href='#a'><span class={listeners}>The <b>Oar</b> permalink</span></a>"
    page = f"<h1>T</h1><h2 id=a> {to_itself}The Oar</h2><h2><a href='#s'><span class={listeners}>Sail</span></a></h2>"
    assert outline(one(f"{page}<p>x</p>", "html")) == [(0, "T"), (1, "The Oar"), (1, "Sail")]


def test_a_page_of_frames_says_nothing_of_its_own():
    inner = "<frameset><frame src=a.html></frameset>"
    page = f"<title>T</title><frameset>{inner}</frameset><noframes><h2>Frame Alert</h2></noframes>"
    document = one(page, "html")
    assert (text(document), links(document)) == ("T", [("embed", "a.html", "")])
    assert (
        text(one("<title>T</title><frameset><frame src=a.html><noframes><p>No</p></noframes></frameset>", "html"))
        == "T"
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<div class=language-js><span class=lang>js</span><pre><code>const a</code></pre></div>", "const a"),
        ("<div><input><label>npm</label><input><label>pnpm</label></div>", "npm pnpm"),
        ("<pre>public&nbsp;void&nbsp;m&#8203;(int&nbsp;a)</pre>", "public void m(int a)"),
        ("<p><code>m&#8203;(int&nbsp;a)</code></p>", "m(int a)"),
        ("<textarea>package main\n\tx()</textarea>", "package main\n\tx()"),
        ("<pre>a<a href='#l2'></a> b <a href='#c'><code><span>c</span></code></a></pre>", "a b c"),
        ("<table class=memname><tr><td>int f <td>(<td>int <td><em>a</em><td>)</table>", "int f ( int a )"),
        ("<p><a href='javascript:show(2)'>Show</a></p>", "Show"),
    ],
)
def test_code_and_what_is_around_it_reads_as_it_looks(body, expected):
    document = one(f"<h1>T</h1>{body}", "html")
    assert document.root.text == expected
    assert [target for _, target, _ in links(document)] == ["#c"] * ("#c" in body)


def test_the_links_of_an_exported_document_lead_where_it_says():
    page = "<p><a href='https://www.google.com/url?q=https://a.example/x%3Fb%3D1&amp;sa=D&amp;usg=x'>x</a></p>"
    assert links(one(page, "html")) == [("hyperlink", "https://a.example/x?b=1", "x")]


def test_a_heading_of_javadoc_above_the_content_is_read():
    page = "<div class=topNav>Overview</div><div class=header><div>org.sea</div><h2 class=title>Class Rope</h2></div><div class=contentContainer><p>A rope of the sea.</p></div>"
    assert outline(one(f"<title>Rope</title>{page}", "html")) == [(0, "Rope"), (1, "Class Rope")]


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (
            "<main><aside class=phpdocumentor-sidebar><h2>Packages</h2></aside><div class=phpdocumentor-content>"
            "<ul class=phpdocumentor-breadcrumbs><li>Sea</li></ul><h1>Rope</h1><p>A rope of the sea.</p>"
            "<section class=phpdocumentor-on-this-page__sidebar>On this page</section></div></main>",
            "Rope\nA rope of the sea.",
        ),
        (
            "<header class=tsd-page-toolbar>Preparing search index...</header><div class='container container-main'>"
            "<div class=col-content><div class=tsd-page-title><ul class=tsd-breadcrumb><li>Sea</li></ul><h1>Rope</h1></div>"
            "<section class=tsd-panel><p>A rope of the sea.</p></section></div><div class=col-sidebar>Theme</div></div>",
            "Rope\nA rope of the sea.",
        ),
        (
            "<div class=nav_wrap><iframe id=nav></iframe></div><div id=main><div id=header><div id=menu>Index (R)</div></div>"
            "<div id=content><h1>Rope</h1><p>A rope of the sea.<a href='#' class=summary_toggle>collapse</a></p></div></div>",
            "Rope\nA rope of the sea.",
        ),
        (
            f"<nav>{'Boats and knots ' * 40}</nav><button>Back to top</button><main><h1>Rope</h1><p>A rope of the sea.</p></main>"
            "<p>Search</p>",  # that is short beside its navigation
            "Rope\nA rope of the sea.",
        ),
        (
            "<table><tr><td><a href=h>Home</a></td><td><a href=l>Libraries</a></td></tr></table><hr>"
            "<div class=spirit-nav><a href=n>Next</a></div><div class=section><h1>Rope</h1><p>A rope of the sea.</p>"
            "</div><div class=spirit-nav><a href=n>Next</a></div>",
            "Rope\nA rope of the sea.",
        ),
    ],
)
def test_what_generators_put_around_a_text_is_none(page, said):
    assert text(one(f"<body>{page}</body>", "html")) == said


def test_labels_and_buttons_in_a_row_are_parted():
    page = "<h1>T</h1><div><label>Linux</label><label>macOS</label></div><p>Press <button>A</button><button>B</button>.</p>"
    assert one(page, "html").root.text == "Linux macOS\n\nPress A B."


def test_two_breaks_end_a_paragraph_and_one_a_line():
    assert one("<h1>T</h1>One<br>two<br>\n<br><b>three</b><br>four", "html").root.text == "One\ntwo\n\nthree\nfour"


def test_how_a_word_is_read_stands_behind_it_in_brackets():
    words = "<ruby>漢<rp>（</rp><rt>かん</rt><rp>）</rp>字<rt>じ</rt></ruby>"
    assert one(f"<h1>T</h1><p>{words}です。</p>", "html").root.text == "漢（かん）字(じ)です。"


def test_a_quotation_in_a_sentence_keeps_its_marks():
    assert one("<h1>T</h1><p>He said <q>yes, <b>now</b></q>.</p>", "html").root.text == "He said “yes, now”."


@pytest.mark.parametrize(
    "medium",
    [
        "<video controls><source src=boat.mp4>Your browser plays no <a href=v>videos</a>.</video>",
        "<audio src=boat.mp4>Your browser plays nothing.</audio>",
        "<object data=boat.mp4><p>Alas.</p></object>",
    ],
)
def test_what_is_shown_where_a_medium_cannot_be_played_is_no_text(medium):
    document = one(f"<h1>T</h1><p>See:</p>{medium}<p>Well.</p>", "html")
    assert (document.root.text, links(document)) == ("See:\n\nWell.", [("embed", "boat.mp4", "")])
    never_closed = one(f"<h1>T</h1><object data=boat.mp4><p>{'Text of the page. ' * 40}</p>", "html")
    assert "Text of the page." in never_closed.root.text


@pytest.mark.parametrize(
    "generator", ["<main><h1>T</h1>{}</main>", "<div class=header><h1>T</h1></div><div class=contents>{}</div>"]
)
def test_a_script_in_a_page_is_no_text_that_outweighs_its_content(generator):
    page = (
        f"<body><p>Loading...</p>{generator.format('<p>Text of the page.</p>')}<script>{'run();' * 99}</script></body>"
    )
    assert text(one(page, "html")) == "T\nText of the page."


def test_a_page_below_many_remarks_is_known_without_delay():
    head = b"<!-- A boat -->\n" * 200
    assert HtmlFormat().sniff(b"<?xml version='1.0'?>\n" + head + b"<boats/>", "a.boats") == 0
    assert HtmlFormat().sniff(head + b"<!DOCTYPE html><p>x", "a.boats") == 1


def test_the_steps_of_a_standard_keep_their_lines():
    page = "<h1>T</h1><emu-alg>\n  1. Let _x_ be 1.\n    1. Return _x_.\n</emu-alg><p>So.</p>"
    assert one(page, "html").root.text == "  1. Let _x_ be 1.\n    1. Return _x_.\n\nSo."


# notes, code, regions without an end


def test_what_says_that_it_is_a_note_is_text_and_its_mark_stands_apart():
    page = """<body><h1>Pans</h1><p>Hot pans<a href="#n1" epub:type="noteref">1</a> burn<a role="doc-noteref" href="#n2">2</a>.</p>
    <aside id="n1" epub:type="footnote"><p>On gas.</p></aside><aside id="n2" epub:type="rearnote">Iron.</aside>
    <aside epub:type="toc"><a href="x">x</a></aside><div role="complementary" epub:type="annotation">Only lids.</div>"""
    document = one(page, "html")
    assert document.root.text == "Hot pans¹ burn².\n\nOn gas.\n\nIron.\n\nOnly lids."
    assert {"n1", "n2"} <= set(document.root.anchors)


def test_a_mark_of_a_note_is_raised_by_its_class_and_code_is_no_sidebar():
    page = """<main><h1>Pans</h1><p>Hot<a class="footnote-ref" href="#n">1</a><sup><a class="footnote-ref" href="#n">2</a></sup></p>
    <pre id="sidebar">lids = 2</pre><div id="sidebar">All pans</div></main>"""
    assert one(page, "html").root.text == "Hot¹²\n\nlids = 2"


def test_what_a_sentence_links_to_is_text():
    page = """<body><p><a href="#menu">To the menu</a></p><main><h1>Pans</h1><p>Hot pans<sup><a href="#n1">1</a></sup> burn.</p>
    </main><aside><p id="n1">On gas.</p></aside><aside id="menu">Offers</aside><aside><a href="#n1">all</a></aside>
    <footer id="n2">Two</footer>"""
    assert one(page, "html").root.text == "Hot pans¹ burn.\n\nOn gas."
    linked = page.replace("burn", 'burn (see <a href="#n2">there</a>)')
    assert one(linked, "html").root.text.endswith("On gas.\n\nTwo")


@pytest.mark.parametrize(
    "around",
    [
        ("<pre><code>", "</code></pre>"),
        ("<p><code>", "</code></p>"),
        ("<p><samp>", "</samp></p>"),
        ("<p><kbd>", "</kbd></p>"),
        ("<pre>", "</pre>"),
        ("<pre class=toc>", "</pre>"),
    ],
)
def test_in_code_no_class_is_furniture(around):
    words = "".join(
        f' <span class="{name}">{name}</span>' for name in ("footer", "toc", "sr-only", "math", "breadcrumb")
    )
    document = one(f"<h1>T</h1>{around[0]}a{words}{around[1]}<p>after</p>", "html")
    assert document.root.text == "a footer toc sr-only math breadcrumb\n\nafter"


@pytest.mark.parametrize(
    ("opened", "first"),
    [
        ("<!-- lost", ""),
        ("<script>lost", ""),
        ("<STYLE>lost", ""),
        ("<textarea>kept", "kept</p>"),
        ("<template>lost", ""),
        ("<pre>kept", "kept"),
        ("use <code>kept", "use kept"),
        ("<pre><code>kept", "kept"),
    ],
)
def test_what_has_no_end_ends_before_the_next_heading(opened, first):
    page = f"<BODY><h1>A</h1><p>{opened}</p><h2>B</h2><p>one two</p><h2>C</h2><pre>x</pre>"
    source = SourceFile("a.html", page.encode())
    [document] = HtmlFormat().read(source, {})
    assert outline(document) == [(0, "A"), (1, "B"), (1, "C")]
    assert [section.text for section in document.sections()] == [first, "one two", "x"]
    assert [mark.kind for section in document.root.children for mark in section.marks] == [MarkKind.CODE]
    assert all("without an end: it ends before the next heading" in warning for warning in source.warnings)
    assert source.warnings


def test_the_bars_of_old_javadoc_and_the_numbers_of_its_sources_are_left_out():
    page = """<div class="topNav"><ul class="navList"><li>Overview</li></ul></div><div class="subNav">Prev Next</div><h1>Uses of Pan</h1>
    <p>Heat uses Pan.</p><pre><a class="jxr_linenumber" name="L1" href="#L1">1</a>   <em>/*</em>
<span class="sourceLineNo">002</span> */</pre><div class="bottomNav">Next</div>"""
    document = one(page, "html")
    assert document.root.text == "Heat uses Pan.\n\n   /*\n */"
    assert "L1" in document.root.anchors


@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1252", "koi8-r", "gbk"])
def test_bytes_that_are_utf_8_are_read_so_whatever_the_page_declares(declared):
    source = SourceFile(
        "a.html",
        f"<meta charset={declared}><h1>Associação</h1><p>Informações sobre panelas, fogões, pão e maçãs: não, são três opções à mão.".encode(),
    )
    [document] = HtmlFormat().read(source, {})
    assert (document.title, document.metadata["encoding"]) == ("Associação", "utf-8")
    assert source.warnings == [
        f"declared as {declared}, but its bytes are UTF-8: read as UTF-8".replace("iso-8859-1", "windows-1252")
    ]


def test_a_short_chinese_page_that_happens_to_be_utf_8_is_read_as_declared():
    assert one("<meta charset=gbk><h1>联通</h1>".encode("gbk"), "html").title == "联通"


def _calls(page: bytes) -> int:
    """How many functions reading a page calls, Python's and C's."""
    count = 0

    def seen(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        list(HtmlFormat().read(SourceFile("a.html", page), {}))
    finally:
        sys.setprofile(None)
    return count


OPENINGS = """<a|<a href="#x">|<a href="|<aside|<aside id=x>|<code>|<pre>|<h2>|<h2><code>|<table><tr><td>|<ul><li>|<dl><dt>|<sup>|<math><msup>
    |<!--|<!-- -->|<script>|<style>|<template>|<textarea>|<title>|<nav>|<footer id=a>|<div class=note>|<div class=toc>|<p>a <a href="#x">b</a> c
    |<span class=sr-only>|<td><h2>|<button>|<details>|<img alt=|<meta charset|<meta |<meta charset=x|&lt|{{|{% |<% |<?php |<svg><title>|<b><i>"""


@pytest.mark.parametrize("opening", [each.strip() for each in OPENINGS.split("|")])
def test_a_page_of_repeated_openings_takes_steps_in_proportion(opening):
    before, after = (_calls(b"<h1>A</h1>" + f"{opening} ".encode() * count) for count in (400, 800))
    assert after < 2.5 * before + 500


def test_a_megabyte_of_unfinished_meta_elements_is_read():
    for opening in (b"<meta charset ", b"<meta "):  # days, if each is sought to the end
        list(HtmlFormat().read(SourceFile("a.html", "é".encode() + opening * (1_000_000 // len(opening))), {}))


def test_of_a_page_with_several_first_headings_the_title_is_without_the_sites_name():
    page = "<title>Copy a database - Example Manual</title><h1>{}</h1><p>a</p><h1>Restore it</h1><p>b</p>"
    [document] = read(page.format("Copy a database").encode(), format="html")
    assert document.title == "Copy a database"
    [document] = read(page.format("Copy").encode(), format="html")  # no heading says which part is the title
    assert document.title == "Copy a database - Example Manual"
