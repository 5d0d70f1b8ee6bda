"""HttpGetTest against a real server: spec liveagent §12."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.errors import ProfileInvalid
from tt_kernel.domain.ids import builtin
from tt_kernel.tools import http_get
from tt_kernel.tools.http_get import http_get_spec, http_get_tools


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append((self.command, self.path))
        status, kind, body = self.server.answer
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.end_headers()
        for piece in body if isinstance(body, list) else [body]:
            self.wfile.write(piece)
            self.wfile.flush()
            if isinstance(body, list):
                time.sleep(0.1)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that has gone away is what one test is about."""


@pytest.fixture
def endpoint(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = Server(("127.0.0.1", 0), Handler)
    server.seen, server.answer = [], (200, "text/plain", b"hello")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}/test"
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


async def get(address, **arguments):
    (tool,) = http_get_tools(address)
    return await tool.call(
        ToolCall(
            id="c", tool_id=builtin("HttpGetTest"), name="HttpGetTest", arguments=ToolArguments(value=arguments),
            invocation_id="inv_root", turn=1, index=0,
        )
    )  # fmt: skip


async def test_one_get_of_the_configured_address(endpoint):
    result = await get(endpoint.url)
    assert endpoint.seen == [("GET", "/test")]
    assert result.content == f"url: {endpoint.url}\nstatus: 200\ncontent-type: text/plain\n\nhello"
    assert not result.is_error


async def test_it_takes_no_parameters(endpoint):
    assert (await get(endpoint.url, url="http://other")).error_code == "tool.invalid_arguments"
    assert endpoint.seen == []


async def test_an_empty_body_is_said(endpoint):
    endpoint.answer = (204, None, b"")
    result = await get(endpoint.url)
    assert result.content == f"url: {endpoint.url}\nstatus: 204\ncontent-type: unknown\n\n(empty body)"


@pytest.mark.parametrize("status", [404, 500])
async def test_what_is_not_ok_is_an_error_with_its_body(endpoint, status):
    endpoint.answer = (status, "text/html; charset=latin-1", "<p>schön</p>".encode("latin-1"))
    result = await get(endpoint.url)
    assert (result.is_error, result.error_code) == (True, "http_get.status")
    assert f"status: {status}" in result.content
    assert "schön" in result.content


async def test_nobody_there_is_an_error_that_says_so(endpoint):
    result = await get("http://127.0.0.1:1/x")
    assert (result.is_error, result.error_code) == (True, "http_get.failed")
    assert result.content.startswith("The test endpoint could not be reached: GET http://127.0.0.1:1/x: ")


async def test_a_long_body_is_cut(endpoint):
    endpoint.answer = (200, "text/plain", b"x" * 500_000)
    result = await get(endpoint.url)
    assert result.content.endswith("x\n[cut off after 400,000 bytes]")
    assert len(result.content) < 400_200


async def test_bytes_that_are_no_text_and_unknown_charsets_do_no_harm(endpoint):
    endpoint.answer = (200, "text/plain; charset=nonsense", b"\xff\xfe ok")
    assert "ok" in (await get(endpoint.url)).content


async def test_an_endpoint_that_drips_is_given_up(endpoint, monkeypatch):
    monkeypatch.setattr(http_get, "TIMEOUT_SECONDS", 0.3)
    endpoint.answer = (200, "text/plain", [b"x"] * 50)
    began = time.monotonic()
    result = await get(endpoint.url)
    assert time.monotonic() - began < 15
    assert "the answer was not complete after 0.3 s" in result.content


@pytest.mark.parametrize(
    "url", ["", "ftp://a/b", "file:///etc/passwd", "http://", "https://user:pw@host/", "host/path"]
)
def test_what_is_no_address(url):
    with pytest.raises(ProfileInvalid) as caught:
        http_get_spec(url)
    assert caught.value.code == "agent.profile_http_get_test_url_invalid"
    assert "pw" not in caught.value.message.replace("password", "")


def test_another_address_is_another_version():
    assert http_get_spec("http://a/").version != http_get_spec("http://b/").version
    assert (http_get_spec("http://a/").read_only, http_get_spec("http://a/").effect) == (True, "external")
