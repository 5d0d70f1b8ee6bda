"""Edit: spec liveagent §5.5. What is replaced must be found once, or as often as was said; everything else stays."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.canonical import JsonObject, digest_bytes
from tt_kernel.domain.errors import ToolError
from tt_kernel.store.preimages import Kept
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.guidance import guided, not_found, stale
from tt_kernel.tools.project.large_files import LARGE_BYTES, Hit, Rewriting, file_chunks, hits, keeping_bom
from tt_kernel.tools.project.matching import Matches, applied, dominant, find, with_line_ends
from tt_kernel.tools.project.near_miss import near_miss
from tt_kernel.tools.project.scanning import Scan
from tt_kernel.tools.project.target import (
    Target,
    checked_scan,
    file_target,
    not_kept,
    remember,
    replace_content,
)
from tt_kernel.tools.project.threads import Stop, in_thread

NO_MATCH = "project.edit_no_match"
AMBIGUOUS = "project.edit_ambiguous"
COUNT_MISMATCH = "project.edit_count_mismatch"
PREVIEW_CHARS = 500
MAX_LINES_NAMED = 10

_EXPLANATIONS = {
    "line-endings": "only line ends differed",
    "trailing-whitespace": "blanks at line ends differed",
    "indentation": "the indentation differed by the same amount on every line; new_string was shifted by it too",
}


@dataclass(frozen=True)
class Wish:
    """What the model asks for."""

    old: str
    new: str
    replace_all: bool
    expected: int | None

    def check_count(self, target: Target, found: int, where: str) -> int:
        """How many places to replace. Raises ToolError `project.edit_ambiguous`, `project.edit_count_mismatch`."""
        if found > 1 and not self.replace_all:
            raise ToolError(
                AMBIGUOUS,
                f"old_string occurs {found} times in {target.name}{where}; nothing was changed.\n"
                "Give more of the text around it, or set replace_all.",
            )
        count = found if self.replace_all else 1
        if self.expected is not None and self.expected != count:
            raise ToolError(
                COUNT_MISMATCH,
                f"expected_replacements is {self.expected}, but {count} would be made in {target.name}{where}; nothing was "
                f"changed.\nSet it to {count}, or give another old_string.",
            )
        return count


@builtin_tool("Edit", group="files", effect="project")
async def edit(
    desk: ProjectDesk,
    call: ToolCall,
    path: Annotated[str, Field(min_length=1)],
    old_string: str,
    new_string: str = "",
    expected_replacements: Annotated[int, Field(ge=1)] | None = None,
    *,
    replace_all: bool = False,
) -> Outcome:
    """Replace a piece of text in a file. It must occur exactly once, unless replace_all is set.

    Where the exact text is not found, differences in line ends, in blanks at line ends and in a uniform shift of the
    indentation are tolerated, and told. What is put in gets the line ends of the file.

    Args:
        path: The file, relative to the project.
        old_string: The text to replace, as it is in the file, without line numbers.
        new_string: What to put there; empty to delete.
        expected_replacements: How many replacements are right; any other number changes nothing.
        replace_all: Replace every occurrence.
    """
    wish = Wish(old_string, new_string, replace_all, expected_replacements)
    return await in_thread(lambda stop: _edit(desk, call, path, wish, stop))


def _edit(desk: ProjectDesk, call: ToolCall, path: str, wish: Wish, stop: Stop) -> Outcome:
    target = file_target(desk, path)
    if not wish.old:
        raise ToolError("project.invalid_arguments", "old_string is empty; it must be text that is in the file.")
    with guided(desk, target.place):
        if not target.exists:
            raise not_found(desk, target.place)
        auto_read = desk.seen.version(target.disk) is None
        before = checked_scan(desk, target, stop)
        if not before.is_utf8:
            raise ToolError("workspace.not_utf8", f"{target.name} is not UTF-8 text, so it is not changed.")
        change = _change_large if before.size > LARGE_BYTES else _change
        return change(desk, call, target, before, wish, stop).outcome(target, wish, before, auto_read=auto_read)


@dataclass(frozen=True)
class Done:
    """What an edit came to. `after` is the digest of the file as it is now."""

    strategy: str
    count: int
    old_preview: str
    new_preview: str
    after: str
    total_lines: int
    kept: Kept | None

    def outcome(self, target: Target, wish: Wish, before: Scan, *, auto_read: bool) -> Outcome:
        changed = self.after != before.version.sha256
        facts: JsonObject = {
            "kind": "edit",
            "path": target.place.logical,
            "replacements": self.count,
            "replaceAll": wish.replace_all,
            "matchStrategy": self.strategy,
            "expectedReplacements": wish.expected,
            "changed": changed,
            "beforeSha256": before.version.sha256,
            "contentHash": self.after,
            "totalLines": self.total_lines,
            "oldPreview": self.old_preview[:PREVIEW_CHARS],
            "newPreview": self.new_preview[:PREVIEW_CHARS],
            **({"autoRead": "full"} if auto_read else {}),
        }
        if not changed:
            same = f"{target.name} was not changed: the text is the same after the replacement.{_line_end_note(wish)}"
            return Outcome(same, structured=facts)
        lines = [f"{target.name}: replacements={self.count}, replaceAll={str(wish.replace_all).lower()}"]
        if self.strategy != "exact":
            lines.append(f"matchStrategy={self.strategy}: {_EXPLANATIONS[self.strategy]}")
        if auto_read:
            lines.append("autoRead=full")
        return Outcome("\n".join(lines) + not_kept(self.kept), structured=facts)


def _line_end_note(wish: Wish) -> str:
    if with_line_ends(wish.old, "\n") != with_line_ends(wish.new, "\n"):
        return ""
    return (
        "\nAn edit keeps the line ends of the file; write the whole file to change them."
        if wish.old != wish.new
        else ""
    )


def _change(desk: ProjectDesk, call: ToolCall, target: Target, before: Scan, wish: Wish, stop: Stop) -> Done:
    """In memory, with all passes."""
    text = edited_from(desk, target, before)
    matches, count = matched(text, target, wish)
    after = applied(text, matches.replacements)
    first = matches.replacements[0]
    data = after.encode("utf-8")
    stop.check()
    kept = replace_content(desk, call, target, data, before.version.sha256) if after != text else None
    if after == text:
        desk.seen.saw(target.disk, before.version)
    total = after.count("\n") + (not after.endswith("\n") and bool(after))
    old = text[first.start : first.end]
    return Done(matches.strategy, count, old, first.text, digest_bytes(data), total, kept)


def edited_from(desk: ProjectDesk, target: Target, before: Scan) -> str:
    """The text of the version that was scanned; `project.stale_file` when it is another one by now."""
    data = desk.workspace.read_bytes(target.place)
    if digest_bytes(data) != before.version.sha256:
        raise stale(desk, target.place)
    return data.decode("utf-8")


def matched(text: str, target: Target, wish: Wish) -> tuple[Matches, int]:
    """The places to replace, and how many. Raises ToolError `project.edit_no_match` and those of `Wish.check_count`."""
    matches = find(text, wish.old, wish.new)
    if matches is None:
        raise ToolError(
            NO_MATCH,
            f"old_string is not in {target.name}; nothing was changed.{near_miss(text, wish.old)}{_no_match_advice()}",
        )
    found = matches.replacements
    where = f" ({_lines(text, [one.start for one in found])})" if len(found) > 1 else ""
    if matches.strategy != "exact":
        where += f", {_EXPLANATIONS[matches.strategy].partition(';')[0]}"
    return matches, wish.check_count(target, len(found), where)


def _lines(text: str, starts: list[int]) -> str:
    numbers, line, counted = [], 1, 0
    for start in starts[:MAX_LINES_NAMED]:
        line += text.count("\n", counted, start)
        counted = start
        numbers.append(str(line))
    return f"lines {', '.join(numbers)}{', ...' if len(starts) > MAX_LINES_NAMED else ''}"


def _no_match_advice() -> str:
    return "\nRead that part of the file again and copy the text from it, without the line numbers."


def _change_large(desk: ProjectDesk, call: ToolCall, target: Target, before: Scan, wish: Wish, stop: Stop) -> Done:
    """Piece by piece, exact matches only."""
    found: list[Hit] = list(hits(file_chunks(desk, target, stop), wish.old.encode()))
    if not found:
        message = (
            f"old_string is not in {target.name}; nothing was changed.\n"
            f"In a file of {before.size:,} bytes it must be exactly the same, line ends included."
        )
        raise ToolError(NO_MATCH, message + _no_match_advice())
    count = wish.check_count(target, len(found), "")
    new = with_line_ends(wish.new, dominant(before.crlf, before.line_ends)) if before.line_ends else wish.new
    places, data = keeping_bom(before, found, new.encode())
    kept = _rewrite(desk, call, target, Rewriting(desk, target, before, places, data, stop))
    total = before.total_lines + (new.count("\n") - wish.old.count("\n")) * len(places)
    return Done("exact", count, wish.old, new, kept.sha256, total, kept.kept)


@dataclass(frozen=True)
class _Rewritten:
    sha256: str
    kept: Kept | None


def _rewrite(desk: ProjectDesk, call: ToolCall, target: Target, pieces: Rewriting) -> _Rewritten:
    kept: list[Kept] = []

    def recorded() -> Iterator[bytes]:
        yield from pieces
        # Now the digest is known, and the file is still the old one.
        if desk.checkpoints:
            kept.append(desk.checkpoints.before_writing(target.real, target.disk, pieces.sha256, call.id, call.name))

    try:
        desk.workspace.rewrite(target.place, recorded())
    except BaseException:
        for one in kept:
            one.withdraw()
        raise
    remember(desk, target, pieces.sha256)
    return _Rewritten(pieces.sha256, kept[0] if kept else None)
