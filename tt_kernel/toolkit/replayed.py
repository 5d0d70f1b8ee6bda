"""The call policy of recording and replay: DESIGN §7, tool results."""

from collections.abc import Callable
from dataclasses import dataclass

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.errors import ReplayMiss
from tt_kernel.domain.ports import Caller
from tt_kernel.domain.runs import RecordMode
from tt_kernel.domain.specs import RE_EXECUTED, ToolSpec
from tt_kernel.toolkit.pipeline import DENIED

Find = Callable[[ToolCall, ToolSpec], ToolResult | None]
Keep = Callable[[ToolCall, ToolSpec, ToolResult], None]


@dataclass(frozen=True)
class Replayed:
    """Answer external calls from the record; run the others again and compare.

    Args:
        spec_of: The description of a call's tool.
        mode: `auto`, `live`, `replay` or `off`.
        find: The recorded result of a call (same tool, version and arguments), its files restored; or None.
        keep: Record a result.
        before_live: Called before an external call that must really be made.
        drifted: Told, in mode `auto`, that a re-executed call gave something else; the recorded result is used.
    """

    spec_of: Callable[[ToolCall], ToolSpec]
    mode: RecordMode
    find: Find
    keep: Keep
    before_live: Callable[[], None]
    drifted: Callable[[ToolCall, str], None]

    def __call__(self, inner: Caller) -> Caller:
        async def answered(call: ToolCall) -> ToolResult:
            spec = self.spec_of(call)
            recorded = self.find(call, spec) if self.mode in ("auto", "replay") else None
            if recorded is not None and recorded.error_code == DENIED:
                return recorded  # it was not executed, so there is nothing to execute again
            if spec.effect in RE_EXECUTED:
                return self._compared(call, spec, await inner(call), recorded)
            if recorded is not None:
                return recorded
            if self.mode == "replay":
                raise ReplayMiss(
                    message=f"No recording for {call.name} (turn {call.turn}, call {call.index + 1}): "
                    "the tool or its arguments changed since the run was recorded.",
                    kind="call",
                )
            self.before_live()
            result = await inner(call)
            self.keep(call, spec, result)
            return result

        return answered

    def _compared(self, call: ToolCall, spec: ToolSpec, result: ToolResult, recorded: ToolResult | None) -> ToolResult:
        """The result of a re-executed call, held against its record."""
        if recorded is None:
            self.keep(call, spec, result)
            return result
        difference = first_difference(recorded, result)
        if difference is None:
            return result
        if self.mode == "replay":
            raise ReplayMiss(
                message=f"The result of {call.name} (turn {call.turn}, call {call.index + 1}) differs {difference}",
                kind="drift",
            )
        self.drifted(call, difference)
        return recorded.model_copy(update={"effects": result.effects})


def first_difference(recorded: ToolResult, now: ToolResult) -> str | None:
    """Where two results differ in what the model sees, for a person; None if they do not."""
    if recorded.error_code != now.error_code:
        return f'in its error code: recorded "{recorded.error_code}", now "{now.error_code}".'
    if recorded.content != now.content:
        old, new = recorded.content.splitlines(), now.content.splitlines()
        for number, (a, b) in enumerate(zip(old, new, strict=False), start=1):
            if a != b:
                return f'at line {number}: recorded "{_cut(a)}", now "{_cut(b)}".'
        return f"in length: recorded {len(old)} lines, now {len(new)}."
    if [i.sha256 for i in recorded.images] != [i.sha256 for i in now.images]:
        return "in its images."
    return None


def _cut(text: str, width: int = 120) -> str:
    return text if len(text) <= width else text[:width] + "..."
