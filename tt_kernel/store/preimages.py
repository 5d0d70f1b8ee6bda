"""What project files were before a run changed them: spec liveagent §5.10. `rewind.py` puts it back.

A run's `checkpoints/project/` holds:
- `index.jsonl`: a line before each change (what was there, what will be there), and a line when a change did not happen;
- `blobs/<sha256>`: contents of files; `folders/<number>`: deleted folders as they were, moved there, not copied;
- `.gitignore`: nothing of it is meant for a repository, since project files may hold secrets.

Keeping is best effort: what cannot be kept is said in the record (`lost`), and never stands in the way of a change.
"""

import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from tt_kernel.domain.canonical import canonical_json, digest_bytes, encode_json
from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.ids import CallId
from tt_kernel.store.atomic import append_line, create_bytes, decoded, read_if_there, storage_fault
from tt_kernel.store.workspace import Place, entry_kind

SUBFOLDER = "project"
"""Of a run's `checkpoints/`, which holds those of its workspace too."""
MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_TOTAL_BYTES = 512 * 1024 * 1024
"""Of one run."""
MAX_RECORDS = 10_000

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)


class Condition(Frozen):
    """What is at a path. `kept` is where its content is, below the checkpoints; `lost` why it was not kept.

    `mode` are the permission bits of a file, `target` is where a link leads.
    """

    kind: Literal["absent", "file", "directory", "link", "other"]
    sha256: str | None = None
    mode: int | None = None
    target: str | None = None
    kept: str | None = None
    lost: str | None = None

    def is_like(self, other: "Condition") -> bool:
        """Whether both are the same content (folders: there is one)."""
        return (self.kind, self.sha256, self.target) == (other.kind, other.sha256, other.target)


ABSENT = Condition(kind="absent")


class Change(Frozen):
    """One change of one entry. `parts` are below the real path of the root; `shown` is for people.

    `made_folders`: how many of the folders above it were made for it.
    """

    type: Literal["change"] = "change"
    number: int
    call_id: CallId
    tool: str
    root: str
    parts: tuple[str, ...]
    shown: str
    before: Condition
    after: Condition
    made_folders: int = 0


class Withdrawn(Frozen):
    """The change of this number did not happen."""

    type: Literal["withdrawn"] = "withdrawn"
    number: int


_LINE: TypeAdapter[Change | Withdrawn] = TypeAdapter(Change | Withdrawn)


class PreImages:
    """Keeps what a run is about to change. Used from several threads.

    Args:
        folder: The run's `checkpoints/`, asked for each time: a run's folder moves.
    """

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder: Callable[[], Path] = lambda: folder() / SUBFOLDER
        self._lock = threading.Lock()
        self._count = 0
        self._bytes = 0

    def before_writing(self, place: Place, disk: str, sha256: str, call_id: CallId, tool: str) -> "Kept":
        """Keep a file that is about to be replaced, or note that there is none.

        Args:
            place: The file; links are resolved.
            disk: Its path on the disk.
            sha256: Digest of what will be written.
            call_id: The call that writes.
            tool: Its name.
        """
        after = Condition(kind="file", sha256=sha256)
        return self._record(place, disk, after, call_id, tool, lambda _: self._kept(disk))

    def before_deleting(self, place: Place, disk: str, call_id: CallId, tool: str) -> "Kept":
        """Keep an entry that is about to be deleted. A folder that can be kept is moved away: then `Kept.moved` is true."""
        return self._record(place, disk, ABSENT, call_id, tool, lambda number: self._taken(disk, number))

    def _record(
        self, place: Place, disk: str, after: Condition, call_id: CallId, tool: str, keep: Callable[[int], Condition]
    ) -> "Kept":
        with self._lock:
            self._count += 1
            number = self._count
            if number > MAX_RECORDS:
                return Kept(
                    None,
                    Condition(kind="other", lost=f"this run has changed files more than {MAX_RECORDS:,} times"),
                    lambda: None,
                )
            moved_to = self._folder() / "folders" / str(number)
            try:
                self._prepare()
                made = _missing_folders(disk)
                before = keep(number)
                change = Change(
                    number=number,
                    call_id=call_id,
                    tool=tool,
                    root=place.root.name,
                    parts=place.parts,
                    shown=place.logical,
                    before=before,
                    after=after,
                    made_folders=made,
                )
                self._append(change)
            except (StorageFault, OSError) as error:
                with suppress(OSError):
                    move_folder(moved_to, Path(disk))  # a folder whose move is not on record would be lost
                return Kept(None, Condition(kind="other", lost=_reason(error)), lambda: None)
        return Kept(change, before, lambda: self._withdraw(change, disk))

    def _kept(self, disk: str) -> Condition:
        """A file's content as a blob; a link's target; the bare fact for what is neither."""
        kind = entry_kind(disk)
        if kind == "link":
            return Condition(kind="link", target=str(Path(disk).readlink()))
        if kind != "file":
            return Condition(kind=kind or "absent", lost="it is no regular file" if kind == "other" else None)
        status = Path(disk).stat()
        mode = stat.S_IMODE(status.st_mode)
        if status.st_size > MAX_FILE_BYTES:
            return Condition(kind="file", mode=mode, lost=f"it is larger than {MAX_FILE_BYTES >> 20} MiB")
        if self._bytes + status.st_size > MAX_TOTAL_BYTES:
            return Condition(kind="file", mode=mode, lost=f"{MAX_TOTAL_BYTES >> 20} MiB were kept already")
        data = Path(disk).read_bytes()
        sha256 = digest_bytes(data)
        blob = self._folder() / "blobs" / sha256
        if not blob.exists():
            create_bytes(blob, data)
            self._bytes += len(data)
        return Condition(kind="file", sha256=sha256, mode=mode, kept=f"blobs/{sha256}")

    def _taken(self, disk: str, number: int) -> Condition:
        """The same for deleting: a folder within the limits is moved as it is."""
        if entry_kind(disk) != "directory":
            return self._kept(disk)
        size, entries = folder_size(Path(disk), MAX_TOTAL_BYTES - self._bytes, MAX_RECORDS)
        if self._bytes + size > MAX_TOTAL_BYTES:
            return Condition(kind="directory", lost=f"more than {MAX_TOTAL_BYTES >> 20} MiB would have to be kept")
        if entries > MAX_RECORDS:
            return Condition(kind="directory", lost=f"it holds more than {MAX_RECORDS:,} entries")
        target = self._folder() / "folders" / str(number)
        target.parent.mkdir(exist_ok=True)
        move_folder(Path(disk), target)
        self._bytes += size
        return Condition(kind="directory", kept=f"folders/{number}")

    def _withdraw(self, change: Change, disk: str) -> None:
        with self._lock, suppress(StorageFault, OSError):
            if change.before.kept and change.before.kind == "directory":
                move_folder(self._folder() / change.before.kept, Path(disk))
            self._append(Withdrawn(number=change.number))

    def _prepare(self) -> None:
        folder = self._folder()
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True)
            create_bytes(folder / ".gitignore", b"*\n")

    def _append(self, line: Change | Withdrawn) -> None:
        path = self._folder() / "index.jsonl"
        try:
            descriptor = os.open(path, _APPEND, 0o666)
        except OSError as error:
            raise storage_fault("write", path, error) from error
        try:
            append_line(descriptor, encode_json(canonical_json(line.model_dump(mode="json")) + "\n"), path)
        finally:
            os.close(descriptor)


class Kept:
    """A change that is on record, or why it is not.

    Attributes:
        change: The record; None when nothing could be recorded.
        before: What was there, or (`lost`) why it is not known.
        withdraw: To be called when the change did not happen after all.
    """

    def __init__(self, change: Change | None, before: Condition, withdraw: Callable[[], None]) -> None:
        self.change = change
        self.before = before
        self.withdraw = withdraw

    @property
    def moved(self) -> bool:
        """The entry is gone already: it was a folder, and was moved away."""
        return self.before.kind == "directory" and self.before.kept is not None

    @property
    def lost(self) -> str | None:
        """Why a rewind will not bring back what was there; None when it will."""
        return self.before.lost


def read_changes(folder: Path) -> list[Change]:
    """The changes that happened, in order; a last line that was cut off does not count.

    Args:
        folder: The run's `checkpoints/`.

    Raises:
        StorageFault: The index cannot be read.
    """
    data = read_if_there(folder / SUBFOLDER / "index.jsonl")
    lines = [line for line in (decoded(_LINE, raw) for raw in data.split(b"\n") if raw) if line is not None]
    withdrawn = {line.number for line in lines if isinstance(line, Withdrawn)}
    return [line for line in lines if isinstance(line, Change) and line.number not in withdrawn]


def folder_size(folder: Path, max_bytes: int, max_entries: int) -> tuple[int, int]:
    """Bytes and entries of a folder, links not followed; counting stops soon after a limit is passed."""
    size = entries = 0
    for status in _statuses(folder):
        entries += 1
        size += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if size > max_bytes or entries > max_entries:
            break
    return size, entries


def _statuses(folder: Path) -> Iterator[os.stat_result]:
    pending = [os.fspath(folder)]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as found:
            for entry in found:
                with suppress(OSError):
                    yield entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def move_folder(source: Path, target: Path) -> None:
    """Rename, or, over a border of file systems, copy and delete what can be deleted. OSError leaves the source whole."""
    try:
        source.rename(target)
    except OSError:
        if target.exists():
            raise
        try:
            shutil.copytree(source, target, symlinks=True)
        except (OSError, shutil.Error) as error:
            shutil.rmtree(target, ignore_errors=True)
            raise OSError(str(error)) from error
        shutil.rmtree(source, ignore_errors=True)


def _reason(error: StorageFault | OSError) -> str:
    """Without the paths of the disk: a model reads it."""
    cause = error.__cause__ if isinstance(error, StorageFault) else error
    return (isinstance(cause, OSError) and cause.strerror) or type(error).__name__


def _missing_folders(disk: str) -> int:
    count, folder = 0, Path(disk).parent
    while not folder.exists() and folder != folder.parent:
        count, folder = count + 1, folder.parent
    return count
