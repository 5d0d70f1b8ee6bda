"""THE PROCESSES OF THIS MACHINE: Bash, ProcessWait and ProcessStop (spec liveagent §6, §8).

May import `toolkit`, `store` and `domain`. `table.py` owns the sessions and ends them, `running.py` is one of them; `desk.py`
is what the tools touch; read these three first. Before the start: `launching.py` (with `command_check.py`, `shells.py`,
`environment.py`, `sandbox.py`). Output: `cleaning.py` into `ring.py`, out through `display.py` and `answers.py`. The end:
`ending.py`, which is also the script of the watchdog that outlives the kernel. Run the table on the agent loop.
"""

from tt_kernel.domain.ids import ToolId
from tt_kernel.toolkit.declare import Declaration
from tt_kernel.toolkit.tool import Tool
from tt_kernel.tools.processes.bash import bash, bash_to_end
from tt_kernel.tools.processes.desk import Live, ProcessDesk
from tt_kernel.tools.processes.environment import command_environment
from tt_kernel.tools.processes.interrupted import keeps_output
from tt_kernel.tools.processes.limits import Limits
from tt_kernel.tools.processes.process_stop import process_stop
from tt_kernel.tools.processes.process_wait import process_wait
from tt_kernel.tools.processes.sandbox import Sandbox
from tt_kernel.tools.processes.table import ProcessTable

PROCESS_TOOLS: tuple[Declaration, ...] = (bash, process_wait, process_stop)

SYNCHRONOUS_TOOLS: tuple[Declaration, ...] = (bash_to_end,)
"""Instead of those, for runs that nobody watches (scheduled ones): the same Bash without sessions (spec liveagent §2.4)."""

PAGED: frozenset[ToolId] = frozenset(declaration.id for declaration in PROCESS_TOOLS)
"""Tools that bound their results themselves, to pages."""


def process_tools(desk: ProcessDesk) -> list[Tool]:
    """The family for one invocation."""
    return [declaration.bind(desk) for declaration in PROCESS_TOOLS]


__all__ = [
    "PAGED",
    "PROCESS_TOOLS",
    "SYNCHRONOUS_TOOLS",
    "Limits",
    "Live",
    "ProcessDesk",
    "ProcessTable",
    "Sandbox",
    "command_environment",
    "keeps_output",
    "process_tools",
]
