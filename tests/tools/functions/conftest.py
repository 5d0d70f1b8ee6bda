"""A bench for calling notebook functions: the real Foreground on pytest's main thread, the real agent loop, a folder in memory."""

import hashlib
import io
from dataclasses import dataclass, field
from typing import Any

import pytest
from PIL import Image

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import StoredFile, ToolCall
from tt_kernel.runtime.foreground import Foreground
from tt_kernel.runtime.loop_thread import submit
from tt_kernel.tools.functions import Bench, as_function_tool, function_tools, live_lookup


@dataclass
class Workbench:
    """Calls tools as a run does: from the agent loop, while the main thread waits."""

    namespace: dict[str, Any] = field(default_factory=dict)
    by_hand: tuple[Any, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    foreground: Foreground = field(default_factory=Foreground)
    turns: int = 0

    def save_file(self, call, index, data, mime_type, suffix):
        path = f"tool-results/{call.invocation_id}/round-{call.turn:03d}-{index}{suffix}"
        assert path not in self.files, "an index of a call is used once"
        self.files[path] = data
        return StoredFile(path=path, mime_type=mime_type, sha256=hashlib.sha256(data).hexdigest(), size=len(data))

    def tool(self, function):
        bench = Bench(
            lookup=live_lookup(self.namespace, self.by_hand or (function,)),
            save_file=self.save_file,
            run_on_main=self.foreground.call,
            run_id=lambda: "3fa92c17",
        )
        return function_tools([as_function_tool(function)], bench)[0]

    def call(self, function, /, **arguments):
        return self.call_tool(self.tool(function), arguments)

    def call_tool(self, tool, arguments):
        return self.wait(tool.call(self.request(tool, arguments)))

    def request(self, tool, arguments):
        self.turns += 1
        return ToolCall(
            id="call_9", tool_id=tool.spec.id, name=f"t_{tool.spec.id.native}", arguments=ToolArguments.decode(arguments),
            invocation_id="inv_root", turn=self.turns, index=0,
        )  # fmt: skip

    def wait(self, coro):
        return self.foreground.wait(*submit(_awaited(coro)))

    def image(self, path):
        return Image.open(io.BytesIO(self.files[path]))


async def _awaited(coro):
    return await coro


@pytest.fixture
def bench():
    return Workbench()
