"""Word, PowerPoint, Excel and PDF files: their headings, lists, tables; damage, bombs, passwords."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from structformer.document import Document
from structformer.errors import ReadError
from structformer.extras import install_command, needs
from structformer.ingestion import read
from structformer.plugins import load_plugins

from structformer_devkit.formats import Sample, check_format

docx = pytest.importorskip("docx")
openpyxl = pytest.importorskip("openpyxl")
pptx = pytest.importorskip("pptx")
pypdfium2 = pytest.importorskip("pypdfium2")
pytest.importorskip("mammoth")


def only(path: Path) -> Document:
    """The one document of a file."""
    [document] = read(path)
    return document


def shape(document: Document) -> list[tuple[int, str, str]]:
    """(level, title, text) of all sections but an empty root."""
    found = [(section.level, section.title, section.text) for section in document.sections()]
    return found if found[0][2] else found[1:]


def marks(document: Document) -> list[tuple[str, str, str]]:
    """(kind, detail, text) of all marks."""
    return [
        (mark.kind.value, mark.detail, section.text[mark.start : mark.end])
        for section in document.sections()
        for mark in section.marks
    ]


def with_part(path: Path, name: str, change: Any) -> Path:
    """A copy of a zipped file, one part of which is changed."""
    made = path.with_name(f"changed-{path.name}")
    with zipfile.ZipFile(path) as given, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as kept:
        for info in given.infolist():
            part = given.read(info)
            kept.writestr(info.filename, change(part) if info.filename == name else part)
    return made


def pdf(pages: Sequence[Sequence[tuple[int, int, str]]], outline: Sequence[tuple[str, int, int, int]] = ()) -> bytes:
    """A PDF of lines (size, height, text). outline: (title, its parent's number in it or -1, page, height)."""
    streams = [
        "\n".join(f"BT /F {size} Tf 1 0 0 1 72 {height} Tm ({text}) Tj ET" for size, height, text in lines)
        for lines in pages
    ]
    first = 4 + 2 * len(pages)  # the outline's number, its entries behind it
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {f'/Outlines {first} 0 R' if outline else ''} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, stream in enumerate(streams):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R"
            " /Resources << /Font << /F 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    if outline:
        objects.append(f"<< /Type /Outlines {' '.join(_family(outline, -1, first))} >>")
    for number, (title, parent, page, height) in enumerate(outline):
        others = [other for other, each in enumerate(outline) if each[1] == parent]
        place = others.index(number)
        links = [f"/Prev {first + 1 + others[place - 1]} 0 R"] if place else []
        links += [f"/Next {first + 1 + others[place + 1]} 0 R"] if place + 1 < len(others) else []
        links += _family(outline, number, first)
        objects.append(
            f"<< /Title ({title}) /Parent {first + 1 + parent if parent >= 0 else first} 0 R {' '.join(links)}"
            f" /Dest [{4 + 2 * page} 0 R /XYZ 72 {height} 0] >>"
        )
    out, places = b"%PDF-1.7\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{each}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer << /Size {len(objects) + 1} /Root 1 0 R >>"
    return out + f"{end}\nstartxref\n{len(out)}\n%%EOF\n".encode()


def _family(outline: Sequence[tuple[str, int, int, int]], parent: int, first: int) -> list[str]:
    own = [number for number, each in enumerate(outline) if each[1] == parent]
    return [f"/First {first + 1 + own[0]} 0 R /Last {first + 1 + own[-1]} 0 R /Count {len(own)}"] if own else []


@pytest.fixture
def boats(tmp_path):
    """A Word file with headings, lists, a table, a link and a formula."""
    made = docx.Document()
    made.add_heading("Rowing boats", 0)
    made.add_heading("Hulls", 1)
    made.add_paragraph("A hull floats; *stars* and <b>tags</b> are text.")
    for item in ("wood", "steel"):
        made.add_paragraph(item, style="List Bullet")
    made.add_heading("Keel", 2)
    table = made.add_table(rows=2, cols=2)
    for cell, text in zip(
        [cell for row in table.rows for cell in row.cells], "part wood keel oak".split(), strict=True
    ):
        cell.text = text
    cell.add_paragraph("or elm")  # in the same line: a block in a cell is a space
    made.add_paragraph("A keel is ").add_run("heavy").bold = True
    made.styles.add_style("Chapter", 1).base_style = made.styles["Heading 1"]
    made.add_paragraph("Oars", style="Chapter")
    made.add_paragraph("FORMULA")
    made.save(tmp_path / "boats.docx")
    return tmp_path / "boats.docx"


def test_a_word_file_has_the_sections_of_its_headings(boats):
    document = only(boats)
    assert (document.title, document.source.format, document.metadata) == (
        "Rowing boats",
        "office",
        {"program": "Word"},
    )
    assert shape(document) == [
        (2, "Hulls", "A hull floats; *stars* and <b>tags</b> are text.\n\nwood\nsteel"),
        (3, "Keel", "part | wood\nkeel | oak or elm\n\nA keel is heavy"),
        (2, "Oars", "FORMULA"),  # a style of one's own that is based on a heading's
    ]
    found = marks(document)
    assert ("item", "", "steel") in found
    assert ("row", "", "keel | oak or elm") in found
    assert ("strong", "", "heavy") in found


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("<m:r><m:rPr><m:sty m:val='p'/></m:rPr><m:t>E = mc</m:t></m:r>", "E = mc"),
        ("<m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>3</m:t></m:r></m:sup></m:sSup>", "10³"),
        (
            "<m:r><m:t>3</m:t></m:r><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>a+b</m:t></m:r></m:den></m:f>",
            "3 1/(a+b)",
        ),
        (
            "<m:r><m:t>2</m:t></m:r><m:d><m:e><m:r><m:t>3</m:t></m:r></m:e></m:d><m:rad><m:e><m:r><m:t>7</m:t></m:r></m:e></m:rad>",
            "2(3)√7",
        ),
        (
            "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub><m:r><m:t>k</m:t></m:r></m:sub><m:e><m:r><m:t>a</m:t></m:r></m:e></m:nary>"
            "<m:nary><m:e><m:r><m:t>b</m:t></m:r></m:e></m:nary>",
            "∑ka∫b",
        ),
    ],
)
def test_a_formulas_text_is_text(boats, formula, said):
    space = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    changed = with_part(
        boats,
        "word/document.xml",
        lambda part: part.replace(b"<w:r><w:t>FORMULA</w:t></w:r>", f"<m:oMath {space}>{formula}</m:oMath>".encode()),
    )
    assert shape(only(changed))[-1] == (2, "Oars", said)


def test_raised_and_lowered_runs_stay_apart_from_what_they_belong_to(tmp_path):
    made = docx.Document()
    made.add_heading("Weights", 1)
    paragraph = made.add_paragraph("10")
    paragraph.add_run("3").font.superscript = True
    paragraph.add_run(" kg of H")
    paragraph.add_run("2").font.subscript = True
    paragraph.add_run("O")
    made.save(str(tmp_path / "weights.docx"))
    assert only(tmp_path / "weights.docx").root.text == "10³ kg of H2O"
    shown = pptx.Presentation()
    slide = shown.slides.add_slide(shown.slide_layouts[1])
    slide.shapes.title.text = "Weights"
    lines = slide.placeholders[1].text_frame.paragraphs[0]
    lines.add_run().text = "10"
    raised = lines.add_run()
    raised.text = "3"
    raised.font._element.set("baseline", "30000")
    shown.save(str(tmp_path / "weights.pptx"))
    assert shape(only(tmp_path / "weights.pptx"))[-1][2] == "10³"


def test_every_slide_is_a_section(tmp_path):
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Hulls"
    frame = slide.placeholders[1].text_frame
    frame.text = "A hull # floats"
    deeper = frame.add_paragraph()
    deeper.text, deeper.level = "as <wood> does", 1
    slide.notes_slide.notes_text_frame.text = "Show the picture."
    second = made.slides.add_slide(made.slide_layouts[6])
    cells = second.shapes.add_table(2, 2, 0, 0, 914400, 914400).table
    for place, text in {(0, 0): "part", (0, 1): "wood", (1, 0): "keel", (1, 1): "oak"}.items():
        cells.cell(*place).text = text
    made.save(tmp_path / "boats.pptx")
    document = only(tmp_path / "boats.pptx")
    assert document.title == "boats"
    assert shape(document) == [
        (2, "Hulls", "A hull # floats\n\nas <wood> does\n\nShow the picture."),
        (2, "Slide 2", "part | wood\nkeel | oak"),
    ]
    assert [text for kind, _, text in marks(document) if kind == "list"] == [
        "A hull # floats\n\nas <wood> does",
        "as <wood> does",
    ]


def test_every_sheet_is_a_section_and_an_empty_row_ends_a_table(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Boats"
    for row in (["name", "length"], ["gig", 4], ["skiff", None], [None, None], [None, "half", 0.5]):
        sheet.append(row)
    book.create_sheet("Nothing")
    book.save(tmp_path / "list.xlsx")
    document = only(tmp_path / "list.xlsx")
    assert shape(document) == [(2, "Boats", "name | length\ngig | 4\nskiff |\n\nhalf | 0.5")]
    assert [text for kind, detail, text in marks(document) if (kind, detail) == ("row", "header")] == ["name | length"]


LONG = b"9" * 5000


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("docProps/core.xml", b"</cp:coreProperties>", b"<cp:revision>%b</cp:revision></cp:coreProperties>" % LONG),
        ("docProps/core.xml", b"</cp:coreProperties>", b"<a>" * 300 + b"</a>" * 300 + b"</cp:coreProperties>"),
        ("docProps/core.xml", b"2", b"99999"),
        ("xl/worksheets/sheet1.xml", b'ref="A1:B2"', b'ref="A1:%b"' % LONG),
        ("xl/worksheets/sheet1.xml", b"<v>4</v>", b"<v>%b</v>" % LONG),
    ],
)
def test_what_a_sheet_says_of_itself_costs_no_sheet(part, old, new, tmp_path):
    book = openpyxl.Workbook()
    for row in (["name", "length"], ["gig", 4]):
        book.active.append(row)
    book.save(tmp_path / "list.xlsx")
    document = only(with_part(tmp_path / "list.xlsx", part, lambda data: data.replace(old, new)))
    assert shape(document)[0][2].startswith("name | length\ngig |")


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (b'<c r="B2" t="d"><v>2024-13-45</v></c>', "2024-13-45"),
        (b'<c r="B2" t="d"><v>2024-01-05</v></c>', "2024-01-05"),
        (b'<c r="B2"><v>four</v></c>', "four"),
        (b"<c t='b'><v>true</v></c>", "true"),
        (b'<c r="B2" t="s"><v>999</v></c>', "999"),
        (b'<c r="B2" s="?"><v>4</v></c>', "4"),
        (b'<c r="ABCDEF2"><v>4</v></c>', "4"),
        (b'<c r="?"/><c r="C2" t="d"><v>32nd</v></c>', "32nd"),
    ],
)
def test_a_cell_whose_value_is_not_of_its_kind_is_text(cell, shown, tmp_path):
    book = openpyxl.Workbook()
    for row in (["name", "length"], ["gig", 4]):
        book.active.append(row)
    book.save(tmp_path / "list.xlsx")
    whole = b'<c r="B2" t="n"><v>4</v></c>'
    path = with_part(tmp_path / "list.xlsx", "xl/worksheets/sheet1.xml", lambda data: data.replace(whole, cell))
    assert shape(only(path))[0][2].split("\n")[1].replace("| ", "").split() == ["gig", shown]


def test_a_raised_run_may_say_how_far_in_per_cent(tmp_path):
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text, raised in (("x", None), ("2", "30%"), ("y", "0"), ("2", "-25%")):
        run = paragraph.add_run()
        run.text = text
        if raised is not None:
            run._r.get_or_add_rPr().set("baseline", raised)
    made.save(tmp_path / "powers.pptx")
    assert shape(only(tmp_path / "powers.pptx"))[0][2] == "x²y2"


def test_a_pdfs_title_of_half_a_letter_is_none(tmp_path):
    made = pdf(PAGES).replace(b"/Root 1 0 R", b"/Root 1 0 R /Info << /Title (\xfe\xff\xd8\x00) >>")
    (tmp_path / "boats.pdf").write_bytes(made)
    assert only(tmp_path / "boats.pdf").title == "Boats"  # its first heading


PAGES = [
    [
        (10, 770, "The boats 1"),
        (20, 700, "Boats"),
        (14, 660, "1 Hulls"),
        (10, 640, "A hull of a boat floats on"),
        (10, 628, "water for a long time."),
    ],
    [
        (10, 770, "The boats 2"),
        (10, 700, "More about hulls stands here."),
        (10, 688, "2 Oars"),
        (10, 670, "An oar moves a boat."),
    ],
    [(10, 770, "The boats 3"), (14, 700, "3 Sails"), (10, 680, "A sail moves it too, and faster.")],
]


def test_a_pdf_has_the_sections_of_its_outline(tmp_path):
    outline = [("Hulls", -1, 0, 680), ("Oars", 0, 1, 700), ("Sails", -1, 2, 720)]
    (tmp_path / "boats.pdf").write_bytes(pdf(PAGES, outline))
    document = only(tmp_path / "boats.pdf")
    assert (document.title, document.metadata) == ("Boats", {"pages": 3})
    assert shape(document)[1:] == [
        (1, "Hulls", "A hull of a boat floats on water for a long time.\n\nMore about hulls stands here."),
        (2, "Oars", "An oar moves a boat."),  # by its line, though the outline leads to the top of the page
        (1, "Sails", "A sail moves it too, and faster."),
    ]


def test_a_pdf_without_an_outline_has_sections_by_its_larger_lines_or_by_page(tmp_path):
    (tmp_path / "sizes.pdf").write_bytes(pdf(PAGES))
    document = only(tmp_path / "sizes.pdf")
    assert [(level, title) for level, title, _ in shape(document)] == [(2, "1 Hulls"), (2, "3 Sails")]
    assert document.title == "Boats"
    assert "The boats" not in "".join(section.text for section in document.sections())  # the running head
    (tmp_path / "plain.pdf").write_bytes(pdf([[(10, 700, "One page.")], [(10, 700, "Another one.")]]))
    plain = only(tmp_path / "plain.pdf")
    assert (plain.title, shape(plain)) == ("plain", [(1, "Page 1", "One page."), (1, "Page 2", "Another one.")])


def encrypted(data: bytes) -> bytes:
    """A PDF that says that it has a password which nobody knows."""
    owner = "<" + "41" * 32 + ">"
    return data.replace(
        b"/Root 1 0 R",
        f"/Root 1 0 R /Encrypt << /Filter /Standard /V 1 /R 2 /O {owner} /U {owner} /P -4 >> /ID [<00> <00>]".encode(),
    )


def test_what_cannot_be_read_is_named_and_the_rest_is_read(tmp_path, run, boats):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "good.docx").write_bytes(boats.read_bytes())
    (folder / "cut.docx").write_bytes(boats.read_bytes()[:3000])
    (folder / "locked.docx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000))
    (folder / "text.pptx").write_bytes(b"not a zip")
    (folder / "locked.pdf").write_bytes(encrypted(pdf(PAGES)))
    (folder / "cut.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\n<< /Type")
    (folder / "scan.pdf").write_bytes(pdf([[], []]))
    done = run("ingest", folder, "-w", tmp_path / "ws")
    assert done.code == 0, done.err
    assert "1 documents, " in done.out
    for said in (
        "cut.docx: damaged (File is not a zip file)",
        "locked.docx: encrypted, or from Office 97",
        "text.pptx: damaged (File is not a zip file)",
        "locked.pdf: encrypted",
        "cut.pdf: damaged, or no PDF",
        "scan.pdf: 2 pages without text, as in scans",
    ):
        assert said in done.err, done.err


def test_a_file_that_unpacks_to_too_much_is_refused_before_a_converter_sees_it(boats, monkeypatch):
    monkeypatch.setattr("structformer_office.package.MAX_BYTES", 20_000)
    with pytest.raises(ReadError, match="unpacks to over 0 MB of XML: refused"):
        only(boats)
    assert len(boats.read_bytes()) > 20_000  # its pictures and its packed size do not count


def test_nothing_outside_a_file_is_read(boats, tmp_path):
    (tmp_path / "secret.txt").write_text("a secret")
    entity = f'<!DOCTYPE w:document [<!ENTITY s SYSTEM "{tmp_path / "secret.txt"}">]>'.encode()
    changed = with_part(
        boats,
        "word/document.xml",
        lambda part: part.replace(b"?>", b"?>" + entity, 1).replace(b"FORMULA", b"&s;"),
    )
    with pytest.raises(ReadError, match="has a document type"):
        only(changed)


def test_the_same_file_gives_the_same_document(boats):
    assert only(boats) == only(boats)


@pytest.fixture
def without_a_converter(monkeypatch, tmp_path):
    """Plugins as they load where one of the packages is not installed, here and in worker processes."""
    hide = 'import sys\n\nsys.modules["pypdfium2"] = None\n'
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(hide)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"), prepend=os.pathsep)
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    load_plugins.cache_clear()
    yield
    load_plugins.cache_clear()


def test_without_the_converters_files_are_counted_with_what_reads_them(tmp_path, run, without_a_converter, boats):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Oars\n\nAn oar.\n")
    for name in ("a.pdf", "b.pdf", "c.docx"):
        (tmp_path / "docs" / name).write_bytes(boats.read_bytes())
    done = run("ingest", tmp_path / "docs", "-w", tmp_path / "ws")
    assert (done.code, "1 documents, " in done.out) == (0, True)
    for line in (
        f"2 .pdf not read: {install_command('office')}",
        f"1 .docx not read: {install_command('office')}",
    ):
        assert line in done.err, done.err
    assert needs("a .pdf file", ["pypdfium2"]).endswith(install_command("office"))


@pytest.mark.parametrize("name", ["boats.pdf", "boats.xlsx"])
def test_the_formats_keep_the_rules_for_plugins(name, tmp_path):
    (tmp_path / "boats.pdf").write_bytes(pdf(PAGES))
    book = openpyxl.Workbook()
    book.active.append(["name", "length"])
    book.save(tmp_path / "boats.xlsx")
    [format] = load_plugins().claiming(name)
    assert check_format(format, [Sample(name, (tmp_path / name).read_bytes())]) == []


@pytest.mark.parametrize("container", ["fldSimple", "bdo", "dir", "customXml", "moveTo", "smartTag", "ins"])
def test_text_in_whatever_holds_runs_is_text(boats, container):
    inside = f"<w:{container}><w:r><w:t>seven</w:t></w:r></w:{container}>".encode()
    changed = with_part(boats, "word/document.xml", lambda part: part.replace(b"<w:r><w:t>FORMULA</w:t></w:r>", inside))
    assert shape(only(changed))[-1] == (2, "Oars", "seven")


def test_the_base_of_ruby_is_text(boats):
    runs = [
        f"<w:{name}><w:r><w:t>{word}</w:t></w:r></w:{name}>" for name, word in (("rt", "kana"), ("rubyBase", "han"))
    ]
    ruby = f"<w:r><w:ruby><w:rubyPr/>{''.join(runs)}</w:ruby></w:r>".encode()
    changed = with_part(boats, "word/document.xml", lambda part: part.replace(b"<w:r><w:t>FORMULA</w:t></w:r>", ruby))
    assert shape(only(changed))[-1] == (2, "Oars", "han")
