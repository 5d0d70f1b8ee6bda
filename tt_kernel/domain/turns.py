"""One model request and what comes back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Union

from pydantic import Field

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.messages import AssistantMessage, Message
from tt_kernel.domain.specs import ToolChoice, ToolOffer


class Sampling(Frozen):
    """Model settings; None leaves the provider's default. `extra` is passed on as it is (`extra_body`)."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    reasoning_effort: str | None = None
    parallel_tool_calls: bool | None = None
    timeout_seconds: float | None = None
    extra: JsonObject = Field(default_factory=dict)


class Usage(Frozen):
    """Tokens as the provider counted them; `cost_usd` is None where the price is unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None

    def plus(self, other: "Usage") -> "Usage":
        costs = [c for c in (self.cost_usd, other.cost_usd) if c is not None]
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost_usd=sum(costs) if costs else None,
        )

    def minus(self, part: "Usage") -> "Usage":
        """What is left of it without a part of it."""
        cost = self.cost_usd
        return Usage(
            input_tokens=self.input_tokens - part.input_tokens,
            output_tokens=self.output_tokens - part.output_tokens,
            cached_tokens=self.cached_tokens - part.cached_tokens,
            cost_usd=None if cost is None else max(0.0, cost - (part.cost_usd or 0.0)),
        )

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True)
class ModelRequest:
    """What a provider is asked. `messages` only ever grows during an invocation (it may be the same list object, so copy
    what you keep). `read_image` gives the bytes of an image that a message refers to.
    `stream` False asks the service for the whole reply at once (profile field `run.stream`); the reply is the same.
    """

    messages: Sequence[Message]
    tools: tuple[ToolOffer, ...]
    sampling: Sampling
    tool_choice: ToolChoice
    read_image: Callable[[StoredFile], bytes]
    stream: bool = True


class TextChunk(Frozen):
    kind: Literal["text"] = "text"
    text: str


class ReasoningChunk(Frozen):
    kind: Literal["reasoning"] = "reasoning"
    text: str


class CallChunk(Frozen):
    """A piece of a tool call's arguments, for live display only."""

    kind: Literal["call"] = "call"
    index: int
    name: str = ""
    arguments: str = ""


class SwitchChunk(Frozen):
    """From here on another model answers: what it sends follows. Only before anything was shown (spec liveagent §18)."""

    kind: Literal["switch"] = "switch"
    from_model: str
    to_model: str
    code: str
    message: str


class ModelReply(Frozen):
    """The complete reply; always the last chunk of a stream.

    `model` is the name the service reports (it may differ from the one asked for). `recorded`: it comes from a recording, and
    nothing was asked or paid.
    """

    kind: Literal["reply"] = "reply"
    message: AssistantMessage
    finish_reason: str = "stop"
    usage: Usage = Usage()
    model: str = ""
    recorded: bool = False


ModelChunk = Annotated[
    Union[TextChunk, ReasoningChunk, CallChunk, SwitchChunk, ModelReply], Field(discriminator="kind")
]
