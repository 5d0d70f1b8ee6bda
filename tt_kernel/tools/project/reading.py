"""Read: spec liveagent §5.2. Text with line numbers; documents and pictures as far as they can be shown."""

import os
from dataclasses import dataclass
from typing import IO, Annotated

from pydantic import Field

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import Place, quoted, shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.guidance import guided, kind_of
from tt_kernel.tools.project.paths import resolve
from tt_kernel.tools.project.pictures import IMAGE_TYPES, kept_picture
from tt_kernel.tools.project.previews import MAX_DOCUMENT_BYTES, MAX_IMAGE_BYTES, Preview, preview
from tt_kernel.tools.project.scanning import Scan, scan
from tt_kernel.tools.project.seen import Window
from tt_kernel.tools.project.text_view import text_view
from tt_kernel.tools.project.threads import Stop, in_thread

DEFAULT_LINES = 200
MAX_LINES = 5000
"""More is cut to this, and told."""

KINDS: dict[str, str] = {
    **dict.fromkeys(IMAGE_TYPES, "image"),
    "pdf": "pdf",
    "ipynb": "notebook",
    "docx": "word",
    **dict.fromkeys(("xlsx", "xlsm", "xltx", "xltm"), "spreadsheet"),
    **dict.fromkeys(("zip", "jar", "whl"), "archive"),
    **dict.fromkeys(("doc", "xls", "rtf", "ppt", "pptx", "odt", "ods"), "old document"),
    **dict.fromkeys(("tar", "gz", "tgz", "bz2", "xz", "7z", "rar", "zst"), "packed file"),
}
"""By the end of the name; everything else is text, or is found not to be."""
_STUBBED = frozenset({"text", "image", "pdf", "notebook"})
_UNITS = {"pdf": "pages", "notebook": "cells", "word": "lines", "spreadsheet": "sheets", "archive": "entries"}
_DETAILS = {
    "pdf": ("page_start", "pageStart", "numPages", "totalPages"),
    "notebook": ("cell_start", "cellStart", "numCells", "totalCells"),
}


@dataclass(frozen=True)
class Asked:
    """Which part of which file. `start` counts from 1."""

    place: Place
    disk: str
    kind: str
    start: int
    limit: int

    @property
    def window(self) -> Window:
        return (self.kind, self.start, self.limit)

    @property
    def name(self) -> str:
        return shown(self.place.logical)


@builtin_tool("Read", group="files", effect="project", read_only=True)
async def read(
    desk: ProjectDesk,
    call: ToolCall,
    path: Annotated[str, Field(min_length=1)],
    start_line: Annotated[int, Field(ge=1)] = 1,
    limit: Annotated[int, Field(ge=1)] = DEFAULT_LINES,
    *,
    page_start: Annotated[int, Field(ge=1)] = 1,
    page_limit: Annotated[int, Field(ge=1)] = 5,
    cell_start: Annotated[int, Field(ge=1)] = 1,
    cell_limit: Annotated[int, Field(ge=1)] = 20,
) -> Outcome:
    """Read a file: text with line numbers, notebooks, PDF, docx and xlsx files as text, names in a zip file, pictures.

    Args:
        path: The file, relative to the project.
        start_line: First line to show, of a text or docx file.
        limit: How many lines to show.
        page_start: First page to show, of a PDF file.
        page_limit: How many pages to show.
        cell_start: First cell to show, of a notebook.
        cell_limit: How many cells to show.
    """
    parts = {"pdf": (page_start, page_limit), "notebook": (cell_start, cell_limit)}
    asked = await in_thread(lambda _: _asked(desk, path, parts, (start_line, min(limit, MAX_LINES))))
    match asked.kind:
        case "text":
            return await in_thread(lambda stop: _text(desk, asked, stop))
        case "image":
            return await _image(desk, call, asked)
        case "old document" | "packed file":
            raise ToolError(
                "project.unsupported_target",
                f"{quoted(asked.place.logical)} is a kind of {asked.kind} that this tool does not look into.\n"
                "Convert or unpack it first.",
            )
        case _:
            return await _document(desk, asked)


def _asked(desk: ProjectDesk, path: str, parts: dict[str, tuple[int, int]], lines: tuple[int, int]) -> Asked:
    place = resolve(desk, path)
    found = kind_of(desk, place)
    with guided(desk, place):
        if found == "directory":
            raise ToolError("workspace.path_is_directory", f"{quoted(place.logical)} is a folder, not a file.")
        if found == "other":
            raise ToolError(
                "workspace.not_regular_file",
                f"{quoted(place.logical)} is a pipe, socket or device, not a regular file.",
            )
        disk = str(desk.workspace.disk_path(place))
    kind = KINDS.get(place.parts[-1].rpartition(".")[2].lower(), "text")
    return Asked(place, disk, kind, *parts.get(kind, lines))


# Text


def _text(desk: ProjectDesk, asked: Asked, stop: Stop) -> Outcome:
    with guided(desk, asked.place):
        found = scan(desk, asked.place, stop, first=asked.start, lines=asked.limit)
    if asked.start > max(found.total_lines, 1):
        raise ToolError(
            "project.invalid_range", f"{asked.name} has {found.total_lines} lines; start_line is {asked.start}."
        )
    view = text_view(found, asked.start, asked.limit)
    facts = _facts(asked, "read_text", found) | {
        "startLine": asked.start,
        "numLines": len(view.rows),
        "totalLines": found.total_lines,
        "truncated": view.cut,
        "isPartialView": not view.full,
    }
    if desk.seen.saw(asked.disk, found.version, asked.window):
        return _unchanged(asked, facts)
    return Outcome(view.text(asked.name, found), structured=facts)


def _facts(asked: Asked, kind: str, found: Scan) -> JsonObject:
    return {
        "kind": kind,
        "path": asked.place.logical,
        "contentHash": found.version.sha256,
        "sizeBytes": found.size,
        "reusedExisting": False,
    }


def _unchanged(asked: Asked, facts: JsonObject) -> Outcome:
    """Instead of the same text once more (spec liveagent §5.2)."""
    text = f"{asked.name} is unchanged since this part of it was last read: what was shown then still holds."
    return Outcome(text, structured=facts | {"reusedExisting": True})


# Everything else


async def _looked_at(desk: ProjectDesk, asked: Asked, max_bytes: int) -> tuple[Scan, bool]:
    """Facts of a file that is no text, and whether the same part of it was shown before."""

    def look(stop: Stop) -> tuple[Scan, bool]:
        with guided(desk, asked.place):
            found = scan(desk, asked.place, stop, any_kind=True)
        if found.size > max_bytes:
            message = (
                f"{asked.name} has {found.size:,} bytes; this tool looks into files of at most {max_bytes >> 20} MiB."
            )
            raise ToolError("project.too_large", message)
        window = asked.window if asked.kind in _STUBBED else None
        return found, desk.seen.saw(asked.disk, found.version, window)

    return await in_thread(look)


def _opened(desk: ProjectDesk, place: Place) -> IO[bytes]:
    with guided(desk, place), desk.workspace.opened(place) as (descriptor, _):
        return os.fdopen(os.dup(descriptor), "rb")


async def look_into(desk: ProjectDesk, asked: Asked, kind: str) -> Preview:
    file = await in_thread(lambda _: _opened(desk, asked.place))
    with file:
        return await preview(kind, file, asked.name, start=asked.start, limit=asked.limit)


async def _image(desk: ProjectDesk, call: ToolCall, asked: Asked) -> Outcome:
    found, again = await _looked_at(desk, asked, MAX_IMAGE_BYTES)
    facts = _facts(asked, "read_image", found)
    if again:
        return _unchanged(asked, facts)
    try:
        seen = await look_into(desk, asked, "picture")
    except ToolError:
        desk.seen.forget(asked.disk)
        raise
    picture = kept_picture(desk, call, 0, seen)
    facts |= {"mimeType": picture.mime_type, "width": picture.width, "height": picture.height}
    caption = f"{asked.name}: picture, shown as {picture.mime_type}, {picture.width} x {picture.height} pixels."
    if not desk.accepts_images:
        return Outcome(f"{caption}\nThis model does not take pictures.", structured=facts, files=(picture,))
    return Outcome(caption, structured=facts, images=(picture,))


async def _document(desk: ProjectDesk, asked: Asked) -> Outcome:
    found, again = await _looked_at(desk, asked, MAX_DOCUMENT_BYTES)
    facts = _facts(asked, f"read_{asked.kind}", found)
    if again:
        return _unchanged(asked, facts)
    try:
        seen = await look_into(desk, asked, asked.kind)
    except ToolError:
        desk.seen.forget(asked.disk)
        raise
    count, total = seen.facts["shown"], seen.facts["total"]
    parameter, start, number, whole = _DETAILS.get(asked.kind, ("start_line", "start", "shown", "total"))
    facts |= {start: asked.start, number: count, whole: total}
    unit = _UNITS[asked.kind]
    if asked.start > max(total, 1):
        desk.seen.forget(asked.disk)
        raise ToolError("project.invalid_range", f"{asked.name} has {total} {unit}; {parameter} is {asked.start}.")
    last = asked.start + count - 1
    header = f"{asked.name} {unit}={asked.start if count else 0}-{last} / {total}"
    more = (
        [f"[go on with {parameter}={last + 1}]"] if last < total and asked.kind in ("pdf", "notebook", "word") else []
    )
    return Outcome("\n".join([header, seen.facts["text"], *more]), structured=facts)
