"""ProcessStop: spec liveagent §6.2."""

from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.processes.answers import session_outcome
from tt_kernel.tools.processes.desk import ProcessDesk
from tt_kernel.tools.processes.process_wait import Cursor, SessionId, session_of


@builtin_tool("ProcessStop", group="shell", effect="host")
async def process_stop(desk: ProcessDesk, session_id: SessionId, cursor: Cursor | None = None) -> Outcome:
    """Stop a command that Bash has started, with everything that it started. A command that has ended keeps its status.

    Args:
        session_id: From the answer of Bash.
        cursor: Where to read its output from; the end of the newest answer when left out.
    """
    session = session_of(desk, session_id)
    start = session.told if cursor is None else cursor
    # Also after its end: what it left in the background is ended then.
    await session.end("cancelled")
    return session_outcome(desk, session, session.page(start))
