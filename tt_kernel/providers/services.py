"""The model services that need an account or a server: one row each, readable without importing any library."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from urllib.parse import urlsplit, urlunsplit

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.connections import Connection
from tt_kernel.store.credentials import credential_value


@dataclass(frozen=True)
class Service:
    """One row.

    Attributes:
        name: The part before the colon of a model name.
        kind: What pydantic_ai calls it.
        extra: The extra of tt_kernel that brings its library, or a requirement to install.
        modules: Modules that must be importable.
        keys: Environment variables, any one of which holds its credential; empty when it needs none.
        url: Environment variable that names its address.
        default_url: Address used when `url` is not set; None = the library's own.
        vision: Whether its models accept images; None = judged by the model's name.
    """

    name: str
    kind: str
    extra: str
    modules: tuple[str, ...]
    keys: tuple[str, ...]
    url: str | None = None
    default_url: str | None = None
    vision: bool | None = None


_OPENAI = ("pydantic_ai", "openai")


def _compatible(name: str, key: str, **more: object) -> Service:
    """A service that speaks the Chat Completions wire."""
    return Service(name=name, kind=name, extra="openai", modules=_OPENAI, keys=(key,), **more)  # type: ignore[arg-type]


SERVICES: Mapping[str, Service] = {
    row.name: row
    for row in (
        Service("openai", "openai-chat", "openai", _OPENAI, ("OPENAI_API_KEY",), "OPENAI_BASE_URL"),
        Service("openai-chat", "openai-chat", "openai", _OPENAI, ("OPENAI_API_KEY",), "OPENAI_BASE_URL"),
        Service("openai-responses", "openai-responses", "openai", _OPENAI, ("OPENAI_API_KEY",), "OPENAI_BASE_URL"),
        Service(
            "anthropic",
            "anthropic",
            "anthropic",
            ("pydantic_ai", "anthropic"),
            ("ANTHROPIC_API_KEY",),
            "ANTHROPIC_BASE_URL",
            vision=True,
        ),
        Service(
            "google",
            "google",
            "google",
            ("pydantic_ai", "google.genai"),
            ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
            "GOOGLE_GEMINI_BASE_URL",
            vision=True,
        ),
        Service("ollama", "ollama", "openai", _OPENAI, (), "OLLAMA_BASE_URL", "http://localhost:11434/v1"),
        Service("vllm", "vllm", "openai", _OPENAI, (), "VLLM_BASE_URL", "http://localhost:8000/v1"),
        _compatible("openrouter", "OPENROUTER_API_KEY"),
        _compatible("deepseek", "DEEPSEEK_API_KEY", vision=False),
        _compatible("together", "TOGETHER_API_KEY"),
        _compatible("fireworks", "FIREWORKS_API_KEY"),
        _compatible("moonshotai", "MOONSHOTAI_API_KEY"),
        _compatible("cerebras", "CEREBRAS_API_KEY", vision=False),
        _compatible("nebius", "NEBIUS_API_KEY"),
        _compatible("alibaba", "ALIBABA_API_KEY"),
        _compatible("sambanova", "SAMBANOVA_API_KEY"),
        _compatible("zai", "ZAI_API_KEY"),
        Service("groq", "groq", "pydantic-ai-slim[groq]", ("pydantic_ai", "groq"), ("GROQ_API_KEY",), "GROQ_BASE_URL"),
        Service("mistral", "mistral", "pydantic-ai-slim[mistral]", ("pydantic_ai", "mistralai"), ("MISTRAL_API_KEY",)),
        Service("cohere", "cohere", "pydantic-ai-slim[cohere]", ("pydantic_ai", "cohere"), ("CO_API_KEY",)),
        Service("xai", "xai", "pydantic-ai-slim[xai]", ("pydantic_ai", "xai_sdk"), ("XAI_API_KEY",)),
        Service("bedrock", "bedrock", "pydantic-ai-slim[bedrock]", ("pydantic_ai", "boto3"), ()),
    )
}

# Judged by name, because the answer is needed before (and without) importing a library: it decides what is bound.
_SEES = re.compile(
    r"gpt-4o|gpt-4\.|gpt-[5-9]|^o[1345](?!-mini)|^o4|claude|gemini|gemma-?3|pixtral|llava|vision|[-_/.]vl|vl[-_:]|"
    r"qwen.*vl|llama-?4|llama3\.2-vision|minicpm-v|moondream|molmo|omni|grok-[2-9]",
    re.IGNORECASE,
)


def accepts_images(service: Service, model: str) -> bool:
    """Whether images may be sent to the model: the service's row, else what the model's name says."""
    return service.vision if service.vision is not None else _SEES.search(model) is not None


def service_identity(service: Service, connection: Connection | None = None) -> Json:
    """What else decides a service's answers: its interface, and the address that a connection names.

    An address of the environment (`OPENAI_BASE_URL`) is left out. It belongs to the machine: a gateway, a forwarded port, a
    proxy. With it in the identity a notebook recorded behind one could not be replayed anywhere else, not even without a
    network. Who compares servers gives each a connection: that is what they are for.
    """
    stated = connection.base_url if connection else None
    return {"service": service.kind, "baseUrl": without_credentials(stated) if stated else service.default_url}


def credentials(connection: Connection | None = None) -> Mapping[str, str]:
    """Credential values by the name of their variable (or keyring entry), to be scrubbed from everything stored.

    Args:
        connection: Whose credential is added to those of the environment.
    """
    found = {key: value for row in SERVICES.values() for key in row.keys if (value := os.environ.get(key))}
    for row in SERVICES.values():
        address = os.environ.get(row.url) if row.url else None
        password = urlsplit(address).password if address else None
        if password and row.url:
            found[row.url] = password
    name = connection.credential if connection else None
    value = credential_value(name) if name else None
    return {**found, name: value} if name and value else found


def base_url(service: Service) -> str | None:
    """The configured address, without credentials; None = the library's own."""
    value = (os.environ.get(service.url) if service.url else None) or service.default_url
    return without_credentials(value) if value else None


def without_credentials(url: str) -> str:
    """The address without user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def has_key(service: Service, connection: Connection | None = None) -> bool:
    """Whether it can be asked: a credential is set, none is needed, or a server of the user's own is addressed."""
    if connection is not None and connection.credential is not None:
        return credential_value(connection.credential) is not None
    if connection is not None and connection.base_url is not None:
        return True
    if not service.keys or any(os.environ.get(key) for key in service.keys):
        return True
    return "openai" in service.kind and bool(service.url and os.environ.get(service.url))


def missing_module(service: Service) -> str | None:
    """The first module that is not installed."""
    return next((module for module in service.modules if not installed(module)), None)


def installed(module: str) -> bool:
    """Whether the module can be imported; imports at most its parent package."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def how_to_install(service: Service) -> str:
    if service.extra.startswith("pydantic-ai-slim"):
        return f"pip install '{service.extra}' genai-prices"
    return f"pip install 'tt_kernel[{service.extra}]'"
