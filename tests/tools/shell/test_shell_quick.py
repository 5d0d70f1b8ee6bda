"""Which commands skip the event loop, what they cost, and that it makes no difference to what they print."""

import asyncio
import statistics
import time

import pytest
from bashkit import Bash, ExecutionProfile

from tt_kernel.tools.shell.child.quick import is_quick
from tt_kernel.tools.shell.child.table import OURS, asked_for, waits

PLAIN = [
    "echo hi",
    "cat /output/a | grep -i x | sort | uniq -c | head -3 > /tmp/b",
    "for i in 1 2 3; do echo $i; done; echo $((1 + 1)) ${x:-y}",
    "[ -f /x ] && cp /x /y || mkdir -p /output/d; [[ a == b ]]",
    "n=$(wc -l < /x); echo $n",
    "printf '%s\\n' a b 2>&1 >/dev/null",
    "if true; then echo a; fi && exit 3",
    "cat <<'E'\ntext\nE",
]
OTHER = [
    "python x.py",
    "echo $(python -c 1)",
    "echo ${x:-$(python -c 1)}",
    "echo `date`",
    "date",
    "ls",
    "/bin/ls",
    "/output/run.sh",
    "./run.sh",
    ". /output/x",
    "source /output/x",
    "bash x.sh",
    'x=python; $x -c 1; "$x"',
    "eval 'python -c 1'",
    "xargs python < x",
    "find / -exec python {} +",
    "awk 'BEGIN { system(\"python\") }'",
    "jq .",
    "sleep 1",
    "while :; do :; done",
    "until false; do :; done",
    "for ((;;)); do :; done",
    "read x",
    "wait",
    "cat x & cat y",
    "cat x &",
    "trap 'python -c 1' EXIT; echo",
    "alias e=python; e",
    "command python",
    "f() { python -c 1; }; f",
    "rg --pre python x",
    "sort --compress-program=python x",
    "set -x; PS4='$(python)'; echo",
    'x=\'eval "$x"\'; eval "$x"',
    "echo 'unterminated",
    "timeout 1 cat",
    "echo $x | sh",
    "cat <(python -c 1)",
    "echo ${x@P}",
]


@pytest.mark.parametrize("command", PLAIN)
def test_plain_commands(command):
    assert is_quick(Bash(profile=ExecutionProfile.Interactive), command, OURS)


@pytest.mark.parametrize("command", OTHER)
def test_other_commands(command):
    assert not is_quick(Bash(profile=ExecutionProfile.Interactive), command, OURS)


@pytest.mark.parametrize(
    "command", [*PLAIN, "cat /output/none; echo é; cat /output/bin; false", "exit 300", "cd /nope"]
)
async def test_both_ways_print_the_same(bench, command):
    bench.put("output/a", "x\nX\ny\n")
    bench.put("output/bin", b"\xff\x00a")
    quick = await bench.run(command)
    slow = await bench.run(f"sleep 0\n{command}")
    assert slow.content.replace("line 2", "line 1") == quick.content


def test_wrappers_only_where_a_script_shows_what_they_hide():
    assert set(asked_for("jq -n now")) == {"jq"}
    assert set(asked_for("awk 'BEGIN { srand() }'")) == {"awk", "gawk", "mawk", "nawk"}
    assert set(asked_for("find . -printf '%t'")) == {"find"}
    for command in ("jq .a", "awk '{ print $1 }'", "find . -name x", "find . -printf x -exec js {} \\;", "echo"):
        assert asked_for(command) == {}


def test_waiting():
    assert all(waits(command) for command in ("python3 x", "js x", "sleep 1", "x | node -", "wait"))
    assert not any(waits(command) for command in ("echo x", "jq .", "date", "jsx"))


async def test_twenty_plain_commands_in_a_row_cost_less_than_a_millisecond_each(bench):
    """Aim: 0.5 ms (issue 2). Measured with some room for a busy machine: the best of ten rows of twenty."""
    await bench.raw("echo warm")
    rows = []
    for _ in range(10):
        times = []
        for _ in range(20):
            start = time.perf_counter()
            await bench.raw("echo hi")
            times.append(time.perf_counter() - start)
        rows.append(statistics.median(times))
        await asyncio.sleep(0.02)
    assert min(rows) < 0.001, rows
