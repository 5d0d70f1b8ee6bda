"""Runs handed to OpenTelemetry: on request, or each live run when it ended, where the environment says `TT_OTEL=on`.

The library is imported only then. Where spans go is set up by its own means (a tracer provider, `opentelemetry-instrument`, logfire, ...).
What was said is sent only where its own variable `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says so, or on request.
"""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.domain.events import Envelope, RunResumed
from tt_kernel.domain.runs import RunRecord
from tt_kernel.session.loading import resumed_conversation, whole
from tt_kernel.session.spans import SpanFact, spans_of
from tt_kernel.store.atomic import decoded, read_if_there
from tt_kernel.store.journal import read_journal
from tt_kernel.store.layout import RunLayout
from tt_kernel.store.runs import RECORD

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer, TracerProvider

NEEDS = "Spans need OpenTelemetry: pip install 'tt_kernel[otel]'"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SWITCH = "TT_OTEL"
_ON = frozenset({"1", "on", "true", "yes"})
_CAPTURED = _ON | {"span_only", "span_and_event"}


def captures_content() -> bool:
    return os.environ.get(CAPTURE, "").strip().lower() in _CAPTURED


def exports_by_itself() -> bool:
    return os.environ.get(SWITCH, "").strip().lower() in _ON


def export(folder: Path, provider: "TracerProvider | None" = None, *, content: bool | None = None) -> int:
    """Send the spans of a stored run, with the times that its journal has.

    Args:
        folder: The run's folder.
        provider: Where to; None: the process's own tracer provider.
        content: Include what was said; None: as the environment says.

    Returns:
        How many spans: 0 where nothing is kept of the run.

    Raises:
        ModelUnavailable: OpenTelemetry is not installed.
        StorageFault: The journal cannot be read.
    """
    layout = RunLayout(folder)
    return _send(layout, read_journal(layout.events), provider, captures_content() if content is None else content)


def export_ended(folder: Path) -> None:
    """Send what a live run has just done, from where it was resumed if it was. Nothing that goes wrong here harms the run."""
    if not exports_by_itself():
        return
    layout = RunLayout(folder)
    try:
        journal = read_journal(layout.events)
        begins = max((i for i, line in enumerate(journal) if isinstance(line.event, RunResumed)), default=0)
        _send(layout, journal, None, captures_content(), begins)
    except Exception as error:  # noqa: BLE001  somebody else's exporter
        logging.getLogger("tt_kernel").warning("The spans of run %s were not exported: %s", folder.name, error)


def _send(
    layout: RunLayout,
    journal: Sequence[Envelope],
    provider: "TracerProvider | None",
    content: bool,
    begins: int = 0,
) -> int:
    try:
        from opentelemetry import trace  # noqa: PLC0415  optional
    except ImportError as error:
        raise ModelUnavailable("extra.missing", NEEDS) from error
    record = decoded(RECORD, read_if_there(layout.run_json))
    if record is None:
        return 0
    root = _facts(record, layout, journal, content, begins)
    return _emit(trace.get_tracer("tt_kernel", tracer_provider=provider), root) if root is not None else 0


def _facts(
    record: RunRecord,
    layout: RunLayout,
    journal: Sequence[Envelope],
    content: bool,
    begins: int,
) -> SpanFact | None:
    if not content or not journal:
        return spans_of(record, journal[begins:])
    earlier = [line.event for line in journal[:begins]]
    first = journal[begins].event
    opening = resumed_conversation(layout, earlier, first.guidance if isinstance(first, RunResumed) else None).messages
    told = [line.model_copy(update={"event": whole(line.event, layout)}) for line in journal[begins:]]
    return spans_of(record, told, opening, content=True)


def _emit(tracer: "Tracer", fact: SpanFact, context: Any = None) -> int:
    from opentelemetry import trace  # noqa: PLC0415

    span = tracer.start_span(
        fact.name,
        context,
        kind=trace.SpanKind.CLIENT if fact.kind == "client" else trace.SpanKind.INTERNAL,
        attributes=fact.attributes,
        start_time=fact.start,
    )
    for name, at, attributes in fact.events:
        span.add_event(name, attributes, at)
    if fact.error:
        span.set_status(trace.Status(trace.StatusCode.ERROR, fact.message or None))
    inside = trace.set_span_in_context(span)
    count = 1 + sum(_emit(tracer, child, inside) for child in fact.children)
    span.end(fact.end)
    return count
