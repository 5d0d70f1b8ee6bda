"""Foreign errors translated at the edge: one ProviderError with a stable code, whether it is worth another try, and no secret.

The text of a service is repeated only in part, never for a refused key (services echo pieces of it), and always scrubbed.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tt_kernel.domain.connections import Connection
from tt_kernel.domain.errors import ProviderError, TTError
from tt_kernel.providers.services import SERVICES, credentials

REASON_CHARS = 300
_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|xai|gsk|AIza|ghp|gho|hf|or|key)[-_][\w*.\u2026-]{6,}|\bAIza[\w-]{10,}|Bearer\s+\S+", re.IGNORECASE
)
_NO_TOOLS = re.compile(
    r"(?:not|n't) support (?:\w+ ){0,3}(?:tools?|functions?)\b|support tool use|"
    r"(?:tools?|tool[_ ]choice|function calling|functions)\b[^.]{0,40}\b(?:not supported|unsupported|not enabled)|"
    r"(?:tools?|functions?)['\" ]+ (?:is|are) not (?:permitted|allowed)",
    re.IGNORECASE,
)

_NO_CALL_ID = re.compile(r"\btool_calls\.\d+\.\S*\bid\b")
"""In the validation error of a plain reply."""
_INVALID = frozenset({"ValidationError", "UnexpectedModelBehavior", "UnknownApiResponseError"})
_NONSENSE = (AttributeError, KeyError, IndexError, TypeError, ValueError, AssertionError)
"""What a library raises when it takes apart a reply of another shape than it expects."""


@dataclass(frozen=True)
class Asked:
    """What was asked, for messages: the model's full name, the address, whether tools were offered, the patience in seconds,
    and the user's connection.
    """

    model: str
    url: str
    tools: bool
    seconds: float
    connection: Connection | None = None


def silent(asked: Asked) -> ProviderError:
    """The service said nothing for too long (field report 59)."""
    return ProviderError(
        "model.timeout",
        f"No answer from {asked.url} for model {asked.model} within {asked.seconds:g} seconds. "
        "Raise sampling.timeout_seconds, or check the service.",
        retryable=True,
    )


def cut_off(asked: Asked) -> ProviderError:
    """The line broke, or the service stopped, before the end of a reply."""
    return _invalid_response(asked, "it ended before it was complete")


def as_provider_error(error: Exception, asked: Asked) -> TTError:
    """Translate any exception of a request. Ours pass through."""
    if isinstance(error, TTError):
        return error
    from pydantic_ai import exceptions  # noqa: PLC0415  heavy

    translate: Callable[[Any, Asked], ProviderError] = _of_library
    for kind, of_kind in (
        (exceptions.ModelHTTPError, _of_status),
        (exceptions.ModelConnectionError, _of_connection),
        (exceptions.ModelAPIError, _of_service),
        (exceptions.ContentFilterError, _refused),
        (exceptions.UserError, _misused),
    ):
        if isinstance(error, kind):
            translate = of_kind
            break
    return translate(error, asked)


def _refused(_error: Exception, asked: Asked) -> ProviderError:
    return _fault("model.provider_refusal", f"Model {asked.model} refused to answer.")


def _misused(error: Exception, asked: Asked) -> ProviderError:
    return _fault("model.invalid_request", f"{asked.model} cannot be asked this: {_clean(str(error), asked)}.")


def _of_status(error: Any, asked: Asked) -> ProviderError:
    reason = _reason(error.body, asked)
    if error.status_code in {400, 404, 405, 422, 501} and asked.tools and _NO_TOOLS.search(reason):
        return no_tools(asked)
    category = _category(error)
    if category is not None:
        return category(error, asked, reason)
    transient = error.status_code >= 500 or error.status_code in {408, 409, 425}  # noqa: PLR2004  HTTP
    if transient:
        return _unavailable(error, asked, reason)
    return _rejected(error, asked, reason)


def _of_service(error: Any, asked: Asked) -> ProviderError:
    """An error without an HTTP status: reported inside a stream, or a body that made no sense."""
    reason = _reason(error.body, asked) or _clean(str(error), asked)
    if asked.tools and _NO_TOOLS.search(reason):
        return no_tools(asked)
    category = _category(error)
    if category is not None:
        return category(error, asked, reason)
    return _invalid_response(asked, reason)


def _of_connection(error: Any, asked: Asked) -> ProviderError:
    from pydantic_ai import exceptions  # noqa: PLC0415  heavy

    reason = _clean(str(error.__cause__ or error), asked)
    if isinstance(error, exceptions.ModelTimeoutError):
        if error.phase in {"connect", "pool"}:
            return _fault(
                "model.timeout", f"Could not connect to {asked.url} for model {asked.model} in time.", retry=True
            )
        return silent(asked)
    if error.phase == "read":
        return cut_off(asked)
    return _fault(
        "model.upstream_unavailable",
        f"Could not reach {asked.url} for model {asked.model}: {reason}. Check the address and that the service runs.",
        retry=True,
    )


def _of_library(error: Exception, asked: Asked) -> ProviderError:
    """What escapes the library unwrapped: Google's validation errors, a transport's own."""
    kind = type(error)
    if _NO_CALL_ID.search(str(error)):
        return _fault("model.invalid_tool_call", f"Model {asked.model} made a tool call without an id.")
    if isinstance(error, _NONSENSE) or kind.__name__ in _INVALID:
        return _invalid_response(asked, _clean(str(error).partition("\n")[0], asked))
    if kind.__module__.split(".")[0] in {"httpx", "httpx2", "httpcore", "httpcore2", "anyio", "ssl"}:
        return _fault(
            "model.upstream_unavailable",
            f"Could not talk to {asked.url}: {_clean(str(error), asked) or kind.__name__}.",
            retry=True,
        )
    return _fault(
        "model.request_failed", f"The request to {asked.model} failed: {kind.__name__}: {_clean(str(error), asked)}"
    )


def no_tools(asked: Asked) -> ProviderError:
    """Field report 58: one clear line and a hint."""
    return _fault(
        "model.tools_unsupported",
        f"Model {asked.model} at {asked.url} does not accept tools. "
        "Use a model that does, or a profile without tools (tools.allow empty, run.completion reply).",
    )


def _category(error: Any) -> "Callable[[Any, Asked, str], ProviderError] | None":
    from pydantic_ai import exceptions  # noqa: PLC0415  heavy

    for kind, make in (
        (exceptions.ModelRateLimitError, _rate_limited),
        (exceptions.ModelQuotaExceededError, _quota),
        (exceptions.ModelUnavailableError, _unavailable),
        (exceptions.ModelServerError, _unavailable),
        (exceptions.ModelAuthenticationError, _unauthenticated),
        (exceptions.ModelNotFoundError, _not_found),
        (exceptions.ModelContextWindowExceededError, _too_long),
        (exceptions.ModelRequestRejectedError, _rejected),
        (exceptions.ModelRequestTimeout, lambda _error, asked, _reason: silent(asked)),
    ):
        if isinstance(error, kind):
            return make
    return None


def _rate_limited(error: Any, asked: Asked, reason: str) -> ProviderError:
    wait = f" It asks to wait {error.retry_after:g} seconds." if error.retry_after is not None else ""
    return ProviderError(
        "model.rate_limited",
        f"{asked.model} is rate limited{_http(error)}.{wait}{_said(reason)}",
        retryable=True,
        retry_after=error.retry_after,
    )


def _quota(error: Any, asked: Asked, reason: str) -> ProviderError:
    return _fault(
        "model.quota_exceeded", f"The account for {asked.model} has no quota left{_http(error)}.{_said(reason)}"
    )


def _unavailable(error: Any, asked: Asked, reason: str) -> ProviderError:
    return ProviderError(
        "model.upstream_unavailable",
        f"{asked.url} cannot serve {asked.model} now{_http(error)}.{_said(reason)}",
        retryable=True,
        retry_after=error.retry_after,
    )


def _unauthenticated(error: Any, asked: Asked, _reason: str) -> ProviderError:
    service = asked.model.partition(":")[0]
    keys = " or ".join(SERVICES[service].keys) if service in SERVICES and SERVICES[service].keys else "its key"
    if asked.connection is not None:
        keys = asked.connection.credential or f"connection {asked.connection.name!r}, which names no credential,"
    return _fault(
        "model.authentication",
        f"{asked.url} refused the credential for {asked.model}{_http(error)}. Check {keys} and its access to the model.",
    )


def _not_found(error: Any, asked: Asked, reason: str) -> ProviderError:
    guess = getattr(error, "suggested_model_id", None)
    hint = f" Did you mean {guess}?" if guess else " Check the model's name and the address."
    return _fault("model.not_found", f"{asked.url} does not know {asked.model}{_http(error)}.{hint}{_said(reason)}")


def _too_long(error: Any, asked: Asked, reason: str) -> ProviderError:
    return _fault(
        "model.context_window_exceeded",
        f"The conversation is too long for {asked.model}{_http(error)}.{_said(reason)}",
    )


def _rejected(error: Any, asked: Asked, reason: str) -> ProviderError:
    return _fault(
        "model.invalid_request", f"{asked.url} rejected the request to {asked.model}{_http(error)}.{_said(reason)}"
    )


def _invalid_response(asked: Asked, reason: str) -> ProviderError:
    return _fault(
        "model.upstream_invalid_response",
        f"The reply of {asked.model} from {asked.url} cannot be used: {reason}.",
        retry=True,
    )


def _fault(code: str, message: str, *, retry: bool = False) -> ProviderError:
    return ProviderError(code, message, retryable=retry)


def _http(error: Any) -> str:
    status = getattr(error, "status_code", None)
    return f" (HTTP {status})" if status else ""


def _said(reason: str) -> str:
    return f" It said: {reason}" if reason else ""


def _reason(body: Any, asked: Asked) -> str:
    """The sentence for people in an error body, wherever the service puts it."""
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return _clean(body, asked)
    if isinstance(body, list):
        return _reason(body[0], asked) if body else ""
    if isinstance(body, Mapping):
        for key in ("error", "message", "detail", "errors"):
            if body.get(key):
                return _clean(body[key], asked) if isinstance(body[key], str) else _reason(body[key], asked)
    return ""


def _clean(text: str, asked: Asked) -> str:
    """Without secrets, on one line, at most REASON_CHARS long."""
    for name, value in credentials(asked.connection).items():
        if len(value) >= 6:  # noqa: PLR2004  shorter ones are words like "none", used for servers without keys
            text = text.replace(value, f"[secret {name}]")
    text = " ".join(_KEY_LIKE.sub("[secret]", text).split()).rstrip(".")
    return text if len(text) <= REASON_CHARS else text[:REASON_CHARS] + "..."
