"""Write: spec liveagent §5.4. A whole file, in one step; what it replaces must be what was read, if it was read."""

from typing import Annotated

from pydantic import Field

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.canonical import JsonObject, digest_bytes
from tt_kernel.domain.errors import ToolError
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.diffs import LineDiff
from tt_kernel.tools.project.guidance import guided
from tt_kernel.tools.project.scanning import Scan
from tt_kernel.tools.project.target import Target, checked_scan, file_target, not_kept, replace_content
from tt_kernel.tools.project.threads import Stop, in_thread

PREVIEW_CHARS = 500
MAX_COMPARED_BYTES = 4 * 1024 * 1024
"""Larger files are not compared line by line."""


@builtin_tool("Write", group="files", effect="project")
async def write(
    desk: ProjectDesk,
    call: ToolCall,
    path: Annotated[str, Field(min_length=1)],
    content: str,
) -> Outcome:
    """Write a whole text file: create it, or replace what is in it. Missing folders are created.

    A file that has changed since it was last read is not replaced. To change a part of a file, edit it instead.

    Args:
        path: The file, relative to the project.
        content: The whole text, written exactly as given, in UTF-8; no line end is added.
    """
    return await in_thread(lambda stop: _write(desk, call, path, content, stop))


def _write(desk: ProjectDesk, call: ToolCall, path: str, content: str, stop: Stop) -> Outcome:
    target = file_target(desk, path)
    data = content.encode("utf-8")
    with guided(desk, target.place):
        if not target.exists:
            stop.check()
            kept = replace_content(desk, call, target, data, None)
            facts = _facts(target, content, data, None) | {"added": content.count("\n") + _open(content), "removed": 0}
            return Outcome(f"Created {target.name} ({_size(content, data)}).{not_kept(kept)}", structured=facts)
        return _replace(desk, call, target, content, data, stop)


def _replace(desk: ProjectDesk, call: ToolCall, target: Target, content: str, data: bytes, stop: Stop) -> Outcome:
    auto_read = desk.seen.version(target.disk) is None
    before = _text_before(desk, target, stop)
    facts = _facts(target, content, data, before)
    if before.version.sha256 == digest_bytes(data):
        return Outcome(
            f"{target.name} was not changed: it has exactly this content already.", structured=facts | _changed(0, 0)
        )
    changed = _line_changes(desk, target, before, content)
    stop.check()
    kept = replace_content(desk, call, target, data, before.version.sha256)
    lines = [
        f"Updated {target.name} ({_size(content, data)}; {changed['added']} lines added, {changed['removed']} removed).",
        *(["autoRead=full"] if auto_read else []),
    ]
    return Outcome(
        "\n".join(lines) + not_kept(kept), structured=facts | changed | ({"autoRead": "full"} if auto_read else {})
    )


def _text_before(desk: ProjectDesk, target: Target, stop: Stop) -> Scan:
    before = checked_scan(desk, target, stop)
    if not before.is_utf8:
        raise ToolError(
            "project.not_utf8",
            f"{target.name} is not UTF-8 text, so it is not replaced by a text.\nDelete it first if that is what is wanted.",
        )
    return before


def _line_changes(desk: ProjectDesk, target: Target, before: Scan, content: str) -> JsonObject:
    if max(before.size, len(content)) > MAX_COMPARED_BYTES:
        return _changed(content.count("\n") + _open(content), before.total_lines)
    diff = LineDiff.of(desk.workspace.read_text(target.place), content)
    return _changed(diff.added, diff.removed)


def _changed(added: int, removed: int) -> JsonObject:
    return {"added": added, "removed": removed}


def _facts(target: Target, content: str, data: bytes, before: Scan | None) -> JsonObject:
    sha256 = digest_bytes(data)
    return {
        "kind": "write",
        "mode": "rewrite",
        "path": target.place.logical,
        "existedBefore": before is not None,
        "changed": before is None or before.version.sha256 != sha256,
        "bytesWritten": len(data),
        "beforeSha256": before.version.sha256 if before else None,
        "contentHash": sha256,
        "totalLines": content.count("\n") + _open(content),
        "preview": content[:PREVIEW_CHARS],
    }


def _open(content: str) -> int:
    """1 when the last line has no line end."""
    return int(bool(content) and not content.endswith("\n"))


def _size(content: str, data: bytes) -> str:
    lines = content.count("\n") + _open(content)
    return f"{lines} line{'s' if lines != 1 else ''}, {len(data)} bytes"
