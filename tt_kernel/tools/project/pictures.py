"""Image: spec liveagent §5.3. Pictures for the person who reads along, and for the model if it takes pictures."""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes, urlsplit

from tt_kernel.domain.calls import StoredFile, ToolCall
from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import quoted, shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.guidance import guided, kind_of
from tt_kernel.tools.project.paths import resolve
from tt_kernel.tools.project.previews import MAX_IMAGE_BYTES, Preview, preview, temporary_file
from tt_kernel.tools.project.threads import in_thread

IMAGE_TYPES = ("png", "jpg", "jpeg", "gif", "webp", "avif", "bmp", "ico", "tif", "tiff")
"""Ends of names. SVG is text: a model reads its source."""
SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}
MAX_IMAGES = 12
MAX_URL_CHARS = 2000
_BASE64_STARTS = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "Qk", "PHN2Zy", "PD94bWw")
_SVG = re.compile(rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<svg[\s>]", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """One picture that was asked for: `kind` is path, url or base64 (its data), `text` what was written."""

    kind: str
    text: str


@dataclass(frozen=True)
class Drawn:
    """What became of a source: a line for the model, facts, and the kept picture."""

    line: str
    facts: JsonObject
    picture: StoredFile | None = None


@builtin_tool("Image", group="files", effect="project", read_only=True)
async def image(
    desk: ProjectDesk,
    call: ToolCall,
    path: str | None = None,
    paths: Sequence[str] = (),
    url: str | None = None,
    urls: Sequence[str] = (),
    base64: str | None = None,
    base64s: Sequence[str] = (),
    *,
    mimeType: str | None = None,  # noqa: N803
    source: str | None = None,
    sources: Sequence[str] = (),
) -> Outcome:
    """Show pictures to the user, at most 12 at once. Pictures of files and of data are seen by the model as well.

    Do not use Markdown or HTML to show a file: only this tool does.

    Args:
        path: A picture file.
        paths: Several.
        url: Address of a picture; it is shown as a link and not fetched.
        urls: Several.
        base64: The picture itself, in base64.
        base64s: Several.
        mimeType: Type of the base64 data; it is found out from the data anyway.
        source: A path, an address, a data: URL, base64 data or SVG text.
        sources: Several.
    """
    asked = [
        *(Source("path", text) for text in [*_one(path), *paths]),
        *(Source("url", text) for text in [*_one(url), *urls]),
        *(Source("base64", text) for text in [*_one(base64), *base64s]),
        *(Source(_kind_of(text), text) for text in [*_one(source), *sources]),
    ]
    if not asked:
        raise ToolError(
            "project.invalid_arguments", "No picture is named. Give a path, a url, base64 data or a source."
        )
    if len(asked) > MAX_IMAGES:
        raise ToolError(
            "project.too_many_images", f"{len(asked)} pictures are named; at most {MAX_IMAGES} are shown at once."
        )
    drawn = [await _draw(desk, call, number, one) for number, one in enumerate(asked)]
    pictures = tuple(one.picture for one in drawn if one.picture is not None)
    modes = {one.facts["renderMode"] for one in drawn}
    facts: JsonObject = {
        "kind": "display_image",
        "images": [one.facts for one in drawn],
        "loadMode": modes.pop() if len(modes) == 1 else "mixed",
        **({"mimeType": mimeType} if mimeType else {}),
    }
    visible = tuple(p for p in pictures if p.mime_type in SUFFIXES) if desk.accepts_images else ()
    return Outcome(
        "\n".join(one.line for one in drawn),
        structured=facts,
        images=visible,
        files=tuple(p for p in pictures if p not in visible),
    )


def _one(text: str | None) -> list[str]:
    return [] if text is None else [text]


def _kind_of(text: str) -> str:
    start = text.lstrip()
    if start.startswith("data:") or _SVG.match(start[:4096].encode("utf-8", "replace")):
        return "base64"
    if start.startswith(("http://", "https://")):
        return "url"
    long_enough = len(text) > 64 and "." not in text[:64]  # noqa: PLR2004  shorter ones are paths
    return "base64" if long_enough and start.startswith(_BASE64_STARTS) else "path"


async def _draw(desk: ProjectDesk, call: ToolCall, number: int, source: Source) -> Drawn:
    if source.kind == "url":
        return _link(source.text)
    if source.kind == "path":
        data, name = await in_thread(lambda _: _file(desk, source.text))
    else:
        data, name = _decoded(source.text), f"picture {number + 1}"
    facts: JsonObject = {"sourceType": source.kind, "renderMode": "inline", "sizeBytes": len(data)}
    if source.kind == "path":
        facts["path"] = name
    if _SVG.match(data[:4096]):
        kept = await in_thread(lambda _: desk.save_file(call, number, data, "image/svg+xml", "svg"))
        return Drawn(
            f"{name}: SVG, kept for the user; its text can be read.", facts | {"mimeType": "image/svg+xml"}, kept
        )
    with await in_thread(lambda _: temporary_file(data)) as file:
        seen = await preview("picture", file, name)
    picture = await in_thread(lambda _: kept_picture(desk, call, number, seen))
    line = f"{name}: shown as {picture.mime_type}, {picture.width} x {picture.height} pixels."
    return Drawn(
        line, facts | {"mimeType": picture.mime_type, "width": picture.width, "height": picture.height}, picture
    )


def kept_picture(desk: ProjectDesk, call: ToolCall, number: int, seen: Preview) -> StoredFile:
    """Keep a picture that the child made as a file of the result."""
    facts = seen.facts
    return desk.save_file(
        call, number, seen.data, facts["mime"], SUFFIXES[facts["mime"]], width=facts["width"], height=facts["height"]
    )


def _file(desk: ProjectDesk, path: str) -> tuple[bytes, str]:
    place = resolve(desk, path, "image")
    kind_of(desk, place)
    with guided(desk, place):
        with desk.workspace.opened(place) as (_, size):
            if size > MAX_IMAGE_BYTES:
                raise _too_large(quoted(place.logical), size)
        return desk.workspace.read_bytes(place), shown(place.logical)


def _link(url: str) -> Drawn:
    """An address is passed on to the person; fetching it would tell its server what the model writes into it."""
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.username is not None or len(url) > MAX_URL_CHARS:
        raise ToolError(
            "project.invalid_url", f"{quoted(url)} is no http or https address without user name, so it is not shown."
        )
    return Drawn(
        f"{shown(url.strip())}: shown to the user as a link; it was not fetched.",
        {"sourceType": "url", "renderMode": "proxy", "sourceUrl": url.strip()},
    )


def _decoded(text: str) -> bytes:
    start = text.lstrip()
    if start.startswith("data:"):
        head, comma, body = start.partition(",")
        if not comma:
            raise ToolError("project.invalid_image", "A data: URL has no data.")
        if not head.lower().endswith(";base64"):
            return unquote_to_bytes(body)
        text = body
    elif start.startswith("<"):
        return text.encode()
    if len(text) > MAX_IMAGE_BYTES * 4 // 3 + 4:
        raise _too_large("The base64 data", len(text) * 3 // 4)
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ToolError("project.invalid_image", f"{quoted(text[:40])} is no base64 data.") from None


def _too_large(name: str, size: int) -> ToolError:
    return ToolError(
        "project.too_large", f"{name} has {size:,} bytes; pictures have at most {MAX_IMAGE_BYTES >> 20} MiB."
    )
