import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # jupyter_page.py
sys.path.insert(0, str(HERE.parent.parent / "labextension"))  # hatch_build.py

import hatch_build
from jupyter_page import EXTENSION, Page, Server, chromium


def obstacle():
    """Why the browser tests cannot run here; None: they can."""
    if chromium() is None:
        return "browser tests need chromium (Debian: apt-get install chromium)"
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "browser tests need playwright (make venv installs it)"
    if not (EXTENSION / "package.json").exists() and (reason := hatch_build.obstacle()):
        return f"browser tests need the JupyterLab extension: {reason}"
    return None


def pytest_collection_modifyitems(items):
    mine = [item for item in items if HERE in item.path.parents]
    reason = obstacle() if mine else None
    for item in mine:
        item.add_marker(pytest.mark.timeout(400))
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def extension():
    """Built from the sources as they are."""
    command = [sys.executable, "-W", "error", str(HERE.parent.parent / "labextension" / "hatch_build.py")]
    if hatch_build.obstacle() is None:
        subprocess.run(command, check=True, timeout=300)


@pytest.fixture(scope="session")
def server(extension, tmp_path_factory):
    home = tmp_path_factory.mktemp("jupyter")
    (home / "notebooks").mkdir()
    server = Server(home / "notebooks", home)
    yield server
    server.close()


@pytest.fixture(
    scope="module"
)  # not longer: while it is open an event loop runs in this thread, and other tests start theirs
def browser():
    from jupyter_page import CHROMIUM_FLAGS
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(server, browser):
    page = Page(server, browser)
    yield page
    page.close()
    assert page.problems == []
