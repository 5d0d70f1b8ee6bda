"""workspace.apply_patch: spec tauritavern §5.8. Exact replacement: nothing outside the match changes."""

from collections.abc import Sequence

from tt_kernel.domain.calls import FileChanged
from tt_kernel.domain.canonical import digest_bytes
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.text import count_words
from tt_kernel.store.workspace import GuardFailed, MustMatch, Place, shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.workspace.desk import Desk, size
from tt_kernel.tools.workspace.near_miss import near_miss
from tt_kernel.tools.workspace.read_state import ReadState

MAX_LINES_NAMED = 10


@builtin_tool("workspace.apply_patch", group="workspace", effect="workspace")
def apply_patch(desk: Desk, path: str, old_string: str, new_string: str, *, replace_all: bool = False) -> Outcome:
    """Replace a piece of text in a file that was read before. The piece must occur exactly once, unless replace_all is set.

    Args:
        path: The file.
        old_string: The text to replace, exactly as it is in the file, without line numbers.
        new_string: What to put there; empty to delete.
        replace_all: Replace every occurrence; the whole file must have been read.
    """
    if not old_string:
        raise ToolError("workspace.patch_empty_old_string", "old_string is empty; it must be text that is in the file.")
    if old_string == new_string:
        raise ToolError(
            "workspace.patch_no_change", "old_string and new_string are the same; there is nothing to change."
        )
    place = desk.file(desk.workspace.writable_place(path))
    state = _state(desk, place)
    text = desk.workspace.read_text(place)
    if digest_bytes(text.encode()) != state.sha256:
        raise _stale(desk, place)
    hits = find_all(text, old_string)
    try:
        _check(desk, place, state, text, old_string, hits, replace_all=replace_all)
    except ToolError:
        desk.reads.put(place.logical, state.after_failed_patch())
        raise
    return _apply(desk, place, state, text, old_string, new_string, hits)


def find_all(text: str, part: str) -> list[int]:
    """Where `part` occurs, without overlaps, in one pass."""
    hits = []
    at = text.find(part)
    while at >= 0:
        hits.append(at)
        at = text.find(part, at + len(part))
    return hits


def replaced(text: str, hits: Sequence[int], length: int, new: str) -> str:
    """`text` with `new` in place of `length` characters at each hit; every other character stays."""
    pieces = []
    end = 0
    for at in hits:
        pieces.append(text[end:at])
        end = at + length
    return new.join([*pieces, text[end:]])


def _state(desk: Desk, place: Place) -> ReadState:
    state = desk.reads.get(place.logical)
    if state is None:
        advice = desk.pointer("read_file", "Read it with {} first.")
        message = f"{shown(place.logical)} was not read, so it is not changed.{advice}"
        raise ToolError("workspace.patch_requires_read", message)
    if state.patch_requires_full_read:
        raise _needs_full_read(desk, place, "an earlier patch failed after a partial read")
    return state


def _check(
    desk: Desk, place: Place, state: ReadState, text: str, old: str, hits: list[int], *, replace_all: bool
) -> None:
    name = shown(place.logical)
    if replace_all and not state.full_read:
        raise _needs_full_read(desk, place, "replace_all changes parts that were not seen")
    if not any(state.covers(at, at + len(old)) for at in hits) and not state.full_read:
        raise _needs_full_read(desk, place, "old_string is not in the parts that were seen")
    if not hits:
        message = f"old_string is not in {name}; nothing was changed.{near_miss(text, old)}"
        raise ToolError("workspace.patch_old_string_not_found", message)
    if len(hits) > 1 and not replace_all:
        message = (
            f"old_string occurs {len(hits)} times in {name} ({_lines(text, hits)}); nothing was changed.\n"
            "Give more of the text around it, or set replace_all."
        )
        raise ToolError("workspace.patch_old_string_not_unique", message)


def _apply(desk: Desk, place: Place, state: ReadState, text: str, old: str, new: str, hits: list[int]) -> Outcome:
    after = replaced(text, hits, len(old), new)
    try:
        sha256 = desk.workspace.write_text(place, after, MustMatch(state.sha256))
    except GuardFailed as error:
        raise _stale(desk, place) from error
    desk.reads.put(place.logical, state.after_patch(sha256, hits[0], len(old), len(new)))
    path, chars, words = place.logical, len(after), count_words(after)
    times = "1 replacement" if len(hits) == 1 else f"{len(hits)} replacements"
    return Outcome(
        f"Made {times} in {shown(path)}. It now has {size(chars, words)}.{_line_ends_note(text, new)}",
        structured={
            "path": path,
            "chars": chars,
            "words": words,
            "oldSha256": state.sha256,
            "sha256": sha256,
            "replacements": len(hits),
        },
        resource_refs=(f"workspace:{path}",),
        effects=(FileChanged(path=path, chars=chars, words=words, sha256=sha256, patch=True),),
    )


def _needs_full_read(desk: Desk, place: Place, reason: str) -> ToolError:
    advice = desk.pointer("read_file", "Read all of it with {} first.")
    message = f"{shown(place.logical)} was read only in part, and {reason}; nothing was changed.{advice}"
    return ToolError("workspace.patch_requires_full_read", message)


def _stale(desk: Desk, place: Place) -> ToolError:
    advice = desk.pointer("read_file", "Read it again with {} before changing it.")
    message = f"{shown(place.logical)} has changed since this agent last knew it; nothing was changed.{advice}"
    return ToolError("workspace.patch_stale_file", message)


def _lines(text: str, hits: list[int]) -> str:
    numbers = []
    line, counted = 1, 0
    for at in hits[:MAX_LINES_NAMED]:
        line += text.count("\n", counted, at)
        counted = at
        numbers.append(str(line))
    more = "" if len(hits) <= MAX_LINES_NAMED else ", ..."
    return f"lines {', '.join(numbers)}{more}"


def _line_ends_note(before: str, new: str) -> str:
    if "\r\n" in before and new.count("\n") != new.count("\r\n"):
        return "\nNote: new_string has LF line ends, the rest of the file has CRLF."
    return ""
