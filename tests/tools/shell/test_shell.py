"""`workspace.shell` as the model meets it: spec tauritavern §6, §23 items 14 and 15."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tt_kernel.domain.ids import builtin
from tt_kernel.tools.shell import SHELL_TOOLS, Mount


def test_the_declaration():
    (declaration,) = SHELL_TOOLS
    spec = declaration.spec
    assert (spec.id, spec.group, spec.effect, spec.read_only) == (
        builtin("workspace.shell"),
        "shell",
        "workspace",
        False,
    )
    assert list(spec.input_schema["properties"]) == ["command", "workdir"]
    assert spec.input_schema["required"] == ["command"]
    assert spec.input_schema["additionalProperties"] is False
    assert spec.input_schema["properties"]["workdir"]["default"] == "/"


async def test_exit_0_gives_the_exit_code_line_and_stdout(bench):
    result = await bench.run("echo hello; echo world")
    assert (result.content, result.is_error, result.error_code) == ("exit code 0\nhello\nworld", False, None)
    assert result.structured == {"exitCode": 0, "outputTruncated": False}


async def test_stderr_is_a_block_after_stdout(bench):
    result = await bench.run("echo out; echo oops >&2")
    assert result.content == "exit code 0\nout\n[stderr]\noops"


async def test_a_command_without_output(bench):
    assert (await bench.run("true")).content == "exit code 0"


async def test_exit_3_is_an_error_files_stay_variables_do_not(bench):
    """Spec §23 item 14."""
    result = await bench.run("x=5; f() { :; }; cd /output; echo kept > note.txt; echo seen; exit 3")
    assert (result.is_error, result.error_code) == (True, "workspace.shell_exit")
    assert result.content == "exit code 3\nseen"
    assert result.structured == {"exitCode": 3, "outputTruncated": False}
    assert (bench.folder / "output/note.txt").read_text() == "kept\n"
    assert (
        await bench.out('echo "[$x]"; pwd; cat /output/note.txt; type f >/dev/null 2>&1 || echo none')
        == "[]\n/\nkept\nnone"
    )


async def test_what_the_host_changes_between_calls_is_seen(bench):
    """The files are shared with the other tools (spec §23 item 15 from the shell's side)."""
    path = bench.put("output/a.txt", "one")
    assert await bench.out("cat /output/a.txt") == "one"
    path.write_text("two")
    assert await bench.out("cat /output/a.txt; echo three >> /output/a.txt") == "two"
    assert path.read_text() == "twothree\n"


async def test_syntax_errors_are_the_command_s_own(bench):
    result = await bench.run("echo a; if then")
    assert (result.error_code, result.structured["exitCode"]) == ("workspace.shell_exit", 2)
    assert "parse error" in result.content


async def test_home_is_the_root(bench):
    assert await bench.out("echo $HOME ~; cd; pwd") == "/ /\n/"


async def test_no_host_programs_environment_or_network(bench, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    listed = await bench.out("env; set")
    assert "sk-very-secret" not in listed
    for command in (
        "git --version",
        "/bin/sh -c 'git'",
        "cat /etc/hostname",
        "ls /root",
        "curl -s http://127.0.0.1:9/",
    ):
        assert (await bench.run(command)).error_code == "workspace.shell_exit", command
    engines = await bench.run("""python -c "import os; print(os.environ)"; js -e "console.log(process.env)" """)
    assert "sk-very-secret" not in engines.content


async def test_jq_and_text_tools(bench):
    bench.put("output/d.json", '{"b": [3, 1, 2]}')
    assert await bench.out("jq -c '.b | sort' /output/d.json") == "[1,2,3]"
    assert await bench.out("printf 'b\\na\\nb\\n' | sort | uniq -c | awk '{print $2, $1}'") == "a 1\nb 2"
    assert await bench.out("printf 'x=1\\n' | sed 's/1/2/' | grep -o '[0-9]'") == "2"
    assert await bench.out("cd /output && tar czf t.tgz d.json && tar tzf t.tgz && rm t.tgz") == "d.json"


# ---- folders


async def test_a_read_only_folder_is_a_normal_shell_error(bench):
    bench.put("skills/s/SKILL.md", "# s\n")
    result = await bench.run(
        "cat /skills/s/SKILL.md; echo x > /skills/n; rm /skills/s/SKILL.md; mkdir /skills/d; mv /skills/s /output/s;"
        "chmod 777 /skills/s/SKILL.md; touch /skills/s/SKILL.md; cp /skills/s/SKILL.md /skills/t; sed -i s/s/t/ /skills/s/SKILL.md"
    )
    assert result.error_code == "workspace.shell_exit"
    assert result.content.count("read-only") >= 7
    assert (bench.folder / "skills/s/SKILL.md").read_text() == "# s\n"
    assert sorted(p.name for p in (bench.folder / "skills").rglob("*")) == ["SKILL.md", "s"]


async def test_writing_beside_the_folders_fails_instead_of_getting_lost(bench):
    result = await bench.run("echo x > /main.md")
    assert (result.error_code, "read-only" in result.content) == ("workspace.shell_exit", True)
    assert await bench.out("echo x > /tmp/y; cat /tmp/y") == "x"
    assert (await bench.run("cat /tmp/y")).is_error, "/tmp lasts for one call"


async def test_tmp_may_be_a_folder_of_the_workspace(bench):
    """Spec §7.1: in a session `tmp` is a root."""
    (bench.folder / "tmp").mkdir()
    bench.mounts.append(Mount("tmp", bench.folder / "tmp", True))
    assert await bench.out("echo x > /tmp/y") == ""
    assert await bench.out("cat /tmp/y") == "x"


async def test_a_folder_that_is_not_there_is_an_error_that_names_it(bench):
    assert await bench.out("ls / | tr '\\n' ' '") == "dev home output skills tmp "
    bench.mounts.append(Mount("plan", bench.folder / "nowhere", True))
    result = await bench.run("echo x")
    assert (result.is_error, result.error_code) == (True, "workspace.shell_failed")
    assert "/plan" in result.content
    bench.mounts.pop()
    assert await bench.out("echo x") == "x"


async def test_a_folder_that_vanishes_between_calls_is_an_error_that_names_it(bench):
    assert await bench.out("echo x") == "x"
    (bench.folder / "skills").rmdir()
    result = await bench.run("echo x")
    assert (result.error_code, "/skills" in result.content) == ("workspace.shell_failed", True)


async def test_a_folder_made_anew_between_calls(bench):
    bench.put("output/a", "old")
    assert await bench.out("cat /output/a") == "old"
    shutil.rmtree(bench.folder / "output")
    bench.put("output/a", "new")
    assert await bench.out("cat /output/a; echo x > /output/b") == "new"
    assert (bench.folder / "output/b").read_text() == "x\n"


async def test_folders_that_move_between_calls(bench):
    """A run's folder is staged elsewhere until the run is kept."""
    bench.put("output/a", "here")
    assert await bench.out("cat /output/a") == "here"
    (bench.folder / "output").rename(bench.folder / "kept")
    bench.mounts[0] = Mount("output", bench.folder / "kept", True)
    assert await bench.out("cat /output/a") == "here"


async def test_a_file_in_place_of_a_folder_is_an_error(bench):
    bench.mounts.append(Mount("plan", bench.put("file", "x"), True))
    assert (await bench.run("echo x")).error_code == "workspace.shell_failed"


@pytest.fixture(params=["/root", "/home"])
def sensitive(request) -> Iterator[Path]:
    """A folder where notebooks live, and which bashkit's own mount list refuses with no more than a warning."""
    parent = Path(request.param)
    if not os.access(parent, os.W_OK):
        pytest.skip(f"{parent} is not writable here")
    with tempfile.TemporaryDirectory(dir=parent, prefix="tt probe ü ") as name:
        yield Path(name)


async def test_folders_under_root_and_home(bench, sensitive):
    (sensitive / "a.txt").write_text("here\n")
    bench.mounts.append(Mount("work", sensitive, True))
    assert (
        await bench.out("cat /work/a.txt; echo new > /work/b.txt; mkdir /work/d; ls /work") == "here\na.txt\nb.txt\nd"
    )
    assert (sensitive / "b.txt").read_text() == "new\n"
    bench.mounts[-1] = Mount("work", sensitive, False)
    assert (await bench.run("echo x > /work/b.txt")).is_error
    assert await bench.out("cat /work/b.txt") == "new"


async def test_the_root_of_a_folder_survives_its_removal(bench):
    """Spec §7.1: the root folder itself cannot be written, only paths below."""
    bench.put("output/a.txt", "x")
    await bench.run("rm -rf /output")
    assert list((bench.folder / "output").iterdir()) == []
    assert await bench.out("echo again > /output/a.txt; cat /output/a.txt") == "again"


async def test_links_do_not_lead_out_of_a_folder(bench):
    bench.put("outside/secret.txt", "secret")
    os.symlink(bench.folder / "outside/secret.txt", bench.folder / "output/absolute")
    os.symlink("../outside/secret.txt", bench.folder / "output/relative")
    os.symlink(bench.folder / "outside", bench.folder / "output/folder")
    os.symlink("/etc/passwd", bench.folder / "output/passwd")
    script = "cd /output; cat absolute relative folder/secret.txt passwd ../outside/secret.txt; echo x > folder/new; echo x > relative"
    result = await bench.run(script)
    assert "secret\n" not in result.content
    assert "root:" not in result.content
    assert [p.name for p in (bench.folder / "outside").iterdir()] == ["secret.txt"]
    assert (bench.folder / "outside/secret.txt").read_text() == "secret"
    engines = await bench.run(
        """python -c "print(open('/output/relative').read())"; js -e "import {workspace} from '@tauritavern/runtime';"""
        """ console.log(workspace.readText('/output/relative'))" """
    )
    assert "secret\n" not in engines.content


def test_a_mount_s_name_is_one_segment():
    for name in ("", "a/b", "..", ".", "a\\b", "a\0"):
        with pytest.raises(ValueError, match="one path segment"):
            Mount(name, Path("/tmp"), True)


# ---- workdir


async def test_workdir(bench):
    bench.put("output/deep/a.txt", "x")
    assert await bench.out("pwd; ls", workdir="/output/deep") == "/output/deep\na.txt"
    assert await bench.out("pwd", workdir="output/./deep/") == "/output/deep"
    assert await bench.out("pwd") == "/"
    for bad in ("/output/none", "/output/deep/a.txt", "/nope"):
        result = await bench.run("pwd", workdir=bad)
        assert (result.is_error, result.error_code) == (True, "workspace.invalid_path"), bad
        assert "/output" in result.content, "it names what there is"
    for bad in ("/output/..", "..", "a\0b"):
        result = await bench.run("pwd", workdir=bad)
        assert (result.is_error, result.error_code) == (True, "workspace.invalid_path"), bad


# ---- limits


async def test_a_command_has_at_most_128_kib(bench):
    fits = "echo " + "é" * (64 * 1024 - 3)
    assert len(fits.encode()) == 128 * 1024 - 1
    assert (await bench.run(fits)).structured["exitCode"] == 0
    result = await bench.run(fits + "xx")
    assert (result.is_error, result.error_code) == (True, "tool.invalid_arguments")
    assert "131072" in result.content


async def test_a_command_with_half_a_character_is_refused(bench):
    result = await bench.run("echo \ud800")
    assert (result.is_error, result.error_code) == (True, "tool.invalid_arguments")


async def test_output_is_cut_at_128_kib_a_stream_with_a_note(bench):
    bench.put("output/big.txt", "é" * 200_000)
    result = await bench.run("cat /output/big.txt; cat /output/big.txt >&2; exit 0")
    assert result.structured == {"exitCode": 0, "outputTruncated": True}
    assert not result.is_error
    first, out, mark, err, note = result.content.split("\n")
    assert (first, mark) == ("exit code 0", "[stderr]")
    assert out == err == "é" * 65536
    assert note == "[output truncated: more than 128 KiB on one stream; write long output to a file]"


async def test_exactly_128_kib_is_not_cut(bench):
    bench.put("output/big.txt", "x" * 131072)
    result = await bench.run("cat /output/big.txt")
    assert (result.structured["outputTruncated"], len(result.content)) == (False, len("exit code 0\n") + 131072)


async def test_a_character_cut_in_half_is_left_out(bench):
    bench.put("output/big.txt", "x" + "é" * 100_000)
    result = await bench.run("cat /output/big.txt")
    assert result.structured["outputTruncated"]
    assert result.content.split("\n")[1] == "x" + "é" * 65535


async def test_unicode_and_binary_output(bench):
    assert await bench.out("echo 'ü 日本 😀'; printf '\\u00e9'") == "ü 日本 😀\né"
    bench.put("output/ü 日本/b.bin", bytes(range(256)))
    assert await bench.out("ls '/output/ü 日本'; wc -c < '/output/ü 日本/b.bin'") == "b.bin\n256"
    result = await bench.run("cat '/output/ü 日本/b.bin'")
    assert "\ufffd" in result.content
    assert await bench.out("cat '/output/ü 日本/b.bin' > /output/copy; cmp /output/copy '/output/ü 日本/b.bin'") == ""
    assert (bench.folder / "output/copy").read_bytes() == bytes(range(256))


async def test_timeout_keeps_the_output_so_far(bench):
    ending, printed = await bench.raw("echo one; echo two >&2; sleep 30; echo three", timeout=0.5)
    assert (ending.reason, bytes(printed.stdout), bytes(printed.stderr)) == ("timeout", b"one\n", b"two\n")
    assert await bench.out("echo alive") == "alive"


async def test_a_background_job_does_not_poison_later_calls(bench):
    ending, _ = await bench.raw("sleep 100 & echo $! > /output/pid", timeout=0.5)
    assert ending.reason == "timeout"
    assert await asyncio.wait_for(bench.out("jobs; echo free"), 15) == "free"


async def test_calls_on_one_worker_wait_for_each_other(bench):
    results = await asyncio.gather(
        *(bench.out(f"cat /output/n 2>/dev/null; sleep 0.02; echo {n} >> /output/n") for n in range(5))
    )
    assert [len(result.split()) for result in results] == [0, 1, 2, 3, 4]
