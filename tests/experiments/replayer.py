"""A program: the code cells of a notebook in one IPython shell, and what they put out as JSON. `python replayer.py NOTEBOOK`.

It is a kernel without the sockets: the same shell, the same extension, one process. Variables of the environment make it another
machine: REPLAYER_BLOCKED names modules that cannot be imported, REPLAYER_CLOCK a number of seconds that its clock is ahead, and
REPLAYER_CPUS how many processors it sees.
"""

import io
import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path


class Blocked:
    """Modules that are not installed, as far as anybody can tell."""

    def __init__(self, names):
        self.names = tuple(names)

    def find_spec(self, name, path=None, target=None):
        if name in self.names or name.startswith(tuple(f"{n}." for n in self.names)):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def another_machine():
    blocked = [name for name in os.environ.get("REPLAYER_BLOCKED", "").split(",") if name]
    if blocked:
        sys.meta_path.insert(0, Blocked(blocked))
    ahead = float(os.environ.get("REPLAYER_CLOCK", "0"))
    if ahead:
        import datetime
        import time

        now, now_ns, real = time.time, time.time_ns, datetime.datetime

        class Ahead(real):
            @classmethod
            def now(cls, tz=None):
                return real.now(tz) + datetime.timedelta(seconds=ahead)

        time.time = lambda: now() + ahead
        time.time_ns = lambda: now_ns() + int(ahead * 1e9)
        datetime.datetime = Ahead
    if "REPLAYER_CPUS" in os.environ and hasattr(os, "sched_setaffinity"):
        count = int(os.environ["REPLAYER_CPUS"])
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])
        os.cpu_count = lambda: count


def outputs(notebook):
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from tt_kernel.ipython.extension import install

    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config)
    install(shell)
    cells = json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        shell.display_pub = CapturingDisplayPublisher(parent=shell)
        out = io.StringIO()
        with redirect_stdout(out):
            result = shell.run_cell("".join(cell["source"]), store_history=True)
        problem = result.error_in_exec or result.error_before_exec
        yield {
            "data": [shown["data"] for shown in shell.display_pub.outputs],
            "text": out.getvalue() if problem is None else "",
            "error": f"{type(problem).__name__}: {problem}" if problem else None,
        }


if __name__ == "__main__":
    another_machine()
    os.environ["TT_NOTEBOOK"] = str(Path(sys.argv[1]).absolute())
    said = list(outputs(sys.argv[1]))
    # ASCII: what is printed is the same in every locale.
    sys.stdout.write(json.dumps(said, sort_keys=True))
    sys.stdout.flush()
