"""The run view as a fold over events: bounded, deterministic, cheap per event."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import singledispatchmethod

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.events import (
    AnswerDrafted,
    CallDrifted,
    CallEnded,
    CallRequested,
    CallStarted,
    CommitCompleted,
    Event,
    FileWritten,
    HistoryCompacted,
    InvocationStarted,
    LiveText,
    ModelCompleted,
    ModelStopped,
    RunCreated,
    RunEnded,
)
from tt_kernel.domain.turns import Usage
from tt_kernel.domain.views import CallView, ImageView, RunView, TextView, ViewMeta
from tt_kernel.runtime.fitting import fitted, shown_arguments
from tt_kernel.runtime.summaries import call_summary

MAX_CALLS = 200
"""Calls drawn; the first and the last halves of a longer run are kept."""
CONTENT_CHARS = 4_000
ARGUMENT_BYTES = 2_000
TEXT_CHARS = 60_000
NOTE_CHARS = 4_000

_STATUS = {
    "run_completed": "done",
    "run_partial_success": "partial",
    "run_failed": "failed",
    "run_cancelled": "interrupted",
    "run_limited": "limit",
}


@dataclass
class RunProjection:
    """`folder` is the run's folder relative to the notebook's; `draw_image` makes the inline picture of a stored image."""

    folder: str
    draw_image: Callable[[StoredFile, str], ImageView]
    _calls: dict[str, CallView] = field(default_factory=dict)
    _notes: list[TextView] = field(default_factory=list)
    _files: dict[str, None] = field(default_factory=dict)
    _facts: JsonObject = field(default_factory=lambda: {"id": "", "profile": "", "model": "", "status": "running"})
    _turns: int = 0
    _count: int = 0
    _usage: Usage = Usage()
    _text: str = ""
    _streaming: list[str] = field(default_factory=list)
    _drift: list[str] = field(default_factory=list)

    @singledispatchmethod
    def apply(self, event: Event) -> None:
        """Draw one event; kinds without a method below change nothing in the picture."""

    def view(self) -> RunView:
        """The picture so far, at most MAX_VIEW_BYTES of JSON."""
        text = self._text or "".join(self._streaming)
        return fitted(
            RunView(
                **self._facts,
                turns=self._turns,
                call_count=self._count,
                tokens=self._usage.total_tokens,
                calls=tuple(self._calls.values()),
                notes=tuple(self._notes),
                text=text[:TEXT_CHARS],
                text_truncated=len(text) > TEXT_CHARS,
                files=tuple(self._files),
                folder=self.folder,
            )
        )

    def meta(self, *, elapsed: float | None = None, replayed: bool | None = None, live: bool = False) -> ViewMeta:
        return ViewMeta(
            elapsed_seconds=elapsed,
            cost_usd=self._usage.cost_usd,
            replayed=replayed,
            drift=tuple(self._drift),
            live=live,
        )

    # -- one method per event

    @apply.register
    def _created(self, event: RunCreated) -> None:
        self._facts |= {"profile": event.profile_id, "model": event.model, "continues": event.continues}

    @apply.register
    def _started(self, event: InvocationStarted) -> None:
        self._facts["profile"] = event.profile_id

    @apply.register
    def _live_text(self, event: LiveText) -> None:
        self._streaming.append(event.text)

    @apply.register
    def _model_completed(self, event: ModelCompleted) -> None:
        self._turns = event.turn
        self._usage = self._usage.plus(event.reply.usage)
        self._streaming.clear()
        text = event.reply.message.text
        if event.reply.message.calls and text.strip():
            self._add_note(TextView(after=self._count, text=text[:NOTE_CHARS], truncated=len(text) > NOTE_CHARS))
        else:
            self._text = text

    @apply.register
    def _model_stopped(self, event: ModelStopped) -> None:
        self._streaming.clear()
        self._text = event.text

    @apply.register
    def _compacted(self, event: HistoryCompacted) -> None:
        """A checkpoint card: the calls before it stay drawn (spec liveagent §19)."""
        self._usage = self._usage.plus(event.usage)
        text = {
            "pruned": f"[{len(event.pruned)} old tool results were removed from the conversation.]",
            "summary": f"[{event.count} earlier messages were summarised.]",
            "failed": "[The earlier messages could not be summarised; they stay.]",
        }[event.method]
        self._add_note(TextView(after=self._count, text=text))

    @apply.register
    def _call_requested(self, event: CallRequested) -> None:
        self._count += 1
        arguments, raw = event.call.arguments.value, event.call.arguments.raw
        self._calls[event.call.id] = CallView(
            index=self._count,
            turn=event.call.turn,
            name=event.call.name,
            tool_id=event.call.tool_id,
            group=event.group,
            state="requested",
            arguments=shown_arguments(arguments or {}, ARGUMENT_BYTES),
            raw_arguments=raw[:ARGUMENT_BYTES] if raw is not None else None,
        )
        self._forget_middle()

    @apply.register
    def _call_started(self, event: CallStarted) -> None:
        self._update(event.call_id, state="running")

    @apply.register
    def _call_ended(self, event: CallEnded) -> None:
        result = event.result
        self._update(
            event.call_id,
            state="error" if result.is_error else "done",
            summary=call_summary(result),
            content=result.content[:CONTENT_CHARS],
            content_truncated=len(result.content) > CONTENT_CHARS,
            error_code=result.error_code,
            images=tuple(self.draw_image(image, self.folder) for image in result.images),
        )

    @apply.register
    def _drifted(self, event: CallDrifted) -> None:
        self._drift.append(f"{event.tool_id} {event.difference}")

    @apply.register
    def _file_written(self, event: FileWritten) -> None:
        self._files[event.path] = None

    @apply.register
    def _drafted(self, event: AnswerDrafted) -> None:
        self._text = event.text

    @apply.register
    def _committed(self, event: CommitCompleted) -> None:
        self._text = event.text

    @apply.register
    def _ended(self, event: RunEnded) -> None:
        self._facts |= {"status": _STATUS[event.type], "problem_code": event.code, "problem": event.message}
        self._streaming.clear()
        self._text = event.text

    # -- assembly

    def finish(self, run_id: str, folder: str) -> None:
        """The id and folder are known for certain only when it is decided whether the run was live."""
        self._facts["id"] = run_id
        if folder != self.folder:
            for key, call in self._calls.items():
                images = tuple(
                    image.model_copy(update={"path": image.path.replace(self.folder, folder, 1)})
                    for image in call.images
                )
                self._calls[key] = call.model_copy(update={"images": images})
        self.folder = folder

    def _update(self, call_id: str, **changes: object) -> None:
        if call_id in self._calls:
            self._calls[call_id] = self._calls[call_id].model_copy(update=changes)

    def _add_note(self, note: TextView) -> None:
        self._notes.append(note)
        if len(self._notes) > MAX_CALLS:
            del self._notes[MAX_CALLS // 2]

    def _forget_middle(self) -> None:
        if len(self._calls) > MAX_CALLS:
            victim = list(self._calls)[MAX_CALLS // 2]
            del self._calls[victim]
