"""A model service on a real socket of 127.0.0.1: answers what it is told to, in the wire format it is asked in."""

import json
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from . import wires
from .wires import Answer


@dataclass
class Heard:
    path: str
    body: dict
    headers: dict[str, str]


@dataclass
class FakeService:
    """`answers` are given in order, the last one again and again. `heard` is what was asked."""

    answers: deque[Answer] = field(default_factory=deque)
    heard: list[Heard] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    port: int = 0
    open_streams: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def will(self, *answers: Answer) -> "FakeService":
        self.answers = deque(answers)
        return self

    def next(self) -> Answer:
        return self.answers.popleft() if len(self.answers) > 1 else self.answers[0]

    def __enter__(self) -> Self:
        service = self

        class Handler(_Handler):
            fake = service

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeService

    def log_message(self, *_) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.fake.heard.append(Heard(self.path, body, {k.lower(): v for k, v in self.headers.items()}))
        answer = self.fake.next()
        try:
            self._answer(answer, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _answer(self, answer: Answer, body: dict) -> None:
        if answer.hang and answer.events is None:
            self.fake.released.wait(30)
            self.close_connection = True
        elif answer.body is not None:
            self._send(answer.status, answer.body, answer.content_type, answer.headers)
        elif answer.status != 200:
            error = {"error": {"message": "overloaded", "type": "server_error", "code": None}}
            error = answer.error if answer.error is not None else error
            self._send(answer.status, json.dumps(error).encode(), "application/json", answer.headers)
        else:
            whole, stream, streamed = _wire(self.path, body)
            if streamed:
                self._stream(answer, stream(answer, body))
            else:
                self._send(200, json.dumps(whole(answer, body)).encode(), "application/json", answer.headers)

    def _send(self, status: int, data: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, answer: Answer, events: list[str]) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        if answer.chunked:
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        sent = events if answer.events is None else events[: answer.events]
        for event in sent:
            data = event.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if answer.chunked else data)
            self.wfile.flush()
        if answer.hang:
            self.fake.open_streams += 1
            while not self.fake.released.wait(0.02):
                self.wfile.write(b": still here\n\n")
                self.wfile.flush()
        elif answer.chunked and answer.events is None:
            self.wfile.write(b"0\r\n\r\n")


def _wire(path: str, body: dict):
    """(whole, stream, is it streamed) for the address that was asked."""
    plain = path.partition("?")[0]
    if plain.endswith("/chat/completions"):
        return wires.chat, wires.chat_stream, bool(body.get("stream"))
    if plain.endswith("/responses"):
        return wires.responses, wires.responses_stream, bool(body.get("stream"))
    if plain.endswith("/messages"):
        return wires.messages, wires.messages_stream, bool(body.get("stream"))
    model = plain.rpartition("/")[2].partition(":")[0]
    body.setdefault("model", model)
    return wires.gemini, wires.gemini_stream, ":streamGenerateContent" in plain
