"""What of a long conversation may go: pure functions of its messages, so a replay comes to the same (spec liveagent §19).

The specification counts in turns of the user and in minutes. A run has one user message and many replies, and a replay has no
clock; so here a group (a reply with the results of its calls, and what was said just before it) is the unit of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tt_kernel.domain.messages import BACKGROUND, Message, SystemMessage, ToolMessage, UserMessage
from tt_kernel.domain.sessions import estimated_tokens

MIN_GROUPS = 3
"""A shorter conversation is not summarised (spec liveagent §19)."""
PRUNE_TOKENS = 20_000
"""Old tool results are replaced by a mark when at least so many tokens come free (spec liveagent §19)."""
PROTECTED_TOKENS = (40_000, 20_000, 10_000)
"""Of the newest messages, by level: their results stay (spec liveagent §19)."""
PROTECTED_GROUPS = (2, 2, 1)
"""The newest groups, by level: their results stay (spec liveagent §19)."""
PRESSURE = 0.9
"""A compaction that leaves more than this share of the threshold raises the level (spec liveagent §19)."""
MAX_LEVEL = 2


@dataclass(frozen=True)
class Cut:
    """The messages from `start` to before `end` are to be summarised."""

    start: int
    end: int

    def of(self, messages: Sequence[Message]) -> Sequence[Message]:
        return messages[self.start : self.end]


def opening_length(messages: Sequence[Message]) -> int:
    """The system prompt, the first message of the user, and the background around it: they always stay."""
    own = [not isinstance(m, SystemMessage) and getattr(m, "source", "") not in BACKGROUND for m in messages]
    first = next((n for n, message in enumerate(messages) if own[n] and message.role == "user"), len(messages) - 1)
    return next((n for n in range(first + 1, len(messages)) if own[n]), len(messages))


def groups_of(messages: Sequence[Message], floor: int) -> list[int]:
    """Where the groups begin, from message `floor` on. A result is never parted from its call."""
    starts = []
    for index in range(floor, len(messages)):
        before = messages[index - 1].role if index > floor else None
        answered = before in ("assistant", "tool")
        if before is None or (answered and messages[index].role != "tool"):
            starts.append(index)
    return starts


def cut_of(messages: Sequence[Message], floor: int, keep_groups: int, level: int) -> Cut | None:
    """What a summary would replace now; None when it is too little to be worth one.

    Args:
        messages: The conversation.
        floor: How many messages from the start always stay.
        keep_groups: How many of the newest groups stay at level 0.
        level: 0 to MAX_LEVEL; the higher, the fewer stay.
    """
    starts = groups_of(messages, floor)
    keep = keep_groups if level == 0 else min(keep_groups, MAX_LEVEL + 1 - level)
    if len(starts) < MIN_GROUPS or len(starts) <= keep:
        return None
    cut = Cut(floor, starts[-keep])
    kept = sum(1 for message in cut.of(messages) if message.role == "system")
    return cut if cut.end - cut.start - kept >= 2 else None  # noqa: PLR2004  one message would become one


def replaced(messages: Sequence[Message], start: int, count: int, text: str, replies: int) -> list[Message]:
    """The conversation with `count` messages from `start` on replaced by a summary. System messages among them stay."""
    gone = messages[start : start + count]
    kept = [message for message in gone if isinstance(message, SystemMessage)]
    summary = UserMessage(text=text, source="compaction", replies=replies)
    return [*messages[:start], *kept, summary, *messages[start + count :]]


def replies_in(messages: Sequence[Message]) -> int:
    """How many replies of the model these messages are or stand for."""
    return sum(m.replies if m.role == "user" else int(m.role == "assistant") for m in messages)


def prunable(messages: Sequence[Message], floor: int, level: int) -> tuple[int, ...]:
    """The tool results that can be replaced by a mark; none when that would free less than PRUNE_TOKENS."""
    starts = groups_of(messages, floor)
    if len(starts) <= PROTECTED_GROUPS[level]:
        return ()
    end, newest = starts[-PROTECTED_GROUPS[level]], 0
    old, free = [], 0
    for index in range(len(messages) - 1, floor - 1, -1):
        message = messages[index]
        newest += estimated_tokens([message])
        if index >= end or newest <= PROTECTED_TOKENS[level] or not isinstance(message, ToolMessage):
            continue
        saved = estimated_tokens([message]) - estimated_tokens([marked(message)])
        if saved > 0:
            old.append(index)
            free += saved
    return tuple(reversed(old)) if free >= PRUNE_TOKENS else ()


def pruned(messages: Sequence[Message], indexes: Sequence[int]) -> list[Message]:
    """The conversation with these tool results replaced by a mark; their images go with them."""
    chosen = set(indexes)
    return [
        marked(message) if index in chosen and isinstance(message, ToolMessage) else message
        for index, message in enumerate(messages)
    ]


def marked(message: ToolMessage) -> ToolMessage:
    mark = f"[This result of {len(message.text)} characters was removed to save space. Call the tool again if you need it.]"
    return message.model_copy(update={"text": mark, "images": ()})


@dataclass(frozen=True)
class Step:
    """What is due now. `messages` is the conversation with the results at `pruned` replaced."""

    pruned: tuple[int, ...]
    messages: Sequence[Message]
    cut: Cut | None


@dataclass(frozen=True)
class CompactionRule:
    """When and what of one run's conversation is compacted.

    Attributes:
        threshold: Estimated tokens above which it is.
        keep_groups: How many of the newest groups a summary leaves alone.
        floor: How many messages from the start always stay.
    """

    threshold: int
    keep_groups: int
    floor: int

    def due(self, messages: Sequence[Message], level: int) -> Step | None:
        """Pruning first; a summary where that is not enough."""
        if estimated_tokens(messages) <= self.threshold:
            return None
        old = prunable(messages, self.floor, level)
        shorter = pruned(messages, old) if old else messages
        enough = estimated_tokens(shorter) <= self.threshold
        cut = None if enough else cut_of(shorter, self.floor, self.keep_groups, level)
        return Step(old, shorter, cut) if old or cut else None

    def level_after(self, level: int, tokens: int) -> int:
        """Higher while compactions leave too much; 0 again after one that did not.

        The specification waits for 5 quiet minutes; a replay has none.
        """
        return min(level + 1, MAX_LEVEL) if tokens > PRESSURE * self.threshold else 0
