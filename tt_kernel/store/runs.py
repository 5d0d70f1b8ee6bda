"""Run folders: written by one process (RunFolder), read by anybody (RunIndex).

- A run starts *staged*: its files are in a temporary folder, its record and journal in memory. A full replay ends there.
- What it `begins_with` is not even encoded before: a replay that needs no files makes no temporary folder.
- `materialise` claims an id by making its folder (only one process can), holds it as its writer, writes `run.json`, and
  only then the files. Killed at any of these steps, the folder reads as an interrupted run.
"""

import difflib
import errno
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Self

from pydantic import TypeAdapter

from tt_kernel.domain.canonical import Json, canonical_json, encode_json, indented_json
from tt_kernel.domain.errors import ContractBroken, NotFound
from tt_kernel.domain.ids import RunId
from tt_kernel.domain.runs import TERMINAL, RunRecord
from tt_kernel.store.atomic import create_bytes, decoded, storage_fault, write_bytes
from tt_kernel.store.interruptions import settled
from tt_kernel.store.layout import AgentFolder, RunLayout
from tt_kernel.store.locks import Hold, hold
from tt_kernel.store.secrets import Scrubber, literal_words

_RUN_NAME = re.compile(r"[0-9a-f]{8}(?:\.[1-9][0-9]*)?")
_ID_DIGITS = 8
_NEAR = 3
RECORD = TypeAdapter(RunRecord)
# Windows refuses to rename a folder in which somebody has a file open.
_COPIED_INSTEAD = {errno.EXDEV, errno.EACCES, errno.EPERM}


class RunFolder:
    """The folder of the run that this process executes. Release it; it is also a context manager."""

    def __init__(self, scrub: Scrubber) -> None:
        self._scrub = scrub
        self._record: RunRecord | None = None
        self._layout: RunLayout | None = None
        self._hold: Hold | None = None
        self._forget: weakref.finalize[..., RunFolder] | None = None
        self._run_id: RunId | None = None
        self._first: Callable[[], Mapping[str, bytes]] = dict

    @classmethod
    def stage(cls, scrub: Scrubber | None = None) -> "RunFolder":
        """A folder outside the notebook's, which exists from the first time that a path of it is asked for.

        Args:
            scrub: Takes the secrets out of the record; by default those of the environment.
        """
        return cls(scrub or Scrubber.from_environment())

    @classmethod
    def reopen(cls, agent_folder: AgentFolder, record: RunRecord, scrub: Scrubber) -> "RunFolder":
        """The folder of a stopped run, to go on writing it.

        Raises:
            StorageFault: code `storage.busy`: another process writes it.
        """
        folder = cls(scrub)
        layout = agent_folder.run(record.id)
        folder._hold = hold(layout.root)
        folder._run_id, folder._layout = record.id, layout
        folder.save(record.model_copy(update={"status": "running", "ended_at": None, "problem": None}))
        return folder

    @property
    def run_id(self) -> RunId | None:
        """None while staged."""
        return self._run_id

    @property
    def record(self) -> RunRecord | None:
        """The record as last saved."""
        return self._record

    @property
    def layout(self) -> RunLayout:
        """Where the files are now. Ask each time: `materialise` moves them.

        Raises:
            StorageFault: there is no temporary folder to be had.
        """
        if self._layout is None:
            self._layout = RunLayout(_temporary_folder())
            self._forget = weakref.finalize(self, _delete_own, self._layout.root, os.getpid())
            self._put_down(self._layout)
        return self._layout

    @property
    def is_made(self) -> bool:
        """Whether there is a folder. Where nobody asked for the path of a staged one, there is nothing in it."""
        return self._layout is not None

    def begins_with(self, files: Callable[[], Mapping[str, bytes]]) -> None:
        """What is in the folder from the beginning. Said before anybody asks for its path.

        Args:
            files: Gives the paths in the folder, with slashes, and the contents, without secrets. Called when there is a
                folder to write them to.
        """
        self._first = files

    def save(self, record: RunRecord) -> RunRecord:
        """Keep the run's record: in memory while staged, else as `run.json`. Returns it with the folder's id.

        Raises:
            StorageFault: the former `run.json` is untouched.
        """
        if self._run_id is None:
            self._record = record
            return record
        self._record = record.model_copy(update={"id": self._run_id})
        plain = self._record.model_dump(mode="json")
        ended = record.status in TERMINAL
        encode = indented_json if ended else _in_one_line  # people read what has ended; until then it is written often
        data = encode(plain)
        if self._scrub.suspects(data.decode()):
            data = encode(self._scrub.json(plain, keep=_record_words()))
        write_bytes(self.layout.run_json, data, durable=ended)
        return self._record

    def materialise(self, agent_folder: AgentFolder, key: str) -> RunId:
        """Become a folder of the agent folder and its only writer. Save a record before: it is written first.

        Args:
            agent_folder: Where; it is created if it is missing.
            key: The run key. Its first 8 digits are the id; `.2`, `.3`, ... when that is taken.

        Raises:
            StorageFault: the run is staged as before, and there is no folder.
        """
        if self._run_id is not None:
            raise ContractBroken(message=f"Run {self._run_id} has its folder already.")
        agent_folder.create()
        run_id = _claim(agent_folder, key, self._record.slot if self._record else 1)
        layout, staged = agent_folder.run(run_id), self._layout
        try:
            self._hold = hold(layout.root)
            self._run_id, self._layout = run_id, layout
            if self._record is not None:
                self.save(self._record)
            if staged is not None:
                _move_files(staged.root, layout.root)
            else:
                self._put_down(layout)
        except BaseException:
            self._give_back(layout, staged)
            raise
        self._clear_staging()
        return run_id

    def release(self) -> None:
        """Stop being the writer: the run is over. A folder that is still staged is deleted."""
        if self._hold is not None:
            self._hold.release()
            self._hold = None
        self._clear_staging()

    def discard(self) -> None:
        """Delete a staged folder. One that has its place in the agent folder stays, and is released."""
        self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def _put_down(self, layout: RunLayout) -> None:
        """Write what the run begins with: everything, or nothing."""
        written: list[Path] = []
        try:
            for name, data in self._first().items():
                create_bytes(layout.root / name, data)
                written.append(layout.root / name)
        except BaseException:
            for path in written:
                path.unlink(missing_ok=True)
                with suppress(OSError):
                    path.parent.rmdir()
            raise
        self._first = dict

    def _clear_staging(self) -> None:
        if self._forget is not None:
            self._forget()
            self._forget = None
        if self._run_id is None:
            self._layout = None

    def _give_back(self, layout: RunLayout, staged: RunLayout | None) -> None:
        """Undo a claim: be staged again, and leave no folder that looks like a run."""
        self._run_id, self._layout = None, staged
        layout.run_json.unlink(missing_ok=True)
        if self._hold is not None:
            self._hold.release()
            self._hold = None
        with suppress(OSError):  # not empty: some files could not be moved back, and are not ours to delete
            layout.root.rmdir()


class RunIndex:
    """The runs of an agent folder. Reads only: a run of another process is seen as it is on disk."""

    def __init__(self, agent_folder: AgentFolder) -> None:
        self._folder = agent_folder

    def list(self) -> list[RunRecord]:
        """All runs, newest first. One that cannot be read is listed with problem `storage.record_damaged`.

        Raises:
            StorageFault: the folder of the runs cannot be read.
        """
        records = [self._read(name) for name in self.names()]
        return sorted(records, key=lambda record: (record.started_at, _number(record.id)), reverse=True)

    def load(self, run_id: str) -> RunRecord:
        """The run of exactly this id.

        Raises:
            NotFound: naming the nearest ids.
        """
        if not _RUN_NAME.fullmatch(run_id) or not self._folder.run(run_id).root.is_dir():
            raise self._not_found(run_id)
        return self._read(run_id)

    def find(self, prefix: str) -> RunRecord:
        """The run of this id, or the only one whose id begins so.

        Raises:
            NotFound: none (naming the nearest ids), or code `run.ambiguous` for several.
        """
        names = self.names()
        matches = [prefix] if prefix in names else sorted(n for n in names if prefix and n.startswith(prefix))
        if not matches:
            raise self._not_found(prefix)
        if len(matches) > 1:
            listed = ", ".join(matches[:_NEAR]) + (", ..." if len(matches) > _NEAR else "")
            raise NotFound("run.ambiguous", f"Several runs begin with {prefix!r}: {listed}. Write the whole id.")
        return self._read(matches[0])

    def names(self) -> Sequence[str]:
        """Ids of all runs, in no order.

        Raises:
            StorageFault: the folder of the runs cannot be read.
        """
        try:
            with os.scandir(self._folder.runs) as entries:
                return [entry.name for entry in entries if _RUN_NAME.fullmatch(entry.name) and entry.is_dir()]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise storage_fault("read", self._folder.runs, error) from error

    def _read(self, name: str) -> RunRecord:
        layout = self._folder.run(name)
        record = _record(layout)
        while True:
            run = settled(layout, record)
            if record is not None and record.status in TERMINAL:
                return run
            # Its writer may have gone on between two looks at its files: what they say together must be of one moment.
            before, record = record, _record(layout)
            if record == before:
                return run

    def _not_found(self, wanted: str) -> NotFound:
        names = self.names()
        if not names:
            return NotFound("run.not_found", f"There is no run {wanted!r}: {self._folder.root.name} has no runs yet.")
        near = difflib.get_close_matches(wanted, names, n=_NEAR, cutoff=0.3) or sorted(names)[:_NEAR]
        return NotFound("run.not_found", f"There is no run {wanted!r}. Nearest: {', '.join(near)}.")


def _claim(agent_folder: AgentFolder, key: str, likely: int) -> RunId:
    """Make the folder of the first free id; that only one process can make it is what makes it ours."""
    base = key[:_ID_DIGITS]
    if not _RUN_NAME.fullmatch(base):
        raise ContractBroken(message=f"{key!r} is no run key: it must begin with 8 hexadecimal digits.")
    number = _first_free(agent_folder, base, likely)
    while True:
        run_id = RunId(base if number == 1 else f"{base}.{number}")
        try:
            agent_folder.run(run_id).root.mkdir(parents=True)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise storage_fault("create", agent_folder.run(run_id).root, error) from error
        else:
            return run_id


def _first_free(agent_folder: AgentFolder, base: str, likely: int) -> int:
    """Where to begin: of a thousand repeats in few looks. Where runs were deleted in between, a later free number will do."""

    def taken(number: int) -> bool:
        return agent_folder.run(base if number == 1 else f"{base}.{number}").root.exists()

    if not taken(likely) and (likely == 1 or taken(likely - 1)):
        return likely
    beyond = 1
    while taken(beyond):
        beyond *= 2
    last = beyond // 2  # 0, or taken
    while beyond - last > 1:
        middle = (last + beyond) // 2
        last, beyond = (middle, beyond) if taken(middle) else (last, middle)
    return beyond


def _in_one_line(value: Json) -> bytes:
    return encode_json(canonical_json(value) + "\n")


def _number(run_id: str) -> int:
    """Which of the runs with the same first digits of the key it is."""
    return int(run_id.partition(".")[2] or 1)


def _record(layout: RunLayout) -> RunRecord | None:
    try:
        data = layout.run_json.read_bytes()
    except OSError:
        return None
    return decoded(RECORD, data)


def _move_files(source: Path, target: Path) -> None:
    """Move everything, or nothing. Over a border of file systems it is copied; the source is deleted later."""
    undo: list[Callable[[], object]] = []
    try:
        for entry in sorted(source.iterdir()):
            _move(entry, target / entry.name, undo)
    except OSError as error:
        for step in reversed(undo):
            with suppress(OSError):
                step()
        raise storage_fault("move the files of the run to", target, error) from error


def _move(entry: Path, destination: Path, undo: list[Callable[[], object]]) -> None:
    try:
        entry.rename(destination)
    except OSError as error:
        if error.errno not in _COPIED_INSTEAD:
            raise
        undo.append(partial(_delete, destination))
        _copy(entry, destination)
    else:
        undo.append(partial(destination.rename, entry))


def _copy(entry: Path, destination: Path) -> None:
    if entry.is_symlink() or not entry.is_dir():
        shutil.copy2(entry, destination, follow_symlinks=False)
        return
    destination.mkdir()
    for child in entry.iterdir():
        _copy(child, destination / child.name)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _temporary_folder() -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix="tt-run-"))
    except OSError as error:
        raise storage_fault("create a folder in", Path(tempfile.gettempdir()), error) from error


def _delete_own(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must not delete what its parent uses
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _record_words() -> frozenset[str]:
    return literal_words(RunRecord.model_json_schema())
