"""A run from its folder: the same folds that drew it live."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from tt_kernel.domain.calls import StoredFile, ToolResult
from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.events import CallEnded, Event, PersistChanged, RunEnded
from tt_kernel.domain.messages import Message, UserMessage
from tt_kernel.domain.runs import Run, RunRecord
from tt_kernel.domain.views import ImageView, RunView
from tt_kernel.runtime.conversation import Conversation
from tt_kernel.runtime.guidance import wrapped
from tt_kernel.runtime.projection import RunProjection
from tt_kernel.runtime.recorder import INLINE_CHARS
from tt_kernel.store.atomic import read_json
from tt_kernel.store.journal import read_journal
from tt_kernel.store.layout import RunLayout

_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])

CUT_OFF = "The process ended before the run did."


def ends_of(
    record: RunRecord, layout: RunLayout, folder: str, draw_image: Callable[[StoredFile, str], ImageView]
) -> tuple[RunView, ...]:
    """The view at each end of a stored run, in order; parameters as of `load_run`."""
    projection, views = RunProjection(folder, draw_image), []
    for envelope in read_journal(layout.events):
        projection.apply(whole(envelope.event, layout))
        if isinstance(envelope.event, RunEnded):
            projection.finish(record.id, folder)
            views.append(projection.view())
    return tuple(views)


def load_run(
    record: RunRecord, layout: RunLayout, folder: str, draw_image: Callable[[StoredFile, str], ImageView]
) -> Run:
    """Rebuild the Run of a folder; one that was cut off at any point is shown as interrupted.

    Args:
        folder: The run's folder relative to the notebook's.
        draw_image: Makes the inline picture of a stored image.
    """
    conversation = Conversation(_initial(layout))
    projection = RunProjection(folder, draw_image)
    last: Event | None = None
    memory = record.persist_base
    for envelope in read_journal(layout.events):
        last = whole(envelope.event, layout)
        conversation.apply(last)
        projection.apply(last)
        memory = last.state if isinstance(last, PersistChanged) else memory
    if not isinstance(last, RunEnded):
        projection.apply(
            RunEnded(type="run_cancelled", code="agent.run_interrupted", message=CUT_OFF, text=record.text)
        )
    conversation.settle()
    projection.finish(record.id, folder)
    view = projection.view()
    return Run(
        id=record.id,
        status=record.status,
        text=record.text or view.text,
        messages=conversation.messages,
        tool_calls=conversation.calls,
        images=image_paths(conversation, layout.root),
        files=workspace_files(layout.root),
        usage=record.usage,
        folder=layout.root,
        replayed=True,
        view=view,
        problem=record.problem,
        persist_state=memory,
        in_session=record.session,
    )


def resumed_conversation(layout: RunLayout, events: Sequence[Event], guidance: str | None) -> Conversation:
    """The conversation of a stopped run, made valid, with what the user says to its going on."""
    conversation = Conversation(_initial(layout))
    for event in events:
        conversation.apply(whole(event, layout))
    conversation.settle()
    if guidance:
        conversation.messages.append(UserMessage(text=wrapped(guidance), source="guidance"))
    return conversation


def image_paths(conversation: Conversation, root: Path) -> list[Path]:
    return [root / image.path for record in conversation.calls if record.result for image in record.result.images]


def workspace_files(root: Path) -> list[Path]:
    """Files the run left under its own roots, in order of path."""
    roots = ("output", "scratch", "plan", "summaries")
    there = [name for name in roots if os.path.isdir(f"{root}/{name}")]  # noqa: PTH112  asked for each run of a sweep
    return sorted(path for name in there for path in (root / name).rglob("*") if path.is_file())


def _initial(layout: RunLayout) -> list[Message]:
    try:
        return _MESSAGES.validate_python(read_json(layout.input / "messages.json"))
    except (StorageFault, FileNotFoundError, ValueError):
        return []  # killed before the file was written: there is no conversation to show


def whole(event: Event, layout: RunLayout) -> Event:
    """A result that the journal keeps only the start of is read from its own file."""
    if not isinstance(event, CallEnded) or not event.result_ref or len(event.result.content) < INLINE_CHARS:
        return event
    try:
        stored = read_json(layout.root / event.result_ref)
    except (StorageFault, FileNotFoundError):
        return event
    return event.model_copy(update={"result": ToolResult.model_validate(stored)})
