"""The call policy for long results: the whole text goes to a file, the model gets a preview (spec tauritavern §8.4)."""

from collections.abc import Callable

from tt_kernel.domain.calls import StoredFile, ToolCall, ToolResult
from tt_kernel.domain.canonical import canonical_json, encode_json
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.ports import Caller
from tt_kernel.toolkit.pipeline import Wrapper

SaveFile = Callable[[ToolCall, int, bytes, str, str], StoredFile]
"""`ResultStore.save_file`: (call, index, data, MIME type, suffix); the index is unique within the call."""

INLINE_CHARS = 50_000
PREVIEW_CHARS = 3_000
LINE_CHARS = 3_000
"""Longer lines are wrapped in the readable file."""

_READ = builtin("workspace.read_file")
_SEARCH = builtin("workspace.search_files")
_SHELL = builtin("workspace.shell")


def bounded(
    save_file: SaveFile,
    call_name: Callable[[ToolId], str | None],
    *,
    limit: int = INLINE_CHARS,
    applies: Callable[[ToolCall], bool] = lambda _call: True,
) -> Wrapper:
    """Keep the text of a result within `limit` characters.

    Args:
        save_file: Stores the readable text and the untouched result.
        call_name: `Snapshot.call_name`: the hints name only tools that this invocation has.
        limit: The profile's `tools.externalResultInlineCharLimit`.
        applies: Which calls it is for; built-in tools bound their results themselves.
    """

    def wrap(inner: Caller) -> Caller:
        async def call(request: ToolCall) -> ToolResult:
            result = await inner(request)
            if len(result.content) <= limit or not applies(request):
                return result
            return _externalised(request, result, save_file, call_name, limit)

        return call

    return wrap


def wrapped_lines(text: str, width: int = LINE_CHARS) -> str:
    """`text` with lines of at most `width` characters."""
    return "\n".join(
        "\n".join(line[at : at + width] for at in range(0, len(line), width)) if len(line) > width else line
        for line in text.split("\n")
    )


def _externalised(
    call: ToolCall, result: ToolResult, save_file: SaveFile, call_name: Callable[[ToolId], str | None], limit: int
) -> ToolResult:
    taken = len(result.images) + len(result.files)
    readable = save_file(call, taken, encode_json(wrapped_lines(result.content)), "text/plain", ".txt")
    whole = encode_json(canonical_json(result.model_dump(mode="json")))
    audit = save_file(call, taken + 1, whole, "application/json", ".json")
    count = len(result.content)
    content = (
        f"The result has {count:,} characters, more than the {limit:,} that are shown here. "
        f"The whole text is in {readable.path}.\n"
        f"This is incomplete: the first {min(PREVIEW_CHARS, count):,} characters follow. {_hints(readable.path, call_name)}\n\n"
        f"{result.content[:PREVIEW_CHARS]}"
    )
    facts = {
        "externalized": True,
        "path": readable.path,
        "auditPath": audit.path,
        "charCount": count,
        "charLimit": limit,
    }
    return result.model_copy(
        update={
            "content": content,
            "structured": facts,
            "files": (*result.files, readable, audit),
            "resource_refs": (*result.resource_refs, readable.path, audit.path),
        }
    )


def _hints(path: str, call_name: Callable[[ToolId], str | None]) -> str:
    """How to read on, with the tools that are there."""
    read, search, shell = call_name(_READ), call_name(_SEARCH), call_name(_SHELL)
    ways = []
    if read:
        ways.append(f"Read on with {read}, path {path}, giving start_line and line_count.")
    if search:
        ways.append(f"Search it with {search}, path {path}.")
    if shell:
        ways.append(f"Process it with {shell}; there it is /{path}.")
    return " ".join(ways) or "No tool of this run can read that file."
