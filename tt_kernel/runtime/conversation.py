"""The conversation of an invocation as a fold over its events: the same code live and when a run is loaded from disk."""

from collections.abc import Iterable

from tt_kernel.domain.calls import ToolResult
from tt_kernel.domain.events import (
    CallEnded,
    CallRequested,
    DriftRecoveryAttempted,
    Event,
    GuidanceEvent,
    HistoryCompacted,
    ModelCompleted,
    ModelStopped,
)
from tt_kernel.domain.ids import CallId
from tt_kernel.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tt_kernel.domain.runs import CallRecord
from tt_kernel.runtime.guidance import wrapped
from tt_kernel.runtime.history import pruned, replaced

UNSETTLED = "This call was interrupted before its result was known. Check the actual state before you repeat it."


class Conversation:
    """Messages only ever grow, until they are compacted: then they are another list. A call that never got a result is
    answered by `settle`, so the list is always valid. `calls` keeps all of them.
    """

    def __init__(self, initial: Iterable[Message] = ()) -> None:
        self.messages: list[Message] = list(initial)
        self.calls: list[CallRecord] = []
        self._open: dict[CallId, int] = {}

    def apply(self, event: Event) -> None:
        if isinstance(event, ModelCompleted):
            self.messages.append(event.reply.message)
        elif isinstance(event, CallRequested):
            self._open[event.call.id] = len(self.calls)
            self.calls.append(CallRecord(event.call, None))
        elif isinstance(event, CallEnded):
            self._answer(event.call_id, event.result)
        elif isinstance(event, ModelStopped) and event.text:
            self.messages.append(AssistantMessage(text=event.text))
        elif isinstance(event, DriftRecoveryAttempted):
            self.messages.append(UserMessage(text=event.text, source="drift"))
        elif isinstance(event, GuidanceEvent) and event.type == "user_guidance_applied":
            self.messages.append(UserMessage(text=wrapped(event.text), source="guidance"))
        elif isinstance(event, HistoryCompacted):
            self._compact(event)

    def _compact(self, event: HistoryCompacted) -> None:
        if event.method == "pruned":
            self.messages = pruned(self.messages, event.pruned)
        elif event.method == "summary":
            self.messages = replaced(self.messages, event.start, event.count, event.text, event.replies)

    def settle(self) -> None:
        """Give every call of the last reply that has no result one that says so."""
        at = next((i for i in reversed(range(len(self.messages))) if self.messages[i].role == "assistant"), None)
        if at is None:
            return
        answered = {m.call_id for m in self.messages[at:] if isinstance(m, ToolMessage)}
        last = self.messages[at]
        assert isinstance(last, AssistantMessage)
        for part in last.calls:
            if part.id not in answered:
                self.messages.append(ToolMessage(call_id=part.id, name=part.name, text=UNSETTLED, is_error=True))

    def _answer(self, call_id: CallId, result: ToolResult) -> None:
        index = self._open.pop(call_id)
        call = self.calls[index].call
        self.calls[index] = CallRecord(call, result)
        self.messages.append(
            ToolMessage(
                call_id=call_id,
                name=call.name,
                text=result.content,
                is_error=result.is_error,
                images=result.images,
            )
        )
