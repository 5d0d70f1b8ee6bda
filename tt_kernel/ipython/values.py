"""What `@{expression}` puts into a prompt, by the type of the value: DESIGN §8.

str → itself; Run → its text; DataFrame, Series, array → what it is and its first rows; figure, PIL image, image array →
an attached image; path → the file; anything else → bounded text without addresses, the same on every machine.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.runs import Run
from tt_kernel.tools.functions.pictures import given_picture, picture_of
from tt_kernel.tools.functions.plain import text_of
from tt_kernel.tools.functions.tables import Table, table_of

TABLE_CHARS = 4_000
"""Budget of one DataFrame, Series or array."""
TABLE_ROWS = 20
FILE_CHARS = 100_000
VALUE_CHARS = 20_000

_IMAGE_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")


@dataclass(frozen=True)
class Piece:
    """What stands in the prompt for one value: text, or an image to attach (encoded bytes)."""

    text: str = ""
    image: bytes | None = None


def piece_of(value: object, base_dir: Path) -> Piece:
    """Turn a value into a piece of the prompt.

    Args:
        value: What the expression gave.
        base_dir: Where relative paths begin: the notebook's folder.

    Raises:
        UsageProblem: A path that cannot be read, or a file that is neither text nor an image.
    """
    if isinstance(value, str):
        return Piece(str(value))
    if isinstance(value, Run):
        return Piece(value.text)
    if isinstance(value, os.PathLike):
        return _file(base_dir / Path(os.fspath(value)))
    if isinstance(value, bytes) and _is_image(value):
        return Piece(image=given_picture(value))
    picture = picture_of(value)
    if picture is not None:
        return Piece(image=picture)
    table = table_of(value)
    return Piece(_brief(table) if table is not None else _cut(text_of(value), VALUE_CHARS))


def _brief(table: Table) -> str:
    """Title, columns and the first rows, within TABLE_CHARS."""
    columns = [f"Columns: {_cut(table.columns, TABLE_CHARS // 2)}"] if table.columns else []
    head = table.text[: TABLE_CHARS + 1].splitlines()
    room = TABLE_CHARS - sum(map(len, columns))
    shown: list[str] = []
    for line in head[: TABLE_ROWS + 1]:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line)
    rows = "All rows" if table.rows <= TABLE_ROWS and len(shown) > table.rows else "First rows"
    return "\n".join([table.title, *columns, f"{rows} (CSV):", *shown])


def _file(path: Path) -> Piece:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageProblem(message=f"{path} cannot be read: {error.strerror or error}.") from error
    if _is_image(data):
        return Piece(image=data)
    try:
        return Piece(_cut(data.decode("utf-8-sig"), FILE_CHARS))
    except UnicodeDecodeError:
        raise UsageProblem(message=f"{path} is neither UTF-8 text nor an image.") from None


def _is_image(data: bytes) -> bool:
    return data.startswith(_IMAGE_STARTS) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters, cut here)"
