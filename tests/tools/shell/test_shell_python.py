"""Python in the shell: pydantic-monty over the shell's files (spec tauritavern §6)."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.tools.shell.child.python_source import fit, restore


async def test_code_file_stdin_and_arguments(bench):
    bench.put("output/s.py", "import sys\nprint(__file__, __name__, sys.argv)\n")
    assert await bench.out("python3 -c 'import sys; print(sys.argv)' a 'b c'") == "['-c', 'a', 'b c']"
    assert await bench.out("python /output/s.py x; cd /output; python s.py") == (
        "/output/s.py __main__ ['/output/s.py', 'x']\n/output/s.py __main__ ['s.py']"
    )
    assert await bench.out("echo 'import sys; print(sys.argv)' | python - y") == "['-', 'y']"
    assert await bench.out("echo 'print(1)' | python; python <<'X'\nprint(2)\nX") == "1\n2"
    assert await bench.out("python -u -B -W ignore -X utf8 -c 'print(3)'") == "3"
    assert (await bench.out("python --version")).startswith("Python 3")


async def test_standard_input_as_data(bench):
    assert (
        await bench.out(
            "echo '{\"a\": [1, 2]}' | python -c 'import json, sys; print(sum(json.load(sys.stdin)[\"a\"]))'"
        )
        == "3"
    )
    assert (
        await bench.out(
            "printf 'a\\nb\\n' | python -c 'import sys\nfor line in sys.stdin: print(line.strip() + \"!\")'"
        )
        == "a!\nb!"
    )
    assert await bench.out("printf '5\\n6\\n' | python -c 'print(int(input()) + int(input(\"? \")))'") == "? 11"
    assert (
        await bench.out("printf 'x\\ny\\n' | python -c 'from sys import stdin as s; print(s.readline(), s.read())'")
        == "x\n y\n"
    )
    assert await bench.out("echo q | python -c 'print(open(\"/dev/stdin\").read())'") == "q\n"
    assert await bench.out("echo kept | { python -c 'print(1)'; cat; }") == "1\nkept", (
        "input is left to the next when not asked for"
    )


@pytest.mark.parametrize(
    ("code", "exit_code", "shown"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit()", 0, ""),
        ("import sys; sys.exit(None)", 0, ""),
        ("import sys; sys.exit(256 + 7)", 7, ""),
        ("import sys; sys.exit('bad news')", 1, "bad news"),
        ("from sys import exit; exit(4)", 4, ""),
        ("import sys as s; s.exit(5)", 5, ""),
        ("raise SystemExit(6)", 6, ""),
        ("raise SystemExit", 0, ""),
        ("raise SystemExit('no')", 1, "no"),
        ("exit(8)", 8, ""),
        ("quit()", 0, ""),
        ("def main():\n    return 9\nimport sys\nif __name__ == '__main__':\n    sys.exit(main())", 9, ""),
        ("import sys\ntry:\n    sys.exit(3)\nexcept SystemExit as e:\n    print('caught')", 0, ""),
    ],
)
async def test_exit_codes(bench, code, exit_code, shown):
    bench.put("output/s.py", code)
    result = await bench.run("python /output/s.py")
    assert result.structured["exitCode"] == exit_code
    assert "Traceback" not in result.content
    assert shown in result.content


async def test_an_exception_is_shown_as_python_shows_it(bench):
    bench.put("output/s.py", "import sys\n\ndef f():\n    return sys.argv[7]\n\nf()\n")
    result = await bench.run("cd /output; python s.py")
    assert result.content == (
        "exit code 1\n[stderr]\nTraceback (most recent call last):\n"
        '  File "s.py", line 6, in <module>\n    f()\n    ~~~\n'
        '  File "s.py", line 4, in f\n    return sys.argv[7]\n           ~~~~~~~~~~~\n'
        "IndexError: list index out of range"
    )


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("python /nope.py", 2, "can't open file '/nope.py': [Errno 2] No such file or directory"),
        ("python /output", 2, "can't open file '/output'"),
        ("python -m json.tool", 2, "-m is not available"),
        ("python --bogus", 2, "unknown option --bogus"),
        ("python -c", 2, "argument expected"),
        ("python /output/latin.py", 1, "is not UTF-8"),
        ("python -c 'print('", 1, "SyntaxError"),
        ("python -c 'import numpy'", 1, "Modules: sys os re json"),
        ("python -c 'class A(list): pass'", 1, "js runs full JavaScript"),
        ("python -c 'def g(): yield 1'", 1, "js runs full JavaScript"),
        ("python -c 'input()'", 1, "EOF when reading a line"),
    ],
)
async def test_mistakes_say_what_is_wrong(bench, command, code, message):
    bench.put("output/latin.py", b"print('caf\xe9')")
    result = await bench.run(command)
    assert (result.error_code, result.structured["exitCode"]) == ("workspace.shell_exit", code)
    assert message in result.content


async def test_files(bench):
    bench.put("output/in.csv", "name,n\nä,1\nb,2\n")
    bench.put("output/bin", bytes(range(256)))
    bench.put(
        "output/s.py",
        """
import csv, json, os
from pathlib import Path

rows = list(csv.DictReader(open("in.csv")))
print(rows)
with open("out.json", "w") as f:
    json.dump([row["name"] for row in rows], f)
with open("log.txt", "a") as f:
    for n in range(3):
        f.write(f"{n}\\n")
    print(Path("log.txt").read_text().split(), "seen before it is closed")
print(len(Path("bin").read_bytes()), os.path.getsize("bin") if hasattr(os.path, "getsize") else os.stat("bin").st_size)
Path("d/e").mkdir(parents=True)
Path("d/e/x.txt").write_text("x")
Path("d/e/x.txt").rename("d/y.txt")
print(sorted(str(p) for p in Path("d").rglob("*")), os.listdir("d"), os.path.isdir("d/e"))
Path("d/y.txt").unlink()
os.rmdir("d/e")
print(os.listdir("d"), os.getcwd(), os.path.exists("/output/out.json"), Path("/tmp").is_dir())
for path, mode in (("/none", "r"), ("/skills/n", "w"), ("/n", "w"), ("/output/none/n", "w"), ("d", "r")):
    try:
        open(path, mode)
    except OSError as error:
        print(type(error).__name__, error)
""",
    )
    out = await bench.out("cd /output; python s.py")
    assert out.splitlines() == [
        "[{'name': 'ä', 'n': '1'}, {'name': 'b', 'n': '2'}]",
        "['0', '1', '2'] seen before it is closed",
        "256 256",
        "['d/e', 'd/y.txt'] ['e', 'y.txt'] True",
        "[] /output True True",
        "FileNotFoundError [Errno 2] No such file or directory: '/none'",
        "PermissionError [Errno 30] Read-only file system: '/skills/n'",
        "PermissionError [Errno 30] Read-only file system: '/n'",
        "FileNotFoundError [Errno 2] No such file or directory: '/output/none/n'",
        "IsADirectoryError [Errno 21] Is a directory: '/output/d'",
    ]
    assert (bench.folder / "output/out.json").read_text() == '["\\u00e4", "b"]'
    assert (bench.folder / "output/log.txt").read_text() == "0\n1\n2\n"


async def test_many_small_writes_are_not_slow(bench):
    code = "f = open('/output/n', 'w')\nfor n in range(5000): f.write(f'{n}\\n')"
    await asyncio.wait_for(bench.out(f'python -c "{code}"'), 10)
    assert (bench.folder / "output/n").read_text() == "".join(f"{n}\n" for n in range(5000))


async def test_what_was_written_before_an_error_is_kept(bench):
    result = await bench.run('python -c \'f = open("/output/n", "w"); f.write("a"); 1/0\'')
    assert "ZeroDivisionError" in result.content
    assert (bench.folder / "output/n").read_text() == "a"


async def test_environment_and_streams(bench):
    out = await bench.run(
        'export A=1; B=2; C=3 python -c \'import os, sys\nprint(os.environ.get("A"), os.getenv("B"), os.getenv("C"), os.environ["HOME"])\n'
        'sys.stdout.write("w\\n"); sys.stderr.write("e\\n"); print("p", file=sys.stderr)\''
    )
    assert out.content == "exit code 0\n1 None 3 /\nw\n[stderr]\ne\np"


async def test_output_is_bounded_and_a_closed_pipe_ends_the_script(bench):
    result = await bench.run("python -c 'while True: print(\"y\")' | head -2; echo ${PIPESTATUS[0]}")
    assert result.content == "exit code 0\ny\ny\n141"
    result = await bench.run("python -c 'while True: print(\"y\" * 100)'")
    assert (result.structured["exitCode"], result.structured["outputTruncated"]) == (1, True)
    assert "more than 16 MiB of output" in result.content


async def test_partial_output_of_a_script_that_does_not_end(bench):
    ending, printed = await bench.raw("python -c 'print(\"part\")\nwhile True: pass'", timeout=0.7)
    assert (ending.reason, bytes(printed.stdout)) == ("timeout", b"part\n")


async def test_several_scripts_in_a_pipeline(bench):
    script = " | ".join(["python -c 'print(1)'"] + ["python -c 'import sys; print(int(sys.stdin.read()) + 1)'"] * 6)
    assert await asyncio.wait_for(bench.out(script), 10) == "7"


# ---- fitting the source to Monty


@pytest.mark.parametrize(
    ("code", "fitted"),
    [
        ("import sys\nprint(sys.argv[1])", "import sys\nprint(_sysargv[1])"),
        ("import sys\nsys.stdin.read()", "import sys\n_sysstdin.read()"),
        ("import sys as s\ns.exit(1)", "import sys as s\n_sysexit(1)"),
        ("import sys\nx = 'é'; sys.stdout.write(x)", "import sys\nx = 'é'; _sysstdout_write(x)"),
        ("from sys import argv, stderr as e", "argv = _sysargv; from sys import stderr as e"),
        ("from sys import exit as leave\nleave()", "leave = _sysexit\nleave()"),
        ("raise SystemExit(main())", "raise _SystemExt(main())"),
        ("raise SystemExit", "raise SystemExit"),
        ("print('sys.argv')  # sys.exit", "print('sys.argv')  # sys.exit"),
        ("sys.argv", "sys.argv"),
        ("class sys: argv = 1\nsys.argv", "class sys: argv = 1\nsys.argv"),
        ("import sys\nprint(x, file=sys.stdout)", "import sys\nprint(x, file=sys.stdout)"),
        ("import sys\nsys.argv = 1", "import sys\nsys.argv = 1"),
        ("this is not Python", "this is not Python"),
    ],
)
def test_fitting(code, fitted):
    assert fit(code).code == fitted


def test_fitting_keeps_columns_and_lines():
    code = "import sys\n\n\nif sys.argv[1:] and sys.stdin.read() or sys.exit(2): pass\n"
    fitted = fit(code).code
    assert [len(line) for line in fitted.split("\n")] == [len(line) for line in code.split("\n")]
    assert restore(fitted) == code


@pytest.mark.parametrize(
    ("code", "asks"),
    [
        ("import sys; sys.stdin", True),
        ("input()", True),
        ("open('/dev/stdin')", True),
        ("print(1)", False),
        ("# stdin", False),
        ("from sys import stdin", True),
        ("x.input()", False),
    ],
)
def test_whether_a_script_asks_for_its_input(code, asks):
    assert fit(code).reads_stdin is asks


@given(st.text(alphabet=st.sampled_from("sys.argv exit(\n)stdin'\"#é import=;:"), max_size=60))
def test_any_text_can_be_fitted(code):
    assert restore(fit(code).code).count("\n") == code.count("\n")
