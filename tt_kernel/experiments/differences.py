"""What two runs can differ in: calls, turns, files, texts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.runs import CallRecord, Run
from tt_kernel.widgets.differences import Piece

State = Literal["same", "changed", "removed", "added"]
"""`removed`: only in the first run. `added`: only in the second."""


@dataclass(frozen=True)
class CallDiff:
    """One call of either run, or of both.

    Attributes:
        arguments: The arguments that differ: name -> (before, after); None where there is none.
        result: Unified diff of what the model was told; empty where it is the same, or one side has no such call.
        images: Digests of the result's images, before and after.
    """

    state: State
    before: CallRecord | None
    after: CallRecord | None
    arguments: Mapping[str, tuple[Json, Json]] = field(default_factory=dict)
    result: str = ""
    images: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def call(self) -> CallRecord:
        found = self.before or self.after
        assert found is not None, "a pair has at least one side"
        return found


@dataclass(frozen=True)
class TurnDiff:
    """One reply of the model in either run, or in both; numbers count from 1."""

    state: State
    before: int | None
    after: int | None
    text: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class FileDiff:
    """`diff` is a unified diff; for what is no text, or is large, it names the digests."""

    path: str
    state: State
    diff: str = ""


@dataclass(frozen=True)
class Differences:
    """Two runs held against each other.

    Attributes:
        before: The first run.
        after: The second.
        prompt: The cell's prompts, word by word.
        text: The answers, word by word.
        turns: The model's replies, aligned by the calls that they made.
        calls: The calls, aligned by tool and arguments.
        files: Files that either run wrote.
        usage: Number -> (before, after): turns, calls and tokens.
    """

    before: Run
    after: Run
    prompt: tuple[Piece, ...]
    text: tuple[Piece, ...]
    turns: tuple[TurnDiff, ...]
    calls: tuple[CallDiff, ...]
    files: tuple[FileDiff, ...]
    usage: Mapping[str, tuple[int, int]]

    @property
    def is_same(self) -> bool:
        """Whether prompt, replies, calls, results and files are equal; usage and ids do not count."""
        states = [part.state for parts in (self.turns, self.calls, self.files) for part in parts]
        same = all(state == "same" for state in states)
        same = same and all(piece.kind == "same" for piece in (*self.prompt, *self.text))
        return same and self.before.status == self.after.status

    def to_df(self) -> Any:
        """A pandas DataFrame, one row a call: state, tool, name, turn_before, turn_after, arguments, result."""
        import pandas as pd  # noqa: PLC0415  heavy, and optional

        columns = [
            "state",
            "tool",
            "name",
            "turn_before",
            "turn_after",
            "arguments_before",
            "arguments_after",
            "result",
        ]
        return pd.DataFrame([_row(call) for call in self.calls], columns=columns)


def json_lines(value: Json) -> str:
    """A value as lines that can be compared: text as itself, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)


def _row(diff: CallDiff) -> dict[str, Any]:
    one, other = diff.before, diff.after
    return {
        "state": diff.state,
        "tool": str(diff.call.call.tool_id),
        "name": diff.call.call.name,
        "turn_before": one.call.turn if one else None,
        "turn_after": other.call.turn if other else None,
        "arguments_before": one.call.arguments.for_model if one else None,
        "arguments_after": other.call.arguments.for_model if other else None,
        "result": diff.result,
    }
