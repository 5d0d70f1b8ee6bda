"""Workspace: what tools hold. Logical paths go in, bytes and text come out; disk paths stay inside."""

# ruff: noqa: PTH112, PTH113, PTH116
# Plain strings: building Path objects costs more than the calls that they wrap.

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ids import Digest
from tt_kernel.store.workspace import boundary, reading, removing, writing
from tt_kernel.store.workspace.listing import Entry, EntryKind, walk
from tt_kernel.store.workspace.paths import quoted, shown, split_path
from tt_kernel.store.workspace.roots import Place, Root
from tt_kernel.store.workspace.scan import TextScan
from tt_kernel.store.workspace.writing import UNCHECKED, FileLocks, Guard


class Workspace:
    """A table of roots with rights.

    Args:
        roots: The roots, in the order in which they are told. Names are unique.
        locks: Shared by workspaces that may write the same files at the same time.
    """

    def __init__(self, roots: Iterable[Root], locks: FileLocks | None = None) -> None:
        self._roots = {root.name: root for root in roots}
        self._locks = locks or FileLocks()

    @property
    def roots(self) -> tuple[Root, ...]:
        return tuple(self._roots.values())

    @property
    def visible(self) -> tuple[Root, ...]:
        return tuple(root for root in self.roots if root.readable)

    # Which place

    def place(self, path: str) -> Place:
        """The visible place that a logical path `root/...` names.

        Raises:
            ToolError: `workspace.invalid_path`, `workspace.path_not_visible`.
        """
        parts = self._parts(path)
        if not parts:
            raise ToolError("workspace.invalid_path", f"Path {quoted(path)} names no file.\n{self._visible_line()}")
        root = self._roots.get(parts[0])
        if root is None or not root.readable:
            raise ToolError(
                "workspace.path_not_visible", f"Path {quoted(path)} is not visible.\n{self._visible_line()}"
            )
        return Place(root, parts[1:])

    def is_everything(self, path: str) -> bool:
        """Whether a path stands for all that is visible: `""`, `.`, `./`. Raises ToolError `workspace.invalid_path`."""
        return not self._parts(path)

    def _parts(self, path: str) -> tuple[str, ...]:
        try:
            return split_path(path)
        except ToolError as error:
            raise ToolError(error.code, f"{error.message}\n{self._visible_line()}") from None

    def writable_place(self, path: str) -> Place:
        """The same, for writing: `workspace.path_not_writable` for a read-only root and for a root itself."""
        place = self.place(path)
        if not place.root.writable:
            raise ToolError(
                "workspace.path_not_writable", f"Path {quoted(path)} is read-only.\n{self._writable_line()}"
            )
        if not place.parts:
            message = f"{quoted(path)} is a top folder; only files below it can be written."
            raise ToolError("workspace.path_not_writable", message)
        return place

    def at(self, root: str, path: str) -> Place:
        """A place below a known root, from a path that does not name the root (`.` is the root itself)."""
        return Place(self._roots[root], split_path(path))

    def _visible_line(self) -> str:
        names = ", ".join(shown(root.name) + "/" for root in self.visible)
        return f"Visible folders: {names or 'none'}."

    def _writable_line(self) -> str:
        names = ", ".join(shown(root.name) + "/" for root in self.visible if root.writable)
        return f"Writable folders: {names or 'none'}."

    # What is there

    def disk_path(self, place: Place) -> Path:
        """The checked path on the disk, for the layers that must hand a file to something else. Never for the model."""
        return Path(boundary.locate(place))

    def kind(self, place: Place) -> str | None:
        """`file`, `directory`, `other`, or None when nothing is there. A root always is a directory."""
        path = boundary.locate(place)
        if os.path.isdir(path) or not place.parts:
            return "directory"
        if os.path.isfile(path):
            return "file"
        return "other" if os.path.lexists(path) else None

    def entry_path(self, place: Place) -> str:
        """The checked path on the disk of the entry itself: a link at its end is not followed."""
        return boundary.locate_entry(place) if place.parts else boundary.real_root(place.root)

    def resolved(self, place: Place) -> Place:
        """The same place without links."""
        return boundary.resolved(place)

    def walk(
        self, place: Place, depth: int, enter: Callable[[tuple[str, ...]], bool] = lambda _parts: True
    ) -> Iterator[Entry]:
        """Everything below a folder; see `listing.walk`."""
        return walk(place, boundary.locate(place), depth, enter)

    # Reading

    def chunks(self, place: Place) -> Iterator[bytes]:
        """The bytes of a regular file, in pieces."""
        return reading.read_chunks(place)

    def read_bytes(self, place: Place) -> bytes:
        return reading.read_bytes(place)

    def opened(self, place: Place) -> AbstractContextManager[tuple[int, int]]:
        """A file descriptor of a regular file, and its size in bytes; never hangs at pipes."""
        return reading.opened(place, boundary.locate(place))

    def read_text(self, place: Place) -> str:
        """The text of a UTF-8 file, byte for byte: line ends and a BOM stay. `workspace.not_utf8` otherwise."""
        try:
            return reading.read_bytes(place).decode("utf-8")
        except UnicodeDecodeError as error:
            raise not_utf8(place, error) from error

    def read_found(self, root: Root, entry: Entry, max_bytes: int) -> bytes | None:
        """The bytes of a file that `walk` just gave; None when it is larger, gone, or not to be opened."""
        try:
            if os.stat(entry.path, follow_symlinks=False).st_size > max_bytes:
                return None
            return reading.read_bytes(Place(root, entry.parts), entry.path)
        except (OSError, ToolError):
            return None

    def scan(self, place: Place, scan: TextScan) -> Iterator[None]:
        """Feed a file to `scan`, one step a chunk, so that a caller can breathe in between."""
        try:
            for chunk in reading.read_chunks(place):
                scan.feed(chunk)
                yield
            scan.close()
        except UnicodeDecodeError as error:
            raise not_utf8(place, error) from error

    # Writing

    def write_bytes(self, place: Place, data: bytes, guard: Guard = UNCHECKED) -> Digest:
        """Atomic and guarded; see `writing.write_bytes`."""
        return writing.write_bytes(place, data, guard, self._locks)

    def rewrite(self, place: Place, pieces: Iterable[bytes]) -> None:
        """Atomic, for content of any size; see `writing.rewrite`."""
        writing.rewrite(place, pieces, self._locks)

    def remove(self, place: Place) -> EntryKind | None:
        """Delete a file, a link or a whole folder; see `removing.remove`."""
        path = self.entry_path(place)
        with self._locks.held(path):
            return removing.remove(place, path)

    def write_text(self, place: Place, text: str, guard: Guard = UNCHECKED) -> Digest:
        """Write text as UTF-8, unchanged. `workspace.not_utf8` for a lone surrogate."""
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as error:
            message = f"The text for {quoted(place.logical)} has a lone surrogate at character {error.start}, which UTF-8 cannot hold."
            raise ToolError("workspace.not_utf8", message) from error
        return self.write_bytes(place, data, guard)


def not_utf8(place: Place, error: UnicodeDecodeError) -> ToolError:
    message = (
        f"{quoted(place.logical)} is not UTF-8 text ({error.reason}).\nThis tool does not read or change other files."
    )
    return ToolError("workspace.not_utf8", message)
