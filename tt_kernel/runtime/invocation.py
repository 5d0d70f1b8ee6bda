"""One agent's part of a run: the loop of turns, as a stream of events (DESIGN §6).

- Every event is journalled by `write` before it is yielded.
- A cancelled task does not break the stream: calls without a result get one that says so, partial text is kept, and the stream
  ends with `agent_invocation_cancelled`.
- Mistakes that the model can mend stay inside the conversation; any other TTError ends the invocation as failed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.errors import BudgetUsedUp, ContractBroken, ProviderError, TTError
from tt_kernel.domain.events import DirectOutputCaptured, Event, GuidanceEvent, InvocationEnded, ModelRequested
from tt_kernel.domain.ids import InvocationId
from tt_kernel.domain.messages import Message
from tt_kernel.domain.ports import Provider
from tt_kernel.domain.profiles import ModelRetry
from tt_kernel.domain.specs import Completion, ToolChoice, ToolOffer
from tt_kernel.domain.turns import ModelReply, ModelRequest, Sampling
from tt_kernel.runtime.compactor import Compactor
from tt_kernel.runtime.conversation import UNSETTLED, Conversation
from tt_kernel.runtime.dispatch import Dispatcher
from tt_kernel.runtime.drafts import Drafts
from tt_kernel.runtime.drift import DRIFT_LIMIT, plan_reminder, reminder
from tt_kernel.runtime.limits import Meter
from tt_kernel.runtime.progress import Progress
from tt_kernel.runtime.turn import Turn
from tt_kernel.toolkit.planning import Planning

InvocationStatus = Literal["running", "completed", "failed", "cancelled", "limit"]

_ENDS: dict[str, Literal["agent_invocation_completed", "agent_invocation_failed", "agent_invocation_cancelled"]] = {
    "completed": "agent_invocation_completed",
    "limit": "agent_invocation_completed",
    "failed": "agent_invocation_failed",
    "cancelled": "agent_invocation_cancelled",
}


@dataclass(frozen=True)
class Plan:
    """What is fixed for the whole invocation.

    Attributes:
        stream: Whether replies are asked for piece by piece (profile field `run.stream`).
        offers: The tools that the next request shows; they follow from the conversation (toolkit/deferral.py).
        planning: The bounds of plan mode, where the run only plans.
    """

    invocation_id: InvocationId
    completion: Completion
    offers: Callable[[Sequence[Message]], tuple[ToolOffer, ...]]
    sampling: Sampling
    retry: ModelRetry
    commit_name: str | None
    finish_name: str | None
    read_image: Callable[[StoredFile], bytes]
    save_direct_output: Callable[[str], str]
    take_guidance: Callable[[], list[str]]
    planning: Planning | None = None
    stream: bool = True


@dataclass
class Invocation:
    plan: Plan
    provider: Provider
    dispatcher: Dispatcher
    conversation: Conversation
    progress: Progress
    meter: Meter
    write: Callable[[Event], Event]
    drafts: Drafts
    compactor: Compactor | None = None
    status: InvocationStatus = "running"
    problem: TTError | None = None
    text: str = ""
    _turn: Turn | None = field(default=None, init=False)
    drifts: int = field(default=0, init=False)

    async def run(self) -> AsyncIterator[Event]:
        """Turn after turn until the completion protocol is fulfilled; then `status`, `text` and `problem` are set."""
        try:
            async with aclosing(self._turns()) as events:  # type: ignore[type-var]
                async for event in events:
                    self.conversation.apply(event)
                    yield event
            reason = None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            self.status, reason = "cancelled", "stopped by the user"
            for event in self._wind_up("agent.tool_interrupted", UNSETTLED):
                yield event
        except Exception as error:  # noqa: BLE001  whatever broke, the run must end with its record whole
            self.problem = error if isinstance(error, TTError) else _bug(error)
            out_of_money = isinstance(error, BudgetUsedUp) and self.meter.has_paid
            self.status, reason = "limit" if out_of_money else "failed", self.problem.message
            for event in self._wind_up(self.problem.code, self.problem.message):
                yield event
        yield self.write(InvocationEnded(type=_ENDS[self.status], invocation_id=self.plan.invocation_id, reason=reason))

    async def _turns(self) -> AsyncIterator[Event]:
        while self.status == "running":
            limit = self.meter.reached()
            if limit is not None:
                self.status, self.problem = "limit", limit
                self.text = self.progress.published or self._last_text()
                return
            for text in self.plan.take_guidance():
                yield self.write(
                    GuidanceEvent(type="user_guidance_applied", invocation_id=self.plan.invocation_id, text=text)
                )
            planning = self._plan_step()
            if planning is None:
                return
            async for event in self._request(planning):
                yield event
            assert self._turn is not None
            reply = self._turn.reply
            assert reply is not None
            follow = self._with_calls if reply.message.calls else self._without_calls
            async for event in follow(reply):
                yield event

    async def _with_calls(self, reply: ModelReply) -> AsyncIterator[Event]:
        assert self._turn is not None
        async for event in self.dispatcher.run(self._turn.number, reply.message.calls, ToolChoice()):
            self.drafts.see(event)
            yield event
        draft = self.drafts.after_turn(self.progress)
        if draft is not None:
            yield self.write(draft)
        self.meter.calls += len(reply.message.calls)
        if self.progress.finished is not None:
            self.status = "completed"
            self.text = self.progress.published or reply.message.text

    async def _request(self, first: Sequence[Event]) -> AsyncIterator[Event]:
        """One model request, after the events that come `first` and a compaction where one is due."""
        for event in first:
            yield event
        if self.compactor is not None:
            async for event in self.compactor.run(self.conversation, self.meter):
                yield event
        number = self.meter.number + 1
        request = ModelRequest(
            messages=self.conversation.messages,
            tools=self.plan.offers(self.conversation.messages),
            sampling=self.plan.sampling,
            tool_choice=self.plan.planning.choice if self.plan.planning else ToolChoice(),
            read_image=self.plan.read_image,
            stream=self.plan.stream,
        )
        self._turn = Turn(
            provider=self.provider,
            request=request,
            invocation_id=self.plan.invocation_id,
            number=number,
            retry=self.plan.retry,
            may_be_empty=self.progress.commits > 0,
        )
        yield self.write(
            ModelRequested(
                invocation_id=self.plan.invocation_id, turn=number, new_messages=len(self.conversation.messages)
            )
        )
        async for event in self._turn.run():
            yield self.write(event)
        assert self._turn.reply is not None
        self.meter.count_turn(self._turn.reply)

    async def _without_calls(self, reply: ModelReply) -> AsyncIterator[Event]:
        """A plain answer ends a `reply` invocation and is drift in a `finish` one; in plan mode it ends the research."""
        if self.plan.planning is not None:
            self.plan.planning.talked()
            return
        if self.plan.completion == "reply":
            self.status = "completed"
            self.text = self.progress.published if self.progress.published is not None else reply.message.text
            return
        self.drifts += 1
        path = None
        if reply.message.text.strip():
            path = self.plan.save_direct_output(reply.message.text)
            yield self.write(DirectOutputCaptured(invocation_id=self.plan.invocation_id, path=path))
        if self.drifts >= DRIFT_LIMIT:
            raise ProviderError(
                "model.tool_call_required",
                f"The model answered {DRIFT_LIMIT} times without calling a tool; its last text is in {path}.",
            )
        yield self.write(
            reminder(
                self.plan.invocation_id,
                self.drifts,
                saved_as=path,
                commit=self.plan.commit_name,
                finish=self.plan.finish_name or "workspace_finish",
            )
        )

    def _plan_step(self) -> list[Event] | None:
        """In plan mode, before a request: a reminder to hand over the plan when it is due; None: the last text is the plan."""
        planning = self.plan.planning
        step = planning.step() if planning else "go"
        if planning is None or step == "go":
            return []
        if step == "nudge":
            return [self.write(plan_reminder(self.plan.invocation_id, planning))]
        self.text = self._last_text()
        if not self.text.strip():
            raise ProviderError(
                "model.plan_missing", "The model ended its research without a plan and without any text."
            )
        planning.save(self.text)
        self.status = "completed"
        return None

    def _wind_up(self, code: str, message: str) -> list[Event]:
        """Keep what there is: the partial text of the turn, and a result for every call of it."""
        events: list[Event] = []
        turn = self._turn
        if turn is not None and turn.partial:
            events.append(self.write(turn.stopped()))
        self.text = self.progress.published or (turn.partial if turn else "") or self._last_text()
        events.extend(self.dispatcher.settle(code, message))
        for event in events:
            self.conversation.apply(event)
        return events

    def _last_text(self) -> str:
        texts = [m.text for m in self.conversation.messages if m.role == "assistant" and m.text]
        return texts[-1] if texts else ""


def _bug(error: Exception) -> ContractBroken:
    return ContractBroken(message=f"Internal error: {type(error).__name__}: {error}")
