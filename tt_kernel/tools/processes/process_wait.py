"""ProcessWait, and what the tools share about sessions: spec liveagent §6.2."""

import re
from asyncio import CancelledError
from typing import Annotated

from pydantic import Field, StringConstraints

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.errors import ToolError
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.processes.answers import session_outcome
from tt_kernel.tools.processes.desk import ProcessDesk
from tt_kernel.tools.processes.limits import WAIT_YIELD_MS, WaitYieldMs
from tt_kernel.tools.processes.running import Session

UNKNOWN_SESSION = "process.unknown_session"

SessionId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_:-]{1,128}$")]
Cursor = Annotated[int, Field(ge=0)]

_BARE_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@builtin_tool("ProcessWait", group="shell", effect="host", read_only=True)
async def process_wait(
    desk: ProcessDesk,
    call: ToolCall,
    session_id: SessionId,
    cursor: Cursor | None = None,
    yield_time_ms: WaitYieldMs = WAIT_YIELD_MS,
) -> Outcome:
    """Wait for a command that Bash has started, and read its output from a cursor on.

    The answer comes when the command has ended, after yield_time_ms, or when there is a page of output. Each answer gives the
    next cursor. The same cursor reads the same output again while it is kept.

    Args:
        session_id: From the answer of Bash.
        cursor: Where to read from; the end of the newest answer when left out.
        yield_time_ms: How long to wait for the end.
    """
    session = session_of(desk, session_id)
    start = session.told if cursor is None else cursor
    await attend(desk, call, session, start, yield_time_ms / 1000)
    return session_outcome(desk, session, session.page(start))


def session_of(desk: ProcessDesk, session_id: str) -> Session:
    """The session with this id. Raises ToolError `process.unknown_session`."""
    session = desk.table.find(session_id)
    if session is not None:
        return session
    lines = [
        f"There is no session {session_id}.",
        "It may have ended more than 10 minutes ago, or the kernel was restarted, or its start was replayed and not repeated.",
    ]
    if _BARE_UUID.fullmatch(session_id):
        lines.append('Session ids begin with "bash-".')
    bash = desk.other("Bash")
    if bash is not None:
        lines.append(f"Look at what the command has done, and start it again with {bash} if that is needed.")
    raise ToolError(UNKNOWN_SESSION, "\n".join(lines))


async def attend(desk: ProcessDesk, call: ToolCall, session: Session, cursor: int, seconds: float) -> None:
    """Wait for a session's news. When the run is stopped meanwhile, so is what it started, and the output is kept."""
    with desk.following(call, session, cursor):
        try:
            await session.news(cursor, seconds)
        except CancelledError:
            await desk.stop_started()
            desk.keep_interrupted(call, session_outcome(desk, session, session.page(cursor)))
            raise
