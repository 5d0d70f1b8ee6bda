"""The call policy that keeps the output of a stopped command."""

from asyncio import CancelledError

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.ports import Caller
from tt_kernel.toolkit.pipeline import Wrapper
from tt_kernel.tools.processes.desk import ProcessDesk


def keeps_output(desk: ProcessDesk) -> Wrapper:
    """A cancelled call of this family ends with the output so far, so that stopping a run loses nothing.

    It must be outside of what records results: an interrupted command is never replayed as if it had been run. The run is still
    cancelled; the dispatcher looks at its task after the call.
    """

    def wrap(inner: Caller) -> Caller:
        async def call(request: ToolCall) -> ToolResult:
            try:
                return await inner(request)
            except CancelledError:
                outcome = desk.take_interrupted(request.id)
                if outcome is None:
                    raise
                return outcome.to_result(request)

        return call

    return wrap
