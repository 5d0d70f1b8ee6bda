"""Tools, tool choice and sampling of a request in pydantic_ai's words."""

from typing import TYPE_CHECKING, Any

from tt_kernel.domain.errors import ProviderError
from tt_kernel.domain.specs import ToolChoice, ToolOffer
from tt_kernel.domain.turns import Sampling

if TYPE_CHECKING:
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

SILENCE_SECONDS = 300.0
"""How long a service may say nothing before a request counts as lost, when the profile does not say."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def parameters(tools: tuple[ToolOffer, ...]) -> "ModelRequestParameters":
    """The tools with their schemas verbatim."""
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415  heavy
    from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415  heavy

    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.input_schema)
            for tool in tools
        ]
    )


def settings(sampling: Sampling, choice: ToolChoice, model: "Model[Any]", name: str) -> "ModelSettings":
    """The settings to send. Retries are ours, so the library's are off.

    Args:
        sampling: Of the profile; a field the service merely does not know (seed ...) is left out.
        choice: Whether a tool may, must or must not be called.
        model: Tells what its service ignores.
        name: The model's full name, for errors.

    Raises:
        ProviderError: `stop` or `extra` for a service that would ignore it, or an unknown reasoning effort.
    """
    wanted: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "max_tokens": sampling.max_tokens,
        "stop_sequences": list(sampling.stop) or None,
        "parallel_tool_calls": sampling.parallel_tool_calls,
        "extra_body": sampling.extra or None,
        "tool_choice": _choice(choice),
        **_effort(sampling.reasoning_effort, model, name),
        "timeout": sampling.timeout_seconds or SILENCE_SECONDS,
        "max_retries": 0,
    }
    ignored: frozenset[str] = model.unsupported_settings
    for setting, profile_field in (("stop_sequences", "stop"), ("extra_body", "extra")):
        if setting in ignored and wanted[setting] is not None:
            raise ProviderError(
                "model.invalid_request",
                f"Model {name} has no setting for sampling.{profile_field}. Remove it from the profile.",
            )
    sent: Any = {key: value for key, value in wanted.items() if value is not None and key not in ignored}
    return sent  # type: ignore[no-any-return]


def silence(sampling: Sampling) -> float:
    """Seconds without any news after which a request is given up."""
    return sampling.timeout_seconds or SILENCE_SECONDS


def _choice(choice: ToolChoice) -> str | list[str] | None:
    if choice.kind == "auto":
        return None
    if choice.kind == "specific" and choice.name is not None:
        return [choice.name]
    return "none" if choice.kind == "none" else "required"


def _effort(effort: str | None, model: "Model[Any]", name: str) -> dict[str, Any]:
    if effort is None:
        return {}
    if effort not in EFFORTS:
        raise ProviderError(
            "model.invalid_request",
            f"Reasoning effort {effort!r} for {name} is unknown. Use one of {', '.join(EFFORTS)}.",
        )
    if speaks_openai(model):
        return {"openai_reasoning_effort": effort}
    return {"thinking": False if effort == "none" else effort}


def speaks_openai(model: "Model[Any]") -> bool:
    """Whether the model class is one of the two OpenAI interfaces (or derived from one)."""
    return any(cls.__name__ in {"OpenAIChatModel", "OpenAIResponsesModel"} for cls in type(model).__mro__)
