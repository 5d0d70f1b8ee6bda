"""A process that lives a run, killed before its n-th step on the disk; n = 1, 2, ... until it gets through.

Arguments: a folder (which gets `<n>/nb.agent`), the folder for staging. Prints how many processes were started.
A step is an operation that changes the disk; a write is also done by half before the process is killed.
"""

import os
import signal
import sys
import tempfile
from pathlib import Path

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.events import CallEnded, CallRequested, RunCreated, RunEnded
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, Digest, RunId, builtin
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.runs import RunRecord
from tt_kernel.store import locks  # noqa: F401  imported before the steps are counted
from tt_kernel.store.journal import Journal
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.results import ResultStore
from tt_kernel.store.runs import RunFolder
from tt_kernel.store.secrets import Scrubber

KEY = "3fa92c17" + "0" * 56
STEPS = {
    "open",
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.chmod",
    "os.truncate",
    "fcntl.flock",
    "shutil.copyfile",
}


class Killer:
    def __init__(self, at: int) -> None:
        self.left = at

    def step(self, half: object = None) -> None:
        self.left -= 1
        if self.left == 0:
            if callable(half):
                half()
            os.kill(os.getpid(), signal.SIGKILL)

    def arm(self) -> None:
        real = os.write

        def write(descriptor: int, data: bytes) -> int:
            self.step(lambda: real(descriptor, data[: len(data) // 2]))
            return real(descriptor, data)

        os.write = write
        sys.addaudithook(lambda event, _: self.step() if event in STEPS else None)


def live(agent_folder: AgentFolder, scrub: Scrubber) -> None:
    call = ToolCall(
        id=CallId("call_1"),
        tool_id=builtin("dice.roll"),
        name="dice_roll",
        arguments=ToolArguments(value={}),
        invocation_id=ROOT_INVOCATION,
        turn=1,
        index=0,
    )
    folder = RunFolder.stage(scrub)
    journal = Journal(None, None, scrub)
    results = ResultStore(folder, scrub)
    record = RunRecord(
        id=RunId(KEY[:8]),
        key=Digest(KEY),
        slot=1,
        status="running",
        profile=Profile(id="assistant", display_name="Assistant"),
        model="scripted:x",
        prompt="What is it?",
        mode="live",
        seed=7,
        started_at="2026-11-30T19:03:00.000Z",
    )
    folder.layout.workspace_root("output").mkdir()
    (folder.layout.workspace_root("output") / "main.md").write_text("staged")
    journal.append(RunCreated(key=KEY, model="scripted:x", profile_id="assistant", prompt="What is it?"))
    reference = results.save_arguments(call, call.arguments)
    journal.append(CallRequested(call=call, arguments_ref=reference, snapshot="s"))
    folder.save(record)
    run_id = folder.materialise(agent_folder, KEY)
    journal.attach(folder.layout.events, run_id)
    result = ToolResult(call_id=call.id, tool_id=call.tool_id, content="7")
    reference = results.save_result(call, result)
    journal.append(
        CallEnded(
            type="tool_call_completed", call_id=call.id, tool_id=call.tool_id, result=result, result_ref=reference
        )
    )
    journal.append(RunEnded(type="run_completed", text="Seven."))
    journal.close()
    folder.save(record.model_copy(update={"status": "completed", "text": "Seven.", "turns": 1, "tool_calls": 1}))
    folder.release()


def main() -> None:
    base, staging = Path(sys.argv[1]), sys.argv[2]
    tempfile.tempdir = staging
    scrub = Scrubber()
    with tempfile.TemporaryDirectory() as warm:  # everything is imported, every cache is filled
        live(AgentFolder(Path(warm) / "nb.agent"), scrub)
    number = 0
    while True:
        number += 1
        (base / str(number)).mkdir()
        child = os.fork()
        if child == 0:
            Killer(number).arm()
            live(AgentFolder(base / str(number) / "nb.agent"), scrub)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0
            break
    print(number)


if __name__ == "__main__":
    main()
