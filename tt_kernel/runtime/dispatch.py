"""The calls of one turn: addressed, admitted, executed, stored, journalled (spec tauritavern §2.6)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tt_kernel.domain.calls import Commit, FileChanged, Finish, ToolCall, ToolResult
from tt_kernel.domain.errors import ContractBroken, ToolError, TTError
from tt_kernel.domain.events import (
    CallEnded,
    CallRequested,
    CallStarted,
    CommitCompleted,
    CommitStarted,
    Event,
    FileWritten,
)
from tt_kernel.domain.ids import InvocationId, ToolId
from tt_kernel.domain.messages import CallPart
from tt_kernel.domain.ports import Caller
from tt_kernel.domain.specs import Snapshot, ToolChoice
from tt_kernel.runtime.progress import Progress
from tt_kernel.store.results import ResultStore
from tt_kernel.toolkit.gate import Gate

AFTER_FINISH = "This call was not executed: the run was finished by an earlier call of the same turn."
NOT_STARTED = "This call was not started: the turn was ended before it."


@dataclass
class _Case:
    """One call on its way: `refusal` is set when it must not be executed."""

    call: ToolCall
    group: str = "other"
    refusal: ToolResult | None = None
    requested: bool = False
    started: bool = False
    ended: bool = False


@dataclass
class Dispatcher:
    """Executes turns for one invocation.

    `write` journals an event and returns it. `notes` are events that policies produce while a call runs (approvals, drift):
    they are journalled at once by their maker and yielded with the call's result.
    """

    invocation_id: InvocationId
    snapshot: Snapshot
    gate: Gate
    caller: Caller
    results: ResultStore
    write: Callable[[Event], Event]
    progress: Progress
    notes: list[Event] = field(default_factory=list)
    before_commit: Callable[[], list[Event]] = list
    _cases: list[_Case] = field(default_factory=list)

    @cached_property
    def _snapshot_digest(self) -> str:
        return self.snapshot.digest

    async def run(self, turn: int, parts: Sequence[CallPart], choice: ToolChoice) -> AsyncIterator[Event]:
        """Execute the calls in order; all-read-only turns concurrently, with results in order.

        Raises Fault and the like: the caller then asks `settle` for the rest.
        """
        self._cases = [self._address(turn, index, part, choice) for index, part in enumerate(parts)]
        if len(self._cases) > 1 and all(self._is_read_only(case) for case in self._cases):
            async for event in self._together():
                yield event
            return
        for case in self._cases:
            async for event in self._one(case):
                yield event

    def settle(self, code: str, message: str) -> Iterator[Event]:
        """Results for the calls of the turn that have none: `code` for those that had started, else not started."""
        for case in self._cases:
            if case.ended:
                continue
            if not case.started:
                if not case.requested:
                    yield self._requested(case)
                result = ToolResult.error(case.call, "agent.tool_not_started", NOT_STARTED)
            else:
                result = ToolResult.error(case.call, code, message)
            yield from self._end(case, result)
        self._cases = []

    async def _one(self, case: _Case) -> AsyncIterator[Event]:
        if self.progress.finished is not None and case.refusal is None:
            case.refusal = ToolResult.error(case.call, "agent.tool_after_finish", AFTER_FINISH)
        for event in self._request(case):
            yield event
        result = await self._execute(case)
        for event in self._end(case, result):
            yield event
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError  # a tool turned the cancellation into its result; the run still stops

    async def _together(self) -> AsyncIterator[Event]:
        for case in self._cases:
            for event in self._request(case):
                yield event
        tasks = [asyncio.create_task(self._execute(case)) for case in self._cases]
        try:
            for case, task in zip(self._cases, tasks, strict=True):
                result = await task
                for event in self._end(case, result):
                    yield event
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _address(self, turn: int, index: int, part: CallPart, choice: ToolChoice) -> _Case:
        """Find the tool; an unknown name is a recoverable refusal (upstream ended the run)."""
        tool_id, name, group, refused = ToolId(f"unknown:{part.name or '?'}"), part.name, "other", None
        try:
            binding = self.gate.admit(part.name, choice)
            tool_id, name, group = binding.spec.id, binding.name, binding.spec.group
        except ToolError as error:
            refused = error
        call = ToolCall(
            id=part.id,
            tool_id=tool_id,
            name=name,
            arguments=part.arguments,
            invocation_id=self.invocation_id,
            turn=turn,
            index=index,
        )
        return _Case(call, group, ToolResult.error(call, refused.code, refused.message) if refused else None)

    def _is_read_only(self, case: _Case) -> bool:
        binding = self.snapshot.find(case.call.name)
        return case.refusal is None and binding is not None and binding.spec.read_only

    def _requested(self, case: _Case) -> Event:
        arguments = case.call.arguments
        ref = self.results.save_arguments(case.call, arguments.value if arguments.is_valid else arguments.raw)
        case.requested = True
        return self.write(
            CallRequested(call=case.call, group=case.group, arguments_ref=ref, snapshot=self._snapshot_digest)
        )

    def _request(self, case: _Case) -> Iterator[Event]:
        yield self._requested(case)
        if case.refusal is None:
            case.started = True
            yield self.write(CallStarted(call_id=case.call.id, tool_id=case.call.tool_id))

    async def _execute(self, case: _Case) -> ToolResult:
        if case.refusal is not None:
            return case.refusal
        try:
            result = await self.caller(case.call)
        except ToolError as error:
            return ToolResult.error(case.call, error.code, error.message)
        except TTError:
            raise
        except Exception as error:
            raise ContractBroken(
                message=f"{case.call.tool_id} broke: {type(error).__name__}: {error}. This is a bug of the tool."
            ) from error
        if result.call_id != case.call.id or result.tool_id != case.call.tool_id:
            raise ContractBroken("tool.result_identity_mismatch", f"{case.call.tool_id} answered for another call.")
        return result

    def _end(self, case: _Case, result: ToolResult) -> Iterator[Event]:
        ref = self.results.save_result(case.call, result)
        yield from self._take_notes()
        for effect in result.effects:
            yield from self._perform(case.call, effect)
        case.ended = True
        yield self.write(
            CallEnded(
                type="tool_call_failed" if result.is_error else "tool_call_completed",
                call_id=case.call.id,
                tool_id=case.call.tool_id,
                result=result,
                result_ref=ref,
            )
        )

    def _take_notes(self) -> Iterator[Event]:
        notes, self.notes[:] = list(self.notes), []
        yield from notes

    def _perform(self, call: ToolCall, effect: FileChanged | Commit | Finish) -> Iterator[Event]:
        if isinstance(effect, FileChanged):
            yield self.write(
                FileWritten(
                    type="workspace_patch_applied" if effect.patch else "workspace_file_written",
                    call_id=call.id,
                    path=effect.path,
                    chars=effect.chars,
                    words=effect.words,
                    sha256=effect.sha256,
                )
            )
        elif isinstance(effect, Commit):
            yield self.write(CommitStarted(call_id=call.id, path=effect.path, mode=effect.mode))
            yield from self.before_commit()
            text = self.progress.publish(effect)
            yield self.write(
                CommitCompleted(call_id=call.id, path=effect.path, number=self.progress.commits, text=text)
            )
        else:
            self.progress.finished = effect
