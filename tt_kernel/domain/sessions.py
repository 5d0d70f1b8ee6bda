"""A session: a free-standing conversation that survives kernel restarts (spec tauritavern §10.7)."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal, Union

from pydantic import Field, StringConstraints, TypeAdapter

from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.messages import Message, UserMessage

SessionName = Annotated[str, StringConstraints(pattern=re.compile(r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z"))]

COMPACT_ABOVE_TOKENS = 24_000
"""Estimated tokens (characters / 4) of a history above which its older part is summarised before the next message."""
KEEP_GROUPS = 4
"""The newest groups that a compaction leaves as they are."""


class SessionTurn(Frozen):
    """One message of the user and everything up to the answer.

    `opening` are the user-role messages that began it (a note on the kernel, the prompt), `messages` what followed. `before` and
    `after` are the states of its files. `kernel` tells kernels apart; `names` are the notebook's names that the turn speaks of.
    """

    kind: Literal["turn"] = "turn"
    run: str
    prompt: str
    status: str
    opening: tuple[Message, ...]
    messages: tuple[Message, ...]
    before: str | None = None
    after: str | None = None
    kernel: str = ""
    names: tuple[str, ...] = ()


class SessionCompaction(Frozen):
    """The first `turns` turns are replaced by `summary` in what the model sees; the file keeps them."""

    kind: Literal["compaction"] = "compaction"
    turns: int
    summary: str
    run: str


SessionEntry = Annotated[Union[SessionTurn, SessionCompaction], Field(discriminator="kind")]
ENTRY: TypeAdapter[SessionEntry] = TypeAdapter(SessionEntry)


class SessionRecord(Frozen):
    """`session.json`. `profile` is that of the last turn."""

    schema_version: Literal[1] = 1
    name: SessionName
    profile: str
    model: str
    compact_above_tokens: int = COMPACT_ABOVE_TOKENS
    keep_groups: int = KEEP_GROUPS


def turns_of(entries: Sequence[SessionEntry]) -> list[SessionTurn]:
    return [entry for entry in entries if isinstance(entry, SessionTurn)]


def history_messages(entries: Sequence[SessionEntry]) -> list[Message]:
    """What the model sees of a history: the newest summary, then the turns it does not cover, as whole groups."""
    compaction = next((entry for entry in reversed(entries) if isinstance(entry, SessionCompaction)), None)
    messages: list[Message] = []
    if compaction is not None:
        messages.append(UserMessage(text=summary_text(compaction.summary), source="compaction"))
    for turn in turns_of(entries)[compaction.turns if compaction else 0 :]:
        messages += [*turn.opening, *turn.messages]
    return messages


def summary_text(summary: str) -> str:
    return f"<conversation_summary>\nEarlier messages of this conversation, summarised:\n{summary}\n</conversation_summary>"


def estimated_tokens(messages: Sequence[Message]) -> int:
    """Characters / 4, rounded up; images are not counted."""
    chars = 0
    for message in messages:
        chars += len(message.text)
        if message.role == "assistant":
            chars += sum(len(call.name) + len(str(call.arguments.for_model)) for call in message.calls)
    return -(-chars // 4)
