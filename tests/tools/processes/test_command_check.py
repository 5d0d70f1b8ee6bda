"""Refusals before the start: spec liveagent §6.3."""

import time

import pytest

from tt_kernel.domain.errors import ToolError
from tt_kernel.tools.processes.command_check import check_command, leading_sleep, open_background


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        ("sleep 2", 2),
        ("sleep 30; ls", 30),
        ("  sleep 5 && make", 5),
        ("sleep 1m", 60),
        ("sleep 1.5h", 5400),
        ("sleep 1d", 86_400),
        ("sleep infinity", float("inf")),
        ("/bin/sleep 10", 10),
        ("(sleep 4; ls)", 4),
        ("{ sleep 4; }", 4),
        ("A=1 sleep 3", 3),
        ("time sleep 3", 3),
        ("\\sleep 3", 3),
        ("\n\nsleep 3\nls", 3),
        ("Start-Sleep -Seconds 10; ls", 10),
        ("timeout /t 10", 10),
        ("sleep 1", 1),
        ("sleep 0.5 && ls", 0.5),
        ("sleep 1.99", 1.99),
        ("sleep $N", 0),
        ("make && sleep 30", 0),
        ("for i in 1 2 3; do sleep 5; done", 0),
        ("sleepy 5", 0),
        ("echo sleep 5", 0),
        ("timeout 5 make", 0),
        ("", 0),
    ],
)
def test_seconds_of_a_leading_sleep(command: str, seconds: float) -> None:
    assert leading_sleep(command) == seconds


def test_a_leading_sleep_of_two_seconds_is_refused() -> None:
    """§6.3: leading `sleep N` with N ≥ 2; inner or short sleeps pass."""
    with pytest.raises(ToolError) as refused:
        check_command("sleep 2; ls", "ProcessWait")
    assert refused.value.code == "process.sleep_refused"
    assert "use ProcessWait" in refused.value.message
    check_command("sleep 1.9; ls", "ProcessWait")
    check_command("ls; sleep 60", "ProcessWait")
    with pytest.raises(ToolError) as without:
        check_command("sleep 2", None)
    assert "ProcessWait" not in without.value.message


OPEN = [
    "server &",
    "server & curl localhost",
    "server > log &",
    "server 2> log &",
    "server 2>&1 >log &",
    "server >&2 &",
    "nohup server &",
    "(server &)",
    "(a; b >log 2>&1) &",
    "a && b >log 2>&1 &",
    "a >log | b >log 2>&1 &",
    "a; b & c",
    "for i in 1 2; do work $i & done; wait",
    "curl http://host/?a=1&b=2",
    "echo 'a' &",
    'echo "$(date)" &',
    "cat <<EOF\nbody\nEOF\nserver &",
    "if true; then a & fi",
    "x=$(server &)",
    "a <in &",
    "# comment\nserver &",
    "server >log 2>err & other &",
]

QUIET = [
    "server > log 2>&1 &",
    "server >log 2>err &",
    "server &> log &",
    "server &>> log &",
    "server >& log &",
    "server >>log 2>>err &",
    "server 1>/dev/null 2>/dev/null &",
    "server >| log 2>&1 &",
    "server >log 2>&- &",
    "nohup server </dev/null >log 2>&1 &",
    "a 2>&1 | b >log 2>&1 &",
    "a |& b &>log &",
    "a >l 2>&1 && b >l 2>&1 &",
    "(a; b) >log 2>&1 &",
    "{ a; b; } >log 2>&1 &",
    "for i in 1 2; do work $i >l$i 2>&1 & done; wait",
    "while true; do a; done >log 2>&1 &",
    "a && b",
    "a || b; c",
    "a 2>&1 | tee log",
    "a |& tee log",
    "echo 'a & b'",
    'echo "a & b" "it\'s &"',
    "echo a \\& b",
    "echo `date &>/dev/null`",
    "grep -E 'x&' file # a & comment",
    "cat <<EOF\nserver &\nEOF\nls",
    "cat <<-'END' > f\n\ta & b\n\tEND\nls",
    'cat <<A <<"B"\n&\nA\n&\nB\nls',
    "cat <<< 'a & b'",
    "echo $((3 & 1))",
    "(( x & 1 )) && ls",
    "case $x in a) ls ;& b) ls ;; esac",
    "exec 3>&1; ls >&3",
    "ls 2>&1",
    "cat <&3",
    "echo a#b",
    "cat <<EOF\nnever ends &",
    "echo 'unterminated &",
]


@pytest.mark.parametrize("command", OPEN)
def test_a_background_part_with_an_open_output_is_refused(command: str) -> None:
    """§6.3: `&` unless that segment redirects both stdout and stderr."""
    with pytest.raises(ToolError) as refused:
        check_command(command, "ProcessWait")
    assert refused.value.code == "process.background_refused"
    assert "2>&1 &" in refused.value.message


@pytest.mark.parametrize("command", QUIET)
def test_others_pass(command: str) -> None:
    check_command(command, "ProcessWait")


@pytest.mark.parametrize(
    "piece", ["((", "'", '"', "`", "<<'", "sleep 1 ", "A=1 ", "$(", "a 2>&1 | ", "\\", "#", "<<E\n", "& "]
)
def test_a_hostile_command_is_read_quickly(piece: str) -> None:
    began = time.perf_counter()
    leading_sleep(piece * 50_000)
    open_background(piece * 50_000)
    assert time.perf_counter() - began < 15


def test_the_refused_part_is_named() -> None:
    assert open_background("make all; python  -m http.server 8000 & curl x") == "python -m http.server 8000"


def test_elsewhere_an_ampersand_means_something_else() -> None:
    check_command('& "C:/Program Files/tool.exe"', None, posix=False)
