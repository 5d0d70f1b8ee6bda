"""The views: bounded, deterministic pictures of a run, of two runs held against each other, and of a sweep; front ends draw them.

No time, duration, cost, absolute path, random id or address may enter them: those go to output metadata (ViewMeta).
"""

from typing import Literal

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.frozen import Frozen

RUN_MIME = "application/vnd.tt-kernel.run+json"
DIFF_MIME = "application/vnd.tt-kernel.diff+json"
SWEEP_MIME = "application/vnd.tt-kernel.sweep+json"
MAX_VIEW_BYTES = 256 * 1024
"""Upper bound of the JSON of one view."""
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


Difference = Literal["same", "changed", "removed", "added"]
"""`removed`: only in the first run. `added`: only in the second."""


class PieceView(Frozen):
    """A stretch of two texts: in both, only in the old one, or only in the new one."""

    kind: Literal["same", "old", "new"]
    text: str


class ComparedRunView(Frozen):
    """One side of a comparison. `folder` is relative to its notebook's folder."""

    id: str
    status: str
    profile: str
    model: str
    folder: str = ""


class ArgumentDiffView(Frozen):
    """An argument that differs; `diff` is unified."""

    name: str
    diff: str


class CallPairView(Frozen):
    """A call of either run, or the same call of both; of a pair that is the same, `after` has neither content nor images.

    `result` is a unified diff of what the model was told; `same_images` tells whether both have the same images.
    """

    state: Difference
    before: CallView | None = None
    after: CallView | None = None
    arguments: tuple[ArgumentDiffView, ...] = ()
    result: str = ""
    same_images: bool = True


class ReplyPairView(Frozen):
    """What the model wrote in a turn; the turns count from 1 in their runs, None where there is none."""

    state: Difference
    before: int | None
    after: int | None
    text: tuple[PieceView, ...] = ()


class FileDiffView(Frozen):
    """A file that either run wrote. `diff` is unified; of what is no text, or is large, it names the digests."""

    path: str
    state: Difference
    diff: str = ""


class NumberPairView(Frozen):
    name: str
    before: int
    after: int


class DiffView(Frozen):
    """Two runs held against each other. `hidden_pairs` counts pairs of calls left out to stay within bounds."""

    version: Literal[1] = 1
    before: ComparedRunView
    after: ComparedRunView
    is_same: bool
    prompt: tuple[PieceView, ...] = ()
    answer: tuple[PieceView, ...] = ()
    replies: tuple[ReplyPairView, ...] = ()
    pairs: tuple[CallPairView, ...] = ()
    hidden_pairs: int = 0
    file_diffs: tuple[FileDiffView, ...] = ()
    numbers: tuple[NumberPairView, ...] = ()


class SweepColumnView(Frozen):
    """`varied`: what differs between the points. `rate`: shares of runs, 0 to 1. `number`: any number."""

    name: str
    kind: Literal["varied", "rate", "number"]


class SweepCellView(Frozen):
    """What stands in a cell, and the number that it is sorted and coloured by, if it is one; with its interval, if known."""

    shown: str
    value: float | None = None
    low: float | None = None
    high: float | None = None


class SweepRunView(Frozen):
    """One run of a point. `passes` is what each check found: passed or not, a number, or nothing."""

    id: str
    repeat: int
    status: str
    folder: str = ""
    text: str = ""
    text_truncated: bool = False
    problem: str = ""
    passes: tuple[bool | float | None, ...] = ()
    call_count: int = 0
    tokens: int = 0
    images: tuple[ImageView, ...] = ()


class SweepPointView(Frozen):
    """One combination of what is varied; `cells` are in the order of the sweep's columns."""

    cells: tuple[SweepCellView, ...]
    runs: tuple[SweepRunView, ...]


class SweepView(Frozen):
    """A sweep. `stopped` tells why some runs are missing, `hidden_runs` counts those left out to stay within bounds."""

    version: Literal[1] = 1
    columns: tuple[SweepColumnView, ...] = ()
    checks: tuple[str, ...] = ()
    points: tuple[SweepPointView, ...] = ()
    hidden_runs: int = 0
    stopped: str = ""


class OriginView(Frozen):
    """What an output was made from; where the cell or the stored profile is another one now, the output is stale.

    `source_crc` is the CRC-32 of the cell's text in UTF-8, its mode option left out; `profile` the id of the root's profile.
    """

    source_crc: int
    profile: str
    profile_digest: str | None = None


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
    origin: OriginView | None = None
