import atexit
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # live_kernels.py, which several test modules share


@pytest.fixture
def shell():
    """A real IPython shell with tt_kernel loaded; the one that get_ipython() gives."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from tt_kernel.ipython.extension import install, unload_ipython_extension

    config = Config()
    config.HistoryManager.enabled = False
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config)
    install(shell)
    yield shell
    unload_ipython_extension(shell)
    shell.atexit_operations()
    atexit.unregister(shell.atexit_operations)
    InteractiveShell.clear_instance()


@pytest.fixture
def cells(request, shell, tmp_path, monkeypatch):
    """Runs cells in a notebook of its own folder, whose model says the module's SCRIPT; gives (result, what was printed)."""
    script = request.module.SCRIPT
    (tmp_path / "script.yaml").write_text(script if isinstance(script, str) else json.dumps(script))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("TT_MODEL", "scripted:script.yaml")
    monkeypatch.setenv("TT_NOTEBOOK", str(tmp_path / "nb.ipynb"))

    def run(cell, **options):
        out = io.StringIO()
        with redirect_stdout(out):
            result = shell.run_cell(cell, store_history=True, **options)
        return result, out.getvalue()

    run.shell, run.folder = shell, tmp_path
    return run
