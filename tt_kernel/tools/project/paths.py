r"""How a model may spell a path, and which place it means: spec liveagent §4.1, §4.2.

`a/b`, `/abs/a/b`, `~/a`, `file:///abs/a`, `workspace:a`, `skill:a`, `skill://a`, `root://alias/a`; `\` counts as `/`. Results show
one spelling of each place (`Place.logical`), and that is the one to use again.
"""

import json
import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.roots import PROJECT, RESERVED, SKILLS
from tt_kernel.store.workspace import Place, Root, entry_kind, invalid_path, is_inside, quoted, split_path
from tt_kernel.tools.project.desk import ProjectDesk

Intent = Literal["read", "write", "image"]
"""`image` may also look at pictures anywhere on the disk."""

INVALID = "project.invalid_path"
OUT_OF_BOUNDS = "project.out_of_bounds"

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SCHEME = re.compile(r"(workspace|skill|root|file):(//)?", re.IGNORECASE)


@dataclass(frozen=True)
class _Spelled:
    """A root's name and what follows it; without a name, an absolute path."""

    root: str | None
    rest: str


def resolve(desk: ProjectDesk, path: str, intent: Intent = "read") -> Place:
    """The place that a path of the model means; it need not exist.

    Raises:
        ToolError: `project.invalid_path`, `project.out_of_bounds`, `project.unknown_root`, `project.read_only`,
            `project.root_changed`.
    """
    spelled = _spelled(path)
    if spelled.root is None:
        place = _of_absolute(desk, spelled.rest, path, intent)
    else:
        place = _preferred(desk, _root(desk, spelled.root, path), spelled.rest, path)
    if intent == "write" and not place.root.writable:
        raise _read_only(desk, place)
    return place


def _spelled(path: str) -> _Spelled:
    text = _unquoted(path)
    if not text:
        raise ToolError(INVALID, "The path is empty.")
    if "\0" in text:
        raise _invalid(path, "it has a NUL character")
    scheme = _SCHEME.match(text)
    if scheme and not (os.name == "nt" and _DRIVE.match(text)):
        return _with_scheme(scheme, text, path)
    text = text.replace("\\", "/")
    if text.startswith("//"):
        raise _invalid(path, "it is a path of another computer")
    if text == "~" or text.startswith("~/"):
        return _Spelled(None, _home(text, path))
    if text.startswith("/") or (os.name == "nt" and _DRIVE.match(text)):
        return _Spelled(None, text)
    return _Spelled(PROJECT, text)


def _home(text: str, path: str) -> str:
    try:
        return Path(text).expanduser().as_posix()
    except RuntimeError:
        raise _invalid(path, "there is no home folder here") from None


def _unquoted(path: str) -> str:
    """Names with line ends or direction marks are shown as JSON strings; a model may copy the quotes."""
    if len(path) > 1 and path[0] == path[-1] == '"':
        try:
            value = json.loads(path)
        except ValueError:
            return path
        return str(value)
    return path


def _with_scheme(scheme: "re.Match[str]", text: str, path: str) -> _Spelled:
    kind, slashes, rest = scheme[1].lower(), scheme[2], text[scheme.end() :].replace("\\", "/")
    if kind == "file":
        return _of_file_url(text, path)
    if kind == "root":
        if not slashes:
            raise _invalid(path, "an additional folder is written root://<name>/<path>")
        alias, _, rest = rest.partition("/")
        return _Spelled(alias, rest or ".")
    return _Spelled(PROJECT if kind == "workspace" else SKILLS, rest.lstrip("/") or ".")


def _of_file_url(text: str, path: str) -> _Spelled:
    try:
        parts = urlsplit(text)
    except ValueError:
        raise _invalid(path, "it is no valid file:// address") from None
    if parts.netloc:
        raise _invalid(path, "a file:// address with a host is a path of another computer")
    plain = unquote(parts.path, errors="surrogateescape").replace("\\", "/")
    if "\0" in plain:
        raise _invalid(path, "it has a NUL character")
    if not plain.startswith("/") or plain.startswith("//"):
        raise _invalid(path, "a file:// address has an absolute path")
    return _Spelled(None, plain.removeprefix("/") if _DRIVE.match(plain[1:]) else plain)


def _root(desk: ProjectDesk, name: str, path: str) -> Root:
    found = next((root for root in desk.workspace.visible if root.name == name), None)
    if found is not None:
        return found
    if name == SKILLS:
        raise ToolError("project.unknown_root", f"Path {quoted(path)}: this run has no skills.")
    granted = [root.name for root in desk.workspace.visible if root.name not in RESERVED]
    listed = ", ".join(f"root://{alias}" for alias in granted) or "none"
    raise ToolError(
        "project.unknown_root", f"Path {quoted(path)}: no folder {quoted(name)} is granted.\nGranted: {listed}."
    )


def _segments(text: str, path: str) -> tuple[str, ...]:
    try:
        parts = split_path(text)
    except ToolError as error:
        raise ToolError(INVALID, error.message.replace(quoted(text), quoted(path))) from None
    if any(":" in part for part in parts):
        raise _invalid(path, "a part of it has a colon")
    return parts


def _preferred(desk: ProjectDesk, root: Root, rest: str, path: str) -> Place:
    """NFC, unless only the other spelling exists: file systems that keep names as they are have such names."""
    raw = Place(root, _segments(rest, path))
    normal = Place(root, tuple(unicodedata.normalize("NFC", part) for part in raw.parts))
    if raw.parts == normal.parts:
        return raw
    return raw if _exists(desk, raw) and not _exists(desk, normal) else normal


def _exists(desk: ProjectDesk, place: Place) -> bool:
    try:
        return entry_kind(desk.workspace.entry_path(place)) is not None
    except (ToolError, OSError):
        return False


def _of_absolute(desk: ProjectDesk, absolute: str, path: str, intent: Intent) -> Place:
    drive, rest = os.path.splitdrive(absolute)
    plain = str(Path(drive + os.sep, *_segments(rest.lstrip("/"), path)))
    owners = [(top, root) for root in desk.workspace.visible for top in _tops(root) if is_inside(plain, top)]
    if owners:
        top, root = max(owners, key=lambda owner: len(owner[0]))
        return _preferred(desk, root, os.path.relpath(plain, top).replace(os.sep, "/"), path)
    if intent == "image" and os.path.dirname(plain) != plain:  # noqa: PTH120  text only
        return _external(plain)
    folders = ", ".join(_shown_root(root) for root in desk.workspace.visible)
    message = f"Path {quoted(path)} is outside of the folders of this run.\nFolders: {folders}."
    raise ToolError(OUT_OF_BOUNDS, message)


def _tops(root: Root) -> set[str]:
    folder = root.folder.absolute()
    return {os.path.normpath(folder), os.path.realpath(folder)}


def _external(plain: str) -> Place:
    """A picture anywhere on the disk: readable, shown by its name alone."""
    real = Path(os.path.realpath(plain))
    return Place(Root("external", real.parent, prefix="external/"), (real.name,))


def _shown_root(root: Root) -> str:
    return ". (the project)" if root.name == PROJECT else Place(root).logical


def _read_only(desk: ProjectDesk, place: Place) -> ToolError:
    writable = ", ".join(_shown_root(root) for root in desk.workspace.visible if root.writable) or "none"
    message = f"{quoted(place.logical)} is read-only: {_shown_root(place.root)} was granted for reading.\nWritable: {writable}."
    return ToolError("project.read_only", message)


def _invalid(path: str, problem: str) -> ToolError:
    return ToolError(INVALID, invalid_path(path, problem).message)
