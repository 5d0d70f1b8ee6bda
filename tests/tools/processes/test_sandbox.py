"""Sandbox modes through bubblewrap: spec liveagent §8, §3.2, §3.5. Everything real; where bwrap cannot work, the real runs skip."""

import asyncio
import http.server
import os
import socket
import threading
import time
from pathlib import Path

import pytest

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import Root
from tt_kernel.tools.processes import Sandbox
from tt_kernel.tools.processes.sandbox import Walls, sandbox_mode

from .support import gone

WORKS = Sandbox().problem("sandbox-offline") is None

needs_bwrap = pytest.mark.skipif(not WORKS, reason="bubblewrap is not installed, or does not work here")

MODES = ["sandbox", "sandbox-offline"]


def test_bubblewrap_is_installed_where_it_can_be() -> None:
    """`make test` installs it as root on Debian; there, skipping would hide a broken sandbox."""
    if os.geteuid() == 0 and Path("/usr/bin/apt-get").exists():
        assert Sandbox().program is not None, "apt-get install bubblewrap"


def test_safety_modes() -> None:
    """§3.2: auto and ask add no sandbox; §3.5: an unknown mode runs nothing."""
    assert [sandbox_mode(mode) for mode in ("auto", "ask", *MODES)] == ["off", "off", *MODES]
    for unknown in ("off", "none", "", "Sandbox"):
        with pytest.raises(ToolError) as refused:
            sandbox_mode(unknown)
        assert refused.value.code == "process.sandbox_unavailable"


# ---- where it does not work


@pytest.mark.parametrize("mode", MODES)
async def test_without_a_backend_nothing_is_run(make_bench, mode, monkeypatch) -> None:
    """§3.5, §8: no backend → refuse, never run bare."""
    monkeypatch.setattr("shutil.which", lambda *_args, **_more: None)
    sandbox = Sandbox()
    assert sandbox.problem(mode) == "the program bwrap (package bubblewrap) is not installed."
    monkeypatch.undo()
    bench = make_bench(sandbox=sandbox, safety=lambda: mode)
    text = await bench.error("process.sandbox_unavailable", "Bash", command="touch ran")
    assert mode in text and "The command was not run." in text
    assert list(bench.project.iterdir()) == []


async def test_a_backend_that_fails_is_quoted_and_asked_once(make_bench, tmp_path) -> None:
    """Probed once by running it."""
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(
        f"#!/bin/sh\necho x >> {tmp_path}/probes\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    )
    bwrap.chmod(0o755)
    bench = make_bench(sandbox=Sandbox(str(bwrap)), safety=lambda: "sandbox")
    for _ in range(3):
        text = await bench.error("process.sandbox_unavailable", "Bash", command="touch ran")
    assert "bwrap: No permissions to create new namespace" in text
    assert (tmp_path / "probes").read_text() == "x\n"


async def test_elsewhere_than_on_linux_it_is_refused(make_bench, monkeypatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    assert Sandbox().problem("sandbox") == "it needs bubblewrap, which exists for Linux only."


async def test_a_mode_that_cannot_be_read_runs_nothing(make_bench) -> None:
    """§8: unreadable → refuse."""
    bench = make_bench(safety=lambda: "???")
    await bench.error("process.sandbox_unavailable", "Bash", command="touch ran")
    assert list(bench.project.iterdir()) == []


# ---- folders


@pytest.mark.parametrize(
    "project", [Path("/home/me"), Path("/home/me/.ssh"), Path("/home/me/.ssh/keys"), Path("/home"), Path("/")]
)
def test_a_project_around_or_inside_credentials_is_refused(project) -> None:
    """§8: a workspace that encloses or lies inside a masked credential folder → refuse."""
    with pytest.raises(ToolError) as refused:
        Walls(project, hidden=(Path("/home/me/.ssh"),)).check(project)
    assert refused.value.code == "process.sandbox_folder_refused"
    Walls(Path("/home/me/work"), hidden=(Path("/home/me/.ssh"),)).check(Path("/home/me/work/sub"))


async def test_the_home_folder_is_no_project_in_a_sandbox(make_bench) -> None:
    bench = make_bench(project=Path.home(), safety=lambda: "sandbox", sandbox=Anything())
    text = await bench.error("process.sandbox_folder_refused", "Bash", command="true")
    assert "~/.ssh" in text and "a folder of its own" in text and str(Path.home()) not in text


async def test_a_folder_outside_is_refused_in_a_sandbox(make_bench, tmp_path) -> None:
    bench = make_bench(safety=lambda: "sandbox", sandbox=Anything())
    await bench.error("process.sandbox_folder_refused", "Bash", command="pwd", cwd=str(tmp_path))


class Anything(Sandbox):
    """A backend that says that it works; nothing gets as far as running in it."""

    def problem(self, mode):
        return None


# ---- real commands in it


@pytest.fixture
def walled(make_bench):
    def make(mode="sandbox", **facts):
        return make_bench(safety=lambda: mode, **facts)

    return make


@needs_bwrap
@pytest.mark.parametrize("mode", MODES)
async def test_the_project_can_be_written_and_nothing_else(walled, tmp_path, mode) -> None:
    bench = walled(mode)
    (tmp_path / "outside").mkdir()
    result = await bench.bash(
        f"echo made > made.txt && cat made.txt; touch {tmp_path}/outside/x; touch /etc/x; touch ~/x; echo t > /tmp/t && cat /tmp/t"
    )
    assert (bench.project / "made.txt").read_text() == "made\n"
    assert list((tmp_path / "outside").iterdir()) == []
    assert not Path("/etc/x").exists() and not (Path.home() / "x").exists() and not Path("/tmp/t").exists()
    assert result.structured["sandbox"] == mode and f"sandbox: {mode}" in result.content
    assert result.content.endswith("t")
    assert "Read-only file system" in result.content


@needs_bwrap
async def test_a_failure_in_it_is_explained(walled) -> None:
    result = await walled("sandbox-offline").bash("touch /usr/x")
    assert result.is_error
    assert "it can write in the project and the temporary folder only and has no network." in result.content


@needs_bwrap
async def test_credentials_and_documents_cannot_be_read(walled, monkeypatch, pytestconfig) -> None:
    """§8: ~/.ssh, ~/.aws, ~/.gnupg, ~/.config/gh and the app's data are masked. Jupyter's connection files too: with one of
    those a command could run code in the kernel, outside the sandbox.
    """
    home = pytestconfig.cache.mkdir("sandbox-home")
    if any(home.is_relative_to(private) for private in ("/tmp", "/var/tmp", "/run")):
        pytest.skip(f"{home} is in a folder that is private in the sandbox, so nothing there could be read anyway")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(home / "jupyter"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(home / "runtime"))
    secrets = [
        ".ssh/id",
        ".aws/credentials",
        ".gnupg/ring",
        ".config/gh/hosts.yml",
        "jupyter/tt_kernel/mcp.json",
        "runtime/kernel-1.json",
        ".netrc",
    ]
    for name in secrets:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("SECRET")
    (home / "readme").write_text("public")
    names = " ".join(f"{home}/{name}" for name in secrets)
    result = await walled().bash(f"cat {names} {home}/readme")
    assert "SECRET" not in result.content and "public" in result.content


@needs_bwrap
async def test_the_agent_folder_is_read_only(walled, project) -> None:
    """Else a command could widen its own permissions."""
    agent = project / "nb.agent"
    agent.mkdir()
    (agent / "permissions.json").write_text("{}")
    bench = walled(protected=lambda: [agent, project / "other.agent"])
    result = await bench.bash(
        'cat nb.agent/permissions.json; echo \'{"safety":"auto"}\' > nb.agent/permissions.json; rm -rf nb.agent'
    )
    assert result.is_error and (agent / "permissions.json").read_text() == "{}"


@needs_bwrap
async def test_granted_folders(walled, project, tmp_path) -> None:
    """A grant that may be written is, a read-only one is not, and one that is no longer the granted folder is not."""
    for name in ("rw", "ro", "moved", "elsewhere"):
        (tmp_path / name).mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    roots = [
        Root("workspace", project, writable=True, prefix=""),
        Root("rw", tmp_path / "rw", writable=True, pinned=tmp_path / "rw"),
        Root("ro", tmp_path / "ro", pinned=tmp_path / "ro"),
        Root("link", link, writable=True, pinned=tmp_path / "moved"),
        Root("gone", tmp_path / "gone", writable=True),
    ]
    result = await walled(roots=lambda: roots).bash(
        f"for d in rw ro moved elsewhere; do touch {tmp_path}/$d/x; done; echo end"
    )
    assert result.content.endswith("end")
    assert [name for name in ("rw", "ro", "moved", "elsewhere") if (tmp_path / name / "x").exists()] == ["rw"]


@needs_bwrap
async def test_the_network_is_there_or_not(walled) -> None:
    """§3.2: sandbox allows the network, sandbox-offline does not."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        program = f"import socket; socket.create_connection(('127.0.0.1', {server.server_port}), 2); print('connected')"
        online = await walled("sandbox").bash(f'python -c "{program}"')
        offline = await walled("sandbox-offline").bash(f'python -c "{program}"')
        server.shutdown()
    assert online.content.endswith("connected")
    assert offline.is_error and "connected" not in offline.structured["output"][0]["text"]


@needs_bwrap
async def test_services_outside_cannot_be_reached_through_their_sockets(walled, tmp_path) -> None:
    place = f"/run/tt-test-{os.getpid()}.sock" if os.access("/run", os.W_OK) else str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen()
        try:
            program = f"import socket; socket.socket(socket.AF_UNIX).connect('{place}'); print('connected')"
            result = await walled().bash(f'python -c "{program}"')
        finally:
            os.unlink(place)
    assert result.is_error and "FileNotFoundError" in result.content


@needs_bwrap
async def test_processes_outside_are_not_seen(walled) -> None:
    result = await walled().bash(f"cat /proc/{os.getpid()}/environ; ls -d /proc/[0-9]* | wc -l; kill -0 {os.getpid()}")
    assert "No such" in result.content
    assert int(result.structured["output"][-2]["text"].split()[-1] if len(result.structured["output"]) > 2 else 0) < 20


@needs_bwrap
@pytest.mark.parametrize("mode", MODES)
async def test_stopping_ends_what_is_inside(walled, mode) -> None:
    bench = walled(mode)
    inside = 'python -c "import os, time; os.fork() and os._exit(0); os.setsid(); time.sleep(300)"; echo up; sleep 300'
    result = await bench.bash(inside, yield_time_ms=1000)
    assert result.structured["status"] == "running"
    import psutil

    family = psutil.Process(bench.table.find(result.structured["sessionId"]).pid).children(recursive=True)
    assert len(family) >= 3
    began = time.monotonic()
    assert (await bench.stop(result.structured["sessionId"])).structured["status"] == "cancelled"
    assert time.monotonic() - began < 15
    for process in family:
        assert await gone(process.pid, 0.5)


@needs_bwrap
async def test_nothing_outlives_the_command(walled) -> None:
    bench = walled()
    result = await bench.bash("{ while :; do date > beat; sleep 0.05; done; } >/dev/null 2>&1 & sleep 0.3; echo done")
    assert result.structured["status"] == "completed"
    (bench.project / "beat").unlink()
    await asyncio.sleep(0.3)
    assert not (bench.project / "beat").exists()


@needs_bwrap
async def test_git_and_python_work_in_it(walled) -> None:
    bench = walled()
    result = await bench.bash(
        "git init -q . && git -c user.name=t -c user.email=t@e commit -q --allow-empty -m x && git log --oneline | wc -l && python -c 'import tempfile; print(tempfile.gettempdir())'"
    )
    assert result.content.endswith("1\n/tmp"), result.content


@needs_bwrap
async def test_the_synchronous_path_is_walled_too(walled) -> None:
    result = await walled(synchronous=True).bash("touch /etc/x")
    assert result.is_error and "sandbox: sandbox" in result.content
