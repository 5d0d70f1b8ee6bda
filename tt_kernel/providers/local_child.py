"""The child process of the local model: llama.cpp behind JSON lines. Run as a script; needs nothing of tt_kernel.

In:  {"id": 1, "ask": {...}} starts a completion (one at a time, in order), {"cancel": 1} stops it.
Out: {"ready": {"loadSeconds": 0.4}}, then per completion {"id": 1, "text": "..."} ... {"id": 1, "done": {...}} or {"id": 1, "error": "..."}.
The end of the input ends the process, whatever it is doing: it never outlives its parent.
"""

import json
import os
import queue
import secrets
import sys
import threading
import time
from typing import Any, TextIO

CONTEXT_TOKENS = 4096


def main() -> None:
    output = _own_output()
    began = time.perf_counter()
    server = _load(sys.argv[1])
    worker = Worker(server, output)
    worker.send({"ready": {"loadSeconds": round(time.perf_counter() - began, 3)}})
    threading.Thread(target=worker.run, daemon=True).start()
    for line in sys.stdin:
        message = json.loads(line)
        if "cancel" in message:
            worker.cancel(message["cancel"])
        else:
            worker.asked.put(message)
    os._exit(0)  # the engine's threads do not end by themselves


class Worker:
    """Runs completions one after the other."""

    def __init__(self, server: Any, output: TextIO) -> None:
        self.asked: queue.Queue[dict[str, Any]] = queue.Queue()
        self._server = server
        self._output = output
        self._writing = threading.Lock()
        self._cancelled: set[int] = set()

    def send(self, message: dict[str, Any]) -> None:
        with self._writing:
            self._output.write(json.dumps(message) + "\n")
            self._output.flush()

    def cancel(self, number: int) -> None:
        self._cancelled.add(number)

    def run(self) -> None:
        while True:
            message = self.asked.get()
            number = message["id"]
            try:
                self._complete(number, message["ask"])
            except Exception as problem:  # noqa: BLE001  the parent must hear of it, whatever it is
                self.send({"id": number, "error": f"{type(problem).__name__}: {problem}"})
            self._cancelled.discard(number)

    def _complete(self, number: int, ask: dict[str, Any]) -> None:
        done: dict[str, Any] = {}
        faults: list[str] = []

        def heard(chunk: dict[str, Any]) -> bool:
            """One piece; True stops the engine."""
            if number in self._cancelled:
                done["finish"] = "cancelled"
                return True
            self._heard(number, chunk, done, faults)
            return bool(faults)

        if number not in self._cancelled:
            self._server.handle_completions({**ask, "stream": True}, heard)
        if faults:
            self.send({"id": number, "error": faults[0]})
        else:
            self.send({"id": number, "done": done})

    def _heard(self, number: int, chunk: dict[str, Any], done: dict[str, Any], faults: list[str]) -> None:
        if "choices" not in chunk:
            faults.append(str(chunk.get("message") or chunk.get("error") or chunk))
            return
        for choice in chunk["choices"]:
            if choice.get("text"):
                self.send({"id": number, "text": choice["text"]})
            if choice.get("finish_reason"):
                done["finish"] = choice["finish_reason"]
        usage, timings = chunk.get("usage") or {}, chunk.get("timings") or {}
        if usage:
            done["promptTokens"] = usage.get("prompt_tokens", 0)
            done["tokens"] = usage.get("completion_tokens", 0)
        if timings:
            done["tokensPerSecond"] = round(timings.get("predicted_per_second") or 0.0, 1)


def _load(path: str) -> Any:
    import xllamacpp  # noqa: PLC0415  heavy; a failure is reported through the exit

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # more is slower on a busy machine
    params.verbosity = -1
    params.n_gpu_layers = 0  # so that a conversation has the same reply whatever the machine has
    params.warmup = False
    params.cache_ram_mib = 0
    params.ui = False
    # The engine always opens a port on 127.0.0.1; with a key that nobody knows it serves nobody.
    params.api_keys = [secrets.token_hex(32)]
    return xllamacpp.Server(params)


def _own_output() -> TextIO:
    """The pipe to the parent, for us alone: what the engine prints goes to stderr."""
    own = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(own, "w", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
