"""What every test can rely on: no network, no settings or credentials of the person who runs the tests.

Done at import, before any module under test reads the environment; kernels and tools started by tests inherit it.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

OFFLINE = Path(__file__).parent / "offline"
SETTINGS = ("TT_",)
CREDENTIALS = ("_API_KEY", "_TOKEN", "_SECRET", "PASSWORD")

_home = tempfile.TemporaryDirectory(prefix="tt-tests-")


def _isolate() -> None:
    for name in [n for n in os.environ if n.startswith(SETTINGS) or n.endswith(CREDENTIALS)]:
        del os.environ[name]
    home = Path(_home.name)
    folders = {
        "HOME": home,
        "USERPROFILE": home,
        "IPYTHONDIR": home / "ipython",
        "JUPYTER_CONFIG_DIR": home / "jupyter-config",
        "JUPYTER_DATA_DIR": home / "jupyter-data",
        "JUPYTER_RUNTIME_DIR": home / "jupyter-runtime",
        "XDG_CONFIG_HOME": home / "config",
        "XDG_DATA_HOME": home / "data",
        "XDG_CACHE_HOME": home / "cache",
        "MPLCONFIGDIR": home / "matplotlib",
    }
    for name, folder in folders.items():
        folder.mkdir(parents=True, exist_ok=True)
        os.environ[name] = str(folder)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(OFFLINE), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ["MPLBACKEND"] = "agg"


_isolate()
sys.path.insert(0, str(OFFLINE))
import loopback_only  # noqa: F401  importing it switches the network off

# A shared machine may be slow for a moment: a property is wrong or right, not late. CI draws the same examples each time.
settings.register_profile(
    "tt_kernel", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("tt_kernel")


@pytest.fixture(autouse=True)
def _main_module() -> Iterator[None]:
    """A shell of IPython puts a module of its own in the place of `__main__`, which multiprocessing cannot start from."""
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before


@pytest.fixture
def repository() -> Path:
    """The root of the repository."""
    return Path(__file__).parent.parent


@pytest.fixture
def notebook_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, also the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
