"""One run as a stream of events: created, driven, ended, and handed over as a Run."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, aclosing
from functools import partial
from typing import Literal

from tt_kernel.domain.errors import ContractBroken, TTError, UsageProblem
from tt_kernel.domain.events import (
    ContextAssembled,
    Event,
    GuidanceEvent,
    InvocationStarted,
    PersistProjected,
    RunCreated,
    RunEnded,
    RunResumed,
)
from tt_kernel.domain.ids import ROOT_INVOCATION, RunId
from tt_kernel.domain.runs import Run, RunProblem, RunStatus
from tt_kernel.domain.views import RunView, ViewMeta
from tt_kernel.session.assembly import Assembly, assemble
from tt_kernel.session.chat_turns import compacted, keep_turn
from tt_kernel.session.here import here
from tt_kernel.session.loading import image_paths, workspace_files
from tt_kernel.session.lookout import keep_timed
from tt_kernel.session.memory import publish_memory
from tt_kernel.session.prepared import PreparedRun, Shared
from tt_kernel.session.telemetry import export_ended
from tt_kernel.store.journal import now_iso

EndType = Literal["run_completed", "run_partial_success", "run_failed", "run_cancelled", "run_limited"]

_STATUS: dict[EndType, RunStatus] = {
    "run_completed": "completed",
    "run_partial_success": "partial_success",
    "run_failed": "failed",
    "run_cancelled": "interrupted",
    "run_limited": "limit",
}


class RunStream:
    """Iterate once, on the agent loop. `run` is there when the iteration ended, however it ended.

    A cancelled task ends the stream orderly: the remaining events still come. A failed run raises nothing here; `run.status`
    and `run.problem` say it. `view` and `meta` are the picture so far.
    """

    def __init__(
        self,
        shared: Shared,
        prepared: PreparedRun,
        remember: Callable[[Run], None],
        forget: Callable[["RunStream"], None],
    ) -> None:
        self._shared = shared
        self._prepared = prepared
        self._remember = remember
        self._forget = forget
        self._assembly: Assembly | None = None
        self._run: Run | None = None
        self._began = time.monotonic()
        self._state = prepared.persist_base

    @property
    def run(self) -> Run:
        if self._run is None:
            raise ContractBroken(message="The run has not ended yet.")
        return self._run

    @property
    def is_running(self) -> bool:
        return self._assembly is not None and self._run is None

    def view(self) -> RunView:
        assembly = self._running()
        shown = RunId(assembly.ledger.shown_id)
        assembly.projection.finish(shown, self._shared.relative(shown))
        return assembly.projection.view()

    def meta(self) -> ViewMeta:
        replayed = not self._running().ledger.is_live
        # How long a replay took is nobody's concern, and would change the saved notebook with each Run All.
        timed = self._run is None or not replayed
        meta = self._running().projection.meta(
            elapsed=round(time.monotonic() - self._began, 3) if timed else None,
            replayed=replayed,
            live=self._run is None,
        )
        if self._run is None or self._prepared.chat is not None:
            return meta
        return meta.model_copy(update={"persist_state": self._run.persist_state})

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Raises UserError (ReplayMiss, ModelUnavailable) before the first event when the run cannot start."""
        with ExitStack() as stack:
            if self._prepared.chat is not None and self._prepared.chat.replays is None:
                stack.enter_context(self._shared.chats.shelf.active(self._prepared.chat.record.name))
                self._prepared = await compacted(self._shared, self._prepared)
            try:
                async for event in self._events():
                    yield event
            except TTError as problem:
                self._testify(None, problem)
                raise

    async def _events(self) -> AsyncIterator[Event]:
        assembly = self._assembly = assemble(self._shared, self._prepared)
        ended: RunEnded | None = None
        try:
            for event in self._opening(assembly):
                assembly.projection.apply(event)
                yield event
            async with aclosing(assembly.invocation.run()) as events:  # type: ignore[type-var]
                async for event in events:
                    assembly.projection.apply(event)
                    yield event
            for event in self._closing(assembly):
                yield event
            for text in assembly.ledger.guidance.close():
                yield assembly.ledger.write(
                    GuidanceEvent(type="user_guidance_discarded", invocation_id=ROOT_INVOCATION, text=text)
                )
            ended = self._end(assembly)
            assembly.ledger.write(ended)
            assembly.projection.apply(ended)
            self._run = self._finished(assembly, ended)
            if self._prepared.chat is not None:
                keep_turn(self._shared, self._prepared, self._run, self._state)
            self._remember(self._run)
            self._testify(self._run, assembly.invocation.problem)
            yield ended
        finally:
            self._forget(self)
            if assembly.invocation.status == "cancelled":
                await assembly.hands.stop_started()
            await assembly.invocation.provider.aclose()
            await self._close(assembly)

    def _testify(self, run: Run | None, problem: TTError | None) -> None:
        witness = here().witness
        if witness is not None:
            witness(self._prepared, run, problem)

    def guide(self, text: str) -> None:
        """Say something to the running agent; it reads it before its next turn.

        Raises:
            UsageProblem: `agent.guidance_too_large`, `agent.guidance_run_not_accepting`.
        """
        if self._prepared.chat is not None:
            raise UsageProblem("agent.guidance_run_not_accepting", "A session takes messages, not guidance.")
        self._running().ledger.guidance.submit(text)

    def _running(self) -> Assembly:
        if self._assembly is None:
            raise ContractBroken(message="The run has not started yet.")
        return self._assembly

    def _opening(self, assembly: Assembly) -> list[Event]:
        request, snapshot = self._prepared.request, self._prepared.snapshot
        resumption = self._prepared.resumption
        if resumption is not None:
            again = RunResumed(
                after_seq=resumption.last_seq, checkpoint=resumption.checkpoint, guidance=resumption.guidance
            )
            return [assembly.ledger.write(again)]
        events: list[Event] = [
            RunCreated(
                key=self._prepared.key,
                model=request.model,
                profile_id=request.profile.id,
                prompt=request.prompt,
                continues=request.continue_from,
            ),
            InvocationStarted(
                invocation_id=ROOT_INVOCATION,
                kind=self._prepared.kind,
                profile_id=request.profile.id,
                model=request.model,
                snapshot=assembly.opening.tools,
                tools=tuple(binding.name for binding in snapshot.bindings),
                diagnostics=tuple(d.model_dump(mode="json") for d in snapshot.diagnostics),
            ),
            ContextAssembled(
                invocation_id=ROOT_INVOCATION,
                messages=len(assembly.opening.messages),
                prompt_digest=assembly.opening.digest,
            ),
        ]
        if self._prepared.persist_base is not None:
            events.insert(1, PersistProjected(state=self._prepared.persist_base))
        return [assembly.ledger.write(event) for event in events]

    def _closing(self, assembly: Assembly) -> list[Event]:
        """What a run leaves besides its answer: its memory, if it ended well, and a checkpoint."""
        events: list[Event] = []
        if assembly.invocation.status == "completed" or self._prepared.chat is not None:
            change = publish_memory(self._shared, self._prepared, assembly.ledger)
            if change is not None:
                events.append(assembly.ledger.write(change))
                self._state = change.state
        keep_timed(self._shared.folder, self._prepared)
        events += assembly.keeper.take("end", "exited")
        return events

    def _end(self, assembly: Assembly) -> RunEnded:
        invocation = assembly.invocation
        return RunEnded(
            type=_end_type(invocation.status, invocation.progress.commits),
            code=invocation.problem.code if invocation.problem else None,
            message=invocation.problem.message if invocation.problem else None,
            text=invocation.text,
            usage=invocation.meter.total,
        )

    def _finished(self, assembly: Assembly, ended: RunEnded) -> Run:
        invocation, ledger = assembly.invocation, assembly.ledger
        run_id = RunId(ledger.shown_id)
        home = self._shared.folder.run(run_id).root
        files = workspace_files(ledger.folder.layout.root) if ledger.folder.is_made else []
        return Run(
            id=run_id,
            status=_STATUS[ended.type],
            text=ended.text,
            messages=invocation.conversation.messages,
            tool_calls=invocation.conversation.calls,
            images=image_paths(invocation.conversation, home),
            files=[home / path.relative_to(ledger.folder.layout.root) for path in files],
            usage=ended.usage,
            folder=home,
            replayed=not ledger.is_live,
            view=self.view(),
            persist_state=self._state,
            in_session=self._prepared.request.session,
            problem=RunProblem(code=ended.code, message=ended.message or ended.code) if ended.code else None,
        )

    async def _close(self, assembly: Assembly) -> None:
        record, run = assembly.ledger.record, self._run
        if record is not None and run is not None:
            record = record.model_copy(
                update={
                    "status": run.status,
                    "ended_at": now_iso(),
                    "problem": run.problem,
                    "usage": run.usage,
                    "replayed_usage": assembly.invocation.meter.total_replayed,
                    "turns": assembly.invocation.meter.number,
                    "tool_calls": len(run.tool_calls),
                    "text": run.text,
                }
            )
        if record is None:
            assembly.ledger.close(None)
            return
        await self._shared.closing(partial(assembly.ledger.close, record))
        export_ended(self._shared.folder.run(record.id).root)


def _end_type(status: str, commits: int) -> EndType:
    """Spec tauritavern §9.1: an error after at least one confirmed commit is a partial success."""
    if status == "failed":
        return "run_partial_success" if commits else "run_failed"
    ends: dict[str, EndType] = {"completed": "run_completed", "cancelled": "run_cancelled", "limit": "run_limited"}
    return ends[status]
