"""What the process tools touch in one invocation."""

import asyncio
import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.ids import CallId, ToolId, builtin
from tt_kernel.store.workspace import Root
from tt_kernel.toolkit.clockwork import Clockwork
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.processes.display import PathDisplay, page_text
from tt_kernel.tools.processes.environment import command_environment
from tt_kernel.tools.processes.limits import Status
from tt_kernel.tools.processes.running import Launch, Session
from tt_kernel.tools.processes.table import ProcessTable

LIVE_CHARS = 4000
"""How much of the output a display is given."""


@dataclass(frozen=True)
class Live:
    """What a display can show of a call that is being executed. `text` is the end of its output so far."""

    session_id: str
    status: Status
    text: str


@dataclass
class ProcessDesk:
    """One invocation's view of the processes of this machine.

    Attributes:
        table: The notebook's sessions.
        roots: The project folder first, then the granted folders.
        clock: Session ids come from its seed.
        call_name: The name under which the model sees a tool; None when it is not bound.
        safety: The safety mode of the run, asked before each command.
        synchronous: Nobody waits for sessions: a command is run to its end (spec liveagent §6.1).
        provider: Provider of the run's model; decides the time-outs of the synchronous path.
        environment: What commands find in their environment.
        protected: What a sandboxed command may not write although it lies in the project: the agent folder.
    """

    table: ProcessTable
    roots: Callable[[], Sequence[Root]]
    clock: Clockwork
    call_name: Callable[[ToolId], str | None] = lambda tool: tool.native
    safety: Callable[[], str] = lambda: "auto"
    synchronous: bool = False
    provider: str = ""
    environment: Callable[[], Mapping[str, str]] = command_environment
    protected: Callable[[], Sequence[Path]] = tuple
    _started: list[Session] = field(default_factory=list)
    _followed: dict[CallId, tuple[Session, int]] = field(default_factory=dict)
    _interrupted: dict[CallId, Outcome] = field(default_factory=dict)

    def session_id(self, call: ToolCall) -> str:
        """`bash-<uuid>`; the same for the same call of the same run, so that a repeated run tells the model the same."""
        where = f"{self.clock.seed}:{call.invocation_id}:{call.turn}:{call.index}"
        return f"bash-{uuid.UUID(bytes=hashlib.sha256(where.encode()).digest()[:16], version=4)}"

    def other(self, tool: str) -> str | None:
        """Call name of another tool of this family, if the model has it."""
        return self.call_name(builtin(tool))

    def display(self) -> PathDisplay:
        return PathDisplay(self.roots())

    # -- while it runs

    async def open(self, call: ToolCall, launch: Launch) -> Session:
        """Start a session that belongs to this invocation."""
        session = await self.table.open(self.session_id(call), launch)
        self._started.append(session)
        return session

    @contextmanager
    def following(self, call: ToolCall, session: Session, cursor: int) -> Iterator[None]:
        """While the block runs, displays can ask for the output that the call will return."""
        self._followed[call.id] = (session, cursor)
        try:
            yield
        finally:
            del self._followed[call.id]

    def live(self, call_id: CallId) -> Live | None:
        """The output of a call that is being executed; None when it is not one of this family, or over. For the agent loop."""
        followed = self._followed.get(call_id)
        if followed is None:
            return None
        session, cursor = followed
        newest = max(cursor, session.ring.end - LIVE_CHARS)
        text = page_text(session.ring.page(newest, LIVE_CHARS), self.display())
        return Live(session.id, session.status, text)

    # -- when the run is stopped

    async def stop_started(self) -> None:
        """Stop what this invocation has started: the run was interrupted (spec liveagent §6.2). Takes 5 s at most."""
        running = [session.end("cancelled") for session in self._started if session.status == "running"]
        await asyncio.gather(*running)

    def keep_interrupted(self, call: ToolCall, outcome: Outcome) -> None:
        self._interrupted[call.id] = outcome

    def take_interrupted(self, call_id: CallId) -> Outcome | None:
        """What a cancelled call had to say, once."""
        return self._interrupted.pop(call_id, None)
