"""workspace.write_file: spec tauritavern §5.7."""

from typing import Annotated

from pydantic import Field

from tt_kernel.domain.calls import FileChanged
from tt_kernel.domain.canonical import digest_bytes
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ids import Digest
from tt_kernel.domain.text import count_words
from tt_kernel.store.workspace import Guard, GuardFailed, MustMatch, MustNotExist, Place, shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.workspace.desk import Desk, size
from tt_kernel.tools.workspace.read_state import known

MODES = ("replace", "append")


@builtin_tool("workspace.write_file", group="workspace", effect="workspace")
def write_file(
    desk: Desk,
    path: str,
    content: str,
    mode: Annotated[str, Field(json_schema_extra={"enum": list(MODES)})] = "replace",
) -> Outcome:
    """Create a text file, replace one that was read before, or append to one. Missing folders are created.

    Args:
        path: The file, for example output/main.md.
        content: The text, written exactly as given; no line end is added.
        mode: replace writes the whole file; append adds to its end.
    """
    if mode not in MODES:
        raise ToolError("workspace.write_mode_invalid", f"mode is {mode!r}; it must be replace or append.")
    place = desk.workspace.writable_place(path)
    if desk.workspace.kind(place) is None:
        return _create(desk, place, content, mode)
    desk.file(place)
    return _append(desk, place, content) if mode == "append" else _replace(desk, place, content)


def _create(desk: Desk, place: Place, content: str, mode: str) -> Outcome:
    sha256 = _write(desk, place, content, MustNotExist())
    desk.reads.put(place.logical, known(sha256))
    return _outcome(place, mode, content, content, sha256)


def _replace(desk: Desk, place: Place, content: str) -> Outcome:
    state = desk.reads.get(place.logical)
    if state is None:
        advice = desk.pointer("read_file", "Read it with {} first, or use mode append.")
        message = f"{shown(place.logical)} exists and was not read, so it is not replaced.{advice}"
        raise ToolError("workspace.write_requires_read", message)
    sha256 = _write(desk, place, content, MustMatch(state.sha256))
    desk.reads.put(place.logical, known(sha256))
    return _outcome(place, "replace", content, content, sha256)


def _append(desk: Desk, place: Place, content: str) -> Outcome:
    before = desk.workspace.read_text(place)
    old = digest_bytes(before.encode())
    after = before + content
    sha256 = _write(desk, place, after, MustMatch(old))
    state = desk.reads.get(place.logical)
    # Appending teaches nothing about content that was not known before (spec §19).
    if state is not None and state.sha256 == old:
        desk.reads.put(place.logical, state.after_append(sha256, len(before), len(after)))
    return _outcome(place, "append", content, after, sha256)


def _write(desk: Desk, place: Place, text: str, guard: Guard) -> Digest:
    try:
        return desk.workspace.write_text(place, text, guard)
    except GuardFailed as error:
        advice = desk.pointer("read_file", "Read it again with {} before writing it.")
        message = f"{error.message.removesuffix('.')} since this agent last knew it; nothing was written.{advice}"
        raise ToolError("workspace.write_stale_file", message) from error


def _outcome(place: Place, mode: str, written: str, whole: str, sha256: Digest) -> Outcome:
    """`structured` and the effect describe the file as it is now; the text tells what was written."""
    path, chars, words = place.logical, len(whole), count_words(whole)
    verb = "Wrote" if mode == "replace" else "Appended"
    content = f"{verb} {size(len(written), count_words(written))} to {shown(path)}."
    if len(whole) != len(written):
        content += f" It now has {size(chars, words)}."
    return Outcome(
        content,
        structured={"path": path, "mode": mode, "chars": chars, "words": words, "sha256": sha256},
        resource_refs=(f"workspace:{path}",),
        effects=(FileChanged(path=path, chars=chars, words=words, sha256=sha256),),
    )
