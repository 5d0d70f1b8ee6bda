"""Loading and unloading: `%load_ext tt_kernel`, and the kernel `tt-agent`, which has it from the start.

Fast and silent: nothing here reaches for a model, a folder or the network; `running.py` is imported by the first run.
"""

import os
from typing import Any

from tt_kernel.ipython.cell import cell_of
from tt_kernel.ipython.completion import agent_completions
from tt_kernel.ipython.magics import AgentMagics
from tt_kernel.ipython.shown import register_run_display, unregister_run_display
from tt_kernel.ipython.transform import AgentLine, AgentTransform
from tt_kernel.session.here import here


def load_ipython_extension(shell: Any) -> None:
    install(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take out what `install` put in."""
    magics = shell.magics_manager.registry.pop(AgentMagics.__name__, None)
    if magics is None:
        return
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("agent", None)
    transformers = shell.input_transformer_manager
    transformers.cleanup_transforms[:] = [
        t for t in transformers.cleanup_transforms if not isinstance(t, AgentTransform)
    ]
    transformers.token_transformers[:] = [t for t in transformers.token_transformers if t is not AgentLine]
    matchers = shell.Completer.custom_matchers
    matchers[:] = [m for m in matchers if getattr(m, "magics", None) is not magics]
    unregister_run_display(shell, magics)
    place = here()
    place.session = place.cell = None
    magics.notebook.front_ends.unregister(shell)
    magics.notebook.cells.remove()
    magics.notebook.close()


def install(shell: Any) -> None:
    """Make `%%agent` and `%agent` work in a shell. A second time does nothing."""
    if AgentMagics.__name__ in shell.magics_manager.registry:
        return
    if "TT_GUARD" in os.environ:
        from tt_kernel.experiments.guard import start_from_environment  # noqa: PLC0415  kernels of `--tt-replay` only

        start_from_environment()
    magics = AgentMagics(shell)
    magics.notebook.cells.install()
    shell.register_magics(magics)
    transformers = shell.input_transformer_manager
    transformers.cleanup_transforms.insert(0, AgentTransform(shell))
    transformers.token_transformers.append(AgentLine)
    shell.Completer.custom_matchers.append(agent_completions(magics))
    register_run_display(shell, magics)
    magics.notebook.front_ends.register(shell)
    place = here()
    place.session, place.cell = lambda: magics.notebook.session, lambda: cell_of(shell)
    if not hasattr(shell, "_last_traceback"):
        # ipykernel 7.4 reads it after a failed async cell, and is lost when no cell failed before (notes/frontend.md §3).
        shell._last_traceback = None  # noqa: SLF001
