"""What Monty asks the system for: files, clock, sleep, environment, standard input. Imported with the first script."""

import posixpath
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import PurePosixPath
from typing import Any

from pydantic_monty import AbstractOS, MontyFileHandle, StatResult

from tt_kernel.tools.shell.child.call import Call
from tt_kernel.tools.shell.child.files import Files

STDIN = "/dev/stdin"
TICK = 0.001
"""Seconds by which the clock advances each time it is read, so that waiting for it ends."""


class System(AbstractOS):
    """The script's world: the interpreter's files, the run's clock.

    Sleeping moves the clock instead of waiting. Appended text is gathered per file and written before anything else touches
    files, because scripts write line by line and each write to a host folder costs half a millisecond.
    """

    def __init__(self, files: Files, call: Call, env: dict[str, str], stdin: bytes) -> None:
        self._files = files
        self._epoch = call.epoch
        self._now = call.epoch
        self._env = env
        self._stdin = stdin.decode("utf-8", "replace")
        self._chance = call.random("os.urandom")
        self._pending: tuple[str, list[bytes]] = ("", [])

    def flush(self) -> None:
        path, parts = self._pending
        self._pending = ("", [])
        if parts:
            self._files.append(path, b"".join(parts))

    def line(self) -> str | None:
        """The next line of standard input, without its end; None after the last."""
        if not self._stdin:
            return None
        line, _, self._stdin = self._stdin.partition("\n")
        return line.removesuffix("\r")

    def _text(self, path: Any) -> str:
        """The absolute path, with what was appended so far in the file."""
        self.flush()
        raw = path.path if isinstance(path, MontyFileHandle) else str(path)
        return self._files.absolute(raw)

    # files

    def path_exists(self, path: PurePosixPath) -> bool:
        return self._files.exists(self._text(path))

    def path_is_file(self, path: PurePosixPath) -> bool:
        return self._files.kind(self._text(path)) == "file"

    def path_is_dir(self, path: PurePosixPath) -> bool:
        return self._files.kind(self._text(path)) == "directory"

    def path_is_symlink(self, path: PurePosixPath) -> bool:
        return self._files.is_link(self._text(path))

    def path_open(self, path: PurePosixPath, mode: str) -> MontyFileHandle:
        where = self._text(path)
        if mode.startswith("w"):
            self._files.write(where, b"")
        elif mode.startswith("a"):
            self._files.append(where, b"")
        elif where != STDIN:
            kind = self._files.kind(where)
            if kind is None:
                raise FileNotFoundError(2, "No such file or directory", str(path))
            if kind == "directory":
                raise IsADirectoryError(21, "Is a directory", str(path))
        return MontyFileHandle(where, mode)

    def path_read_text(self, path: PurePosixPath | MontyFileHandle) -> str:
        where = self._text(path)
        if where == STDIN:
            text, self._stdin = self._stdin, ""
            return text
        return self._files.read(where).decode("utf-8").replace("\r\n", "\n")

    def path_read_bytes(self, path: PurePosixPath | MontyFileHandle) -> bytes:
        where = self._text(path)
        return self.path_read_text(path).encode() if where == STDIN else self._files.read(where)

    def path_write_text(self, path: PurePosixPath | MontyFileHandle, data: str) -> int:
        self._files.write(self._text(path), data.encode())
        return len(data)

    def path_write_bytes(self, path: PurePosixPath | MontyFileHandle, data: bytes) -> int:
        self._files.write(self._text(path), data)
        return len(data)

    def path_append_text(self, path: PurePosixPath | MontyFileHandle, data: str) -> int:
        self._append(path, data.encode())
        return len(data)

    def path_append_bytes(self, path: PurePosixPath | MontyFileHandle, data: bytes) -> int:
        self._append(path, data)
        return len(data)

    def _append(self, path: Any, data: bytes) -> None:
        raw = path.path if isinstance(path, MontyFileHandle) else str(path)
        where = self._files.absolute(raw)
        if where != self._pending[0]:
            self.flush()
            self._pending = (where, [])
        self._pending[1].append(data)

    def path_mkdir(self, path: PurePosixPath, parents: bool, exist_ok: bool) -> None:
        where = self._text(path)
        if self._files.exists(where):
            if exist_ok and self._files.kind(where) == "directory":
                return
            raise FileExistsError(17, "File exists", str(path))
        self._files.make_folder(where, parents=parents)

    def path_unlink(self, path: PurePosixPath) -> None:
        where = self._text(path)
        if self._files.kind(where) == "directory" and not self._files.is_link(where):
            raise IsADirectoryError(21, "Is a directory", str(path))
        self._files.remove(where)

    def path_rmdir(self, path: PurePosixPath) -> None:
        where = self._text(path)
        if self._files.list(where):
            raise OSError(39, "Directory not empty", str(path))
        self._files.remove(where)

    def path_iterdir(self, path: PurePosixPath) -> list[PurePosixPath]:
        where = self._text(path)
        return [PurePosixPath(where, name) for name, _ in self._files.list(where)]

    def path_stat(self, path: PurePosixPath) -> StatResult:
        size, mode, kind = self._files.size_and_mode(self._text(path))
        if kind == "directory":
            return StatResult.dir_stat(mode & 0o777, self._epoch)
        return StatResult.file_stat(size, mode & 0o777, self._epoch)

    def path_rename(self, path: PurePosixPath, target: PurePosixPath) -> None:
        self._files.rename(self._text(path), str(target))

    def path_resolve(self, path: PurePosixPath) -> str:
        return self._text(path)

    def path_absolute(self, path: PurePosixPath) -> str:
        return posixpath.join(self._files.cwd, str(path))

    # surroundings

    def getenv(self, key: str, default: str | None = None) -> str | None:
        return self._env.get(key, default)

    def get_environ(self) -> dict[str, str]:
        return self._env

    def urandom(self, size: int) -> bytes:
        if size > self.max_urandom_bytes:
            raise MemoryError(f"os.urandom() gives at most {self.max_urandom_bytes} bytes")
        return self._chance.randbytes(size)

    def date_today(self) -> date:
        return self._moment().date()

    def datetime_now(self, tz: tzinfo | None = None) -> datetime:
        moment = self._moment()
        return moment.astimezone(tz) if tz is not None else moment.replace(tzinfo=None)

    def time(self, caller: Any = "time.time") -> float:  # noqa: ARG002  every clock reads the same
        self._now += TICK
        return self._now - TICK

    def _moment(self) -> datetime:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=self.time())

    def sleep(self, seconds: float) -> None:
        self._now += max(0.0, seconds)

    def async_sleep(self, delay: float, *, is_async: bool) -> None:  # noqa: ARG002  no waiting either way
        self._now += max(0.0, delay)
