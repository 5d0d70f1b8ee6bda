"""Results are recorded and answered from the record; nothing is executed again (DESIGN §7, effect `host`)."""

import asyncio

import pytest

from tt_kernel.domain.errors import ReplayMiss
from tt_kernel.toolkit.pipeline import stacked
from tt_kernel.toolkit.replayed import Replayed
from tt_kernel.tools.processes import PROCESS_TOOLS, keeps_output

from .support import pids_in

SPECS = {declaration.id: declaration.spec for declaration in PROCESS_TOOLS}


class Record:
    """The part of a tape that a call's policy uses: by tool, arguments and turn."""

    def __init__(self) -> None:
        self.results = {}
        self.live = 0

    def policy(self, mode) -> Replayed:
        def key(call):
            return (call.tool_id, call.turn, str(call.arguments.value))

        def before_live() -> None:
            self.live += 1

        return Replayed(
            spec_of=lambda call: SPECS[call.tool_id],
            mode=mode,
            find=lambda call, _spec: self.results.get(key(call)),
            keep=lambda call, _spec, result: self.results.update({key(call): result}),
            before_live=before_live,
            drifted=lambda _call, difference: pytest.fail(difference),
        )


def caller(bench, record, mode):
    """As a run stacks them: what keeps the output of an interrupted call is outside of what records."""
    return stacked(lambda call: bench._tools[call.tool_id].call(call), [keeps_output(bench.desk), record.policy(mode)])


async def test_a_replay_executes_nothing_and_tells_the_same(make_bench) -> None:
    record = Record()
    first = make_bench()
    live = caller(first, record, "live")
    command = "echo ran >> ran.txt; echo one; sleep 0.6; echo two; exit 3"
    started = await live(first.request("Bash", command=command, yield_time_ms=250))
    arguments = {"session_id": started.structured["sessionId"], "cursor": started.structured["cursor"]}
    waited = await live(first.request("ProcessWait", **arguments))
    assert waited.structured["status"] == "failed" and record.live == 2

    second = make_bench()
    replay = caller(second, record, "replay")
    again = [
        await replay(second.request("Bash", command=command, yield_time_ms=250)),
        await replay(second.request("ProcessWait", **arguments)),
    ]
    assert again == [started, waited] and record.live == 2
    assert (second.project / "ran.txt").read_text() == "ran\n"
    assert second.table.sessions == () and second.table.watchdog_pid is None, "not even a watchdog"
    with pytest.raises(ReplayMiss):
        await replay(second.request("Bash", command="echo something else"))


async def test_a_session_whose_start_was_replayed_is_explained(make_bench) -> None:
    """Mode auto: the recorded part is not executed, and the model goes on live."""
    record = Record()
    first = make_bench()
    command = "while :; do sleep 0.1; done"
    await caller(first, record, "live")(first.request("Bash", command=command, yield_time_ms=250))
    second = make_bench()
    auto = caller(second, record, "auto")
    started = await auto(second.request("Bash", command=command, yield_time_ms=250))
    waited = await auto(second.request("ProcessWait", session_id=started.structured["sessionId"]))
    assert waited.error_code == "process.unknown_session" and "its start was replayed" in waited.content


async def test_an_interrupted_command_is_not_recorded(bench) -> None:
    """Interrupts are never replayed as successes; the output so far is the result of this run all the same."""
    record = Record()
    request = bench.request("Bash", command="echo begun; echo $$ >> pids; while :; do sleep 0.1; done")
    task = asyncio.create_task(caller(bench, record, "auto")(request))
    await pids_in(bench.project / "pids", 1)
    await bench.live_text(request, "begun")
    task.cancel()
    result = await task
    assert result.structured["status"] == "cancelled" and "begun" in result.content
    assert record.results == {}
