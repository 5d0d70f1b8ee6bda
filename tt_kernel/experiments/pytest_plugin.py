"""The pytest plugin: `pytest --tt-replay` runs tests, and notebooks with `--nbval`, from records alone.

Every agent run is a strict replay, whatever the code asks for; the network is off; files can be written only below the
temporary folder. Without the option the plugin does nothing. Imported by every pytest run: keep it light.
"""

import os
import tempfile
from pathlib import Path

import pytest

OPTION = "--tt-replay"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tt_kernel", "agent runs")
    group.addoption(
        OPTION,
        action="store_true",
        default=False,
        help="agent runs are strict replays; no network, no files outside the temporary folder",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption(OPTION, default=False):
        return
    from tt_kernel.experiments.guard import GUARD_VARIABLE, start_guard  # noqa: PLC0415  with the option only

    folder = tempfile.TemporaryDirectory(prefix="tt-replay-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    chosen = config.getoption("basetemp", default=None)
    folders = [str(Path(chosen).absolute())] if chosen else []
    # Kernels of nbval, and any other process that tests start, inherit these.
    added = {"TT_RECORD_ALWAYS": "replay", GUARD_VARIABLE: os.pathsep.join(folders)}
    config.add_cleanup(_Environment(added | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), folder.name)).restore)
    tempfile.tempdir = None  # looked up anew: tmp_path is below it
    start_guard(folders)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """The tests are over: pytest may write its cache and its reports."""
    if session.config.getoption(OPTION, default=False):
        from tt_kernel.experiments.guard import guard  # noqa: PLC0415

        guard().active = False


class _Environment:
    """Variables that are set, and what they were."""

    def __init__(self, added: dict[str, str]) -> None:
        self.before = {name: os.environ.get(name) for name in added}
        os.environ.update(added)

    def restore(self) -> None:
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        tempfile.tempdir = None


def pytest_report_header(config: pytest.Config) -> list[str]:
    return ["tt_kernel: replay only, offline"] if config.getoption(OPTION, default=False) else []
