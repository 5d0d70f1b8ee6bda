"""Searching and reading the chat: spec tauritavern §5.1, §5.2. In a notebook: the cells above the calling cell (DESIGN §5.2).

The chat is frozen before the run starts, so the same call gives the same result as long as the run goes on.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.chat import ChatMessage, FrozenChat
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.text import count_chars, count_words
from tt_kernel.toolkit.declare import Declaration, builtin_tool
from tt_kernel.toolkit.excerpts import MAX_CHARS, MAX_READS, Codes, Excerpt, check_total, excerpt
from tt_kernel.toolkit.scoring import Query, fold
from tt_kernel.toolkit.tool import Outcome, Tool

DEFAULT_LIMIT = 20
MAX_LIMIT = 50
MAX_SCAN = 100_000
MAX_QUERY_SHOWN = 200
INVALID = "tool.invalid_arguments"
CODES = Codes("chat.invalid_message_range", "chat.read_too_large")


@dataclass(frozen=True)
class ChatDesk:
    """One run's chat.

    Attributes:
        chat: None where there is none: neither a notebook nor earlier cells.
        call_name: The name under which the model sees a tool; None when it is not bound.
    """

    chat: FrozenChat | None
    call_name: Callable[[ToolId], str | None]

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """Raises ToolError `chat.not_found`."""
        if self.chat is None:
            raise ToolError("chat.not_found", "This run has no chat: it was not started from a notebook's cell.")
        return self.chat.messages

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """The texts as they are searched, made once."""
        return tuple(fold(message.text) for message in self.messages)

    def pointer(self, tool: str, text: str) -> str:
        name = self.call_name(builtin(tool))
        return " " + text.format(name) if name else ""


@dataclass(frozen=True)
class Hit:
    message: ChatMessage
    score: float
    snippet: str

    @property
    def ref(self) -> str:
        return f"chat:current#{self.message.index}"


@builtin_tool("chat.search", group="chat", effect="none", read_only=True, contexts=("cell",))
def search_chat(
    desk: ChatDesk,
    query: str,
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    role: Literal["user", "assistant", "system"] | None = None,
    start_message: Annotated[int, Field(ge=0)] | None = None,
    end_message: Annotated[int, Field(ge=0)] | None = None,
    scan_limit: Annotated[int, Field(ge=1, le=MAX_SCAN)] | None = None,
) -> Outcome:
    """Search the messages of the chat (the notebook above the calling cell) for words, best matches first.

    Messages are numbered from 0, the oldest. Code, notes and prompts are the user's messages, answers of agents the assistant's.

    Args:
        query: Words to look for; not a regular expression.
        limit: How many hits to show.
        role: Only messages of this role.
        start_message: First message to search.
        end_message: Last message to search, inclusive.
        scan_limit: Search only so many of the most recent messages.
    """
    query = query.strip()
    if not query:
        raise ToolError(INVALID, "query is empty; it must hold words to look for.")
    words = Query.of(query)
    if not words:
        raise ToolError(INVALID, "query has no letter and no digit to search for.")
    if start_message is not None and end_message is not None and start_message > end_message:
        raise ToolError(
            INVALID, f"start_message ({start_message}) must not be greater than end_message ({end_message})."
        )
    scope = _scope(len(desk.messages), start_message, end_message, scan_limit)
    hits = _hits(desk, words, scope, role)[:limit]
    return _found(desk, query, hits, len(scope))


def _scope(count: int, start: int | None, end: int | None, scan_limit: int | None) -> range:
    stop = count if end is None else min(end + 1, count)
    scope = range(min(start or 0, stop), stop)
    return scope if scan_limit is None else scope[-scan_limit:]


def _hits(desk: ChatDesk, words: Query, scope: range, role: str | None) -> list[Hit]:
    """Best first; of equal ones, the newer."""
    numbers = [number for number in scope if role is None or desk.messages[number].role == role]
    texts = [desk.folded[number] for number in numbers]
    matched = [0] * len(texts)
    for token, weight in words.weights.items():
        # Token by token: three times as fast as `Query.score` text by text.
        for place in [place for place, text in enumerate(texts) if token in text]:
            matched[place] += weight
    scored = sorted(((weight, number) for weight, number in zip(matched, numbers, strict=True) if weight), reverse=True)
    best = [(weight / words.total, desk.messages[number]) for weight, number in scored[:MAX_LIMIT]]
    return [Hit(message, score, words.snippet(message.text)) for score, message in best]


def _found(desk: ChatDesk, query: str, hits: list[Hit], searched: int) -> Outcome:
    told = json.dumps(query[:MAX_QUERY_SHOWN], ensure_ascii=False)
    where = f"in {_many(searched, 'message')}"
    head = f"{_many(len(hits), 'hit')} for {told} {where}." if hits else f"No hits for {told} {where}."
    if hits:
        head += desk.pointer("chat.read_messages", "{} shows whole messages.")
    blocks = [f"message {h.message.index} {h.message.role} score {h.score:.3f} ref {h.ref}\n{h.snippet}" for h in hits]
    facts: list[JsonObject] = [
        {
            "index": hit.message.index,
            "role": hit.message.role,
            "score": round(hit.score, 3),
            "snippet": hit.snippet,
            "chars": count_chars(hit.message.text),
            "words": count_words(hit.message.text),
            "ref": hit.ref,
        }
        for hit in hits
    ]
    structured = {"query": query, "hits": facts}
    return Outcome("\n\n".join([head, *blocks]), structured=structured, resource_refs=tuple(hit.ref for hit in hits))


class MessagePart(BaseModel):
    """One message to read, or a part of it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    index: int = Field(ge=0, description="Number of the message, from 0.")
    start_char: int | None = Field(default=None, ge=0, description="First character to read, from 0.")
    max_chars: int | None = Field(
        default=None, ge=1, description="How many characters to read.", json_schema_extra={"maximum": MAX_CHARS}
    )


@builtin_tool("chat.read_messages", group="chat", effect="none", read_only=True, contexts=("cell",))
def read_messages(
    desk: ChatDesk,
    messages: Annotated[list[MessagePart], Field(min_length=1, max_length=MAX_READS)],
) -> Outcome:
    """Read messages of the chat (the notebook above the calling cell), whole or in part.

    A message of more than 8000 characters is read in parts with start_char and max_chars; one call gives at most 20000
    characters.

    Args:
        messages: The messages to read, at most 20.
    """
    known = desk.messages
    parts = [(_message(desk, wanted.index), wanted) for wanted in messages]
    read = [
        (message, excerpt(message.text, wanted.start_char, wanted.max_chars, f"message {message.index}", CODES))
        for message, wanted in parts
    ]
    check_total((part for _, part in read), CODES)
    head = f"Read {_many(len(read), 'message')} ({len(known)} total)."
    structured = {"messages": [_facts(message, part) for message, part in read], "messageCount": len(known)}
    return Outcome(
        "\n\n".join([head, *(_block(message, part) for message, part in read)]),
        structured=structured,
        resource_refs=tuple(_part_ref(message, part) for message, part in read),
    )


def _message(desk: ChatDesk, index: int) -> ChatMessage:
    count = len(desk.messages)
    if index >= count:
        there = f"the chat has messages 0 to {count - 1}" if count else "the chat has no messages"
        advice = desk.pointer("chat.search", "Use {} to find messages.") if count else ""
        raise ToolError("chat.message_not_found", f"There is no message {index}; {there}.{advice}")
    return desk.messages[index]


def _block(message: ChatMessage, part: Excerpt) -> str:
    facts = [
        f"message {message.index} {message.role}",
        *([message.name] if message.name else []),
        part.span,
        f"{part.words} words",
        f"ref {_part_ref(message, part)}",
        *([message.date] if message.date else []),
        *(["[truncated]"] if part.is_cut else []),
    ]
    return f"{', '.join(facts)}\n{part.text}"


def _part_ref(message: ChatMessage, part: Excerpt) -> str:
    return f"chat:current#{message.index}:chars={part.start}..{part.end}"


def _facts(message: ChatMessage, part: Excerpt) -> JsonObject:
    return {
        "index": message.index,
        "role": message.role,
        "name": message.name,
        "ref": _part_ref(message, part),
        "date": message.date,
        **part.facts(),
    }


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


CHAT_TOOLS: tuple[Declaration, ...] = (search_chat, read_messages)


def chat_tools(desk: ChatDesk) -> list[Tool]:
    """The family for one run."""
    return [declaration.bind(desk) for declaration in CHAT_TOOLS]
