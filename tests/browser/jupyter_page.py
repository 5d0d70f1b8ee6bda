"""A real JupyterLab or Notebook 7 on a real server, driven by Debian's Chromium through playwright."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat

REPOSITORY = Path(__file__).parent.parent.parent
EXTENSION = REPOSITORY / "labextension" / "build" / "lab"
SCREENSHOTS = REPOSITORY / "build" / "screenshots"
SECONDS = 120
"""A machine that runs other tests beside this one is slow; nothing here waits that long when it is not."""

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
]

KERNEL_IS_READY = """() => {
  const kernel = window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel;
  return kernel && kernel.connectionStatus === 'connected' && kernel.status === 'idle' && !!kernel.info;
}"""


def chromium():
    """The browser's path, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    return None


class Server:
    """Serves `root`. What it reads and writes besides (settings, trust, run time files) is in `home`."""

    def __init__(self, root, home):
        self.root, self.home = root, home
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = self._environment()
        with (home / "server.log").open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyter", "lab", *self._flags()],
                env=self.environment,
                cwd=root,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until = time.monotonic() + SECONDS
        while not self._answers():
            assert time.monotonic() < until and self.process.poll() is None, (home / "server.log").read_text()
            time.sleep(0.2)

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=20)

    def _answers(self):
        try:
            with urllib.request.urlopen(f"{self.url}/api/status", timeout=5) as reply:
                return reply.status == 200
        except OSError:
            return False

    def _flags(self):
        servers = {"jupyter_lsp": False, "jupyterlab": True, "notebook": True, "jupyter_server_terminals": False}
        return [
            "--no-browser",
            "--ip=127.0.0.1",
            f"--port={self.port}",
            "--ServerApp.port_retries=0",
            "--allow-root",
            "--IdentityProvider.token=",
            "--ServerApp.password=",
            "--ServerApp.disable_check_xsrf=True",
            f"--ServerApp.root_dir={self.root}",
            "--LabApp.expose_app_in_browser=True",
            "--JupyterNotebookApp.expose_app_in_browser=True",
            "--LabApp.extension_manager=readonly",
            f"--ServerApp.jpserver_extensions={servers}",
        ]

    def _environment(self):
        settings = self.home / "settings" / "@jupyterlab" / "apputils-extension"
        settings.mkdir(parents=True)
        quiet = {"fetchNews": "false", "checkForUpdates": False}
        (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
        share = self.home / "share" / "jupyter"
        (share / "labextensions").mkdir(parents=True)
        (share / "labextensions" / "tt-kernel").symlink_to(EXTENSION)
        return {
            **os.environ,
            "JUPYTER_PATH": str(share),
            "JUPYTER_CONFIG_DIR": str(self.home / "config"),
            "JUPYTER_DATA_DIR": str(share),
            "JUPYTER_RUNTIME_DIR": str(self.home / "runtime"),
            "IPYTHONDIR": str(self.home / "ipython"),
            "JUPYTERLAB_SETTINGS_DIR": str(self.home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self.home / "workspaces"),
            "JUPYTER_PLATFORM_DIRS": "1",
        }


class Page:
    """One browser page and the notebook that is open in it."""

    def __init__(self, server, browser, *, width=1280, height=900):
        self.server = server
        self.problems = []
        context = browser.new_context(viewport={"width": width, "height": height})
        self.page = context.new_page()
        self.page.set_default_timeout(SECONDS * 1000)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))

    def close(self):
        self.page.context.close()

    def open_lab(self, notebook, *, kernel=True):
        self.page.goto(f"{self.server.url}/lab/tree/{notebook}?reset")
        self._settle(kernel)

    def open_notebook7(self, notebook):
        self.page.goto(f"{self.server.url}/notebooks/{notebook}")
        self._settle(kernel=True)

    def _settle(self, kernel):
        self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        if kernel:
            self.page.wait_for_function(KERNEL_IS_READY)
            self.page.evaluate(
                "async () => { await jupyterapp.restored; await jupyterapp.shell.currentWidget.sessionContext.ready; }"
            )

    def command(self, name, **arguments):
        return self.page.evaluate(
            "([name, args]) => jupyterapp.commands.execute(name, args).then(() => null)", [name, arguments]
        )

    def start_cell(self, number):
        """Run a cell; does not wait for it."""
        self.page.evaluate("n => { jupyterapp.shell.currentWidget.content.activeCellIndex = n; }", number)
        self.page.evaluate("() => { jupyterapp.commands.execute('notebook:run-cell'); }")
        self.page.wait_for_function(
            "n => /\\*/.test(document.querySelectorAll('.jp-Notebook .jp-CodeCell .jp-InputPrompt')[n].textContent)",
            arg=number,
        )

    def finish_cell(self, number):
        """Wait until it has run, and what it put out had time to be drawn."""
        self.page.wait_for_function(
            "n => /^\\[\\d+\\]:?$/.test(document.querySelectorAll('.jp-Notebook .jp-CodeCell .jp-InputPrompt')[n].textContent.trim())",
            arg=number,
        )
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)))")

    def until(self, look, wanted):
        """Look again until the page shows what is wanted: it draws when it can. What it shows at last is asserted."""
        end = time.monotonic() + SECONDS / 4
        while (found := look()) != wanted and time.monotonic() < end:
            self.page.wait_for_timeout(100)
        assert found == wanted

    def run_cell(self, number):
        self.page.evaluate("n => { jupyterapp.shell.currentWidget.content.activeCellIndex = n; }", number)
        self.page.evaluate("() => jupyterapp.commands.execute('notebook:run-cell').then(() => null)")
        self.finish_cell(number)

    def cell(self, number):
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(number)

    def run_view(self, number):
        return self.cell(number).locator(".tt-run")

    def light(self):
        self._theme("JupyterLab Light", "true")

    def dark(self):
        self._theme("JupyterLab Dark", "false")

    def _theme(self, name, is_light):
        self.command("apputils:change-theme", theme=name)
        self.page.wait_for_selector(f"body[data-jp-theme-light={is_light}]", state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def screenshot(self, name, locator=None):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        (locator or self.page).screenshot(path=SCREENSHOTS / f"{name}.png")


def write_notebook(path, *sources, outputs=None):
    """A notebook of code cells; `outputs` maps a cell's number to its saved outputs."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for number, source in enumerate(sources):
        cell = nbformat.v4.new_code_cell(source, id=f"cell-{number}")
        cell.outputs = [nbformat.from_dict(output) for output in (outputs or {}).get(number, [])]
        if cell.outputs:
            cell.execution_count = number + 1
        notebook.cells.append(cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path


def words(text):
    return re.sub(r"\s+", " ", text).strip()


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
