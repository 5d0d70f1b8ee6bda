"""Grep: spec liveagent §5.9. Unlike upstream (§22.10) it heeds the case by default, and the model sees the context lines."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Literal

from pydantic import Field

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import Place, quoted, shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.globbing import late_note, type_filter
from tt_kernel.tools.project.globs import Glob, any_of
from tt_kernel.tools.project.guidance import guided, kind_of
from tt_kernel.tools.project.matches import Match, MatchReader
from tt_kernel.tools.project.pages import MAX_RESULTS, Limit, Offset
from tt_kernel.tools.project.paths import resolve
from tt_kernel.tools.project.ripgrep import Ended, scope_of, search
from tt_kernel.tools.project.scanning import SNIFFED, refuse_binary
from tt_kernel.tools.project.threads import in_thread

DEFAULT_LIMIT = 200
MAX_CONTEXT = 20
MAX_PATTERN_CHARS = 10_000
MAX_TEXT_CHARS = 100_000
"""Of all that is shown."""
MAX_MULTILINE_BYTES = "64M"
"""Files that are searched as a whole must fit into memory."""

Mode = Literal["content", "files", "count"]


@dataclass(frozen=True)
class Question:
    """What is looked for, and in which files."""

    pattern: str
    ignore_case: bool
    multiline: bool
    files: Glob | None

    @property
    def options(self) -> list[str]:
        options = ["--sort=path", *(type_filter(self.files) if self.files else [])]
        if self.ignore_case:
            options.append("--ignore-case")
        if self.multiline:
            options += ["--multiline", "--multiline-dotall", f"--max-filesize={MAX_MULTILINE_BYTES}"]
        return [*options, f"--regexp={self.pattern}"]

    def wants(self, path: str) -> bool:
        return self.files is None or self.files.matches(path)


@builtin_tool("Grep", group="files", effect="project", read_only=True)
async def grep(
    desk: ProjectDesk,
    pattern: str,
    path: str = ".",
    file_pattern: str | None = None,
    *,
    ignore_case: bool = False,
    output_mode: Mode = "content",
    head_limit: Limit = DEFAULT_LIMIT,
    offset: Offset = 0,
    context: Annotated[int, Field(ge=0, le=MAX_CONTEXT)] = 0,
    multiline: bool = False,
) -> Outcome:
    """Search the contents of files with a regular expression (Rust syntax: no look-around, no back-references).

    What .gitignore excludes, and binary files, are left out.

    Args:
        pattern: The regular expression.
        path: A file, or the folder to search in; leave it out for the project.
        file_pattern: Only files that match these patterns, such as `*.py` or `src/**/*.ts|*.md`; separated by `|`.
        ignore_case: Take capital and small letters as the same.
        output_mode: content shows lines, files shows the files with how many lines match, count shows totals only.
        head_limit: How many matches (or files) to show.
        offset: How many to skip.
        context: How many lines to show before and after each match.
        multiline: Let a match go over several lines; then `.` matches line ends too.
    """
    question = Question(_checked(pattern), ignore_case, multiline, any_of(file_pattern) if file_pattern else None)
    where = await in_thread(lambda _: _searchable(desk, path or "."))
    limit = min(head_limit, MAX_RESULTS)
    if output_mode == "content":
        return await _content(desk, where, question, offset, limit, context)
    counts, ended = await _counts(desk, where.place, question)
    return await _counted(desk, where, question, counts, ended, (offset, limit) if output_mode == "files" else None)


def _checked(pattern: str) -> str:
    trimmed = pattern.strip()
    problem = (
        "it is empty"
        if not trimmed
        else "it has a NUL character"
        if "\0" in trimmed
        else f"it has more than {MAX_PATTERN_CHARS} characters"
        if len(trimmed) > MAX_PATTERN_CHARS
        else None
    )
    if problem:
        raise ToolError("project.regex_invalid", f"The pattern is not valid: {problem}.")
    return trimmed


@dataclass(frozen=True)
class Where:
    """A folder or a file to search in; called with a path as ripgrep printed it, it gives the logical one."""

    place: Place
    is_file: bool

    def __call__(self, inner: str) -> str:
        if self.is_file:
            return self.place.logical
        return Place(self.place.root, (*self.place.parts, *inner.split("/"))).logical


def _searchable(desk: ProjectDesk, path: str) -> Where:
    """A folder, or a regular text file: ripgrep would go through all of a device or a binary file that it is told to search."""
    place = resolve(desk, path)
    kind = kind_of(desk, place)
    if kind != "directory":
        with guided(desk, place), desk.workspace.opened(place) as (descriptor, _):
            refuse_binary(place, os.read(descriptor, SNIFFED))
    return Where(place, is_file=kind != "directory")


def _refuse(ended: Ended) -> None:
    if ended.code > 1 and ended.error:
        hint = (
            "\nSet multiline to let a match go over several lines."
            if "literal" in ended.error and "\\n" in ended.error
            else ""
        )
        raise ToolError("project.regex_invalid", f"The pattern is not valid:\n{ended.error}{hint}")


# Lines


async def _content(
    desk: ProjectDesk, where: Where, question: Question, offset: int, limit: int, context: int
) -> Outcome:
    async with scope_of(desk, where.place) as scope:
        reader = MatchReader(scope.relative, question.wants, offset, limit, context)
        options = ["--json", f"--context={context}", *question.options]
        ended = await search(scope, options, reader.feed)
    _refuse(ended)
    text, left = _bounded(_blocks(reader.matches, where))
    facts = _facts(question, where.place, "content", offset) | {
        "matchCount": len(reader.matches),
        "fileCount": len({match.path for match in reader.matches}),
        "hasMore": reader.more or left > 0,
        "matches": [_match_facts(match, where) for match in reader.matches],
    }
    shown_count = len(reader.matches) - left
    notes = late_note(ended, reader.seen)
    if reader.more or left:
        notes.append(f"[There are more matches: go on with offset={offset + shown_count}, or narrow the search]")
    if reader.too_long:
        notes.append(f"[{reader.too_long} matches in lines of several megabytes are not shown]")
    if not reader.matches:
        text = await _nothing(desk, where.place, question, reader.seen)
    return Outcome("\n".join([text, *notes]), structured=facts)


def _blocks(matches: list[Match], paths: Callable[[str], str]) -> Iterator[tuple[int, str]]:
    """A block per file: how many matches it has, and its text."""
    for path, group in groupby(matches, key=lambda match: match.path):
        found = list(group)
        yield len(found), "\n".join([shown(paths(path)), *_rows(found)])


def _rows(matches: list[Match]) -> Iterator[str]:
    """Lines in order, each once; a hit is marked with `:`, context with `-`, a gap between contexts with `--`."""
    lines: dict[int, tuple[str, bool]] = {}
    for match in matches:
        for number, text, hit in match.lines:
            if hit or number not in lines:
                lines[number] = (text, hit)
    with_context = any(not hit for _, hit in lines.values())
    before: int | None = None
    for number in sorted(lines):
        if with_context and before is not None and number > before + 1:
            yield "  --"
        text, hit = lines[number]
        yield f"  {number}{':' if hit else '-'} {_printable(text)}"
        before = number


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")


def _printable(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)


def _bounded(blocks: Iterator[tuple[int, str]]) -> tuple[str, int]:
    """As many blocks as fit, and how many matches do not."""
    texts: list[str] = []
    room, left = MAX_TEXT_CHARS, 0
    for count, text in blocks:
        if left or (len(text) > room and texts):
            left += count
            continue
        texts.append(text[:room])
        room -= len(text)
    return "\n".join(texts), left


def _match_facts(match: Match, paths: Callable[[str], str]) -> JsonObject:
    around = [text for number, text, hit in match.lines if not hit and number < match.line]
    after = [text for number, text, hit in match.lines if not hit and number > match.line]
    return {"path": paths(match.path), "line": match.line, "text": match.text, "before": around, "after": after}


# Counts


_COUNT = re.compile(rb"([^\0]+)\0(\d+)\r?\n")


async def _counts(desk: ProjectDesk, place: Place, question: Question) -> tuple[list[tuple[str, int]], Ended]:
    """(path from the base, matching lines) of each file with matches, by path."""
    pieces: list[bytes] = []

    def take(piece: bytes) -> bool:
        pieces.append(piece)
        return True

    async with scope_of(desk, place) as scope:
        ended = await search(scope, ["--count", "--with-filename", "--null", *question.options], take)
    _refuse(ended)

    def counted() -> list[tuple[str, int]]:
        pairs = (
            (scope.relative(raw.decode("utf-8", "replace")), int(count))
            for raw, count in _COUNT.findall(b"".join(pieces))
        )
        return [(path, count) for path, count in pairs if question.wants(path)]

    return await in_thread(lambda _: counted()), ended


async def _counted(
    desk: ProjectDesk,
    where: Where,
    question: Question,
    counts: list[tuple[str, int]],
    ended: Ended,
    window: tuple[int, int] | None,
) -> Outcome:
    """The outcome of the modes `files` (with a window of them) and `count`."""
    notes = late_note(ended, len(counts))
    total = sum(count for _, count in counts)
    first, limit = window or (0, 0)
    page = [(where(path), count) for path, count in counts[first : first + limit]]
    rest = len(counts) - first - len(page) if window else 0
    lines = [f"{shown(path)} ({count})" for path, count in page]
    if not counts:
        lines = [await _nothing(desk, where.place, question, 0)]
    elif window is None:
        lines = [
            f"{total} matching line{'s' if total != 1 else ''} in {len(counts)} file{'s' if len(counts) != 1 else ''}."
        ]
    more = [f"[{rest} more files of {len(counts)}: go on with offset={first + len(page)}]"] if rest > 0 else []
    facts = _facts(question, where.place, "files" if window else "count", first) | {
        "matchCount": total,
        "fileCount": len(counts),
        "hasMore": rest > 0,
        "files": [{"path": path, "count": count} for path, count in page],
    }
    return Outcome("\n".join([*lines, *more, *notes]), structured=facts)


async def _nothing(desk: ProjectDesk, place: Place, question: Question, passed: int) -> str:
    """That there is nothing; and when the case alone is the reason, that."""
    if passed:
        return f"There are only {passed} matches."
    text = f"No matches for {quoted(question.pattern)} in {shown(place.logical)}."
    if question.ignore_case or question.pattern.lower() == question.pattern.upper():
        return text
    other, _ = await _counts(desk, place, Question(question.pattern, True, question.multiline, question.files))
    files = f"{len(other)} file{'s' if len(other) != 1 else ''}"
    return f"{text}\nWith ignore_case there are matches in {files}." if other else text


def _facts(question: Question, place: Place, mode: Mode, offset: int) -> JsonObject:
    return {"kind": "grep", "pattern": question.pattern, "path": place.logical, "outputMode": mode, "offset": offset}
