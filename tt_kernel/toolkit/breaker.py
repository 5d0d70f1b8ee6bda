"""The call policy against going round in circles: spec liveagent §4.4 (loop breaker), field report 56 (220 identical calls).

- The same tool with the same path (or the same arguments) fails again with the same text: the result says how often.
- The same call has the same result again: the result says so, later calls are refused, and in the end the run is over.

What it says depends only on calls that are certain to have ended before, so that a replay says the same: all calls of earlier
turns, and of the call's own turn those before it, unless the turn may have run concurrently (read-only calls).
"""

import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import digest
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.ports import Caller
from tt_kernel.toolkit.pipeline import SpecOf

REPEATED = "tool.repeated_call"

FAILED_NOTE = 2
"""From which failure of the same kind on the result says so."""
SAME_NOTE = 3
SAME_MOST = 5
"""How often a call that only looks, or that fails, may have the same result."""
DOING_NOTE = 10
DOING_MOST = 20
"""The same for calls that may change something each time: a robot that goes forward."""
REFUSED_MOST = 10
"""So many refusals in a row end the run."""
REMEMBERED = 256
"""Calls."""


@dataclass(frozen=True, order=True)
class _Past:
    """One call that has ended. `subject` is its path, else its arguments; `said` tells results apart."""

    turn: int
    index: int
    tool: ToolId = field(compare=False)
    subject: str = field(compare=False)
    arguments: str = field(compare=False)
    said: str = field(compare=False)
    failed: bool = field(compare=False)
    changed: bool = field(compare=False)


@dataclass
class Breaker:
    """Watches the calls of one invocation; put it outermost.

    Args:
        spec_of: The description of a call's tool.
        exempt: Calls that are meant to be repeated: dice, waiting.
    """

    spec_of: SpecOf
    exempt: Callable[[ToolCall], bool] = lambda _call: False
    _past: list[_Past] = field(default_factory=list)
    _refused: int = 0

    def __call__(self, inner: Caller) -> Caller:
        async def call(request: ToolCall) -> ToolResult:
            if self.exempt(request):
                return await inner(request)
            same = self._same_before(request)
            if same and len(same) >= self._most(request, same[0]):
                self._refused += 1
                self._remember(request, same[0].said, failed=same[0].failed, changed=False)
                return _refusal(request, len(same))
            self._refused = 0
            result = await inner(request)
            return self._noted(request, result, same)

        return call

    def exhausted(self) -> str | None:
        """Why the run should end; None while it may go on."""
        if self._refused < REFUSED_MOST:
            return None
        return f"The model made the same call over and over; it was refused {self._refused} times in a row."

    def _noted(self, call: ToolCall, result: ToolResult, same: list[_Past]) -> ToolResult:
        """The result, with a sentence where it repeats what was there before."""
        said = digest([result.content, result.error_code, [image.sha256 for image in result.images]])
        failures = 1 + self._failures_before(call, said) if result.is_error else 0
        looks = self.spec_of(call).read_only
        self._remember(call, said, failed=result.is_error, changed=not looks and not result.is_error)
        repeats = 1 + len(same) if same and same[0].said == said else 1
        if failures >= FAILED_NOTE:
            note = (
                f"This tool has now failed {failures} times in the same way. Do not call it again unchanged: change the "
                "arguments, or go another way."
            )
        elif not result.is_error and repeats >= (SAME_NOTE if looks else DOING_NOTE):
            note = f"This is the same call with the same result as before, {repeats} times in a row."
        else:
            return result
        return result.model_copy(update={"content": f"{result.content}\n\n{note}"})

    def _most(self, call: ToolCall, last: _Past) -> int:
        return SAME_MOST if self.spec_of(call).read_only or last.failed else DOING_MOST

    def _same_before(self, call: ToolCall) -> list[_Past]:
        """The same call with one and the same result, newest first, as long as nothing else was changed in between."""
        arguments, found = _arguments(call), list[_Past]()
        for past in self._before(call):
            if (past.tool, past.arguments) != (call.tool_id, arguments):
                if past.changed:
                    break
            elif found and past.said != found[0].said:
                break
            else:
                found.append(past)
        return found

    def _failures_before(self, call: ToolCall, said: str) -> int:
        count = 0
        for past in self._before(call):
            if (past.tool, past.subject) == (call.tool_id, _subject(call)):
                if past.said != said:
                    break
                count += 1
        return count

    def _before(self, call: ToolCall) -> Iterator[_Past]:
        alone = not self.spec_of(call).read_only
        for past in reversed(self._past):
            if past.turn < call.turn or (alone and past.turn == call.turn and past.index < call.index):
                yield past

    def _remember(self, call: ToolCall, said: str, *, failed: bool, changed: bool) -> None:
        past = _Past(
            call.turn, call.index, call.tool_id, _subject(call), _arguments(call), said, failed=failed, changed=changed
        )
        bisect.insort(self._past, past)
        del self._past[:-REMEMBERED]


def _arguments(call: ToolCall) -> str:
    return digest([call.arguments.value, call.arguments.raw])


def _subject(call: ToolCall) -> str:
    path = call.arguments.for_model.get("path")
    return f"path {path}" if isinstance(path, str) else _arguments(call)


def _refusal(call: ToolCall, times: int) -> ToolResult:
    return ToolResult.error(
        call,
        REPEATED,
        f"{call.name} was not run: the same call has had the same result {times} times in a row. That result stands. "
        "Use it, change the arguments, or go another way.",
        repeats=times,
    )
