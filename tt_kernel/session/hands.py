"""The tools of one run, bound when the first of them is called: most runs of a sweep call none."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.ports import Caller
from tt_kernel.session.toolbox import Bound


@dataclass
class Hands:
    """A Caller.

    Args:
        bind: Makes the tools.
        stack: Puts the policies around them.
    """

    bind: Callable[[], Bound]
    stack: Callable[[Bound], Caller]

    async def __call__(self, call: ToolCall) -> ToolResult:
        return await self._caller(call)

    def forget_windows(self) -> None:
        """What was read of the project's files is no longer in the conversation."""
        if "_bound" in vars(self):
            self._bound.project.seen.forget_windows()

    async def stop_started(self) -> None:
        """End the processes that the run started."""
        if "_bound" in vars(self):
            await self._bound.processes.stop_started()

    @cached_property
    def _bound(self) -> Bound:
        return self.bind()

    @cached_property
    def _caller(self) -> Caller:
        return self.stack(self._bound)
