"""Read and Image: spec liveagent §5.2, §5.3; field reports 49 and 53."""

import base64
import io
import json
import os
import sys
import zipfile
import zlib

import nbformat
import pytest
from PIL import Image as Pictures

from tt_kernel.tools.project import previews, text_view
from tt_kernel.tools.project.previews import temporary_file

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


def lines(count, text="line"):
    return "".join(f"{text} {i}\n" for i in range(1, count + 1))


def picture(kind="PNG", size=(40, 30)):
    out = io.BytesIO()
    Pictures.new("RGB", size, (200, 30, 30)).save(out, kind)
    return out.getvalue()


# ---- text (§5.2)


async def test_a_text(bench):
    bench.put("src/a.py", "x = 1\n\ny = 2\n")
    result = await bench.ok("Read", path="src/a.py")
    assert result.content == "src/a.py lines=1-3 / 3 view=full\n     1\tx = 1\n     2\t\n     3\ty = 2"
    assert result.structured["kind"] == "read_text"
    assert result.structured["totalLines"] == 3
    assert result.structured["isPartialView"] is False


async def test_windows(bench):
    bench.put("a.txt", lines(500))
    result = await bench.ok("Read", path="a.txt")
    assert result.content.startswith("a.txt lines=1-200 / 500 view=partial\n     1\tline 1\n")
    assert result.content.endswith("[300 more lines: go on with start_line=201]")
    result = await bench.ok("Read", path="a.txt", start_line=499, limit=10)
    assert result.content == "a.txt lines=499-500 / 500 view=partial\n   499\tline 499\n   500\tline 500"
    result = await bench.ok("Read", path="a.txt", limit=500)
    assert "view=full" in result.content


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize(("start", "limit", "expected"), [(1, 1, "1"), (2, 2, "2 3"), (4, 9, "4"), (3, 1, "3")])
async def test_windows_do_not_depend_on_how_the_file_is_read(bench, monkeypatch, chunk, start, limit, expected):
    from tt_kernel.tools.project import scanning

    monkeypatch.setattr(scanning, "CHUNK", chunk)
    bench.put("a.txt", "1\r\n2\n3\r\n4")
    result = await bench.ok("Read", path="a.txt", start_line=start, limit=limit)
    rows = [row.partition("\t")[2] for row in result.content.split("\n") if "\t" in row]
    assert " ".join(rows) == expected
    assert "mixed line ends (2 of 3 CRLF), no line end at the end" in result.content


async def test_an_empty_file(bench):
    bench.put("a.txt", "")
    assert (await bench.ok("Read", path="a.txt")).content == "a.txt lines=0-0 / 0 view=full\n(empty file)"


async def test_a_start_after_the_end(bench):
    bench.put("a.txt", lines(3))
    assert "has 3 lines" in await bench.error("Read", "project.invalid_range", path="a.txt", start_line=4)


async def test_what_the_rows_do_not_show(bench):
    bench.put("a.txt", b"\xef\xbb\xbfa\r\nb\r\n")
    content = (await bench.ok("Read", path="a.txt")).content
    assert "(CRLF line ends, starts with a BOM)" in content
    assert "     1\ta\n" in content


async def test_other_encodings_can_be_looked_at(bench):
    bench.put("a.txt", "abc ä\n".encode("latin-1"))
    content = (await bench.ok("Read", path="a.txt")).content
    assert "abc \ufffd" in content
    assert "not UTF-8" in content


async def test_the_cap_is_on_whole_lines(bench):
    bench.put("a.txt", lines(5000, "x" * 90))
    result = await bench.ok("Read", path="a.txt", limit=5000)
    assert len(result.content.encode()) < text_view.MAX_BYTES + 300
    assert "[...truncated...]" in result.content
    assert result.structured["truncated"] is True
    last = result.structured["numLines"]
    assert result.content.endswith(f"go on with start_line={last + 1}]")
    assert f"line={last}" not in result.content
    rest = await bench.ok("Read", path="a.txt", start_line=last + 1, limit=1)
    assert f"{last + 1}\t" in rest.content


async def test_a_line_of_megabytes_is_no_dead_end(bench):
    bench.put("min.js", "x" * 3_000_000 + "\nshort\n")
    result = await bench.ok("Read", path="min.js")
    assert "more characters]" in result.content
    assert len(result.content) < 30_000
    assert "     2\tshort" in (await bench.ok("Read", path="min.js", start_line=2)).content


async def test_unchanged(bench):
    file = bench.put("a.txt", lines(300))
    first = await bench.ok("Read", path="a.txt")
    again = await bench.ok("Read", path="a.txt")
    assert "unchanged" in again.content
    assert "line 1" not in again.content
    assert (first.structured["reusedExisting"], again.structured["reusedExisting"]) == (False, True)
    # Another window, another time, another content: shown.
    assert "line 5" in (await bench.ok("Read", path="a.txt", start_line=5)).content
    os.utime(file, ns=(1, 1))
    assert "line 1" in (await bench.ok("Read", path="a.txt")).content
    bench.put("a.txt", lines(300, "row"))
    assert "row 1" in (await bench.ok("Read", path="a.txt")).content
    await bench.ok("Edit", path="a.txt", old_string="row 1\n", new_string="new 1\n")
    assert "new 1" in (await bench.ok("Read", path="a.txt")).content


async def test_after_compaction_everything_is_shown_again(bench):
    bench.put("a.txt", "one\n")
    await bench.ok("Read", path="a.txt")
    bench.desk.seen.forget_windows()
    assert "one" in (await bench.ok("Read", path="a.txt")).content
    assert "autoRead" not in (await bench.ok("Edit", path="a.txt", old_string="one", new_string="two")).content


# ---- notebooks (field report 53)


def notebook(cells):
    book = nbformat.v4.new_notebook(cells=cells)
    return nbformat.writes(book)


async def test_53_a_notebook_is_cells_and_short_outputs(bench):
    v4 = nbformat.v4
    outputs = [
        v4.new_output("stream", text="printed " * 100),
        v4.new_output("display_data", data={"image/png": "A" * 500_000, "text/plain": "<Figure>"}),
        v4.new_output("error", ename="ValueError", evalue="bad"),
        v4.new_output("stream", text="fourth"),
        v4.new_output("stream", text="fifth"),
    ]
    cells = [
        v4.new_markdown_cell("# Title"),
        v4.new_code_cell("x = 1\n" + "y" * 3000, outputs=outputs),
        v4.new_code_cell("z"),
    ]
    bench.put("nb.ipynb", notebook(cells))
    result = await bench.ok("Read", path="nb.ipynb")
    content = result.content
    assert content.startswith("nb.ipynb cells=1-3 / 3\nCell 1 [markdown]\n# Title\n\nCell 2 [code]\nx = 1\n")
    assert "A" * 50 not in content
    assert "[image/png, 500000 characters]" in content
    assert "-> ValueError: bad\n-> 2 more" in content
    assert "fourth" not in content
    assert len(content) < 3000
    assert result.structured["totalCells"] == 3
    assert "unchanged" in (await bench.ok("Read", path="nb.ipynb")).content


async def test_cell_windows(bench):
    bench.put("nb.ipynb", notebook([nbformat.v4.new_code_cell(f"c{i}") for i in range(1, 31)]))
    content = (await bench.ok("Read", path="nb.ipynb")).content
    assert content.endswith("[go on with cell_start=21]")
    content = (await bench.ok("Read", path="nb.ipynb", cell_start=30, cell_limit=5)).content
    assert content == "nb.ipynb cells=30-30 / 30\nCell 30 [code]\nc30"
    await bench.error("Read", "project.invalid_range", path="nb.ipynb", cell_start=31)


async def test_old_and_broken_notebooks(bench):
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {},
        "worksheets": [{"cells": [{"cell_type": "code", "input": "old()", "language": "python", "outputs": []}]}],
    }
    bench.put("old.ipynb", json.dumps(old))
    assert "old()" in (await bench.ok("Read", path="old.ipynb")).content
    bench.put("broken.ipynb", "{")
    assert "damaged" in await bench.error("Read", "project.preview_failed", path="broken.ipynb")


# ---- documents


def pdf(pages):
    """A PDF with a line of text on each page, written by hand: what makes it is not what reads it."""
    count = len(pages)
    kids = " ".join(f"{3 + 2 * i} 0 R" for i in range(count))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode()]
    font = 3 + 2 * count
    for number, text in enumerate(pages):
        content = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET".encode()
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {4 + 2 * number} 0 R "
            f"/Resources << /Font << /F1 {font} 0 R >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


async def test_pdf(bench):
    bench.put("a.pdf", pdf([f"Page number {i}" for i in range(1, 8)]))
    result = await bench.ok("Read", path="a.pdf")
    assert result.content.startswith("a.pdf pages=1-5 / 7\n--- page 1 of 7\nPage number 1\n")
    assert result.content.endswith("[go on with page_start=6]")
    assert result.structured["kind"] == "read_pdf"
    assert "Page number 7" in (await bench.ok("Read", path="a.pdf", page_start=7, page_limit=1)).content
    assert "unchanged" in (await bench.ok("Read", path="a.pdf")).content
    assert "has 7 pages" in await bench.error("Read", "project.invalid_range", path="a.pdf", page_start=8)


async def test_docx(bench):
    from docx import Document

    document = Document()
    document.add_heading("Report", 1)
    document.add_paragraph("First paragraph.")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "left", "right"
    out = io.BytesIO()
    document.save(out)
    bench.put("a.docx", out.getvalue())
    result = await bench.ok("Read", path="a.docx")
    assert result.content == "a.docx lines=1-3 / 3\n# Report\nFirst paragraph.\nleft | right"
    assert result.structured["kind"] == "read_word"


async def test_xlsx(bench):
    from openpyxl import Workbook

    book = Workbook()
    book.active.title = "Data"
    for number in range(60):
        book.active.append([number, f"name {number}", None])
    out = io.BytesIO()
    book.save(out)
    bench.put("a.xlsx", out.getvalue())
    result = await bench.ok("Read", path="a.xlsx")
    assert "Sheet Data\n0 | name 0" in result.content
    assert "49 | name 49" in result.content
    assert "50 | name 50" not in result.content
    assert "[only the first 50 rows]" in result.content
    assert result.structured["kind"] == "read_spreadsheet"


async def test_zip(bench):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for number in range(205):
            packed.writestr(f"f{number}.txt", "x" * number)
        packed.writestr("evil\nname", "")
    bench.put("a.zip", out.getvalue())
    result = await bench.ok("Read", path="a.zip")
    assert "f7.txt (7 bytes)" in result.content
    assert "[6 more entries]" in result.content
    assert result.structured["kind"] == "read_archive"


@pytest.mark.parametrize("name", ["a.doc", "a.xls", "a.rtf", "a.tar.gz", "a.7z"])
async def test_other_kinds_get_a_notice(bench, name):
    bench.put(name, b"\0\1\2")
    await bench.error("Read", "project.unsupported_target", path=name)


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xlsx", "a.zip"])
async def test_damaged_documents(bench, name):
    bench.put(name, b"this is no document")
    assert "cannot be shown" in await bench.error("Read", "project.preview_failed", path=name)


async def test_a_missing_library_names_the_extra(bench, monkeypatch, tmp_path):
    (tmp_path / "shadow/pypdf").mkdir(parents=True)
    (tmp_path / "shadow/pypdf/__init__.py").write_text("raise ImportError('No module named pypdf', name='pypdf')")
    real = previews._environment
    monkeypatch.setattr(previews, "_environment", lambda: real() | {"PYTHONPATH": str(tmp_path / "shadow")})
    bench.put("a.pdf", pdf(["x"]))
    message = await bench.error("Read", "project.preview_unavailable", path="a.pdf")
    assert "pypdf is not installed" in message
    assert "tt_kernel[documents]" in message


async def test_a_decoder_that_never_ends_is_stopped(bench, monkeypatch, tmp_path, ticker):
    (tmp_path / "shadow/pypdf").mkdir(parents=True)
    (tmp_path / "shadow/pypdf/__init__.py").write_text("while True: pass")
    real = previews._environment
    monkeypatch.setattr(previews, "_environment", lambda: real() | {"PYTHONPATH": str(tmp_path / "shadow")})
    monkeypatch.setattr(previews, "SECONDS", 0.5)
    bench.put("a.pdf", pdf(["x"]))
    async with ticker() as late:
        assert "longer than" in await bench.error("Read", "project.preview_failed", path="a.pdf")
    assert late.worst < 0.1


@posix
async def test_a_decoder_that_crashes_takes_only_itself_with_it(bench, monkeypatch, tmp_path):
    (tmp_path / "shadow/pypdf").mkdir(parents=True)
    (tmp_path / "shadow/pypdf/__init__.py").write_text("import os; os.kill(os.getpid(), 11)")
    real = previews._environment
    monkeypatch.setattr(previews, "_environment", lambda: real() | {"PYTHONPATH": str(tmp_path / "shadow")})
    bench.put("a.pdf", pdf(["x"]))
    assert "crashed" in await bench.error("Read", "project.preview_failed", path="a.pdf")


async def test_a_module_beside_the_documents_is_not_imported(bench, monkeypatch):
    monkeypatch.chdir(bench.folder)
    bench.put("pypdf.py", "raise SystemExit('hostile')")
    bench.put("a.pdf", pdf(["safe"]))
    assert "safe" in (await bench.ok("Read", path="a.pdf")).content


async def test_the_child_inherits_no_credential(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "OPENAI_API_KEY" not in previews._environment()


async def test_too_large(bench, monkeypatch):
    from tt_kernel.tools.project import reading

    monkeypatch.setattr(reading, "MAX_DOCUMENT_BYTES", 100)
    bench.put("a.pdf", pdf(["x"]))
    await bench.error("Read", "project.too_large", path="a.pdf")
    with (bench.folder / "big.png").open("wb") as file:
        file.truncate(26 << 20)
    assert "at most 25 MiB" in await bench.error("Read", "project.too_large", path="big.png")


# ---- pictures (§5.3, field report 49)


async def test_a_picture_is_shown_to_the_model(bench):
    bench.put("a.png", picture())
    result = await bench.ok("Read", path="a.png")
    assert result.structured["kind"] == "read_image"
    assert [(i.mime_type, i.width, i.height) for i in result.images] == [("image/png", 40, 30)]
    assert bench.kept[result.images[0].path] == picture()
    assert "unchanged" in (await bench.ok("Read", path="a.png")).content


@pytest.mark.parametrize("kind", ["JPEG", "GIF", "WEBP", "BMP", "ICO"])
async def test_kinds_of_pictures(bench, kind):
    bench.put(f"a.{kind.lower()}", picture(kind, (32, 32)))
    result = await bench.ok("Image", path=f"a.{kind.lower()}")
    assert result.images[0].mime_type in ("image/jpeg", "image/png", "image/webp")


async def test_49_a_picture_of_extreme_size_is_made_smaller(bench):
    bench.put("wide.png", picture(size=(9000, 10)))
    result = await bench.ok("Read", path="wide.png")
    assert result.images[0].width == 1280
    assert result.images[0].size <= 1_000_000


async def test_a_model_without_eyes(make_bench):
    bench = make_bench(accepts_images=False)
    bench.put("a.png", picture())
    result = await bench.ok("Read", path="a.png")
    assert result.images == ()
    assert "does not take pictures" in result.content
    result = await bench.ok("Image", path="a.png")
    assert result.images == ()
    assert len(result.files) == 1


async def test_what_is_called_a_picture_and_is_none(bench):
    bench.put("a.png", "no picture")
    await bench.error("Read", "image.not_decodable", path="a.png")
    await bench.error("Image", "image.not_decodable", path="a.png")
    header = b"IHDR" + b"\0\1\0\0\0\1\0\0" + picture(size=(1, 1))[24:29]
    bench.put("bomb.png", picture(size=(1, 1))[:12] + header + zlib.crc32(header).to_bytes(4, "big") + picture()[33:])
    await bench.error("Read", "image.too_many_pixels", path="bomb.png")


async def test_several_sources_at_once(bench, tmp_path):
    bench.put("a.png", picture())
    (tmp_path / "outside.png").write_bytes(picture("PNG", (10, 10)))
    encoded = base64.b64encode(picture("JPEG")).decode()
    result = await bench.ok(
        "Image",
        paths=["a.png", str(tmp_path / "outside.png")],
        base64=encoded,
        url="https://example.org/a.png",
        sources=[
            f"data:image/jpeg;base64,{encoded}",
            "<svg xmlns='x'><rect/></svg>",
            "http://example.org/b.png",
            encoded,
            "a.png",
        ],
    )
    facts = result.structured
    assert facts["kind"] == "display_image"
    assert facts["loadMode"] == "mixed"
    kinds = [(image["sourceType"], image["renderMode"]) for image in facts["images"]]
    assert kinds == [
        ("path", "inline"), ("path", "inline"), ("url", "proxy"), ("base64", "inline"), ("base64", "inline"),
        ("base64", "inline"), ("url", "proxy"), ("base64", "inline"), ("path", "inline"),
    ]  # fmt: skip
    assert len(result.images) == 6
    assert [file.mime_type for file in result.files] == ["image/svg+xml"]
    # A picture anywhere on the disk may be shown, under its name alone.
    assert "external/outside.png" in result.content
    assert str(tmp_path) not in result.model_dump_json()
    assert "not fetched" in result.content


async def test_limits_of_pictures(bench):
    bench.put("a.png", picture())
    assert "at most 12" in await bench.error("Image", "project.too_many_images", paths=["a.png"] * 13)
    await bench.error("Image", "project.invalid_arguments")
    await bench.error("Image", "project.invalid_image", base64="???")
    for url in ("https://user:pw@example.org/a.png", "ftp://example.org/a.png", "https://", "javascript:x"):
        await bench.error("Image", "project.invalid_url", url=url)
    await bench.error("Image", "project.not_found", path="b.png")
    await bench.error("Image", "project.not_found", path="/nowhere/b.png")


@posix
async def test_a_picture_may_be_no_device(bench):
    await bench.error("Image", "project.unsupported_target", path="/dev/zero")


def test_a_temporary_file_is_at_its_start():
    with temporary_file(b"abc") as file:
        assert file.read() == b"abc"
