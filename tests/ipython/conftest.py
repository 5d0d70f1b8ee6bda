import atexit
import sys
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
