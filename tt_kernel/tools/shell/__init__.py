"""The shell tool: a virtual Bash with jq, Python and JavaScript, in a child process.

May import `domain` and `toolkit`; `child/` (the other process) only `wire`. Read `desk.py` first (the tool and its results),
then `worker.py` (the child's keeper), then `child/`.
"""

from tt_kernel.tools.shell.desk import SHELL_TOOLS, ShellDesk
from tt_kernel.tools.shell.job import Mount
from tt_kernel.tools.shell.worker import ShellWorker

__all__ = ["SHELL_TOOLS", "Mount", "ShellDesk", "ShellWorker"]
