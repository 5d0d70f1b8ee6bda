"""The search index of an agent folder: `.cache/search.sqlite`, derived from the run folders alone.

- Delete it at any time: the next search builds it again. So does one of another version, or one that is damaged.
- Before each search it is brought up to date: a run folder whose time stamp is another one is read again. A run that goes on
  changes its journal and not its folder, so those are looked at each time.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.errors import NotFound, StorageFault
from tt_kernel.domain.events import CallEnded, CallRequested, CommitCompleted, Event, GuidanceEvent, ModelCompleted
from tt_kernel.domain.runs import RunRecord
from tt_kernel.runtime.recorder import INLINE_CHARS
from tt_kernel.store.atomic import read_json
from tt_kernel.store.journal import read_journal
from tt_kernel.store.layout import AgentFolder, RunLayout
from tt_kernel.store.runs import RunIndex

VERSION = 1
TEXT_CHARS = 200_000
"""Of one text; the rest of a longer one is not searched."""
BUSY_SECONDS = 20

_SCHEMA = f"""
CREATE TABLE runs (
    id TEXT PRIMARY KEY, stamp INTEGER, size INTEGER, ended INTEGER,
    status TEXT, profile TEXT, model TEXT, started TEXT, prompt TEXT, tools TEXT
);
CREATE VIRTUAL TABLE texts USING fts5(body, run UNINDEXED, kind UNINDEXED, tool UNINDEXED, tokenize='unicode61');
CREATE TABLE places (run TEXT, text INTEGER);
CREATE INDEX places_run ON places(run);
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class SearchIndex:
    """Opens the index. The file is closed after each use, so that it can be deleted."""

    folder: AgentFolder

    @property
    def path(self) -> Path:
        return self.folder.cache / "search.sqlite"

    def connect(self) -> sqlite3.Connection:
        """The index, up to date. Close the connection.

        Raises:
            StorageFault: It can neither be opened nor built, or another process is at it.
        """
        try:
            return self._opened()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise StorageFault("storage.busy", f"{self.path} is in use by another process: {error}.") from error
        except sqlite3.DatabaseError:
            pass
        except (OSError, StorageFault):
            return self._in_memory()
        try:
            return self._anew()
        except (OSError, StorageFault):
            return self._in_memory()
        except sqlite3.DatabaseError as error:
            raise StorageFault(message=f"The search index {self.path} cannot be built: {error}.") from error

    def _in_memory(self) -> sqlite3.Connection:
        """Where nothing can be written: built for this one search."""
        connection = sqlite3.connect(":memory:")
        connection.executescript(_SCHEMA)
        self._update(connection)
        return connection

    def _anew(self) -> sqlite3.Connection:
        self.path.unlink(missing_ok=True)
        return self._opened()

    def _opened(self) -> sqlite3.Connection:
        self.folder.create()
        self.path.parent.mkdir(exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS)
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                connection.executescript(_SCHEMA)
            elif version != VERSION:
                connection.close()
                return self._anew()
            self._update(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _update(self, connection: sqlite3.Connection) -> None:
        known = {row[0]: row for row in connection.execute("SELECT id, stamp, size, ended FROM runs")}
        there = dict(_folders(self.folder.runs))
        index = RunIndex(self.folder)
        for gone in known.keys() - there.keys():
            _forget(connection, gone)
        for name, stamp in there.items():
            row = known.get(name)
            if row is not None and row[1] == stamp and (row[3] or row[2] == _size(self.folder.run(name))):
                continue
            with suppress(NotFound):
                record = index.load(name)
                _forget(connection, name)
                _learn(connection, record, self.folder.run(name), stamp)
        connection.commit()


def _folders(runs: Path) -> Iterator[tuple[str, int]]:
    try:
        with os.scandir(runs) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    yield entry.name, entry.stat().st_mtime_ns
    except FileNotFoundError:
        return


def _size(layout: RunLayout) -> int:
    try:
        return layout.events.stat().st_size
    except OSError:
        return 0


def _forget(connection: sqlite3.Connection, run: str) -> None:
    connection.execute("DELETE FROM texts WHERE rowid IN (SELECT text FROM places WHERE run = ?)", (run,))
    connection.execute("DELETE FROM places WHERE run = ?", (run,))
    connection.execute("DELETE FROM runs WHERE id = ?", (run,))


def _learn(connection: sqlite3.Connection, record: RunRecord, layout: RunLayout, stamp: int) -> None:
    tools: dict[str, None] = {}
    for kind, tool, body in _texts(record, layout):
        if tool:
            tools.setdefault(tool)
        row = (_encodable(body[:TEXT_CHARS]), record.id, kind, tool)
        cursor = connection.execute("INSERT INTO texts(body, run, kind, tool) VALUES (?, ?, ?, ?)", row)
        connection.execute("INSERT INTO places VALUES (?, ?)", (record.id, cursor.lastrowid))
    connection.execute(
        "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.id,
            stamp,
            _size(layout),
            record.status not in ("running", "interrupted"),
            record.status,
            record.profile.id,
            record.model,
            record.started_at,
            _encodable(record.prompt),
            f" {' '.join(tools)} ",
        ),
    )


def _texts(record: RunRecord, layout: RunLayout) -> Iterator[tuple[str, str, str]]:
    """Kind, tool and text of everything that was said in a run."""
    yield "prompt", "", record.prompt
    try:
        envelopes = read_journal(layout.events)
    except (StorageFault, FileNotFoundError):
        envelopes = []
    names: dict[str, str] = {}
    for envelope in envelopes:
        yield from _said(envelope.event, layout, names)
    if record.text:
        yield "answer", "", record.text


def _said(event: Event, layout: RunLayout, names: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    if isinstance(event, ModelCompleted) and event.reply.message.text:
        yield "message", "", event.reply.message.text
    elif isinstance(event, CallRequested):
        names[event.call.id] = event.call.name
        yield "call", event.call.name, f"{event.call.name} {_readable(event)}"
    elif isinstance(event, CallEnded):
        yield "result", names.get(event.call_id, str(event.tool_id)), _content(event, layout)
    elif isinstance(event, CommitCompleted) or (
        isinstance(event, GuidanceEvent) and event.type == "user_guidance_applied"
    ):
        yield "message", "", event.text


def _readable(event: CallRequested) -> str:
    """Arguments as text: strings as they are, so that their words are words."""
    values = event.call.arguments.value or {}
    parts = (f"{name}: {v if isinstance(v, str) else canonical_json(v)}" for name, v in values.items())
    return "\n".join([*parts, event.call.arguments.raw or ""])


def _content(event: CallEnded, layout: RunLayout) -> str:
    if event.result_ref and len(event.result.content) >= INLINE_CHARS:
        with suppress(StorageFault, FileNotFoundError, KeyError, TypeError):
            return str(read_json(layout.root / event.result_ref)["content"])
    return event.result.content


def _encodable(text: str) -> str:
    """SQLite keeps UTF-8: lone surrogates become their escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
