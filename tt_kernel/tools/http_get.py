"""One GET of a configured address: spec liveagent §12. There is no such tool unless a profile has `tools.httpGetTestUrl`."""

import asyncio
import http.client
import time
import urllib.error
import urllib.request
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

from tt_kernel.domain.canonical import digest
from tt_kernel.domain.errors import ProfileInvalid, ToolError
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome, Tool

TIMEOUT_SECONDS = 20.0
MAX_BODY_BYTES = 400_000
FAILED = "http_get.failed"
NOT_OK = "http_get.status"
_SUCCESS = range(200, 300)


@builtin_tool("HttpGetTest", group="system", effect="external", read_only=True)
async def http_get_test(url: str) -> Outcome:
    """Ask the configured test endpoint once, with GET, and show its answer: address, status, content type and body."""
    return await asyncio.to_thread(_get, url)


def http_get_spec(url: str) -> ToolSpec:
    """The tool for an address; another address is another version, so no recording of one answers for the other.

    Raises:
        ProfileInvalid: `agent.profile_http_get_test_url_invalid`: no http or https address, or one with a password in it.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise ProfileInvalid(
            "agent.profile_http_get_test_url_invalid",
            "tools.httpGetTestUrl must be an http or https address without user name and password.",
        )
    return http_get_test.spec.model_copy(update={"version": digest(url)[:16]})


def http_get_tools(url: str) -> list[Tool]:
    tool = http_get_test.bind(url)
    return [Tool(http_get_spec(url), tool.call, tool.check)]


def _get(url: str) -> Outcome:
    request = urllib.request.Request(url, headers={"Accept": "*/*", "User-Agent": "tt_kernel"})  # noqa: S310  http(s): checked
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            return _answered(url, answer.status, answer.headers, _body(answer))
    except urllib.error.HTTPError as error:
        with error:
            return _answered(url, error.code, error.headers, _body(error))
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise ToolError(FAILED, f"The test endpoint could not be reached: GET {url}: {reason}.") from None


def _body(answer: Any) -> bytes:
    """What comes within the time and the limit: an endpoint that drips must not hold this thread for ever."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    body = b""
    while len(body) <= MAX_BODY_BYTES:
        piece = answer.read1(65_536)
        if not piece:
            return body
        body += piece
        if time.monotonic() > deadline:
            raise TimeoutError(f"the answer was not complete after {TIMEOUT_SECONDS:g} s")
    return body


def _answered(url: str, status: int, headers: Message, body: bytes) -> Outcome:
    kind = headers.get("Content-Type", "unknown")
    text = _text(body[:MAX_BODY_BYTES], headers.get_content_charset())
    if len(body) > MAX_BODY_BYTES:
        text += f"\n[cut off after {MAX_BODY_BYTES:,} bytes]"
    shown = text if text.strip() else "(empty body)"
    return Outcome(
        f"url: {url}\nstatus: {status}\ncontent-type: {kind}\n\n{shown}",
        structured={"url": url, "status": status, "contentType": kind},
        error_code=None if status in _SUCCESS else NOT_OK,
    )


def _text(body: bytes, charset: str | None) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:  # a charset that Python does not know
        return body.decode("utf-8", "replace")
