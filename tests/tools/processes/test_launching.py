"""Where and by what a command is run: folders, shells, environment (spec liveagent §4.5, §6.3, §6.4)."""

import os
import sys
from pathlib import Path

import pytest

from tt_kernel.store.workspace import Root
from tt_kernel.tools.processes import command_environment
from tt_kernel.tools.processes.shells import find_shell

# ---- folders


async def test_commands_run_in_the_project_or_below_it(bench) -> None:
    (bench.project / "src" / "deep").mkdir(parents=True)
    for cwd, shown in [(None, "."), ("src", "src"), ("./src//deep/", "src/deep"), ("workspace:src", "src"), (".", ".")]:
        result = await bench.bash("pwd", **({"cwd": cwd} if cwd else {}))
        assert result.structured["cwd"] == shown and result.content.endswith(f"output:\n{shown}"), cwd


async def test_any_absolute_folder_may_be_given(bench, tmp_path) -> None:
    """§6.3: cwd may be any absolute path."""
    other = tmp_path / "other"
    other.mkdir()
    result = await bench.bash("pwd", cwd=str(other))
    assert result.content.endswith(f"output:\n{other}")
    inside = await bench.bash("pwd", cwd=str(bench.project))
    assert inside.structured["cwd"] == "." and str(bench.project) not in inside.content
    home = await bench.bash("pwd", cwd="~")
    assert home.content.endswith(f"output:\n{os.path.realpath(Path.home())}") and home.structured["cwd"] == "~"


@pytest.mark.parametrize("cwd", ["root://data", "root://data/sub"])
async def test_a_granted_folder_cannot_be_given_by_its_alias(bench, cwd) -> None:
    """§4.5, §6.3: root:// is refused for shells."""
    text = await bench.error("process.workdir_refused", "Bash", command="pwd", cwd=cwd)
    assert f"{cwd} cannot be the folder of a command" in text


@pytest.mark.parametrize(
    ("cwd", "code", "said"),
    [
        ("missing", "process.invalid_workdir", "The folder missing does not exist"),
        ("/no/such/place", "process.invalid_workdir", "The folder /no/such/place does not exist"),
        ("file.txt", "process.invalid_workdir", "The folder file.txt is a file"),
        ("../elsewhere", "workspace.invalid_path", "'..'"),
        ("a\0b", "workspace.invalid_path", "NUL"),
    ],
)
async def test_a_folder_that_is_none_is_refused(bench, cwd, code, said) -> None:
    (bench.project / "file.txt").write_text("")
    text = await bench.error(code, "Bash", command="touch ran", cwd=cwd)
    assert said in text and str(bench.project) not in text
    assert not (bench.project / "ran").exists()


async def test_a_link_out_of_the_project_is_refused(bench, tmp_path) -> None:
    (bench.project / "out").symlink_to(tmp_path)
    await bench.error("workspace.invalid_path", "Bash", command="pwd", cwd="out")


async def test_a_project_that_is_a_link_works(make_bench, project, tmp_path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    roots = [Root("workspace", link, writable=True, prefix="")]
    result = await make_bench(roots=lambda: roots).bash(f"pwd; pwd -P; echo {link}/x")
    assert result.content.endswith("output:\n.\n.\nx")


async def test_folders_are_shown_as_the_model_writes_them(make_bench, project, tmp_path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    roots = [Root("workspace", project, writable=True, prefix=""), Root("data", data, prefix="root://data/")]
    bench = make_bench(roots=lambda: roots)
    program = f"echo {data}; echo {data}/a.csv:1; echo '({project})' {project}/; echo {project}2 {data}-old /x{data}"
    result = await bench.bash(program)
    assert result.structured["output"][0]["text"] == (
        f"root://data\nroot://data/a.csv:1\n(.) \n{project}2 {data}-old /x{data}\n"
    )


# ---- shells


def programs(folder: Path, *names: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("platform", "names"), [("linux", ["bash", "zsh", "sh"]), ("darwin", ["zsh", "bash", "sh"])], ids=["linux", "macos"]
)
def test_the_order_of_shells(tmp_path, platform, names) -> None:
    """§6.4: Linux bash -lc, then zsh, sh; macOS zsh, bash, sh."""
    for first in range(len(names)):
        path = programs(tmp_path / str(first), *names[first:])
        shell = find_shell({"PATH": path}, platform)
        assert (shell.name, shell.path) == (names[first], f"{path}/{names[first]}")
        assert shell.argv("x")[1] == "-lc" and shell.profile == "login" and shell.family == "posix"


def test_the_order_of_shells_on_windows(tmp_path) -> None:
    """§6.4: Git Bash (override, PATH without System32, standard folders; non-login) → pwsh → powershell → cmd."""
    others = programs(tmp_path / "bin", "pwsh.exe", "powershell.exe", "cmd.exe")
    shell = find_shell({"PATH": others}, "win32")
    assert (shell.name, shell.family) == ("pwsh", "powershell")
    (tmp_path / "bin" / "pwsh.exe").unlink()
    assert find_shell({"PATH": others}, "win32").name == "powershell"
    (tmp_path / "bin" / "powershell.exe").unlink()
    shell = find_shell({"PATH": others}, "win32")
    assert (shell.name, shell.family) == ("cmd", "cmd")
    assert find_shell({"PATH": str(tmp_path / "none")}, "win32") is None

    wsl = programs(tmp_path / "Windows" / "System32", "bash.exe")
    assert find_shell({"PATH": os.pathsep.join([wsl, others])}, "win32").name == "cmd", "System32's bash is WSL's"
    installed = programs(tmp_path / "Program Files" / "Git" / "bin", "bash.exe")
    environ = {"PATH": others, "ProgramFiles": str(tmp_path / "Program Files")}
    shell = find_shell(environ, "win32")
    assert (shell.path, shell.profile, shell.argv("x")) == (
        f"{installed}/bash.exe",
        "plain",
        [f"{installed}/bash.exe", "-c", "x"],
    )
    on_path = programs(tmp_path / "git", "bash.exe")
    assert find_shell(environ | {"PATH": os.pathsep.join([wsl, on_path])}, "win32").path == f"{on_path}/bash.exe"
    for setting in ("CLAUDE_CODE_GIT_BASH_PATH", "LIVEAGENT_GIT_BASH_PATH", "TT_GIT_BASH_PATH"):
        own = programs(tmp_path / setting, "my-bash.exe") + "/my-bash.exe"
        environ[setting] = own
        assert find_shell(environ, "win32").path == own
    assert find_shell(environ | {"TT_GIT_BASH_PATH": "gone"}, "win32").path.endswith(
        "LIVEAGENT_GIT_BASH_PATH/my-bash.exe"
    )


async def test_without_a_shell_nothing_is_run(make_bench, monkeypatch) -> None:
    from tt_kernel.tools.processes import launching

    monkeypatch.setattr(launching, "find_shell", lambda _environ: None)
    assert "No shell" in await make_bench().error("process.start_failed", "Bash", command="true")


async def test_a_login_shell_reads_the_profile_and_keeps_our_path(make_bench, tmp_path) -> None:
    """§6.4 asks for a login shell; a profile that sets PATH anew must not take the kernel's environment away."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bash_profile").write_text('export FROM_PROFILE=yes\nPATH="/usr/bin:/bin:/from/profile"\n')
    environ = command_environment() | {"HOME": str(home)}
    result = await make_bench(environment=lambda: environ).bash(
        'echo $FROM_PROFILE "${TT_FIRST_PATH-unset}"; command -v python; echo $PATH; false || nosuch'
    )
    lines = result.structured["output"][0]["text"].splitlines()
    assert lines[:2] == ["yes unset", str(Path(sys.executable).parent / "python")]
    assert lines[2].endswith("/from/profile")
    assert "line 1: nosuch: command not found" in result.content, "line numbers are those of the command"


# ---- environment


def test_credentials_are_left_out() -> None:
    given = {
        "OPENAI_API_KEY": "a",
        "GH_TOKEN": "b",
        "DB_PASSWORD": "c",
        "client_secret": "d",
        "HOME": "/h",
        "MONKEY": "e",
    }
    assert set(command_environment(given)) & set(given) == {"HOME", "MONKEY"}


def test_what_only_the_kernel_needs_is_taken_back() -> None:
    given = {
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "FORCE_COLOR": "1",
        "CLICOLOR": "1",
        "JPY_PARENT_PID": "1",
    }
    found = command_environment(given)
    assert set(found) & set(given) == set()
    assert (found["TERM"], found["NO_COLOR"], found["GIT_TERMINAL_PROMPT"], found["PAGER"]) == ("dumb", "1", "0", "cat")
    assert command_environment({"MPLBACKEND": "agg"})["MPLBACKEND"] == "agg"


def test_the_kernels_python_comes_first() -> None:
    own = str(Path(sys.executable).parent)
    assert command_environment({"PATH": "/usr/bin"})["PATH"] == f"{own}:/usr/bin"
    assert command_environment({"PATH": f"/usr/bin:{own}"})["PATH"] == f"/usr/bin:{own}", "an order of the user's stays"


async def test_a_command_gets_no_key(bench, monkeypatch) -> None:
    monkeypatch.setenv("TT_TEST_API_KEY", "not-for-commands-1234")
    result = await bench.bash("env")
    assert "not-for-commands" not in result.content and "TT_TEST_API_KEY" not in result.content
    assert "TT_PROCESS_TAG=" in result.content
