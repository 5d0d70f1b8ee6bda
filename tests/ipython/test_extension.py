import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest

from tt_kernel.ipython.extension import install, unload_ipython_extension


def state(shell):
    manager = shell.input_transformer_manager
    return (
        len(manager.cleanup_transforms),
        len(manager.token_transformers),
        len(shell.Completer.custom_matchers),
        sorted(kind for kind in ("line", "cell") if "agent" in shell.magics_manager.magics[kind]),
        len(shell.events.callbacks["pre_run_cell"]),
        len(shell.display_formatter.mimebundle_formatter.deferred_printers),
        "AgentMagics" in shell.magics_manager.registry,
    )


def test_installing_again_changes_nothing_and_unloading_takes_everything_out(shell):
    once = state(shell)
    install(shell)
    assert state(shell) == once
    unload_ipython_extension(shell)
    off = state(shell)
    assert [a - b for a, b in zip(once[:3], off[:3], strict=True)] == [1, 1, 1]
    assert off[3] == []
    assert not off[-1]
    unload_ipython_extension(shell)
    install(shell)
    assert state(shell) == once


def test_after_unloading_a_cell_says_what_to_do(shell):
    awaiting = shell.transform_cell("%%agent\nhello")
    unload_ipython_extension(shell)
    out = io.StringIO()
    with redirect_stdout(out):
        shell.run_cell(awaiting)
    assert "UsageProblem: tt_kernel is not loaded. Load it: %load_ext tt_kernel" in out.getvalue()


CODE = """
import sys, time, json
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
began = time.perf_counter()
shell.run_line_magic("load_ext", "tt_kernel")
print(json.dumps([time.perf_counter() - began, sorted({n.partition(".")[0] for n in set(sys.modules) - before})]))
"""


def test_loading_is_fast_silent_and_brings_nothing_heavy():
    """DESIGN §8: < 0.3 s, prints nothing; providers, mcp and anywidget are imported lazily."""
    best = 10.0
    for _ in range(3):  # a busy machine slows one of them
        done = subprocess.run([sys.executable, "-W", "error", "-c", CODE], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        seconds, modules = json.loads(done.stdout)
        best = min(best, seconds)
    assert best < 0.3
    heavy = {
        "pydantic_ai",
        "openai",
        "anthropic",
        "mcp",
        "anywidget",
        "ipywidgets",
        "PIL",
        "pandas",
        "numpy",
        "markdown_it",
        "socket",
    }
    assert not heavy & set(modules)


@pytest.mark.parametrize("cell", ["%agent?", "%%agent?"])
def test_help_shows_both_forms_with_examples(shell, cell):
    """Field reports A7."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        shell.run_cell(cell)
    text = out.getvalue()
    for part in (
        "%%agent [PROFILE] [OPTIONS]",
        "%agent [OPTIONS] What",
        "--max-tokens",
        "%agent runs",
        "@{expression}",
        "Examples:",
    ):
        assert part in text


def test_the_first_error_of_a_kernel_has_a_traceback_to_reply_with(shell):
    """notes/frontend.md §3: ipykernel 7.4 loses the reply when `_last_traceback` was never set."""
    assert hasattr(shell, "_last_traceback")
