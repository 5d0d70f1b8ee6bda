"""The synchronous path of runs that nobody watches: spec liveagent §6.1, §2.4."""

import asyncio
import time

import pytest

from tt_kernel.tools.processes import PROCESS_TOOLS, SYNCHRONOUS_TOOLS
from tt_kernel.tools.processes.limits import synchronous_timeout

from .support import gone, pids_in


@pytest.fixture
def bench(make_bench):
    return make_bench(synchronous=True)


@pytest.mark.parametrize(
    ("provider", "default", "most"),
    [
        ("anthropic", 120_000, 600_000),
        ("openai", 30_000, 30_000),
        ("google", 30_000, 30_000),
        ("xai", 30_000, 30_000),
        ("deepseek", 30_000, 30_000),
        ("local", 120_000, 600_000),
    ],
)
def test_time_limits_by_provider(provider, default, most) -> None:
    """§6.1: default and maximum; 600 000 ms is the global maximum."""
    assert synchronous_timeout(provider, None) == default
    assert synchronous_timeout(provider, 600_000) == most
    assert synchronous_timeout(provider, 1_000) == 1_000


async def test_a_command_is_run_to_its_end(bench) -> None:
    began = time.monotonic()
    result = await bench.bash("echo out; echo err >&2; sleep 1; echo end", yield_time_ms=250)
    assert 1 <= time.monotonic() - began < 15, "there is no session to come back to"
    assert not result.is_error and bench.table.sessions == ()
    assert result.content.splitlines() == [
        "# Shell",
        "shell: bash, platform: linux, profile: login, shell_family: posix",
        "sandbox: off",
        "cwd: .",
        "timeout_ms: 120000",
        "status: completed",
        "exit_code: 0",
        "",
        "command:",
        "echo out; echo err >&2; sleep 1; echo end",
        "",
        "stdout:",
        "out",
        "end",
        "",
        "stderr:",
        "err",
    ]
    assert set(result.details) == {"kind", "durationMs", "pid"}


async def test_a_failure_is_an_error_with_a_hint(bench) -> None:
    result = await bench.bash("nothing-of-that-name")
    assert result.error_code == "process.failed"
    assert "exit_code: 127\nThe shell did not find the program." in result.content


async def test_a_time_limit_is_an_error(bench) -> None:
    result = await bench.bash("echo $$ >> pids; while :; do sleep 0.1; done", timeout_ms=1000)
    assert result.error_code == "process.timed_out" and "limit of 1000 ms" in result.content
    assert await gone((await pids_in(bench.project / "pids", 1))[0])


async def test_output_that_stays_open_is_an_error(bench) -> None:
    """§6.1: isError if stdio is left open after the exit."""
    result = await bench.bash("python -c \"import subprocess; subprocess.Popen(['sleep', '30'])\"")
    assert result.error_code == "process.output_held_open" and result.structured["exitCode"] == 0
    assert result.structured["heldOpen"]


async def test_of_each_stream_the_head_is_kept(bench) -> None:
    """§6.1: stdout and stderr each capped at 400 KB, head kept."""
    program = "import sys; sys.stdout.write('a' + chr(233) * 300000); sys.stderr.write('short')"
    result = await bench.bash(f'python -c "{program}"')
    out = next(piece["text"] for piece in result.structured["output"] if piece["stream"] == "stdout")
    assert len(out.encode()) == 399_999 and out == "a" + "é" * 199_999
    assert "stdout was cut: it had 600001 bytes, the first 399999 are shown." in result.content
    assert "stderr was cut" not in result.content and result.content.endswith("stderr:\nshort")


async def test_a_cancelled_command_is_killed_and_keeps_its_output(bench) -> None:
    request = bench.request("Bash", command="echo begun; echo $$ >> pids; while :; do sleep 0.1; done")
    task = asyncio.create_task(bench.send(request))
    pid = (await pids_in(bench.project / "pids", 1))[0]
    await asyncio.sleep(0.1)
    task.cancel()
    result = await asyncio.wait_for(task, 15)
    assert result.error_code == "process.cancelled" and "stdout:\nbegun" in result.content
    assert await gone(pid, 0.5)


async def test_refusals_hold_here_too(bench) -> None:
    await bench.error("process.sleep_refused", "Bash", command="sleep 2")
    await bench.error("process.start_failed", "Bash", command="a\0")


async def test_the_tool_without_sessions(bench) -> None:
    """§2.4: in scheduled runs there is Bash without yield_time_ms, and neither ProcessWait nor ProcessStop."""
    (declaration,) = SYNCHRONOUS_TOOLS
    assert declaration.id == PROCESS_TOOLS[0].id
    assert list(declaration.spec.input_schema["properties"]) == ["command", "cwd", "timeout_ms"]
    assert declaration.spec.version != PROCESS_TOOLS[0].spec.version, "a recording of the one is none of the other"
    result = await declaration.bind(bench.desk).call(bench.request("Bash", command="echo $((6 * 7))"))
    assert result.content.endswith("stdout:\n42")
