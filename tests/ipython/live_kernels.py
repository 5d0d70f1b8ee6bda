"""Real kernels through jupyter_client."""

import contextlib
import json
import os
import queue
import shutil
import time
from pathlib import Path

from jupyter_client.manager import KernelManager

REPOSITORY = Path(__file__).parent.parent.parent
SPEC = REPOSITORY / "tt_kernel" / "ipython" / "kernelspec"
SECONDS = 60


class Kernel:
    """One running kernel. `interactive` sends what JupyterLab sends with a cell: its id, and that input is possible."""

    def __init__(self, manager, folder):
        self.manager, self.folder = manager, folder
        self.client = manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=SECONDS)
        self.cells = 0

    def send(self, code, *, interactive=False, cell_id=None, **content):
        """Send a cell; returns its message id."""
        self.cells += 1
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": interactive,
            "stop_on_error": True,
            **content,
        }
        message = self.client.session.msg("execute_request", content)
        if interactive:
            message["metadata"]["cellId"] = cell_id or f"cell-{self.cells}"
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def reply(self, message_id, timeout=SECONDS):
        until = time.monotonic() + timeout
        while True:
            message = self.client.get_shell_msg(timeout=max(until - time.monotonic(), 0.01))
            if message["parent_header"].get("msg_id") == message_id:
                return message["content"]

    def outputs(self, message_id, timeout=SECONDS):
        """All iopub messages of a cell until it is idle, in order, as (type, content)."""
        found, until = [], time.monotonic() + timeout
        while True:
            message = self.client.get_iopub_msg(timeout=max(until - time.monotonic(), 0.01))
            if message["parent_header"].get("msg_id") == message_id:
                kind, content = message["header"]["msg_type"], message["content"]
                if kind == "status" and content["execution_state"] == "idle":
                    return found
                found.append((kind, content))

    def run(self, code, **options):
        """Execute a cell to its end: (reply, outputs without status and input)."""
        message_id = self.send(code, **options)
        outputs = self.outputs(message_id)
        return self.reply(message_id), [o for o in outputs if o[0] not in ("status", "execute_input")]

    def value(self, expression):
        """The JSON value of an expression in the kernel."""
        reply, _ = self.run("", user_expressions={"x": f"__import__('json').dumps({expression})"})
        return json.loads(json.loads("[" + _plain(reply["user_expressions"]["x"]) + "]")[0])

    def text_until(self, message_id, word, timeout=SECONDS):
        """Wait until a stream or display of the cell holds `word`."""
        until = time.monotonic() + timeout
        while True:
            message = self.client.get_iopub_msg(timeout=max(until - time.monotonic(), 0.01))
            if message["parent_header"].get("msg_id") == message_id and word in json.dumps(message["content"]):
                return message

    def interrupt(self):
        self.manager.interrupt_kernel()

    def drain(self):
        with contextlib.suppress(queue.Empty):
            while True:
                self.client.get_iopub_msg(timeout=0.2)


def _plain(expression):
    assert expression["status"] == "ok", expression
    text = expression["data"]["text/plain"]
    return json.dumps(eval(text))


@contextlib.contextmanager
def kernel(folder, name="python3", env=None):
    """A kernel started in `folder`; tt-agent comes from the source tree."""
    manager = KernelManager(kernel_name=name)
    if name == "tt-agent":
        specs = Path(folder) / "kernelspecs"
        shutil.copytree(SPEC, specs / name)
        manager.kernel_spec_manager.kernel_dirs = [str(specs)]
    paths = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    manager.start_kernel(cwd=str(folder), env={**os.environ, "PYTHONPATH": paths, **(env or {})})
    try:
        running = Kernel(manager, folder)
        yield running
        running.client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
