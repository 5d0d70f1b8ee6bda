"""A child process that looks into documents and pictures: `python -P preview_child.py KIND JSON < FILE`.

stdin is the file itself, so that it can be read at any place. Decoders of foreign files can run for ever, eat the memory or crash; here they take only this process with them. It imports
nothing of tt_kernel at its start. Answer on stdout: one JSON line (`text` and facts, or `problem`), then, for a picture, its bytes.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

MEMORY_BYTES = 3 << 30
CPU_SECONDS = 60
MAX_CHARS = 200_000
"""Of a preview."""
SOURCE_CHARS = 1200
OUTPUTS = 3
OUTPUT_CHARS = 180
SHEETS = 10
ROWS = 50
COLUMNS = 20
CELL_CHARS = 100
NAMES = 200

Answer = dict[str, Any]


class Problem(Exception):
    """Why there is no preview: a code and a sentence."""


def main() -> None:
    # What libraries print must not get between the answer.
    answer_to = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _limit()
    kind, wishes = sys.argv[1], json.loads(sys.argv[2])
    data = b""
    try:
        answer = KINDS[kind](sys.stdin.buffer, wishes)
        data = answer.pop("data", b"")
    except Problem as problem:
        answer = {"problem": problem.args[0], "message": problem.args[1]}
    except ImportError as error:
        answer = {"problem": "missing", "message": str(error.name)}
    except MemoryError:
        answer = {"problem": "too_large", "message": "it needs too much memory"}
    except Exception as error:  # noqa: BLE001  whatever a decoder of a broken file raises
        answer = {"problem": "damaged", "message": f"{type(error).__name__}: {error}"[:300]}
    answer_to.write(json.dumps(answer).encode() + b"\n" + data)
    answer_to.flush()
    os._exit(0)


def _limit() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415  not on Windows

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def pdf(file: BinaryIO, wishes: Answer) -> Answer:
    from pypdf import PdfReader  # noqa: PLC0415

    reader = PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(""):
        raise Problem("encrypted", "it needs a password")
    total = len(reader.pages)
    first, count = wishes["start"], wishes["limit"]
    texts = [
        f"--- page {number} of {total}\n{reader.pages[number - 1].extract_text().strip() or '(no text on this page)'}"
        for number in range(first, min(first + count, total + 1))
    ]
    return {"text": _cut("\n".join(texts)), "shown": len(texts), "total": total}


def notebook(file: BinaryIO, wishes: Answer) -> Answer:
    import nbformat  # noqa: PLC0415

    book = nbformat.reads(file.read().decode("utf-8-sig"), as_version=4)  # type: ignore[no-untyped-call]
    first, count = wishes["start"], wishes["limit"]
    cells = book.cells[first - 1 : first - 1 + count]
    blocks = ["\n".join(_cell(number, cell)) for number, cell in enumerate(cells, first)]
    return {"text": _cut("\n\n".join(blocks)), "shown": len(blocks), "total": len(book.cells)}


def _cell(number: int, cell: Any) -> Iterator[str]:
    yield f"Cell {number} [{cell.cell_type}]"
    yield _cut(cell.source, SOURCE_CHARS)
    outputs = cell.get("outputs", [])
    for output in outputs[:OUTPUTS]:
        yield f"-> {_cut(_output(output), OUTPUT_CHARS)}"
    if len(outputs) > OUTPUTS:
        yield f"-> {len(outputs) - OUTPUTS} more"


def _output(output: Any) -> str:
    """The text of an output; pictures and other data are named, not shown."""
    if output.output_type == "stream":
        return f"{output.name}: {output.text}"
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    data = output.get("data", {})
    others = [f"[{mime}, {len(str(data[mime]))} characters]" for mime in sorted(data) if mime != "text/plain"]
    return " ".join([*([str(data["text/plain"])] if "text/plain" in data else []), *others])


def word(file: BinaryIO, wishes: Answer) -> Answer:
    from docx import Document  # noqa: PLC0415

    lines = list(_document_lines(Document(file)))
    first, count = wishes["start"], wishes["limit"]
    shown = lines[first - 1 : first - 1 + count]
    return {"text": _cut("\n".join(shown)), "shown": len(shown), "total": len(lines)}


def _document_lines(document: Any) -> Iterator[str]:
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            for row in block.rows:
                yield " | ".join(cell.text.replace("\n", " ") for cell in row.cells)
        else:
            style = block.style.name if block.style is not None else ""
            level = style.removeprefix("Heading ") if style.startswith("Heading ") else ""
            prefix = "#" * int(level) + " " if level.isdigit() else ""
            yield from (prefix + block.text).split("\n")


def spreadsheet(file: BinaryIO, _wishes: Answer) -> Answer:
    from openpyxl import load_workbook  # noqa: PLC0415

    book = load_workbook(file, read_only=True, data_only=True)
    blocks = [_sheet(sheet) for sheet in book.worksheets[:SHEETS]]
    more = len(book.worksheets) - SHEETS
    if more > 0:
        blocks.append(f"[{more} more sheets]")
    return {
        "text": _cut("\n\n".join(blocks)),
        "shown": min(len(book.worksheets), SHEETS),
        "total": len(book.worksheets),
    }


def _sheet(sheet: Any) -> str:
    rows, truncated = [], False
    for number, row in enumerate(sheet.iter_rows(max_col=COLUMNS, values_only=True)):
        if number == ROWS:
            truncated = True
            break
        rows.append(
            " | ".join("" if value is None else _cut(str(value), CELL_CHARS).replace("\n", " ") for value in row)
        )
    note = [f"[only the first {ROWS} rows]"] if truncated else []
    wide = [f"[only the first {COLUMNS} columns]"] if (sheet.max_column or 0) > COLUMNS else []
    return "\n".join([f"Sheet {sheet.title}", *(rows or ["(empty)"]), *note, *wide])


def archive(file: BinaryIO, _wishes: Answer) -> Answer:
    import zipfile  # noqa: PLC0415

    with zipfile.ZipFile(file) as packed:
        entries = packed.infolist()
    lines = [
        f"{json.dumps(e.filename) if not e.filename.isprintable() else e.filename} ({e.file_size} bytes)"
        for e in entries[:NAMES]
    ]
    if len(entries) > NAMES:
        lines.append(f"[{len(entries) - NAMES} more entries]")
    return {"text": _cut("\n".join(lines)), "shown": min(len(entries), NAMES), "total": len(entries)}


def picture(file: BinaryIO, _wishes: Answer) -> Answer:
    from tt_kernel.toolkit.images import ImageProblem, normalise_image  # noqa: PLC0415  light, but Pillow is not

    image = normalise_image(file.read())
    if isinstance(image, ImageProblem):
        raise Problem(image.code, image.message)
    return {"mime": image.mime_type, "width": image.width, "height": image.height, "data": image.data}


def _cut(text: str, limit: int = MAX_CHARS) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... [{len(text) - limit} more characters]"


KINDS: dict[str, Callable[[BinaryIO, Answer], Answer]] = {
    "pdf": pdf,
    "notebook": notebook,
    "word": word,
    "spreadsheet": spreadsheet,
    "archive": archive,
    "picture": picture,
}

if __name__ == "__main__":
    main()
