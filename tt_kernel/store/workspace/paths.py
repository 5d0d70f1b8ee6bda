"""Logical paths: what a path from a model may look like (spec tauritavern §7.2), and how one is shown."""

import json
import os
import re
import unicodedata

from tt_kernel.domain.errors import ToolError

MAX_SHOWN = 300
"""How many characters of a path an error repeats."""

_DRIVE = re.compile(r"[A-Za-z]:")
_WINDOWS_FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f]|[. ]\Z')
_WINDOWS_DEVICE = re.compile(r"(?i)(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(\..*)?\Z")
# Control, format (right-to-left marks, joiners), surrogate, and the line and paragraph separators.
_HOSTILE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def split_path(text: str, *, windows: bool = os.name == "nt") -> tuple[str, ...]:
    """The segments of a logical path; empty for `""`, `.` and `./`.

    Args:
        text: What the model wrote. A backslash counts as `/`; `.` and empty segments are dropped.
        windows: Also refuse names that mean something else on Windows (devices, streams, trailing dots).

    Raises:
        ToolError: `workspace.invalid_path`, naming the rule that the path breaks.
    """
    problem = _problem(text)
    if problem is None:
        parts = tuple(part for part in text.replace("\\", "/").split("/") if part not in ("", "."))
        problem = next((p for p in map(lambda part: _segment_problem(part, windows=windows), parts) if p), None)  # noqa: C417
        if problem is None:
            return parts
    raise invalid_path(text, problem)


class LeavesRoot(ToolError):
    """A path that goes through a link which is refused, or ends outside of its root."""

    default_code = "workspace.invalid_path"


def invalid_path(text: str, problem: str, kind: type[ToolError] = ToolError) -> ToolError:
    return kind("workspace.invalid_path", f"Path {quoted(text)} is not allowed: {problem}.")


def _problem(text: str) -> str | None:
    if "\0" in text:
        return "it has a NUL character"
    if text.startswith(("/", "\\")):
        return "it is absolute, and paths here start with the name of a folder"
    if _DRIVE.match(text):
        return "it starts with a drive letter"
    return None


def _segment_problem(part: str, *, windows: bool) -> str | None:
    if part == "..":
        return "it has a '..' segment"
    try:
        os.fsencode(part)
    except UnicodeEncodeError:
        return "it has a lone surrogate, which no file name can hold"
    if windows and (_WINDOWS_FORBIDDEN.search(part) or _WINDOWS_DEVICE.match(part)):
        return f"{quoted(part)} cannot be a file name on Windows"
    return None


def shown(path: str) -> str:
    """A path as one line that cannot be mistaken for something else.

    Ordinary names are shown as they are, spaces included. A name with control characters, line ends, direction marks,
    undecodable bytes or a leading quote is shown as a JSON string; the JSON value is the path to use.
    """
    plain = not path.startswith('"') and path == path.strip()
    if plain and (path.isascii() and path.isprintable()):
        return path
    if plain and not any(unicodedata.category(c) in _HOSTILE for c in path):
        return path
    return json.dumps(path)


def quoted(text: str) -> str:
    """For error messages: one line, bounded, always within quotes."""
    cut = text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."
    inner = shown(cut)
    return inner if inner.startswith('"') else f'"{inner}"'
