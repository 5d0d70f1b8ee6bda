"""What the local model does in a turn. A model of 135 million parameters cannot decide it, so rules do.

- A tool is called when the prompt speaks of it (shared words), or when a call is required.
- Once a tool has answered the prompt, the reply follows; after a failed call there is one more try.
- When calls are required (said so, or a tool that ends the run is offered), no tool is called twice for one prompt, and what ends the run comes last:
  write, commit, finish or return.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tt_kernel.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tt_kernel.domain.specs import ToolChoice, ToolOffer
from tt_kernel.providers.local_words import meant

TRIES = 2
_ENDINGS = ("finish", "task_return")
_LAST_STEPS = ("write_file", "commit", *_ENDINGS)


@dataclass(frozen=True)
class Talk:
    """What came of the last prompt so far."""

    prompt: str
    called: tuple[str, ...]
    results: tuple[ToolMessage, ...]

    @property
    def problem(self) -> str | None:
        """The error of the last call."""
        return self.results[-1].text if self.results and self.results[-1].is_error else None


@dataclass(frozen=True)
class Plan:
    """Call one of `tools` (none: reply). `result`: the reply tells this result."""

    talk: Talk
    tools: tuple[ToolOffer, ...] = ()
    result: ToolMessage | None = None


def plan(messages: Sequence[Message], tools: Sequence[ToolOffer], choice: ToolChoice) -> Plan:
    talk = talk_of(messages)
    if choice.kind == "specific":
        return Plan(talk, tuple(tool for tool in tools if tool.name == choice.name))
    if tools and (choice.kind == "required" or _must_end_by_call(tools)):
        return Plan(talk, (_next_required(talk, tools),))
    answered = bool(talk.results) and (talk.problem is None or len(talk.results) >= TRIES)
    if answered:
        return Plan(talk, result=talk.results[-1])
    if choice.kind == "none":
        return Plan(talk)
    if talk.problem is not None:
        return Plan(talk, tuple(tool for tool in tools if tool.name == talk.called[-1]))
    return Plan(talk, tuple(meant(talk.prompt, tools)))


def talk_of(messages: Sequence[Message]) -> Talk:
    """The last prompt of the user (not a reminder of the runtime) and what followed it."""
    start = next((i for i in range(len(messages) - 1, -1, -1) if _is_prompt(messages[i])), 0)
    after = messages[start:]
    called = [call.name for m in after if isinstance(m, AssistantMessage) for call in m.calls]
    results = [m for m in after if isinstance(m, ToolMessage)]
    return Talk(messages[start].text if messages else "", tuple(called), tuple(results))


def _must_end_by_call(tools: Sequence[ToolOffer]) -> bool:
    """A tool that ends the run is offered only where nothing else does: plain text would be asked for again and again."""
    return any(tool.name.endswith(_ENDINGS) for tool in tools)


def _is_prompt(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.source in {"prompt", "guidance"}


def _next_required(talk: Talk, tools: Sequence[ToolOffer]) -> ToolOffer:
    if talk.problem is not None and talk.called.count(talk.called[-1]) < TRIES:
        again = [tool for tool in tools if tool.name == talk.called[-1]]
        if again:
            return again[0]
    fresh = [tool for tool in tools if tool.name not in talk.called]
    ending = [tool for step in _LAST_STEPS for tool in fresh if tool.name.endswith(step)]
    steps = [*meant(talk.prompt, [tool for tool in fresh if tool not in ending]), *ending, *fresh]
    return steps[0] if steps else tools[-1]
