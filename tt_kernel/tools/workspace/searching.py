"""workspace.search_files: spec tauritavern §5.5.

The best `limit * (2 * context + 1)` lines are enough: a line that falls into a window already taken adds nothing.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import Entry, Place, shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.scoring import Query
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.workspace.desk import Desk
from tt_kernel.tools.workspace.line_search import Hit, Search

DEFAULT_LIMIT = 20
MAX_LIMIT = 50
DEFAULT_CONTEXT = 2
MAX_CONTEXT = 5
MAX_DEPTH = 8
MAX_FILES = 1000
MAX_FILE_BYTES = 32 * 1024 * 1024
"""Larger files are named as not searched."""
MAX_QUERY_SHOWN = 200
FILES_PER_BREATH = 32


@builtin_tool("workspace.search_files", group="workspace", effect="workspace", read_only=True)
async def search_files(
    desk: Desk,
    query: str,
    path: str = "",
    limit: Annotated[int, Field(json_schema_extra={"minimum": 1, "maximum": MAX_LIMIT})] = DEFAULT_LIMIT,
    context_lines: Annotated[int, Field(ge=0, json_schema_extra={"maximum": MAX_CONTEXT})] = DEFAULT_CONTEXT,
) -> Outcome:
    """Search the text files of the workspace for words. Lines are ranked by how much of the query they contain.

    Args:
        query: Words to look for; not a regular expression.
        path: A file or folder to search in; leave it out to search everything that is visible.
        limit: How many hits to show.
        context_lines: How many lines to show before and after each hit.
    """
    _check_sizes(limit, context_lines)
    words = Query.of(query)
    if not words:
        raise ToolError("tool.invalid_arguments", "query has no letter and no digit to search for.")
    scope, skipped = _files(desk, path)
    search = Search(words, keep=limit * (2 * context_lines + 1), context=context_lines)
    for number, (place, entry) in enumerate(scope[:MAX_FILES]):
        data = desk.workspace.read_found(place.root, entry, MAX_FILE_BYTES)
        text = None if data is None else _decoded(data)
        if text is None:
            skipped += 1
        else:
            search.look_into(place.logical, text)
        if number % FILES_PER_BREATH == 0:
            await asyncio.sleep(0)
    snippets, truncated = _snippets(search.best(), limit)
    return _outcome(desk, query, snippets, truncated=truncated or search.dropped, notes=_notes(len(scope), skipped))


def _check_sizes(limit: int, context_lines: int) -> None:
    if limit < 1:
        raise ToolError("workspace.search_limit_invalid", f"limit is {limit}; it must be 1 to {MAX_LIMIT}.")
    if limit > MAX_LIMIT:
        raise ToolError("workspace.search_limit_too_large", f"limit is {limit}; it must be 1 to {MAX_LIMIT}.")
    if context_lines > MAX_CONTEXT:
        message = f"context_lines is {context_lines}; it must be 0 to {MAX_CONTEXT}."
        raise ToolError("workspace.search_context_too_large", message)


# Which files


def _files(desk: Desk, path: str) -> tuple[list[tuple[Place, Entry]], int]:
    """The files in scope in path order, and how many things there cannot be searched."""
    if desk.workspace.is_everything(path):
        # Results of earlier calls repeat what was searched for; they are searched when they are named.
        tops = [Place(root) for root in desk.workspace.visible if root.name != "tool-results"]
    else:
        tops = [desk.workspace.place(path)]
        if desk.workspace.kind(tops[0]) is None:
            advice = desk.pointer("list_files", "Use {} to see which files there are.")
            raise ToolError("workspace.path_not_found", f"There is nothing at {shown(tops[0].logical)}.{advice}")
    found: list[tuple[Place, Entry]] = []
    other = 0
    for place, entry in _entries(desk, tops):
        if entry.kind == "file":
            found.append((place, entry))
        elif entry.kind != "directory":
            other += 1
    return sorted(found, key=lambda pair: pair[0].logical), other


def _entries(desk: Desk, tops: Iterable[Place]) -> Iterator[tuple[Place, Entry]]:
    for top in tops:
        if desk.workspace.kind(top) == "directory":
            for entry in desk.workspace.walk(top, MAX_DEPTH):
                yield Place(top.root, entry.parts), entry
        else:
            yield top, Entry(top.parts, "file", 0, str(desk.workspace.disk_path(top)))


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


# What is shown


@dataclass
class Snippet:
    """Neighbouring lines of a file with at least one hit; `score` is that of the best one."""

    path: str
    score: float
    lines: dict[int, str]

    @property
    def first(self) -> int:
        return min(self.lines)

    @property
    def last(self) -> int:
        return max(self.lines)

    @property
    def ref(self) -> str:
        return f"workspace:{self.path}#L{self.first}-L{self.last}"


def _snippets(hits: list[Hit], limit: int) -> tuple[list[Snippet], bool]:
    """At most `limit` snippets from ranked hits, and whether hits were left over.

    A hit inside a snippet adds nothing; a hit whose window overlaps one widens it and still counts.
    """
    snippets: list[Snippet] = []
    taken = 0
    for hit in hits:
        near = [s for s in snippets if s.path == hit.path]
        if any(hit.line in s.lines for s in near):
            continue
        if taken == limit:
            return _ranked(snippets), True
        taken += 1
        new = Snippet(hit.path, hit.score, dict(enumerate(hit.window, hit.first)))
        for other in [s for s in near if s.lines.keys() & new.lines.keys()]:
            snippets.remove(other)
            new = Snippet(hit.path, max(new.score, other.score), new.lines | other.lines)
        snippets.append(new)
    return _ranked(snippets), False


def _ranked(snippets: list[Snippet]) -> list[Snippet]:
    return sorted(snippets, key=lambda s: (-s.score, s.path, s.first))


def _outcome(desk: Desk, query: str, snippets: list[Snippet], *, truncated: bool, notes: list[str]) -> Outcome:
    told = json.dumps(query[:MAX_QUERY_SHOWN], ensure_ascii=False)
    files = len({snippet.path for snippet in snippets})
    counted = (
        f"{_many(len(snippets), 'hit')} for {told} in {_many(files, 'file')}." if snippets else f"No hits for {told}."
    )
    advice = desk.pointer("read_file", "{} shows more of a file.") if snippets else ""
    if truncated:
        notes = ["[There are more hits: narrow the query or the path, or raise limit]", *notes]
    blocks = [_block(snippet) for snippet in snippets]
    content = "\n\n".join([counted + advice, *blocks, *(["\n".join(notes)] if notes else [])])
    hits: list[JsonObject] = [
        {"path": s.path, "score": round(s.score, 3), "startLine": s.first, "endLine": s.last, "ref": s.ref}
        for s in snippets
    ]
    structured = {"query": query, "hits": hits, "truncated": truncated}
    return Outcome(content, structured=structured, resource_refs=tuple(s.ref for s in snippets))


def _block(snippet: Snippet) -> str:
    width = len(str(snippet.last))
    rows = [f"{number:>{width}} | {line}" for number, line in sorted(snippet.lines.items())]
    return "\n".join([f"{shown(snippet.path)} score {snippet.score:.3f} ref {shown(snippet.ref)}", *rows])


def _notes(in_scope: int, skipped: int) -> list[str]:
    notes = []
    if in_scope > MAX_FILES:
        notes.append(
            f"[Only the first {MAX_FILES} of {in_scope} files were searched: name a path to search the others]"
        )
    if skipped:
        notes.append(f"[Not searched: {_many(skipped, 'file')} (links, not UTF-8 text, or too large)]")
    return notes


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
