"""DESIGN §7: time and chance inside the shell come from the run, so that running it again gives the same bytes."""

import asyncio
import os
import time

import pytest

from tt_kernel.tools.shell import ShellWorker

SCRIPTS = {
    "date": "date; date -u +%FT%T.%N; date +%s; date -R; date -d '2 days ago' +%F; command date; env date; echo 0 | xargs -I{} date -d @{}",
    "variables": "echo $EPOCHSECONDS $EPOCHREALTIME $SECONDS",
    "RANDOM": "echo $RANDOM $RANDOM; (echo $RANDOM); echo $(echo $RANDOM); bash -c 'echo $RANDOM'; for i in 1 2; do echo $RANDOM; done",
    "shuf": "seq 20 | shuf | tr '\\n' ' '; shuf -i 1-9 -n 3; shuf -e a b c; shuf -e a b c",
    "mktemp": "mktemp; mktemp -d; mktemp /tmp/x.XXXXXX; mktemp -u",
    "uuidgen": "uuidgen; uuidgen",
    "awk": "awk 'BEGIN { print rand(); srand(); print rand(), systime(), strftime(\"%F\") }'",
    "jq": "jq -n 'now, (now | todate)'; echo 1 | jq --arg a b '[., $a, now]' -c",
    "ls": "cd /output; echo x > new; ls -l; ls -la /output; ls -lh new; ls -lR /; echo . | xargs ls -l",
    "stat": "echo x > /output/new; stat /output/new; stat -c '%n %s %Y %y %X %z %W' /output/new; stat --printf '%Y\\n' /output/new",
    "find": "echo x > /output/new; find /output -printf '%p %s %t %T@ %TY-%Tm %A@\\n'; find /output -ls",
    "time": "time sleep 0.02",
    "uptime": "uptime",
    "archives": "cd /output; echo x > new; gzip -k new; zip -r /tmp/z new >/dev/null; sha256sum /tmp/z new.gz",
    "diff": "cd /output; echo a > a; echo b > b; diff -u a b || true",
    "python": """python -c "
import time, datetime, random, os
print(time.time(), time.time_ns(), time.strftime('%Y-%m-%d %H:%M:%S'), time.localtime().tm_hour)
print(datetime.datetime.now(), datetime.datetime.now(datetime.timezone.utc), datetime.date.today())
print(random.random(), random.randint(1, 10**9), random.Random().random(), os.urandom(8))
print(os.stat('/output').st_mtime)
" """,
    "js": """js -e "
console.log(Date.now(), new Date(), Date(), new Date().getTimezoneOffset(), performance.now());
console.log(Math.random(), Math.random(), [1,2,3,4,5,6].sort(() => Math.random() - 0.5).join());
" """,
    "order": "cd /output; touch zeta alpha Beta _x 10 9; ls; echo *; find . -type f; grep -rl '' .; python -c \"import os; print(os.listdir('.'))\"",
}


async def _answers(bench, script: str) -> list[str]:
    """Two calls in a row: their chance differs, the run's does not."""
    return [(await bench.run(script)).content for _ in range(2)]


@pytest.mark.parametrize("name", SCRIPTS)
async def test_running_again_gives_the_same_bytes(name, tmp_path, worker, new_bench):
    first = await _answers(new_bench(tmp_path / "one", worker), SCRIPTS[name])
    assert all(answer.startswith("exit code 0") for answer in first), first
    await asyncio.sleep(1.05)
    async with ShellWorker() as other:
        again = await _answers(new_bench(tmp_path / "two", other), SCRIPTS[name])
    assert again == first


CHANCE = ("RANDOM", "shuf", "mktemp", "uuidgen", "awk", "python", "js")


@pytest.mark.parametrize("name", CHANCE)
async def test_chance_differs_between_calls_and_between_runs(name, tmp_path, worker, new_bench):
    one, two = await _answers(new_bench(tmp_path / "one", worker), SCRIPTS[name])
    assert one != two
    other, _ = await _answers(new_bench(tmp_path / "two", worker, seed=8), SCRIPTS[name])
    assert other != one


async def test_the_same_command_twice_in_a_script_draws_twice(bench):
    for command in (
        "uuidgen",
        "shuf -i 1-1000000 -n 1",
        "mktemp -u",
        "python -c 'import random; print(random.random())'",
        "js -p 'Math.random()'",
    ):
        first, second = (await bench.out(f"{command}; {command}")).splitlines()
        assert first != second, command


async def test_a_pipeline_of_engines_is_deterministic(tmp_path, worker, new_bench):
    """Its parts run at the same time, in any order."""
    script = "js -p 'Math.random()' | cat - <(js -p 'Math.random() + 1') <(python -c 'import random; print(random.random())') <(uuidgen)"
    answers = {await new_bench(tmp_path / str(n), worker).out(script) for n in range(5)}
    assert len(answers) == 1


async def test_a_replayed_call_does_not_shift_the_next(tmp_path, worker, new_bench):
    """Chance goes by the call's place in the run."""
    one, two = new_bench(tmp_path / "one", worker), new_bench(tmp_path / "two", worker)
    await one.out("echo $RANDOM")
    second = await one.out("echo $RANDOM")
    two.call(command="answered from the record")
    assert await two.out("echo $RANDOM") == second


async def test_the_clock_shows_the_start_of_the_run(bench):
    assert await bench.out("date -u '+%F %T'; date +%s") == "2026-03-01 12:34:56\n1772368496"
    assert await bench.out("echo x > /output/a; ls -l /output") == "-rw-r--r--        2 2026-03-01 12:34 a"
    assert "Modify: 1772368496" in await bench.out("stat /output/a")
    assert await bench.out("js -p 'new Date().toISOString()'") == "2026-03-01T12:34:56.000Z"
    assert await bench.out("python -c 'import datetime; print(datetime.date.today())'") == "2026-03-01"
    assert await bench.out("jq -n 'now'") == "1772368496"


async def test_waiting_for_the_clock_ends(bench):
    """The engines' clocks advance a little at each look, and Python's while it sleeps."""
    script = "import time; t = time.time()\nwhile time.time() - t < 60: time.sleep(5)\nprint('done')"
    start = time.monotonic()
    assert await bench.out(f'python -c "{script}"') == "done"
    assert (
        await bench.out("js -e 'const t = Date.now(); while (Date.now() - t < 500); console.log(\"done\")'") == "done"
    )
    assert time.monotonic() - start < 15


async def test_comparisons_of_file_dates_use_the_real_ones(bench):
    old, new = bench.put("output/old", "x"), bench.put("output/new", "x")
    os.utime(old, (1_000_000, 1_000_000))
    os.utime(new, (2_000_000, 2_000_000))
    assert (
        await bench.out("cd /output; [ new -nt old ] && echo newer; find . -newer old -type f; ls -t")
        == "newer\n./new\nnew\nold"
    )


async def test_ls_stays_what_it_is(bench):
    bench.put("output/b.txt", "1234")
    bench.put("output/d/c.txt", "")
    os.utime(bench.folder / "output/b.txt", (1, 1))
    assert await bench.out("cd /output; ls; ls -1 d; ls b*; ls -d d; ls -F") == "b.txt\nd\nc.txt\nb.txt\nd\nb.txt\nd/"
    assert await bench.out("ls /output") == "b.txt\nd"
    assert await bench.out("ls --color=auto -l /output/b.txt") == "-rw-r--r--        4 2026-03-01 12:34 /output/b.txt"
    failed = await bench.run("ls /nope")
    assert failed.structured["exitCode"] == 2
    assert failed.content == "exit code 2\n[stderr]\nls: cannot access '/nope': No such file or directory"


async def test_wrapped_commands_read_their_input(bench):
    bench.put("output/latin.txt", b"caf\xe9;1\n")
    bench.put("output/a.csv", "a;1\nb;2\n")
    assert await bench.out("awk -F';' 'BEGIN { srand() } { print $1 }' < /output/a.csv | tr -d '\n'") == "ab"
    assert (
        await bench.out("cat /output/a.csv | awk -F';' -v x=5 'BEGIN { srand() } { print $2 + x }' - | tr '\n' ' '")
        == "6 7 "
    )
    assert await bench.out("echo '{\"a\": 1}' | jq '.a, (now > 0)'") == "1\ntrue"
    assert await bench.out("shuf -n 1 < /output/latin.txt | xxd -p") == "636166e93b310a"


async def test_find_with_exec_reaches_our_commands(bench):
    bench.put("output/a.js", "console.log('ran')")
    assert await bench.out("find /output -name '*.js' -exec js {} \\;") == "ran"
