"""The wire between the kernel and front ends that let a person decide: approvals, questions, plans.

A front end opens a comm with target `tt-kernel`. Every message is a JSON object with a `type`; names are camelCase. Unknown types
and unknown fields are ignored, so both sides may learn new ones.

Front end -> kernel
    hello              {version: 1, answers: ["approval", "question"]}
                       First, as data of the comm_open or as a message. `answers` is what this front end can let a person decide;
                       it may be empty. Send nothing before `welcome` came (notes on ipykernel 7.4: a message right behind
                       comm_open can be lost while a cell blocks).
    approval_answered  {id, decision: "approve" | "deny" | "edit" | "allow_run", reason?, arguments?, scope?}
                       `reason` of a denial goes to the model. `arguments` is the whole object of an edit. `scope` of allow_run:
                       {argument: glob}; left out: the scope that was proposed; {}: every call of the tool.
    question_answered  {id, replies: [{option: 0 | null, other: "..."}, ...]}
                       One reply a question, in order: an option by its place, own words, or both.

    guidance           {run, text}
                       Something said to a run that goes on; it reads it before its next turn.
    cells              {cells: [...]}  all cells in the form of notebook files (format 4), right before one of them is executed, so
                       that a run sees what is not saved. Images and HTML may be left out of the outputs.
    compare            {before, after}  ids of two stored runs
    profiles           {ids: [...]}     ids of profiles

Kernel -> front end
    welcome            {version: 1, pending: [...]}          to the one that said hello; what waits for an answer now
    approval_requested {id, run, callId, tool, name, group, effect, arguments, rawArguments, rule, summary, diff, scope, deadline,
                        timeoutSeconds}
                       `arguments` is the whole object; `diff` a unified diff or null; `rule` the permission rule that asks;
                       `scope` what allow_run would cover; `deadline` ISO 8601, UTC. No answer until then is a denial.
    approval_settled   {id, outcome: "approve" | "deny" | "edit" | "allow_run" | "timeout" | "cancelled"}
    question_asked     {id, run, callId, questions: [{question, options: [{label, description, recommended}]}], deadline,
                        timeoutSeconds}
                       The recommended option comes first. No answer until the deadline takes it, else the first.
    question_settled   {id, outcome: "answered" | "timeout" | "cancelled"}
    not_pending        {id}            to the one that answered: it is settled already, or never was asked
    guided             {run}           to the one that gave guidance: the run has it
    not_guided         {run, message}  to the same: there is no such run, or the text is too large
    compared           {before, after, view}     to the one that asked; `view` is a DiffView (domain/views.py)
    not_compared       {before, after, message}  to the same: there is no such run
    profiles_are       {digests: {id: "..." | null}}  to the one that asked: the profiles as they are stored now; null: there is none
    invalid            {id, message}   to the one that answered: the answer makes no sense; the question is still open
    plan_ready         {run, text, code}                     a run in plan mode has ended; executing `code` approves the plan

All front ends that can answer get each question, and the first answer counts; the others learn it by `..._settled`. When the last
of them closes its comm while it is asked, the question goes to the cell's input field instead, or is denied at once.

Threads: ipykernel calls the handlers on the main thread or on that of a subshell. They only look the question up and hand the
answer to the agent loop; nothing is drawn there. Messages are sent in the context in which the front end said hello, so that
its next message takes the same way: one that speaks through a subshell is heard also while a cell blocks the main thread.
"""

import asyncio
import contextlib
import contextvars
import secrets
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import UserError

T = TypeVar("T")
Kind = Literal["approval", "question"]

TARGET = "tt-kernel"
VERSION = 1
_ASKS: dict[Kind, str] = {"approval": "approval_requested", "question": "question_asked"}
_ANSWERS: dict[str, Kind] = {"approval_answered": "approval", "question_answered": "question"}


class NoFrontEnd(Exception):
    """Nobody who could answer is connected any more."""


@dataclass(frozen=True)
class _Client:
    """One open comm. `answers`: what it lets a person decide; None before its hello."""

    comm: Any
    answers: Collection[str]
    context: contextvars.Context
    has_subshell: bool

    def send(self, message: JsonObject) -> None:
        """From any thread. A front end that is gone loses the message, as all of its others."""
        self.context.copy().run(self.comm.send, message)


@dataclass
class _Pending(Generic[T]):
    """One question. `read` makes the value of an answer, or raises ValueError."""

    kind: Kind
    message: JsonObject
    read: Callable[[JsonObject], T]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[T]"
    outcome: str | None = None

    @property
    def id(self) -> str:
        return str(self.message["id"])

    def settle(self, deliver: Callable[[], None]) -> None:
        """Hand the outcome to the agent loop, where the question waits."""

        def once() -> None:
            if not self.future.done():
                deliver()

        with contextlib.suppress(RuntimeError):  # the loop is gone, and the run with it
            self.loop.call_soon_threadsafe(once)


@dataclass
class FrontEnds:
    """The front ends of one kernel that said hello. Thread-safe.

    `guide` takes a text and the id of the run it is for, `reported` the cells of a front end in the form of notebook files;
    `lookups` answer messages of their types by others, from what is stored.
    """

    guide: Callable[[str, str], None]
    reported: Callable[[Sequence[JsonObject]], None]
    lookups: Mapping[str, Callable[[JsonObject], JsonObject]] = field(default_factory=dict)

    _lock: threading.RLock = field(default_factory=threading.RLock)
    _clients: dict[str, _Client] = field(default_factory=dict)
    _pending: dict[str, _Pending[Any]] = field(default_factory=dict)

    def register(self, shell: Any) -> None:
        """Take comms of this target. Without a kernel there are none."""
        kernel = getattr(shell, "kernel", None)
        if kernel is not None:
            kernel.comm_manager.register_target(TARGET, self.opened)

    def unregister(self, shell: Any) -> None:
        """Close what is open; questions that wait go elsewhere."""
        kernel = getattr(shell, "kernel", None)
        if kernel is None:
            return
        with contextlib.suppress(KeyError):
            kernel.comm_manager.unregister_target(TARGET, self.opened)
        for client in self._answering():
            client.comm.close()
            self._closed(client.comm.comm_id)

    def can_answer(self, kind: Kind, *, blocked: bool) -> bool:
        """Whether somebody can be asked.

        Args:
            kind: What.
            blocked: The kernel's main thread handles no messages now; only front ends with a subshell are heard.
        """
        return any(client.has_subshell or not blocked for client in self._answering(kind))

    async def ask(self, kind: Kind, body: JsonObject, read: Callable[[JsonObject], T], seconds: float) -> T:
        """Ask all front ends that can answer, and wait for the first answer. Awaited on the agent loop.

        Args:
            kind: What is asked.
            body: Fields of the question besides id and time.
            read: Makes the value of an answer; ValueError sends it back as invalid.
            seconds: The time there is; the caller watches it and cancels.

        Raises:
            NoFrontEnd: There is none, or the last one is gone.
        """
        loop = asyncio.get_running_loop()
        deadline = datetime.now(UTC) + timedelta(seconds=seconds)
        message = {
            "type": _ASKS[kind],
            "id": secrets.token_hex(8),
            **body,
            "deadline": deadline.isoformat(timespec="milliseconds"),
            "timeoutSeconds": seconds,
        }
        pending: _Pending[T] = _Pending(kind, message, read, loop, loop.create_future())
        with self._lock:  # who says hello from here on finds the question in the welcome
            clients = self._answering(kind)
            if not clients:
                raise NoFrontEnd
            self._pending[pending.id] = pending
        try:
            for client in clients:
                client.send(message)
            return await pending.future
        finally:
            with self._lock:
                del self._pending[pending.id]
            outcome = pending.outcome or ("timeout" if datetime.now(UTC) >= deadline else "cancelled")
            self.tell({"type": f"{kind}_settled", "id": pending.id, "outcome": outcome}, kind)

    def tell(self, message: JsonObject, kind: Kind | None = None) -> None:
        """Send something to every front end that said hello, or to those that answer a kind of question."""
        for client in self._answering(kind):
            client.send(message)

    # -- handlers: short, and on any thread

    def opened(self, comm: Any, message: JsonObject) -> None:
        comm.on_msg(lambda received: self._received(comm, received))
        comm.on_close(lambda _: self._closed(comm.comm_id))
        self._received(comm, message)

    def _received(self, comm: Any, message: JsonObject) -> None:
        data = message["content"].get("data")
        if not isinstance(data, dict):
            return
        if data.get("type") == "hello":
            self._greeted(comm, message, data)
        elif data.get("type") == "guidance":
            self._guided(comm, str(data.get("run")), str(data.get("text")))
        elif data.get("type") == "cells" and isinstance(cells := data.get("cells"), list):
            self.reported([cell for cell in cells if isinstance(cell, dict)])
        elif lookup := self.lookups.get(str(data.get("type"))):
            comm.send(lookup(data))
        elif data.get("type") in _ANSWERS:
            self._answered(comm, _ANSWERS[data["type"]], data)

    def _greeted(self, comm: Any, message: JsonObject, data: JsonObject) -> None:
        given = data.get("answers")
        answers = frozenset(map(str, given)) if isinstance(given, list) else frozenset[str]()
        subshell = message.get("header", {}).get("subshell_id") is not None
        client = _Client(comm, answers, contextvars.copy_context(), subshell)
        with self._lock:
            self._clients[comm.comm_id] = client
            waiting = [pending.message for pending in self._pending.values() if pending.kind in answers]
            client.send({"type": "welcome", "version": VERSION, "pending": waiting})

    def _guided(self, comm: Any, run: str, text: str) -> None:
        try:
            self.guide(text, run)
        except UserError as error:
            comm.send({"type": "not_guided", "run": run, "message": error.message})
        else:
            comm.send({"type": "guided", "run": run})

    def _answered(self, comm: Any, kind: Kind, data: JsonObject) -> None:
        question = str(data.get("id"))
        with self._lock:
            pending = self._pending.get(question)
            if pending is None or pending.kind != kind or pending.outcome is not None:
                comm.send({"type": "not_pending", "id": question})
                return
            try:
                value = pending.read(data)
            except ValueError as error:
                comm.send({"type": "invalid", "id": question, "message": str(error)})
                return
            pending.outcome = str(data.get("decision", "answered"))
        pending.settle(partial(pending.future.set_result, value))

    def _closed(self, comm_id: str) -> None:
        with self._lock:
            self._clients.pop(comm_id, None)
            alone = [p for p in self._pending.values() if not self._answering(p.kind) and p.outcome is None]
        for pending in alone:
            pending.settle(partial(pending.future.set_exception, NoFrontEnd()))

    def _answering(self, kind: Kind | None = None) -> list[_Client]:
        with self._lock:
            return [client for client in self._clients.values() if kind is None or kind in client.answers]
