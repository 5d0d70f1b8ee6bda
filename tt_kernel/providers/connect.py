"""Building the pydantic_ai model of a service: imports, address, profile, one HTTP client."""

import inspect
import os
import warnings
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.connections import Connection as Named
from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.providers.parameters import speaks_openai
from tt_kernel.providers.services import Service, base_url, how_to_install, without_credentials
from tt_kernel.providers.translate import Wire
from tt_kernel.store.credentials import credential_value

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

NO_KEY = "none"
"""Sent where a connection names no credential: a library would otherwise look for one in the environment."""

_MODULES = {"openai": "openai", "anthropic": "anthropic", "google": "google"}


@dataclass(frozen=True)
class Connection:
    """A model ready to be asked, and the HTTP client it owns.

    Attributes:
        model: The pydantic_ai model.
        url: Its address without credentials, for messages.
        wire: What its interface can carry.
        ids_on_wire: Tool calls have ids of the service's own (Gemini's had none, so the library makes them).
    """

    model: "Model[Any]"
    url: str
    wire: Wire
    ids_on_wire: bool
    stack: AsyncExitStack


def import_library(service: Service) -> None:
    """Import what the service needs; slow, so done in a thread.

    Raises:
        ModelUnavailable: Something is not installed.
    """
    try:
        import_module("pydantic_ai.direct")
        if service.extra in _MODULES:
            import_module(f"pydantic_ai.models.{_MODULES[service.extra]}")
    except ImportError as missing:
        raise ModelUnavailable(
            message=f"Provider {service.name!r} cannot be loaded: {missing}. Run: {how_to_install(service)}"
        ) from missing


async def connect(
    service: Service, model_name: str, *, name: str, sees: bool, named: Named | None = None
) -> Connection:
    """Open the connection on the running loop.

    Args:
        service: The service.
        model_name: The part after the colon.
        name: The full name.
        sees: Whether the model accepts images.
        named: The user's connection, if it is not the environment's.

    Raises:
        ModelUnavailable: The library knows no such provider, or lacks a credential or an address.
    """
    from pydantic_ai.exceptions import UserError  # noqa: PLC0415  heavy

    # The library warns where a service ignores a setting; a notebook's output must not depend on that.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic_ai\.")
    try:
        model = _verbatim(_model(service, model_name, named))
    except (UserError, ImportError) as problem:
        reason = str(problem).partition(" To try Pydantic AI")[0]
        raise ModelUnavailable(message=f"Model {name!r} cannot be used: {reason}") from None
    stack = AsyncExitStack()
    await stack.enter_async_context(model)
    dialect = _dialect(model)
    wire = Wire(
        service=model.system,
        native_errors=dialect in {"anthropic", "google", "bedrock"},
        images_in_results=dialect != "chat",
        sees=sees,
        model=name,
    )
    url = without_credentials(_address(model))
    return Connection(model, url, wire, ids_on_wire=dialect in {"chat", "responses", "anthropic"}, stack=stack)


def _model(service: Service, model_name: str, named: Named | None) -> "Model[Any]":
    from pydantic_ai.models import infer_model  # noqa: PLC0415  heavy

    def make(kind: str) -> "Provider[Any]":
        return _of_connection(service, kind, named) if named else _provider(service, kind)

    return infer_model(f"{service.kind}:{model_name}", make)


def _of_connection(service: Service, kind: str, named: Named) -> "Provider[Any]":
    """The provider at the connection's address, with the connection's key and no other."""
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415  heavy

    if named.base_url is None and named.credential is None:
        return _provider(service, kind)
    key = (credential_value(named.credential) if named.credential else None) or NO_KEY
    address = named.base_url or _usual_address(service)
    if kind.startswith("openai") and address:
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415  needs openai

        return OpenAICompatibleProvider("openai-compatible", base_url=address, api_key=key)
    known: Any = infer_provider_class(kind)
    stated = {"api_key": key, "base_url": address}
    wanted = {name: value for name, value in stated.items() if value is not None}
    takes = inspect.signature(known).parameters
    for name in wanted:
        if name not in takes:
            said = "credential" if name == "api_key" else "baseUrl"
            raise ModelUnavailable(
                "agent.profile_model_connection_invalid",
                f"Connection {named.name!r}: provider {service.name} takes no {said} of its own. "
                "For a server that speaks its interface use provider openai.",
            )
    provider: Provider[Any] = known(**wanted)
    return provider


def _usual_address(service: Service) -> str | None:
    """The environment's address, or that of a server on this machine; None: the library's own."""
    return (os.environ.get(service.url) if service.url else None) or service.default_url


def _provider(service: Service, kind: str) -> "Provider[Any]":
    from pydantic_ai.providers import infer_provider, infer_provider_class  # noqa: PLC0415  heavy

    address = os.environ.get(service.url) if service.url else None
    if kind.startswith("openai") and address:
        # A server of the user's own: OpenAI's prices and the habits of its models must not be assumed.
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415  needs openai

        return OpenAICompatibleProvider("openai-compatible", base_url=address, api_key=os.environ.get("OPENAI_API_KEY"))
    if service.default_url and not address:
        known: Any = infer_provider_class(kind)
        provider: Provider[Any] = known(base_url=base_url(service))
        return provider
    return infer_provider(kind)


def _verbatim(model: "Model[Any]") -> "Model[Any]":
    """The same model with tool schemas sent as they are, and with a cut stream told from a finished one."""
    profile: Any = None
    if speaks_openai(model):
        from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415  heavy

        profile = OpenAIModelProfile(json_schema_transformer=None, openai_chat_streaming_requires_finish_reason=True)
    elif _dialect(model) == "anthropic":
        from pydantic_ai.profiles import ModelProfile  # noqa: PLC0415  heavy

        profile = ModelProfile(json_schema_transformer=None)
    if profile is None:
        return model
    same: Callable[..., Model[Any]] = type(model)
    return same(model.model_name, provider=model.provider, profile=profile)


def _dialect(model: "Model[Any]") -> str:
    names = {cls.__name__ for cls in type(model).__mro__}
    for name, dialect in (
        ("OpenAIResponsesModel", "responses"),
        ("OpenAIChatModel", "chat"),
        ("AnthropicModel", "anthropic"),
        ("GoogleModel", "google"),
        ("BedrockConverseModel", "bedrock"),
    ):
        if name in names:
            return dialect
    return "chat"


def _address(model: "Model[Any]") -> str:
    try:
        return model.base_url or model.system
    except (AttributeError, NotImplementedError):
        return model.system
