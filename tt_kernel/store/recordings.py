"""Recordings: what models and the outside world answered, kept as hash chains (DESIGN §7).

- A request's digest is H(parent digest, new messages, model, sampling, tools, choice): hashing and storing a turn cost
  O(new messages). Volatile values (call ids, times, native metadata) are in no digest.
- One append-only file per chain root, `recordings/<16 hex>.jsonl`; all runs that start with the same first request share it.
- A reply belongs to (request, slot): the slot tells the n-th run with the same run key. The last line of a slot wins, so a run
  repeated live replaces what is replayed.
- A failure of the model is kept by (request, slot) too. It is no reply: only a strict replay takes it, where no reply followed.
- A tool result belongs to (run, request, call index), with the tool, its version and the argument digest to be checked.
- Bytes of images and files are kept once by digest in `recordings/blobs/`.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from tt_kernel.domain.calls import ToolResult
from tt_kernel.domain.canonical import Json, JsonObject
from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.ids import Digest
from tt_kernel.domain.ports import ApprovalAnswer
from tt_kernel.domain.turns import ModelReply
from tt_kernel.store.locks import locked
from tt_kernel.store.secrets import Scrubber

_REPLY = TypeAdapter(ModelReply)
_RESULT = TypeAdapter(ToolResult)
_ANSWER = TypeAdapter(ApprovalAnswer)


@dataclass(frozen=True)
class RecordedRun:
    """The run that made a recording; its start time and seed are what tools see when it is replayed."""

    id: str
    key: str
    slot: int
    started_at: str
    seed: int


@dataclass(frozen=True)
class RecordedReply:
    run: str
    body: JsonObject

    @property
    def reply(self) -> ModelReply:
        return _REPLY.validate_python({**self.body, "recorded": True})


@dataclass(frozen=True)
class RecordedFailure:
    """A request that the model service did not answer. `text` is what had come of the reply."""

    run: str
    code: str
    message: str
    text: str = ""


@dataclass
class Chain:
    """The parsed content of one chain file. `blind`: the bodies whose model takes no images. `asked`: request -> the runs that have
    asked the model, in order, also where another reply has taken the place of theirs.
    """

    requests: dict[str, JsonObject] = field(default_factory=dict)
    bodies: dict[str, Json] = field(default_factory=dict)
    blind: set[str] = field(default_factory=set)
    runs: dict[str, RecordedRun] = field(default_factory=dict)
    replies: dict[str, dict[int, RecordedReply]] = field(default_factory=dict)
    asked: dict[str, list[str]] = field(default_factory=dict)
    failures: dict[tuple[str, int], RecordedFailure] = field(default_factory=dict)
    results: dict[tuple[str, str, int], JsonObject] = field(default_factory=dict)
    decisions: dict[tuple[str, str, int], JsonObject] = field(default_factory=dict)
    guidance: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    prefixes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    size: int = 0

    def add(self, line: JsonObject) -> None:
        handler = _LINES.get(line.get("kind", ""))
        if handler is not None:
            handler(self, line)

    def reply(self, request: str, slot: int, borrows: bool = True) -> RecordedReply | None:
        """The slot's own reply; the first run of a key may also use what another run recorded for the same request.

        A counted repeat does not borrow: the same answer would be counted twice.
        """
        slots = self.replies.get(request, {})
        if slot in slots:
            return slots[slot]
        return slots[min(slots)] if slot == 1 and slots and borrows else None

    def lineage(self, run: str) -> list[str]:
        """The run and, nearest first, the runs whose recorded prefix it went on from."""
        line = [run]
        while line[-1] in self.parents and self.parents[line[-1]] not in line:
            line.append(self.parents[line[-1]])
        return line


def _add_request(chain: Chain, line: JsonObject) -> None:
    chain.requests.setdefault(line["digest"], line)


def _add_body(chain: Chain, line: JsonObject) -> None:
    chain.bodies[line["digest"]] = line["body"]
    if line.get("blind"):
        chain.blind.add(line["digest"])


def _add_run(chain: Chain, line: JsonObject) -> None:
    chain.runs[line["run"]] = RecordedRun(line["run"], line["key"], line["slot"], line["startedAt"], line["seed"])


def _add_reply(chain: Chain, line: JsonObject) -> None:
    chain.replies.setdefault(line["request"], {})[line["slot"]] = RecordedReply(line["run"], line["reply"])
    chain.asked.setdefault(line["request"], []).append(line["run"])


def _add_failure(chain: Chain, line: JsonObject) -> None:
    failure = RecordedFailure(line["run"], line["code"], line["message"], line.get("text", ""))
    chain.failures[line["request"], line["slot"]] = failure


def _add_prefix(chain: Chain, line: JsonObject) -> None:
    """`run` went on live from a prefix recorded by `of`: the prefix is now its own."""
    chain.parents[line["run"]] = line["of"]
    chain.prefixes[line["run"]] = tuple(line["requests"])
    for request in line["requests"]:
        known = chain.reply(request, line["slot"])
        if known is not None:
            chain.replies[request][line["slot"]] = RecordedReply(line["run"], known.body)


def _add_result(chain: Chain, line: JsonObject) -> None:
    chain.results[line["run"], line["request"], line["index"]] = line


def _add_decision(chain: Chain, line: JsonObject) -> None:
    chain.decisions[line["run"], line["request"], line["index"]] = line


def _add_guidance(chain: Chain, line: JsonObject) -> None:
    chain.guidance[line["run"], line["request"]] = line["texts"]


_LINES: dict[str, Callable[[Chain, JsonObject], None]] = {
    "request": _add_request,
    "body": _add_body,
    "run": _add_run,
    "reply": _add_reply,
    "failure": _add_failure,
    "prefix": _add_prefix,
    "result": _add_result,
    "decision": _add_decision,
    "guidance": _add_guidance,
}


class Recordings:
    """The `recordings/` folder of one agent folder. Chains are read once and re-read when another process appended."""

    def __init__(self, folder: Path, line: Callable[[Json], bytes] | None = None) -> None:
        """`line` encodes one value as a line of JSON, without secrets (`Scrubber.line`)."""
        self._folder = folder
        self._line = line or Scrubber({}).line
        self._chains: dict[str, Chain] = {}

    def chain(self, root: Digest) -> Chain:
        """The chain whose first request has the digest `root`; an empty one if nothing was recorded."""
        name = root[:16]
        path = self._path(name)
        known = self._chains.get(name)
        try:
            size = path.stat().st_size
        except FileNotFoundError:
            size = 0
        if known is None or known.size != size:
            known = self._chains[name] = _read(path)
        return known

    def roots(self) -> list[Chain]:
        """Every chain of the folder, for the search of a nearest recording."""
        return [_read(path) for path in sorted(self._folder.glob("*.jsonl"))]

    def append(self, root: Digest, lines: list[JsonObject]) -> None:
        """Add lines to a chain, on disk in one write and in memory."""
        if not lines:
            return
        chain = self._chains.get(root[:16]) or self.chain(root)
        data = b"".join(map(self._line, lines))
        with locked(self._folder):  # somebody may be taking garbage out of the file
            chain.size += _append(self._path(root[:16]), data)
        for line in lines:
            chain.add(line)

    def save_blob(self, name: str, data: bytes) -> None:
        path = self._blob(name)
        if path.exists():
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            temporary.write_bytes(data)
            temporary.replace(path)
        except OSError as error:
            raise StorageFault(message=f"Cannot write {path}: {error.strerror}.") from error

    def read_blob(self, name: str) -> bytes | None:
        try:
            return self._blob(name).read_bytes()
        except FileNotFoundError:
            return None

    def _blob(self, name: str) -> Path:
        return self._folder / "blobs" / name

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"


def parse_result(line: JsonObject) -> ToolResult:
    return _RESULT.validate_python(line["result"])


def parse_decision(line: JsonObject) -> ApprovalAnswer:
    return _ANSWER.validate_python(line["answer"])


def _read(path: Path) -> Chain:
    chain = Chain()
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return chain
    except OSError as error:
        raise StorageFault(message=f"Cannot read {path}: {error.strerror}.") from error
    for raw in data.splitlines():
        try:
            chain.add(json.loads(raw))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # a line cut off by a crash, or a newer kind: the rest still counts
    chain.size = len(data)
    return chain


def _append(path: Path, data: bytes) -> int:
    """One write of whole lines; a line that a crash left unfinished is closed first. Returns the bytes added."""
    try:
        try:
            fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        try:
            size = os.lseek(fd, 0, os.SEEK_END)
            if size:
                os.lseek(fd, size - 1, os.SEEK_SET)
                if os.read(fd, 1) != b"\n":
                    data = b"\n" + data
            os.write(fd, data)
        finally:
            os.close(fd)
    except OSError as error:
        raise StorageFault(message=f"Cannot append to {path}: {error.strerror}.") from error
    return len(data)
