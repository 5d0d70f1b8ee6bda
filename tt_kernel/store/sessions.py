"""Sessions on disk: `sessions/<name>/session.json`, `history.jsonl`, and the states of their files (spec tauritavern §10.7).

The history is complete and append-only: it is never rewritten, also not by a compaction. A session has one active run.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from tt_kernel.domain.errors import NotFound, StorageFault, UsageProblem
from tt_kernel.domain.sessions import ENTRY, SessionEntry, SessionRecord, turns_of
from tt_kernel.store.atomic import read_if_there, read_json, storage_fault, write_json
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.lock_files import acquire, let_go
from tt_kernel.store.persist import PersistShelf
from tt_kernel.store.secrets import Scrubber

HISTORY = "history.jsonl"
RECORD = "session.json"
LOCK = ".lock"
MAX_PAGE = 200


class SessionShelf:
    """The sessions of one agent folder."""

    def __init__(self, agent_folder: AgentFolder) -> None:
        self._agent_folder = agent_folder

    def names(self) -> list[str]:
        return sorted(path.parent.name for path in self._agent_folder.sessions.glob(f"*/{RECORD}"))

    def record(self, name: str) -> SessionRecord:
        """Raises NotFound: there is no such session (naming those there are), or its record cannot be read."""
        try:
            return SessionRecord.model_validate(read_json(self._folder(name) / RECORD))
        except (StorageFault, FileNotFoundError, ValidationError) as error:
            known = ", ".join(self.names()) or "none"
            raise NotFound("agent.session_not_found", f"There is no session {name!r}; there are: {known}.") from error

    def save(self, record: SessionRecord) -> None:
        self._agent_folder.create()
        folder = self._folder(record.name)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / RECORD, record)

    def states(self, name: str) -> PersistShelf:
        """The versions of the session's files."""
        return PersistShelf(self._folder(name) / "states")

    def entries(self, name: str) -> list[SessionEntry]:
        """The whole history; a line that a crash cut off is left out. A session that does not exist has none.

        Raises:
            StorageFault: The file exists and cannot be read.
        """
        found = []
        for line in read_if_there(self._folder(name) / HISTORY).splitlines():
            try:
                found.append(ENTRY.validate_json(line))
            except ValidationError:
                continue
        return found

    def page(self, name: str, start: int = 0, limit: int = 50) -> Sequence[SessionEntry]:
        """Turns from `start`, counted from 0 (spec tauritavern §10.7: 1..200, default 50)."""
        if not 1 <= limit <= MAX_PAGE:
            raise UsageProblem(message=f"A page has 1 to {MAX_PAGE} turns, not {limit}.")
        return turns_of(self.entries(name))[start : start + limit]

    def append(self, name: str, entry: SessionEntry, scrub: Scrubber, *, seen: int) -> None:
        """Add an entry after the `seen` that the writer knows.

        Raises:
            UsageProblem: `agent.session_history_changed`: somebody else has written since.
        """
        if len(self.entries(name)) != seen:
            raise UsageProblem(
                "agent.session_history_changed",
                f"Session {name!r} was changed by another kernel meanwhile; run the cell again.",
            )
        path = self._folder(name) / HISTORY
        line = scrub.line(entry.model_dump(mode="json"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                if file.tell() and not path.read_bytes().endswith(b"\n"):
                    line = b"\n" + line
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise storage_fault("append to", path, error) from error

    @contextmanager
    def active(self, name: str) -> Iterator[None]:
        """Be the session's one active run.

        Raises:
            UsageProblem: `agent.session_busy`.
        """
        folder = self._folder(name)
        self._agent_folder.create()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock = acquire(folder / LOCK, wait=0)
        except StorageFault as fault:
            if fault.code != "storage.busy":
                raise
            raise UsageProblem("agent.session_busy", f"Session {name!r} has a run that is still going on.") from fault
        try:
            yield
        finally:
            let_go(folder / LOCK, lock)

    def _folder(self, name: str) -> Path:
        return self._agent_folder.sessions / name
