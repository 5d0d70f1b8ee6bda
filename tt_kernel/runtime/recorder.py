"""Journal first, then yield: every event passes here before anyone sees it."""

from tt_kernel.domain.calls import ToolResult
from tt_kernel.domain.events import LIVE, CallEnded, Event
from tt_kernel.store.journal import Journal

INLINE_CHARS = 2_000
"""Longer result texts stay in the stored result that `result_ref` names; the journal keeps their start."""


class Recorder:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def write(self, event: Event) -> Event:
        """Append to the journal (live projections are not journalled) and hand the event on unchanged."""
        if event.type not in LIVE:
            self._journal.append(_brief(event))
        return event


def _brief(event: Event) -> Event:
    if isinstance(event, CallEnded) and event.result_ref and len(event.result.content) > INLINE_CHARS:
        return event.model_copy(update={"result": cut(event.result)})
    return event


def cut(result: ToolResult) -> ToolResult:
    return result.model_copy(update={"content": result.content[:INLINE_CHARS], "structured": None, "details": None})
