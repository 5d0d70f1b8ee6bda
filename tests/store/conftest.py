"""Real disks that fail: a full one and a read-only one; and runs to put on them."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.events import (
    CallEnded,
    CallRequested,
    CallStarted,
    Event,
    InvocationStarted,
    ModelCompleted,
    RunCreated,
    RunEnded,
)
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, Digest, RunId, builtin
from tt_kernel.domain.messages import AssistantMessage
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.runs import RunRecord
from tt_kernel.domain.turns import ModelReply, Usage

KEY = "3fa92c17" + "0" * 56


@pytest.fixture(scope="session")
def make_record() -> Callable[..., RunRecord]:
    def make(key: str = KEY, **fields: object) -> RunRecord:
        values = {
            "id": RunId(key[:8]),
            "key": Digest(key),
            "slot": 1,
            "status": "running",
            "profile": Profile(id="assistant", display_name="Assistant"),
            "model": "scripted:x",
            "prompt": "What is it?",
            "mode": "live",
            "seed": 7,
            "started_at": "2026-11-30T19:03:00.000Z",
        }
        return RunRecord.model_validate(values | fields)

    return make


@pytest.fixture(scope="session")
def make_call() -> Callable[..., ToolCall]:
    def make(call_id: str = "call_1", turn: int = 1, index: int = 0, **arguments: object) -> ToolCall:
        return ToolCall(
            id=CallId(call_id),
            tool_id=builtin("dice.roll"),
            name="dice_roll",
            arguments=ToolArguments(value=arguments),
            invocation_id=ROOT_INVOCATION,
            turn=turn,
            index=index,
        )

    return make


@pytest.fixture(scope="session")
def whole_run(make_call: Callable[..., ToolCall]) -> list[Event]:
    """The events of a run of one call, with text that JSON has to escape."""
    call = make_call(notation='2d6 "ä" \\ 😀')
    usage = Usage(input_tokens=10, output_tokens=5)
    reply = ModelReply(message=AssistantMessage(text="Seven.\n"), usage=usage)
    result = ToolResult(call_id=call.id, tool_id=call.tool_id, content="7\tß", structured={"total": 7})
    inv = ROOT_INVOCATION
    return [
        RunCreated(key=KEY, model="scripted:x", profile_id="assistant", prompt="What is it?"),
        InvocationStarted(
            invocation_id=inv, profile_id="assistant", model="scripted:x", snapshot="s", tools=("dice_roll",)
        ),
        CallRequested(call=call, arguments_ref="tool-args/x.json", snapshot="s"),
        CallStarted(call_id=call.id, tool_id=call.tool_id),
        CallEnded(type="tool_call_completed", call_id=call.id, tool_id=call.tool_id, result=result),
        ModelCompleted(invocation_id=inv, turn=1, reply=reply),
        RunEnded(type="run_completed", text="Seven.\n", usage=usage),
    ]


def _mounted(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mount.returncode != 0:
        pytest.skip("needs the right to mount a tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB on which nothing is left."""
    for folder in _mounted(tmp_path / "full", "size=64k"):
        with (folder / "ballast").open("wb", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(b"x" * 4096)
            except OSError:
                pass
        yield folder


@pytest.fixture
def read_only_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder into which this process, root included, cannot write."""
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        folder = tmp_path / "read-only"
        folder.mkdir(mode=0o555)
        yield folder
        folder.chmod(0o755)
    else:
        yield from _mounted(tmp_path / "read-only", "ro")
