"""Commands that mean harm or never end: refused or handled with a clear result, the loop stays responsive (issue 4)."""

import time

import pytest

from .test_flood import Heart


async def test_a_fork_bomb_is_refused(bench) -> None:
    await bench.error("process.background_refused", "Bash", command=":(){ :|:& };:")


@pytest.mark.parametrize(
    "command",
    [
        "cat /dev/zero",
        "mkfifo pipe; cat pipe",
        "cat </dev/tty || tail -f /dev/null",
        "python -c 'while True: pass'",
        "trap '' TERM HUP INT; while :; do :; done",
        "exec 1>&- 2>&-; while :; do sleep 0.1; done",
    ],
    ids=["endless device", "pipe without a writer", "terminal", "busy loop", "deaf", "closed outputs"],
)
async def test_what_never_ends_ends_at_its_limit(bench, command) -> None:
    heart = Heart()
    began = time.monotonic()
    result = await bench.bash(command, timeout_ms=1000)
    # An endless device fills a page at once; the limit comes later.
    if result.structured["status"] == "running":
        result = await bench.wait(result.structured["sessionId"], cursor=10**12)
    assert result.error_code == "process.timed_out"
    assert time.monotonic() - began < 15
    heart.check()


async def test_names_of_files_are_only_text(bench) -> None:
    for name in ("two\nlines", "\u202ereversed", "\x1b[31mred", "-rf", "tab\tname"):
        (bench.project / name).write_text("")
    result = await bench.bash("ls -N; printf '%s\\n' *")
    assert not result.is_error
    assert "\x1b" not in result.content and "\u202ereversed" in result.content


async def test_a_very_long_command_is_an_error_of_the_start(bench) -> None:
    text = await bench.error("process.start_failed", "Bash", command="echo " + "x" * 3_000_000)
    assert text == "The command could not be started: Argument list too long."
