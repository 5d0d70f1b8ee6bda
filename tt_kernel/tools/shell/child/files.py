"""The interpreter's files, for the languages: one view with Python's own errors, so that each language can tell them apart."""

import posixpath
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_ERRORS: tuple[tuple[str, type[OSError], str], ...] = (
    ("read-only", PermissionError, "Read-only file system"),
    ("readonly", PermissionError, "Read-only file system"),
    ("escapes", PermissionError, "Permission denied"),
    ("permission", PermissionError, "Permission denied"),
    ("parent directory not found", FileNotFoundError, "No such file or directory"),
    ("not found", FileNotFoundError, "No such file or directory"),
    ("no such file", FileNotFoundError, "No such file or directory"),
    ("directory not empty", OSError, "Directory not empty"),
    ("not a directory", NotADirectoryError, "Not a directory"),
    ("is a directory", IsADirectoryError, "Is a directory"),
    ("file exists", FileExistsError, "File exists"),
    ("already exists", FileExistsError, "File exists"),
)
_NUMBERS = {
    "No such file or directory": 2,
    "Permission denied": 13,
    "File exists": 17,
    "Not a directory": 20,
    "Is a directory": 21,
    "Read-only file system": 30,
    "Directory not empty": 39,
}


class Files:
    """Reads and writes below a current folder. Every method may raise an OSError of the fitting kind.

    Args:
        fs: bashkit's file system of a running command.
        cwd: What relative paths start from.
    """

    def __init__(self, fs: Any, cwd: str) -> None:
        self._fs = fs
        self.cwd = cwd

    def absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.cwd, path))

    def read(self, path: str) -> bytes:
        data: bytes = self._do(path, self._fs.read_file)
        return data

    def write(self, path: str, data: bytes) -> None:
        self._do(path, lambda where: self._fs.write_file(where, data))

    def append(self, path: str, data: bytes) -> None:
        self._do(path, lambda where: self._fs.append_file(where, data))

    def exists(self, path: str) -> bool:
        try:
            return bool(self._fs.exists(self.absolute(path)))
        except RuntimeError:
            return False

    def kind(self, path: str) -> str | None:
        """`file`, `directory`, `fifo`, or None when there is nothing; a link is what it leads to."""
        try:
            kind: str = self._fs.stat(self.absolute(path))["file_type"]
        except RuntimeError:
            return None
        return kind

    def is_link(self, path: str) -> bool:
        try:
            self._fs.read_link(self.absolute(path))
        except RuntimeError:
            return False
        return True

    def size_and_mode(self, path: str) -> tuple[int, int, str]:
        found = self._do(path, self._fs.stat)
        return found["size"], found["mode"], found["file_type"]

    def list(self, path: str) -> list[tuple[str, str]]:
        """Name and kind of each entry, sorted by name: the order on disk differs from machine to machine."""
        entries = self._do(path, self._fs.read_dir)
        return sorted((entry["name"], entry["metadata"]["file_type"]) for entry in entries)

    def make_folder(self, path: str, *, parents: bool) -> None:
        self._do(path, lambda where: self._fs.mkdir(where, parents))

    def chmod(self, path: str, mode: int) -> None:
        self._do(path, lambda where: self._fs.chmod(where, mode))

    def remove(self, path: str) -> None:
        self._do(path, self._fs.remove)

    def rename(self, path: str, target: str) -> None:
        goal = self.absolute(target)
        self._do(path, lambda where: self._fs.rename(where, goal))

    def _do(self, path: str, act: Callable[[str], T]) -> T:
        where = self.absolute(path)
        try:
            return act(where)
        except RuntimeError as error:
            raise as_os_error(str(error), path) from None


def as_os_error(text: str, path: str) -> OSError:
    """The error that is meant: bashkit says what went wrong only in words."""
    low = text.lower()
    for mark, kind, message in _ERRORS:
        if mark in low:
            return kind(_NUMBERS[message], message, path)
    return OSError(5, text.removeprefix("io error: "), path)
