"""A real kernel through jupyter_client, spoken to as a notebook does (cell ids, stdin) or as nbclient does (neither)."""

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_client.manager import KernelManager

RUN_MIME = "application/vnd.tt-kernel.run+json"


@dataclass
class Output:
    """What a cell came to: messages by type, in order."""

    reply: dict
    displays: list[dict] = field(default_factory=list)
    updates: list[dict] = field(default_factory=list)
    text: str = ""
    errors: list[dict] = field(default_factory=list)
    results: list[dict] = field(default_factory=list)

    @property
    def final(self) -> dict:
        """The bundle that stands in the cell in the end."""
        return (self.updates or self.displays)[-1]["data"]

    @property
    def view(self) -> dict:
        return self.final[RUN_MIME]

    def absorb(self, message: dict) -> None:
        content = message["content"]
        match message["msg_type"]:
            case "display_data":
                self.displays.append(content)
            case "update_display_data":
                self.updates.append(content)
            case "stream":
                self.text += content["text"]
            case "error":
                self.errors.append(content)
            case "execute_result":
                self.results.append(content)


class Kernel:
    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self.client = manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def send(self, code: str, *, cell: str | None = None, stdin: bool | None = None) -> str:
        content = {
            "code": code, "silent": False, "store_history": True, "user_expressions": {},
            "allow_stdin": bool(cell) if stdin is None else stdin, "stop_on_error": True,
        }  # fmt: skip
        message = self.client.session.msg("execute_request", content, metadata={"cellId": cell} if cell else {})
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def collect(self, *ids: str, timeout: float = 60, on_message=None) -> dict[str, Output]:
        """Everything until all of these requests are answered and idle."""
        outputs = {i: Output({}) for i in ids}
        waiting = set(ids)
        end = time.monotonic() + timeout
        while waiting:
            message = self.client.get_iopub_msg(timeout=max(0.1, end - time.monotonic()))
            parent = message["parent_header"].get("msg_id")
            if on_message is not None:
                on_message(message)
            if parent in outputs:
                outputs[parent].absorb(message)
                if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                    waiting.discard(parent)
        unanswered = set(ids)
        while unanswered:
            reply = self.client.get_shell_msg(timeout=max(0.1, end - time.monotonic()))
            parent = reply["parent_header"].get("msg_id")
            if parent in outputs and reply["msg_type"] == "execute_reply":
                outputs[parent].reply = reply["content"]
                unanswered.discard(parent)
        return outputs

    def run(self, code: str, *, timeout: float = 60, on_message=None, **options) -> Output:
        request = self.send(code, **options)
        return self.collect(request, timeout=timeout, on_message=on_message)[request]

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()


@contextmanager
def kernel(folder: Path, name: str = "python3", *, load: bool = True):
    manager = KernelManager(kernel_name=name)
    manager.start_kernel(cwd=str(folder))
    try:
        running = Kernel(manager)
        if load:
            loaded = running.run("%load_ext tt_kernel")
            assert loaded.reply["status"] == "ok", loaded
            assert not loaded.text
        yield running
    finally:
        manager.shutdown_kernel(now=True)
