"""Bash, ProcessWait, ProcessStop with real commands: spec liveagent §6.2."""

import asyncio
import re
import time

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.tools.processes import Limits

RUNS_LONG = "echo begun; while :; do sleep 0.05; done"


# ---- states


async def test_completed_is_exit_status_zero_and_no_error(bench) -> None:
    result = await bench.bash("echo hello; echo oops >&2")
    assert not result.is_error
    assert result.structured["status"] == "completed" and result.structured["exitCode"] == 0
    assert {(piece["stream"], piece["text"]) for piece in result.structured["output"]} == {
        ("stdout", "hello\n"),
        ("stderr", "oops\n"),
    }
    assert "[stdout]\nhello" in result.content and "[stderr]\noops" in result.content


async def test_failed_is_another_exit_status_and_an_error(bench) -> None:
    result = await bench.bash("echo partial; exit 3")
    assert result.is_error and result.error_code == "process.failed"
    assert "status: failed" in result.content and "exit_code: 3" in result.content
    assert result.content.endswith("output:\npartial")


async def test_a_command_that_is_not_found_is_explained(bench) -> None:
    result = await bench.bash("no-such-program-here")
    assert result.structured["exitCode"] == 127
    assert "The shell did not find the program." in result.content


async def test_a_signal_from_outside_is_named(bench) -> None:
    result = await bench.bash("kill -KILL $$")
    assert result.structured["status"] == "failed" and result.structured["exitCode"] == 137
    assert "It was ended by SIGKILL" in result.content


async def test_what_could_not_start_is_an_error(bench) -> None:
    text = await bench.error("process.start_failed", "Bash", command="echo a\0b")
    assert "could not be started" in text
    assert bench.table.sessions == ()


async def test_running_is_no_error_and_tells_how_to_go_on(bench) -> None:
    began = time.monotonic()
    result = await bench.bash(RUNS_LONG, yield_time_ms=250)
    assert 0.25 <= time.monotonic() - began < 15
    assert not result.is_error and result.structured["status"] == "running"
    assert result.structured["exitCode"] is None
    assert (
        "Go on with ProcessWait, this session_id and cursor 6. Do not start it again, do not sleep." in result.content
    )


async def test_timed_out_is_an_error(bench) -> None:
    """§6.2: an explicit hard limit; none by default."""
    began = time.monotonic()
    result = await bench.bash(RUNS_LONG, timeout_ms=1000)
    assert 1.0 <= time.monotonic() - began < 15
    assert result.is_error and result.error_code == "process.timed_out"
    assert result.structured["status"] == "timed_out" and result.structured["exitCode"] is None
    assert "time limit of 1000 ms" in result.content and "begun" in result.content


async def test_cancelled_is_no_error(bench) -> None:
    session = (await bench.bash(RUNS_LONG, yield_time_ms=250)).structured["sessionId"]
    result = await bench.stop(session, cursor=0)
    assert not result.is_error and result.structured["status"] == "cancelled"
    assert result.content.endswith("output:\nbegun")
    again = await bench.stop(session)
    assert again.structured["status"] == "cancelled", "further calls on a finished session return the state"


async def test_stopping_what_has_ended_keeps_its_state(bench) -> None:
    session = (await bench.bash("echo done")).structured["sessionId"]
    assert (await bench.stop(session)).structured["status"] == "completed"


# ---- waits and cursors


async def test_a_wait_returns_early_on_exit(bench) -> None:
    """§24.4."""
    session = (await bench.bash("sleep 0.7; echo end", yield_time_ms=30_000)).structured
    assert session["status"] == "completed", "a command shorter than the yield time ends the first call"
    session = (await bench.bash(": ; sleep 1; echo end", yield_time_ms=250)).structured["sessionId"]
    began = time.monotonic()
    result = await bench.wait(session, cursor=0, yield_time_ms=60_000)
    assert time.monotonic() - began < 15
    assert result.structured["status"] == "completed" and result.content.endswith("output:\nend")


async def test_new_output_alone_wakes_no_wait(bench) -> None:
    result = await bench.bash("for i in 1 2 3 4 5; do echo $i; sleep 0.1; done", yield_time_ms=10_000)
    assert result.structured["output"] == [{"stream": "stdout", "text": "1\n2\n3\n4\n5\n"}]


async def test_64_kib_unread_end_a_wait(bench) -> None:
    began = time.monotonic()
    result = await bench.bash("head -c 70000 /dev/zero | tr '\\0' x; while :; do sleep 0.05; done")
    assert time.monotonic() - began < 9, "not after the 10 s of yield_time_ms"
    assert result.structured["status"] == "running"
    assert result.structured["cursor"] == 65_536
    while bench.table.find(result.structured["sessionId"]).ring.end < 70_000:
        await asyncio.sleep(0.01)
    rest = await bench.stop(result.structured["sessionId"])
    assert rest.structured["cursor"] == 70_000 and not rest.structured["hasMore"]


async def test_cursors_go_on_and_can_be_repeated(bench) -> None:
    first = await bench.bash("echo one; sleep 0.6; echo two", yield_time_ms=250)
    session, cursor = first.structured["sessionId"], first.structured["cursor"]
    assert cursor == 4
    second = await bench.wait(session, cursor=cursor)
    assert second.structured["cursor"] == 8 and second.content.endswith("output:\ntwo")
    again = await bench.wait(session, cursor=cursor)
    assert (again.content, again.structured) == (second.content, second.structured)
    whole = await bench.wait(session, cursor=0)
    assert whole.content.endswith("output:\none\ntwo")
    nothing = await bench.wait(session, cursor=8)
    assert "No new output." in nothing.content


async def test_without_a_cursor_reading_goes_on_after_the_newest_answer(bench) -> None:
    session = (await bench.bash("echo one; sleep 0.6; echo two", yield_time_ms=250)).structured["sessionId"]
    assert (await bench.wait(session)).content.endswith("output:\ntwo")


async def test_output_that_is_no_longer_kept_is_told(bench) -> None:
    """§24.4: output > 1 MiB → output_truncated once for an old cursor, none for the newest."""
    session = (await bench.bash("seq 1 300000")).structured["sessionId"]
    while bench.table.find(session).status == "running":
        await asyncio.sleep(0.05)
    size = len("".join(f"{n}\n" for n in range(1, 300_001)))
    old = await bench.wait(session, cursor=0)
    assert old.structured["outputTruncated"] and "is no longer kept" in old.content
    cursor, waits = old.structured["cursor"], 1
    assert cursor > size - 2**20
    while True:
        page = await bench.wait(session, cursor=cursor)
        assert not page.structured["outputTruncated"]
        cursor, waits = page.structured["cursor"], waits + 1
        if not page.structured["hasMore"]:
            break
    assert cursor == size
    assert 2**20 // 65_536 - 1 <= waits <= 2**20 // 65_536 + 1
    assert page.content.endswith("\n299999\n300000")


async def test_a_character_across_a_page_stays_whole(bench) -> None:
    """§24.4: a multi-byte character across a page."""
    first = await bench.bash("python -c \"print('xx' + chr(9731) * 30000)\"")
    assert first.structured["cursor"] == 65_534, "65 536 is inside a character"
    second = await bench.wait(first.structured["sessionId"])
    text = first.structured["output"][0]["text"] + second.structured["output"][0]["text"]
    assert text == "xx" + "\N{SNOWMAN}" * 30_000 + "\n"


async def test_escapes_and_broken_bytes_become_text(bench) -> None:
    result = await bench.bash(r"printf '\033[31mred\033[0m \377 \xe2\x98\x83\n'")
    assert result.structured["output"][0]["text"] == "red \ufffd \N{SNOWMAN}\n"


async def test_a_running_command_can_be_looked_at(bench) -> None:
    """Displays see the output before the call returns; `PYTHONUNBUFFERED` lets Python's through."""
    request = bench.request(
        "Bash", command="python -c \"print('first'); import time; time.sleep(1.5); print('second')\""
    )
    task = asyncio.create_task(bench.send(request))
    text = await bench.live_text(request, "first")
    assert "second" not in text and not task.done()
    result = await task
    assert "second" in result.content
    assert bench.desk.live(request.id) is None


async def test_the_input_is_empty(bench) -> None:
    result = await bench.bash("read x || echo no input")
    assert result.content.endswith("no input")


# ---- what a result holds


async def test_content_has_no_volatile_facts(bench) -> None:
    result = await bench.bash("pwd; echo $PWD/a.py; ls -d $PWD/..")
    assert str(bench.project) not in result.content
    assert result.content.endswith("output:\n.\na.py\n..")
    assert set(result.details) == {"kind", "durationMs", "pid"}
    told = result.content + str(result.structured)
    assert str(result.details["pid"]) not in re.sub(r"bash-[0-9a-f-]+", "", told)
    assert "uration" not in told


async def test_duration_is_since_the_start_of_the_command(bench) -> None:
    """§6.2: elapsed since the original start; it stands still after the end."""
    first = await bench.bash("sleep 1", yield_time_ms=250)
    assert 250 <= first.details["durationMs"] < 1000
    last = await bench.wait(first.structured["sessionId"])
    assert 1000 <= last.details["durationMs"] < 3000
    assert (await bench.wait(first.structured["sessionId"])).details["durationMs"] == last.details["durationMs"]


async def test_the_same_call_of_the_same_run_has_the_same_session_id(bench, make_bench) -> None:
    """What the model is told does not differ between two executions of a run."""
    one, again, other = bench, make_bench(), make_bench(seed=8)
    ids = [(await b.bash("true")).structured["sessionId"] for b in (one, again, other)]
    assert ids[0] == ids[1] != ids[2]
    assert (await one.bash("true")).structured["sessionId"] != ids[0]
    for name in ids:
        assert re.fullmatch(r"bash-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", name), "§6.2: bash-<uuid>"


async def test_an_id_that_is_taken_by_a_running_session_gets_a_number(bench) -> None:
    first = await bench.bash(RUNS_LONG, yield_time_ms=250)
    bench.turn = 0
    second = await bench.bash("echo second")
    assert second.structured["sessionId"] == first.structured["sessionId"] + ":2"
    bench.turn = 0
    third = await bench.bash("echo third")
    assert third.structured["sessionId"] == first.structured["sessionId"] + ":2", "one that has ended gives way"
    assert bench.table.find(first.structured["sessionId"]).status == "running"


# ---- sessions


async def test_an_unknown_session_is_explained(bench) -> None:
    text = await bench.error("process.unknown_session", "ProcessWait", session_id="bash-1")
    assert "There is no session bash-1." in text and "10 minutes ago" in text
    bare = "0e7f4f7a-0000-4000-8000-000000000000"
    assert 'begin with "bash-"' in await bench.error("process.unknown_session", "ProcessStop", session_id=bare)


async def test_sessions_that_have_ended_are_forgotten(make_bench) -> None:
    """§6.2: kept 10 minutes (here a moment), looked through each minute (here too)."""
    bench = make_bench(Limits(keep=0.2, clean_every=0.1))
    done = await bench.bash("true")
    running = await bench.bash(RUNS_LONG, yield_time_ms=250)
    await asyncio.sleep(0.5)
    assert [session.id for session in bench.table.sessions] == [running.structured["sessionId"]]
    await bench.error("process.unknown_session", "ProcessWait", session_id=done.structured["sessionId"])


async def test_the_oldest_that_has_ended_gives_way(make_bench) -> None:
    """§6.2: 64 sessions (here 3): evict the oldest terminal one; if all run, refuse."""
    bench = make_bench(Limits(sessions=3))
    first = (await bench.bash(RUNS_LONG, yield_time_ms=250)).structured["sessionId"]
    second = (await bench.bash("echo 2")).structured["sessionId"]
    third = (await bench.bash("echo 3")).structured["sessionId"]
    fourth = (await bench.bash(RUNS_LONG, yield_time_ms=250)).structured["sessionId"]
    assert [session.id for session in bench.table.sessions] == [first, third, fourth]
    await bench.error("process.unknown_session", "ProcessWait", session_id=second)
    await bench.bash(RUNS_LONG, yield_time_ms=250)
    text = await bench.error("process.too_many_sessions", "Bash", command="true")
    assert text.startswith("3 commands are running")


async def test_four_commands_wait_at_the_same_time(bench) -> None:
    """§6.5: a semaphore of 4 limits Bash across parallel subagents."""
    calls = [asyncio.create_task(bench.bash("echo x; sleep 0.8")) for _ in range(6)]
    while len(bench.table.sessions) < 4:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    assert len(bench.table.sessions) == 4
    results = await asyncio.gather(*calls)
    assert [result.structured["status"] for result in results] == ["completed"] * 6


async def test_output_after_the_end_is_not_waited_for(bench) -> None:
    """§6.2: end-of-output grace 300 ms."""
    began = time.monotonic()
    result = await bench.bash("python -c \"import subprocess; subprocess.Popen(['sleep', '30'])\"; echo done")
    assert time.monotonic() - began < 15
    assert result.structured["status"] == "completed" and "done" in result.content
    assert "still holds its output open" in result.content


# ---- arguments


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("Bash", {}, "'command' is missing"),
        ("Bash", {"command": ""}, "'command'"),
        ("Bash", {"command": "ls", "timeout_ms": 999}, "'timeout_ms'"),
        ("Bash", {"command": "ls", "timeout_ms": 600_001}, "'timeout_ms'"),
        ("Bash", {"command": "ls", "yield_time_ms": 249}, "'yield_time_ms'"),
        ("Bash", {"command": "ls", "yield_time_ms": 30_001}, "'yield_time_ms'"),
        ("Bash", {"command": "ls", "description": "x"}, "no parameter 'description'"),
        ("ProcessWait", {"session_id": "s", "yield_time_ms": 4_999}, "'yield_time_ms'"),
        ("ProcessWait", {"session_id": "s", "yield_time_ms": 300_001}, "'yield_time_ms'"),
        ("ProcessWait", {"session_id": "s", "cursor": -1}, "'cursor'"),
        ("ProcessWait", {"session_id": "a b"}, "'session_id'"),
        ("ProcessWait", {"session_id": "x" * 129}, "'session_id'"),
        ("ProcessStop", {"session_id": ""}, "'session_id'"),
    ],
)
async def test_arguments_outside_the_limits_are_refused(bench, tool, arguments, problem) -> None:
    """§6.2: timeout_ms 1 000–600 000, yield_time_ms 250–30 000 and 5 000–300 000, ids of 1–128 letters, digits, - _ :"""
    assert problem in await bench.error("tool.invalid_arguments", tool, **arguments)


async def test_defaults_are_in_the_schema(bench) -> None:
    from tt_kernel.tools.processes import PROCESS_TOOLS

    bash, wait, stop = [declaration.spec for declaration in PROCESS_TOOLS]
    assert [str(spec.id) for spec in (bash, wait, stop)] == [
        "builtin:Bash",
        "builtin:ProcessWait",
        "builtin:ProcessStop",
    ]
    assert {spec.group for spec in (bash, wait, stop)} == {"shell"}
    assert {spec.effect for spec in (bash, wait, stop)} == {"host"}
    assert [spec.read_only for spec in (bash, wait, stop)] == [False, True, False], "§16: ProcessWait is read-only"
    assert list(bash.input_schema["properties"]) == ["command", "cwd", "timeout_ms", "yield_time_ms"]
    assert bash.input_schema["properties"]["yield_time_ms"]["default"] == 10_000
    assert wait.input_schema["properties"]["yield_time_ms"]["default"] == 30_000
    assert bash.input_schema["required"] == ["command"] and wait.input_schema["required"] == ["session_id"]
    assert not bash.input_schema["additionalProperties"]
    for spec in (bash, wait, stop):
        assert spec.description and all("description" in p for p in spec.input_schema["properties"].values())


async def test_refusals_start_nothing(bench) -> None:
    await bench.error("process.sleep_refused", "Bash", command="sleep 5; touch file")
    await bench.error("process.background_refused", "Bash", command="touch file & true")
    assert list(bench.project.iterdir()) == [] and bench.table.sessions == ()


async def test_a_quiet_background_part_may_go_on(bench) -> None:
    result = await bench.bash("{ sleep 0.5; echo made > made.txt; } >log 2>&1 & echo started")
    assert result.structured["status"] == "completed" and result.content.endswith("output:\nstarted")
    for _ in range(100):
        if (bench.project / "made.txt").exists():
            break
        await asyncio.sleep(0.05)
    assert (bench.project / "made.txt").read_text() == "made\n"


async def test_raw_arguments_are_an_error_of_the_model(bench) -> None:
    request = bench.request("Bash").model_copy(update={"arguments": ToolArguments(raw="ls")})
    assert (await bench.send(request)).error_code == "tool.invalid_arguments"
