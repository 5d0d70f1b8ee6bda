"""The run view: the bounded, deterministic picture of a run that front ends draw.

No time, duration, cost, absolute path, random id or address may enter it: those go to output metadata (ViewMeta).
"""

from typing import Literal

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.frozen import Frozen

RUN_MIME = "application/vnd.tt-kernel.run+json"
MAX_VIEW_BYTES = 256 * 1024
"""Upper bound of the JSON of one run view."""
MAX_INLINE_IMAGE_BYTES = 100_000


class ImageView(Frozen):
    """`path` is relative to the notebook's folder; `data` is base64 of a thumbnail of at most MAX_INLINE_IMAGE_BYTES."""

    path: str
    mime_type: str
    width: int | None = None
    height: int | None = None
    data: str | None = None
    data_mime_type: str | None = None


class CallView(Frozen):
    """One tool call, already cut to size. `summary` is one line for a closed card, `group` picks the icon."""

    index: int
    turn: int
    name: str
    tool_id: str
    group: str
    state: Literal["requested", "running", "done", "error", "cancelled"]
    arguments: JsonObject
    raw_arguments: str | None = None
    summary: str = ""
    content: str = ""
    content_truncated: bool = False
    error_code: str | None = None
    images: tuple[ImageView, ...] = ()


class TextView(Frozen):
    """Text the model wrote between calls (`after` = number of calls before it)."""

    after: int
    text: str
    truncated: bool = False


class RunView(Frozen):
    """`hidden_calls` counts calls left out to stay within bounds (the first and the last are kept).

    `status` and `problem` are of the run; `text` is the answer. `folder` is relative to the notebook's folder.
    """

    version: Literal[1] = 1
    id: str
    status: str
    profile: str
    model: str
    turns: int
    call_count: int
    tokens: int
    calls: tuple[CallView, ...] = ()
    notes: tuple[TextView, ...] = ()
    hidden_calls: int = 0
    text: str = ""
    text_truncated: bool = False
    files: tuple[str, ...] = ()
    folder: str = ""
    problem_code: str | None = None
    problem: str | None = None
    continues: str | None = None


class ViewMeta(Frozen):
    """What is volatile: goes to output metadata, never to data. Times in seconds.

    `persist_state` is the memory state that the run left; runs of cells below begin with it.
    """

    elapsed_seconds: float | None = None
    cost_usd: float | None = None
    replayed: bool | None = None
    drift: tuple[str, ...] = ()
    live: bool = False
    persist_state: str | None = None
