"""What a change would do, for the person who decides about it: a unified diff, made without changing anything."""

import os
from pathlib import Path

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.errors import TTError
from tt_kernel.domain.ids import builtin
from tt_kernel.store.preimages import MAX_RECORDS, MAX_TOTAL_BYTES, folder_size
from tt_kernel.store.workspace import shown
from tt_kernel.tools.project.deleting import Doomed, doomed
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.diffs import unified
from tt_kernel.tools.project.editing import Wish, edited_from, matched
from tt_kernel.tools.project.guidance import not_found
from tt_kernel.tools.project.large_files import LARGE_BYTES
from tt_kernel.tools.project.matching import applied
from tt_kernel.tools.project.scanning import scan
from tt_kernel.tools.project.target import Target, file_target
from tt_kernel.tools.project.threads import Stop, in_thread

MAX_LISTED = 50
NOTHING = "/dev/null"


async def preview(desk: ProjectDesk, call: ToolCall) -> str | None:
    """The diff of a call of Write, Edit or Delete; None for other tools.

    A call that would be refused anyway has the reason in place of a diff.
    """
    look = {builtin("Write"): _write, builtin("Edit"): _edit, builtin("Delete"): _delete}.get(call.tool_id)
    if look is None:
        return None
    try:
        return await in_thread(lambda stop: look(desk, call, stop))
    except TTError as error:
        return f"This call will be refused: {error.message}"


def _write(desk: ProjectDesk, call: ToolCall, stop: Stop) -> str:
    arguments = call.arguments.for_model
    target, content = file_target(desk, arguments["path"]), str(arguments["content"])
    name = shown(target.place.logical)
    if not target.exists:
        return unified(NOTHING, name, "", content) or f"--- {NOTHING}\n+++ {name}\n(empty file)"
    before = _text(desk, target, stop)
    if before is None:
        return f"--- {name}\n+++ {name}\n(a file that is large or no text is replaced by {len(content)} characters)"
    return unified(name, name, before, content) or f"{name} would not change."


def _edit(desk: ProjectDesk, call: ToolCall, stop: Stop) -> str:
    arguments = call.arguments.for_model
    target = file_target(desk, arguments["path"])
    name = shown(target.place.logical)
    wish = Wish(
        str(arguments["old_string"]),
        str(arguments.get("new_string") or ""),
        bool(arguments.get("replace_all") or False),
        arguments.get("expected_replacements"),
    )
    if not target.exists:
        raise not_found(desk, target.place)
    before = _text(desk, target, stop)
    if before is None:
        return f"{unified(name, name, wish.old, wish.new)}\n(somewhere in a file that is large or no text)"
    matches, _ = matched(before, target, wish)
    after = applied(before, matches.replacements)
    return unified(name, name, before, after) or f"{name} would not change."


def _text(desk: ProjectDesk, target: Target, stop: Stop) -> str | None:
    """None for what is no text, or too large to compare."""
    if os.stat(target.disk).st_size > LARGE_BYTES:  # noqa: PTH116  the disk path is text here
        return None
    found = scan(desk, target.place, stop, any_kind=True)
    return edited_from(desk, target, found) if found.is_utf8 else None


def _delete(desk: ProjectDesk, call: ToolCall, stop: Stop) -> str:
    target = doomed(desk, call.arguments.for_model["path"])
    name = shown(target.place.logical)
    if target.kind == "directory":
        return _deleted_folder(desk, target, name, stop)
    if target.kind != "file":
        return f"--- {name}\n+++ {NOTHING}\n(a {target.kind})"
    text = _text(desk, Target(target.place, target.real, target.disk, exists=True), stop)
    if text is None:
        return f"--- {name}\n+++ {NOTHING}\n(a file that is large or no text)"
    return unified(name, NOTHING, text, "") or f"--- {name}\n+++ {NOTHING}\n(empty file)"


def _deleted_folder(desk: ProjectDesk, target: Doomed, name: str, stop: Stop) -> str:
    rows: list[str] = []
    count = 0
    for entry in desk.workspace.walk(target.place, depth=1_000):
        stop.check()
        count += 1
        if len(rows) < MAX_LISTED and entry.kind != "directory":
            rows.append(f"- {shown('/'.join(entry.parts))}")
    size, entries = folder_size(Path(target.disk), MAX_TOTAL_BYTES, MAX_RECORDS)
    kept = size <= MAX_TOTAL_BYTES and entries <= MAX_RECORDS and desk.checkpoints is not None
    return "\n".join(
        [
            f"--- {name}/ ({count} entries)",
            f"+++ {NOTHING}",
            *sorted(rows),
            *([f"[and more: {count} entries in all]"] if count > len(rows) else []),
            "A rewind can bring it back." if kept else "A rewind cannot bring it back: it is too large to be kept.",
        ]
    )
