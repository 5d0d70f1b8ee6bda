"""The chat of a notebook from its cells: DESIGN §5.2.

A cell is one message of the user: its source, followed by what it printed or showed as text. An `%%agent` cell's message is its
prompt; each answer in its output is a message of the assistant.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from pydantic import ValidationError

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.chat import ChatMessage, FrozenChat, anchor_of
from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.messages import AssistantMessage, Message, UserMessage
from tt_kernel.runtime.cells import OUTPUT_HEAD, Cell, prompt_of, written
from tt_kernel.toolkit.tokens import estimated_tokens

SOURCE = "chat"
"""`source` of a message that was taken from the chat."""


def chat_messages(cells: Iterable[Cell]) -> tuple[ChatMessage, ...]:
    """The messages of cells, in order. Cells without a word give none."""
    messages: list[ChatMessage] = []

    def add(role: Literal["user", "assistant"], name: str, text: str, anchor: str) -> None:
        messages.append(ChatMessage(index=len(messages), role=role, name=name, text=text, anchor=anchor_of(anchor)))

    for cell in cells:
        source, output = written(cell), cell.outputs.text
        if source.strip() or output:
            name = "prompt" if cell.kind == "code" and prompt_of(cell.source) is not None else cell.kind
            add("user", name, f"{source}\n\n{OUTPUT_HEAD}\n{output}" if output else source, source)
        for answer in cell.outputs.answers:
            if answer.text.strip():
                add("assistant", answer.profile, answer.text, answer.text)
    return tuple(messages)


def with_prompt(chat: FrozenChat | None, prompt: str) -> tuple[ChatMessage, ...]:
    """The chat with the run's prompt as the last message: what world info scans."""
    earlier = chat.messages if chat is not None else ()
    anchor = (chat.calling if chat is not None else "") or anchor_of(prompt)
    return (*earlier, ChatMessage(index=len(earlier), role="user", name="prompt", text=prompt, anchor=anchor))


def initial_history(
    chat: FrozenChat | None,
    window: int,
    max_tokens: int | None = None,
    count_tokens: Callable[[str], int] = estimated_tokens,
) -> list[Message]:
    """The chat's latest messages for the initial prompt (`context.initialChatHistoryMessages`, spec tauritavern §11.1, §17.3).

    Args:
        chat: None: nothing.
        window: -1: all, 0: none, N: the last N.
        max_tokens: Then only the newest that fit; None: no limit.
        count_tokens: Measures them.
    """
    messages = chat.messages if chat is not None else ()
    chosen: Sequence[ChatMessage] = messages if window < 0 else messages[len(messages) - min(window, len(messages)) :]
    if max_tokens is not None:
        chosen = _newest(chosen, max_tokens, count_tokens)
    return [
        AssistantMessage(text=m.text, source=SOURCE)
        if m.role == "assistant"
        else UserMessage(text=m.text, source=SOURCE)
        for m in chosen
    ]


def _newest(
    messages: Sequence[ChatMessage], max_tokens: int, count_tokens: Callable[[str], int]
) -> Sequence[ChatMessage]:
    left = max_tokens
    for number in range(len(messages) - 1, -1, -1):
        left -= count_tokens(messages[number].text)
        if left < 0:
            return messages[number + 1 :]
    return messages


def thaw_chat(document: Json, digest: str) -> FrozenChat:
    """The chat of a stored run (`input/chat.json`), if it still is what the run was started with.

    Raises:
        StorageFault: `agent.input_history_conflict`; the run cannot go on.
    """
    code = "agent.input_history_conflict"
    try:
        chat = FrozenChat.model_validate(document)
    except ValidationError as error:
        raise StorageFault(code, f"The run's stored chat is damaged: {error.error_count()} wrong values.") from error
    if chat.digest != digest:
        raise StorageFault(code, "The run's stored chat is not the one that the run was started with.")
    return chat
