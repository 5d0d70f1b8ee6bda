"""Commands that no one should run. Each ends in time, and the next call works; what kills the child is an error result."""

import time

import pytest

QUICK = 1.5
"""Seconds that these commands get instead of 30."""

EVALUATED = """x='{} "$x"'; eval "$x\""""

# command -> how it may end
ENDLESS = [
    "while :; do :; done",
    "for ((;;)); do :; done",
    "until false; do :; done",
    ":(){ :|:& };:",
    "sleep 100",
    "sleep 100 & wait",
    "sleep 100 &",
    "read x < <(sleep 100)",
    "coproc sleep 100; wait",
    "exec sleep 100",
    "timeout 100 sleep 100",
    "make -f - <<< 'a: ; sleep 100'",
    "xargs -I{} bash -c 'sleep 50' <<< 1",
    "trap '' INT TERM EXIT; while :; do :; done",
    "trap 'while :; do :; done' EXIT",
    "awk 'BEGIN { while (1); }'",
    "awk 'BEGIN { for (;;) s = s \"aaaaaaaa\" }'",
    "jq -n 'def f: f; f'",
    "jq -n 'repeat(1)' | head -1",
    "python -c 'while True: pass'",
    "js -e 'for (;;);'",
    "js -e '/(a+)+b/.test(\"a\".repeat(40))'",
    "js -e \"import { workspace } from '@tauritavern/runtime'; for (;;) workspace.writeText('/tmp/x', 'y'.repeat(1e6))\"",
    "js -e '(async () => { for (;;) await null })()'",
    "while :; do cat /output/g /output/g >> /output/h; echo aaaaaaaaaaaaaaaa >> /output/g; cp /output/h /output/g; done",
]
CONTAINED = [
    "f() { f; }; f",
    "f() { eval f; }; f",
    "yes | cat > /dev/null",
    "x=1; while :; do x=$x$x; done",
    "jq -n '[range(1e9)]'",
    "jq -n 'def f: 1 + f; f'",
    "sed ':a;s/x/xx/;ta' <<< x",
    "printf '%1000000000d' 1",
    "echo {1..100000000}",
    "echo " + "{a,b}" * 25 + " | wc -c",
    "seq 1000000000 | wc -l",
    "cat /dev/zero | wc -c",
    "head -c 10000000000 /dev/zero | wc -c",
    "grep -P '(a+)+b' <<< " + "a" * 40 + "c",
    "grep -E '(a|a)*b' <<< " + "a" * 40 + "c",
    "a='a[a]'; echo $((a))",
    "a=b; b=a; echo $((a))",
    "declare -n a=b; declare -n b=a; echo $a",
    "$(echo " * 60 + "x" + ")" * 60,
    "(" * 200 + "echo" + ")" * 200,
    "if true; then " * 150 + "echo" + " fi;" * 150,
    "python -c 'x = [0] * 10**10'",
    "python -c 'def f(): return f()\nf()'",
    "python -c 'x = 2**(2**40)'",
    "python -c 'eval(\"(\" * 10000)'",
    "python -c 'print(\"a\" * 10**9)'",
    "python -c 'while True: print(\"y\" * 1000)' | wc -c",
    'python -c \'while True: open("/tmp/x", "a").write("y" * 1000000)\'',
    "js -e 'let a = []; for (;;) a.push(new Array(1e4))'",
    "js -e 'function f() { f() }; f()'",
    "js -e '\"x\".repeat(2 ** 30)'",
    "js -e 'new Array(2 ** 32 - 1).fill(1)'",
    "js -e '" + "[" * 5000 + "'",
    "js -e 'for (;;) console.log(\"y\".repeat(1000))' | wc -c",
    "kill -9 $$; kill -9 1; kill -9 -1; kill 0",
    "exec 1>&-; echo hi; exec 0<&-",
    "echo 'source /output/a' > /output/a; source /output/a",
    "echo 'bash /output/b' > /output/b; bash /output/b",
    "ln -s l1 /output/l2; ln -s l2 /output/l1; cat /output/l1",
    "mkdir -p /tmp/" + "a/" * 500,
    "tar cf /output/x.tar /; rm /output/x.tar",
    "rm -rf /*; rm -rf --no-preserve-root /",
    "dd if=/dev/zero of=/output/big bs=1000000 count=5000",
    "cat /output/../../../etc/shadow /proc/self/environ /proc/1/environ",
    "\x00\x01\x02 echo",
    "echo $(cat",
    "a" * 100_000,
    "echo " + '"$RANDOM" ' * 10_000 + "| wc -w",
    "gunzip < /dev/zero; unzip /dev/zero",
    "echo '9^9^9^9' | bc",
]
FATAL = [EVALUATED.format(word) for word in ("eval", "command eval", "builtin eval")]


def test_there_are_enough():
    assert len({*ENDLESS, *CONTAINED, *FATAL}) >= 75


def _name(command: str) -> str:
    return command[:40]


@pytest.mark.parametrize("command", ENDLESS, ids=_name)
async def test_what_does_not_end_is_ended(bench, command):
    start = time.monotonic()
    ending, _ = await bench.raw(command, timeout=QUICK)
    assert ending.reason == "timeout"
    assert time.monotonic() - start < QUICK + 1.5
    assert await bench.out("echo alive") == "alive"


async def test_what_grows_is_contained(bench):
    """One child for all of them: none may harm it."""
    await bench.out("true")
    pid = bench.worker.pid
    for command in CONTAINED:
        ending, printed = await bench.raw(command, timeout=10)
        assert ending.reason == "exit", (command[:80], ending, bytes(printed.stderr[:200]))
        assert b"root:" not in printed.stdout
        assert await bench.out("echo alive") == "alive", command[:80]
    assert bench.worker.pid == pid


@pytest.mark.parametrize("command", FATAL, ids=_name)
async def test_what_kills_the_child_is_an_error_result(bench, command):
    result = await bench.run(command)
    assert (result.is_error, result.error_code) == (True, "workspace.shell_failed")
    assert await bench.out("echo alive") == "alive"
