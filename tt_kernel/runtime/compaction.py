"""Summarising the older part of a long conversation: whole groups only, by the conversation's own model.

The summary is asked for like any turn, so it is recorded and a replay works. Images leave with their messages.
"""

from collections.abc import Sequence

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.errors import ProviderError
from tt_kernel.domain.messages import Message, SystemMessage, UserMessage
from tt_kernel.domain.ports import Provider
from tt_kernel.domain.sessions import SessionEntry, SessionRecord, estimated_tokens, history_messages, turns_of
from tt_kernel.domain.specs import ToolChoice
from tt_kernel.domain.turns import ModelReply, ModelRequest, Sampling

RESULT_CHARS = 2_000
"""Of one tool result in the text that is summarised."""

_TASK = (
    "You summarise the earlier part of a conversation between a user and an agent, so that the agent can go on with it. "
    "Keep: what the user wants and decided, facts and figures found, names of files and what is in them, what was tried and how "
    "it ended, what is still open. Leave out: greetings, repetitions, tool output that led nowhere."
)
PLAIN = "Write plain text."


def turns_to_compact(entries: Sequence[SessionEntry], record: SessionRecord) -> int:
    """How many of the oldest turns a compaction would cover now; 0 when none is due."""
    if estimated_tokens(history_messages(entries)) <= record.compact_above_tokens:
        return 0
    return max(0, len(turns_of(entries)) - record.keep_groups)


def compaction_request(messages: Sequence[Message], sampling: Sampling, *, form: str = "") -> ModelRequest:
    """Ask for the summary of these messages; no tools. `form` says how it must look, if not like plain text."""
    text = "\n\n".join(filter(None, map(_told, messages)))
    return ModelRequest(
        messages=[SystemMessage(text=f"{_TASK} {form or PLAIN}"), UserMessage(text=text, source="compaction")],
        tools=(),
        sampling=sampling,
        tool_choice=ToolChoice(kind="none"),
        read_image=_no_image,
    )


async def summarised(provider: Provider, request: ModelRequest) -> str:
    """The summary.

    Raises:
        ProviderError: The model failed, or said nothing.
    """
    async for chunk in provider.stream(request):
        if isinstance(chunk, ModelReply) and chunk.message.text.strip():
            return chunk.message.text.strip()
    raise ProviderError("model.upstream_invalid_response", f"{provider.name} gave no summary of the conversation.")


def _told(message: Message) -> str:
    if message.role == "user":
        return f"User: {message.text}"
    if message.role == "assistant":
        calls = "".join(f"\n[calls {call.name} {call.arguments.for_model}]" for call in message.calls)
        return f"Agent: {message.text}{calls}"
    if message.role == "tool":
        text = message.text if len(message.text) <= RESULT_CHARS else message.text[:RESULT_CHARS] + "..."
        return f"[{message.name} answered{' with an error' if message.is_error else ''}: {text}]"
    return ""


def _no_image(file: StoredFile) -> bytes:
    raise ProviderError("model.invalid_request", f"{file.path} is not part of a summary.")
