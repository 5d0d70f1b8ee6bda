import asyncio
import io
from collections.abc import AsyncIterator

import pytest

from tt_kernel.domain.specs import ToolChoice
from tt_kernel.domain.turns import ModelReply, ModelRequest, Sampling
from tt_kernel.providers.names import provider_for

from ..fakes.services import FakeService  # noqa: TID252  tests are no installed package
from ..fakes.wires import Answer, Call  # noqa: F401, TID252  re-exported

# dialect -> (model name, key variable, address variable, path below the fake's root)
SERVICES = {
    "chat": ("openai:fake-vl-1", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "responses": ("openai-responses:gpt-5-fake", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "anthropic": ("anthropic:claude-fake", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ""),
    "google": ("google:gemini-2.5-flash", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", ""),
}
KEY = "test-key-0123456789abcdef"


@pytest.fixture
def service():
    with FakeService() as fake:
        yield fake


@pytest.fixture(params=list(SERVICES))
def dialect(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["streamed", "plain"])
def streamed(request):
    return request.param


@pytest.fixture
def connect(service, monkeypatch, tmp_path):
    """dialect -> a provider that talks to the fake service; closed after the test."""
    made = []

    def make(dialect: str, model: str | None = None):
        name, key, address, below = SERVICES[dialect]
        monkeypatch.setenv(key, KEY)
        monkeypatch.setenv(address, service.url + below)
        made.append(provider_for(model or name, base_dir=tmp_path))
        return made[-1]

    yield make
    assert all(provider._connection is None for provider in made), "every test closes its providers (talk does)"


def no_image(file):
    raise AssertionError(f"nobody should read {file.path}")


def request_for(*messages, tools=(), choice=None, stream=True, read_image=no_image, **sampling) -> ModelRequest:
    return ModelRequest(
        messages=list(messages),
        tools=tuple(tools),
        sampling=Sampling(**sampling),
        tool_choice=choice or ToolChoice(),
        read_image=read_image,
        stream=stream,
    )


async def collect(stream: AsyncIterator) -> list:
    return [chunk async for chunk in stream]


async def talk(provider, *requests) -> list[list]:
    """Ask one after the other on one provider, then close it."""
    try:
        return [await collect(provider.stream(request)) for request in requests]
    finally:
        await provider.aclose()


async def reply_of(provider, request) -> ModelReply:
    ((*_, reply),) = await talk(provider, request)
    assert isinstance(reply, ModelReply)
    return reply


def png(width: int = 2, height: int = 2) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(buffer, "PNG")
    return buffer.getvalue()


async def until(condition, seconds: float = 5.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)
