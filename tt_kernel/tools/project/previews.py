"""Documents and pictures, as the child process of `preview_child.py` sees them: bounded in time, memory and size."""

import asyncio
import json
import os
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ToolError

CHILD = Path(__file__).with_name("preview_child.py")
SECONDS = 60.0
MAX_ANSWER = 8 * 1024 * 1024
MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
MAX_IMAGE_BYTES = 25 * 1024 * 1024
_EXTRA = 'pip install "tt_kernel[documents]"'
_KEPT_VARIABLES = (
    "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "VIRTUAL_ENV", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR",
)  # fmt: skip
"""What the child inherits: nothing that could hold a credential."""


@dataclass(frozen=True)
class Preview:
    """What the child says: facts (`text`, `shown`, `total`, or `mime`, `width`, `height`) and, of a picture, its bytes."""

    facts: JsonObject
    data: bytes


async def preview(kind: str, file: "int | IO[bytes]", name: str, **wishes: int) -> Preview:
    """Let the child look into a file.

    Args:
        kind: `pdf`, `notebook`, `word`, `spreadsheet`, `archive` or `picture`.
        file: The open file, or its descriptor; the child reads it itself.
        name: How errors call it.
        wishes: `start` and `limit`.

    Raises:
        ToolError: `project.preview_failed`, `project.preview_unavailable`, or the code of a picture that is none.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        str(CHILD),
        kind,
        json.dumps(wishes),
        stdin=file,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=_environment(),
        cwd=tempfile.gettempdir(),
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(SECONDS):
            answer = await _read(process.stdout)
    except TimeoutError:
        raise _failed(name, f"it takes longer than {SECONDS:.0f} s") from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return _answered(answer, name)


def temporary_file(data: bytes) -> "IO[bytes]":
    """An open file with this content, for `preview`."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  the caller closes it
    file.write(data)
    file.flush()
    file.seek(0)
    return file


async def _read(stream: asyncio.StreamReader) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while size <= MAX_ANSWER and (piece := await stream.read(1 << 16)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _answered(answer: bytes, name: str) -> Preview:
    line, _, data = answer.partition(b"\n")
    try:
        facts: dict[str, Any] = json.loads(line)
    except ValueError:
        raise _failed(name, "the program that reads it crashed") from None
    match facts.get("problem"):
        case None:
            return Preview(facts, data)
        case "missing":
            library = facts["message"]
            message = f"{name} cannot be shown: {library} is not installed here.\nThe user can install it: {_EXTRA}"
            raise ToolError("project.preview_unavailable", message)
        case "encrypted" | "too_large":
            raise _failed(name, facts["message"])
        case "damaged":
            raise _failed(name, f"it is damaged or of another kind ({facts['message']})")
        case code:
            raise ToolError(code, facts["message"])


def _failed(name: str, reason: str) -> ToolError:
    return ToolError("project.preview_failed", f"{name} cannot be shown: {reason}.")


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    package = str(Path(__file__).parents[3])
    rest = os.environ.get("PYTHONPATH")
    return kept | {"PYTHONPATH": os.pathsep.join([package, *([rest] if rest else [])]), "PYTHONUTF8": "1"}
