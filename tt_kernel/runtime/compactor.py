"""Compacts the conversation of a run while it goes on (spec liveagent §19).

The model that answers also summarises. Its summary is asked for through the run's own provider, so it is recorded, and a replay
compacts at the same places to the same text. A failure changes nothing, and is recorded too.
"""

import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace

from tt_kernel.domain.errors import ProviderError
from tt_kernel.domain.events import Event, HistoryCompacted, ModelAttemptFailed, ModelRetryScheduled, ModelSwitched
from tt_kernel.domain.ids import InvocationId, builtin
from tt_kernel.domain.messages import AssistantMessage, Message, UserMessage
from tt_kernel.domain.ports import Provider
from tt_kernel.domain.profiles import ModelRetry
from tt_kernel.domain.runs import CallRecord
from tt_kernel.domain.sessions import estimated_tokens, summary_text
from tt_kernel.domain.turns import ModelReply, ModelRequest, Sampling, Usage
from tt_kernel.runtime.compaction import compaction_request
from tt_kernel.runtime.conversation import Conversation
from tt_kernel.runtime.history import CompactionRule, Cut, replaced, replies_in
from tt_kernel.runtime.ledger_of_files import FileLedger
from tt_kernel.runtime.limits import Meter
from tt_kernel.runtime.summary_form import FORM, missing_in, normal_form, repair_of
from tt_kernel.runtime.turn import Turn

COOLDOWN_TURNS = 3
"""Turns after a compaction, or a failed one, before the next (spec liveagent §19 has 60 s; a replay has no clock)."""
FAILED = ModelReply(message=AssistantMessage(), finish_reason="error")
"""What is recorded for a summary that could not be had."""

_TASKS = frozenset(map(builtin, ("TaskCreate", "TaskUpdate", "TaskList")))
_REQUEST = re.compile(r"<last_request>\n(.*)\n</last_request>", re.DOTALL)


def summary_request(messages: Sequence[Message], cut: Cut, sampling: Sampling) -> ModelRequest:
    """Ask for the summary of what is cut out; not streamed, nobody watches it."""
    return replace(compaction_request(cut.of(messages), sampling, form=FORM), stream=False)


@dataclass
class Compactor:
    """One run's.

    Args:
        rule: When and what.
        provider, sampling, retry: Of the run.
        write: Journals an event and returns it.
        keep_failure: Records FAILED as the answer to the request asked last.
        forget: Called when tool results left the model's sight: what was shown may be shown again.
    """

    rule: CompactionRule
    provider: Provider
    sampling: Sampling
    retry: ModelRetry
    invocation_id: InvocationId
    write: Callable[[Event], Event]
    keep_failure: Callable[[], None]
    forget: Callable[[], None] = lambda: None
    level: int = 0
    _resting: int = 0
    _usage: Usage = field(default_factory=Usage)
    _replayed: Usage = field(default_factory=Usage)
    _text: str = ""

    async def run(self, conversation: Conversation, meter: Meter) -> AsyncIterator[Event]:
        """Compact where it is due, before the next request. Whoever iterates applies the events to the conversation."""
        turn = meter.number + 1
        step = self.rule.due(conversation.messages, self.level) if turn > self._resting else None
        if step is None:
            return
        before, level = estimated_tokens(conversation.messages), self.level
        left = estimated_tokens(step.messages)
        self._resting = turn + COOLDOWN_TURNS
        if step.pruned:
            self.forget()
            yield self._event(turn, before, left, method="pruned", pruned=step.pruned, level=level)
        if step.cut is not None:
            async for event in self._summarise(step.messages, step.cut, turn):
                yield event
            meter.count(self._usage, self._replayed)
            done = self._compacted(step.messages, step.cut, conversation, turn)
            left = done.tokens_after
            yield self.write(done)
        self.level = self.rule.level_after(level, left)

    async def _summarise(self, messages: Sequence[Message], cut: Cut, turn: int) -> AsyncIterator[Event]:
        """Sets `_text` to a whole summary, or to "" when there is none; one repair is tried."""
        self._text, self._usage, self._replayed = "", Usage(), Usage()
        request = summary_request(messages, cut, self.sampling)
        for last in (False, True):
            asked = Turn(self.provider, request, self.invocation_id, turn, self.retry, may_be_empty=True)
            try:
                async for event in asked.run():
                    if isinstance(event, ModelAttemptFailed | ModelRetryScheduled | ModelSwitched):
                        yield self.write(event)
            except ProviderError:
                self.keep_failure()
                return
            assert asked.reply is not None
            self._usage = self._usage.plus(asked.reply.usage)
            self._replayed = self._replayed.plus(asked.reply.usage) if asked.reply.recorded else self._replayed
            text = asked.reply.message.text
            if not missing_in(text):
                self._text = normal_form(text)
                return
            if last or not text.strip():
                return
            repair = UserMessage(text=repair_of(text), source="compaction")
            request = replace(request, messages=[*request.messages, AssistantMessage(text=text), repair])

    def _compacted(
        self, messages: Sequence[Message], cut: Cut, conversation: Conversation, turn: int
    ) -> HistoryCompacted:
        tokens = estimated_tokens(messages)
        if not self._text:
            text = "The model gave no summary with the required sections; the conversation goes on as it was."
            return self._made(turn, tokens, tokens, method="failed", text=text, level=self.level)
        self.forget()
        gone = cut.of(messages)
        replies = replies_in(gone)
        text = "\n".join(
            filter(
                None,
                (summary_text(self._text), self._files(gone, conversation), _request(gone), _tasks(conversation.calls)),
            )
        )
        after = estimated_tokens(replaced(messages, cut.start, len(gone), text, replies))
        return self._made(
            turn,
            tokens,
            after,
            method="summary",
            start=cut.start,
            count=len(gone),
            replies=replies,
            text=text,
            level=self.level,
        )

    def _files(self, gone: Sequence[Message], conversation: Conversation) -> str:
        told = FileLedger.of(gone, conversation.calls).told()
        return f"<files>\n{told}\n</files>" if told else ""

    def _event(self, turn: int, before: int, after: int, **more: object) -> Event:
        return self.write(self._made(turn, before, after, **more))

    def _made(self, turn: int, before: int, after: int, **more: object) -> HistoryCompacted:
        used = {"usage": self._usage, "replayed_usage": self._replayed}
        facts: dict[str, object] = dict(used) if more["method"] != "pruned" else {}
        return HistoryCompacted.model_validate(
            {
                "invocation_id": self.invocation_id,
                "turn": turn,
                "tokens_before": before,
                "tokens_after": after,
                **facts,
                **more,
            }
        )


def _tasks(calls: Sequence[CallRecord]) -> str:
    """The task list as the model last saw it (spec liveagent §14, §19)."""
    for record in reversed(calls):
        if record.result is not None and record.call.tool_id in _TASKS and not record.result.is_error:
            return f"<tasks>\n{record.result.content}\n</tasks>"
    return ""


def _request(gone: Sequence[Message]) -> str:
    """What the user said last, word for word, if it is among what goes."""
    for message in reversed(gone):
        if message.role != "user":
            continue
        if message.source == "prompt":
            return f"<last_request>\n{message.text}\n</last_request>"
        earlier = _REQUEST.search(message.text) if message.source == "compaction" else None
        if earlier is not None:
            return earlier[0]
    return ""
