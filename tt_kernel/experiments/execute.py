"""Execute a notebook as Run All would, and tell what happens while it happens.

- The kernel is started in the notebook's folder and told the notebook's path, because no front end is there to ask.
- A run in progress is followed through its journal on disk: nothing in the kernel has to know that somebody watches.
- A cell whose outputs say the same as the saved ones keeps the saved ones, volatile metadata included. So replaying a
  notebook leaves its file as it was, to the byte.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.domain.events import Event
from tt_kernel.domain.runs import RecordMode
from tt_kernel.domain.views import RUN_MIME
from tt_kernel.experiments.guard import GUARD_VARIABLE, REPORT_VARIABLE
from tt_kernel.store.journal import read_journal
from tt_kernel.store.layout import FOLDERS_VARIABLE, AgentFolder

POLL_SECONDS = 0.2
"""How often the journals of new runs are looked at."""

NOTEBOOK_VARIABLE = "TT_NOTEBOOK"
MODE_VARIABLE = "TT_RECORD"
TEMPORARY = ("TMPDIR", "TEMP", "TMP")
ALWAYS_VARIABLE = "TT_RECORD_ALWAYS"
"""Stronger than what a cell asks for."""
GUARDING = "from tt_kernel.experiments.guard import start_from_environment; start_from_environment()"


@dataclass(frozen=True)
class CellStarted:
    """`number` counts code cells from 1; `line` is the first line of the source."""

    number: int
    total: int
    line: str


@dataclass(frozen=True)
class RunMoved:
    """A run that the notebook started wrote an event to its journal."""

    run_id: str
    event: Event


@dataclass(frozen=True)
class CellAnswered:
    """A cell ended; `answers` are the plain texts of the agent runs in its outputs."""

    answers: tuple[str, ...]


Progress = CellStarted | RunMoved | CellAnswered


@dataclass(frozen=True)
class Execution:
    """How a notebook is to be executed.

    Attributes:
        notebook: The .ipynb file.
        output: Where the executed notebook is written; None: into `notebook`.
        mode: Record mode for all runs; None leaves it to the cells and the environment.
        kernel: Kernel name; None: the notebook's own.
        timeout: Seconds that one cell may take; None: no limit.
        report: Offline: only what is recorded, whatever the cells ask for; nothing is written outside temporary folders
            (guard.py). The file that the kernel reports its runs to (witness.py).
        agent_folders: Where the notebook's agent folder is, if not beside it.
    """

    notebook: Path
    output: Path | None = None
    mode: RecordMode | None = None
    kernel: str | None = None
    timeout: float | None = None
    report: Path | None = None
    agent_folders: Path | None = None

    @property
    def destination(self) -> Path:
        return self.output or self.notebook

    def environment(self) -> dict[str, str]:
        """The kernel's environment."""
        added = {NOTEBOOK_VARIABLE: str(self.notebook.resolve())}
        if self.mode is not None:
            added[MODE_VARIABLE] = self.mode
        if self.agent_folders is not None:
            added[FOLDERS_VARIABLE] = str(self.agent_folders)
        if self.report is not None:
            added |= {ALWAYS_VARIABLE: "replay", GUARD_VARIABLE: "", REPORT_VARIABLE: str(self.report)}
            added |= dict.fromkeys(TEMPORARY, str(self.report.parent))  # the one folder that may be written to
        return {**os.environ, **added}


@dataclass(frozen=True)
class Executed:
    """What came of it. `problem` is one sentence, None when every cell ran; `written` is False when the file is as it was."""

    destination: Path
    cells: int
    written: bool
    problem: str | None = None
    interrupted: bool = False


async def execute_notebook(execution: Execution, report: Callable[[Progress], None]) -> Executed:
    """Execute every code cell in a fresh kernel; stop at the first that fails. The notebook is written in either case.

    Args:
        execution: What to execute, and how.
        report: Called with each piece of progress, on this thread.

    Raises:
        NotFound: No such notebook, or no such kernel.
        UsageProblem: The file is no notebook.
    """
    saved = _read(execution.notebook)
    attempt = _Attempt(execution, _read(execution.notebook), report)
    problem = await attempt.run()
    fresh = attempt.notebook
    _keep_what_says_the_same(saved, fresh)
    written = execution.output is not None or fresh != saved
    if written:
        _write(fresh, execution.destination)
    return Executed(execution.destination, attempt.total, written, problem, attempt.interrupts > 0)


@dataclass
class _Attempt:
    execution: Execution
    notebook: Any
    report: Callable[[Progress], None]
    current: int = 0
    interrupts: int = 0

    def __post_init__(self) -> None:
        self.journals = _NewJournals(AgentFolder.for_notebook(self.execution.notebook).runs)
        self.total = sum(1 for cell in self.notebook.cells if _runs(cell))

    async def run(self) -> str | None:
        """Execute; the returned sentence says what went wrong."""
        from jupyter_client.kernelspec import NoSuchKernel  # noqa: PLC0415  heavy
        from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError  # noqa: PLC0415

        self.client = self._client()
        following = asyncio.create_task(self._follow())
        try:
            await self.client.async_execute(env=self.execution.environment())
        except NoSuchKernel as error:
            raise NotFound(
                "notebook.kernel_missing",
                f"Kernel {error.name!r} is not registered. Register tt-agent with 'tt install --sys-prefix', or choose "
                f"another kernel with --kernel ('jupyter kernelspec list' shows them).",
            ) from None
        except CellExecutionError as error:
            return f"Cell {self._place} failed: {error.ename}: {error.evalue}"
        except CellTimeoutError:
            return f"Cell {self._place} took longer than {self.execution.timeout:g} s."
        except DeadKernelError:
            return f"The kernel ended while cell {self._place} was running."
        finally:
            following.cancel()
        return None

    @property
    def _place(self) -> str:
        return f"{self.current} of {self.total}"

    def _client(self) -> Any:
        from nbclient import NotebookClient  # noqa: PLC0415  heavy
        from traitlets.config import Config  # noqa: PLC0415

        client: Any = NotebookClient(
            self.notebook,
            timeout=self.execution.timeout,
            resources={"metadata": {"path": str(self.execution.notebook.resolve().parent)}},
            record_timing=False,
            allow_errors=self.execution.report is not None,
            config=Config({"KernelManager": {"transport_encryption": _encryption()}}),
            on_notebook_start=self._started,
            on_cell_execute=self._cell_started,
            on_cell_executed=self._cell_ended,
        )
        if self.execution.kernel is not None:
            client.kernel_name = self.execution.kernel
        return client

    async def _started(self, notebook: Any) -> None:  # noqa: ARG002  the hook's name for it
        """Ctrl-C interrupts the cell, as in a notebook, so that a run ends orderly; the second one ends the kernel."""
        if self.execution.report is not None:
            await self.client.kc.execute_interactive(GUARDING, silent=True, store_history=False, output_hook=_ignore)
        loop = asyncio.get_running_loop()
        try:
            loop.add_signal_handler(signal.SIGINT, self._interrupt)
        except (NotImplementedError, RuntimeError):
            return  # Windows, or not the main thread: Ctrl-C then ends the kernel

    def _interrupt(self) -> None:
        self.interrupts += 1
        kernel = self.client.km
        stop = kernel.interrupt_kernel() if self.interrupts == 1 else kernel.shutdown_kernel(now=True)
        self.stopping = asyncio.ensure_future(stop)

    def _cell_started(self, cell: Any, cell_index: int) -> None:  # noqa: ARG002  the hook's name for it
        if _runs(cell):
            self.current += 1
            self.report(CellStarted(self.current, self.total, cell.source.strip().partition("\n")[0]))

    def _cell_ended(self, cell: Any, cell_index: int, execute_reply: Any) -> None:  # noqa: ARG002  the hook's names
        self._report_runs()
        self.report(CellAnswered(tuple(_answers(cell))))

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            self._report_runs()

    def _report_runs(self) -> None:
        for news in self.journals.news():
            self.report(news)


def _ignore(_: object) -> None:
    """What the kernel says of the guard: if it cannot start, no run will be reported."""


def _encryption() -> str:
    """Kernels that can, encrypt what they say on the loopback; those that cannot, warn about it in every run."""
    import zmq  # noqa: PLC0415  heavy

    return "auto" if zmq.has("curve") else "disabled"


@dataclass
class _NewJournals:
    """The journals of runs that did not exist when this was made."""

    runs: Path
    sizes: dict[str, int] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.old = {folder.name for folder in self._folders()}

    def _folders(self) -> list[Path]:
        return sorted(self.runs.iterdir()) if self.runs.is_dir() else []

    def news(self) -> Iterator[RunMoved]:
        for folder in self._folders():
            journal = folder / "events.jsonl"
            if folder.name in self.old or not journal.exists():
                continue
            size = journal.stat().st_size
            if size != self.sizes.get(folder.name):
                self.sizes[folder.name] = size
                yield from self._untold(folder.name, journal)

    def _untold(self, run_id: str, journal: Path) -> Iterator[RunMoved]:
        for line in read_journal(journal):
            if line.seq > self.told.get(run_id, 0):
                self.told[run_id] = line.seq
                yield RunMoved(run_id, line.event)


def _runs(cell: Any) -> bool:
    return bool(cell.cell_type == "code" and cell.source.strip())


def _answers(cell: Any) -> Iterator[str]:
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if RUN_MIME in data and "text/plain" in data:
            yield data["text/plain"]


def _read(path: Path) -> Any:
    nbformat = _nbformat()
    if not path.is_file():
        raise NotFound("notebook.not_found", f"There is no notebook {str(path)!r}.")
    try:
        return nbformat.read(path, as_version=4)
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, UnicodeDecodeError) as error:
        raise UsageProblem("notebook.unreadable", f"{str(path)!r} is not a notebook: {error}") from None


def _write(notebook: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _nbformat().write(notebook, path)


def _nbformat() -> Any:
    """Untyped, and slow to import."""
    import nbformat  # noqa: PLC0415

    return nbformat


def _keep_what_says_the_same(saved: Any, fresh: Any) -> None:
    if "language_info" in saved.metadata:
        fresh.metadata["language_info"] = saved.metadata["language_info"]
    for before, after in zip(saved.cells, fresh.cells, strict=True):
        if before.cell_type == "code" and essence(before) == essence(after):
            after.outputs = before.outputs
            after.execution_count = before.execution_count


def essence(cell: Any) -> list[dict[str, Any]]:
    """What the outputs of a code cell say, without what differs each time."""
    volatile = {"metadata", "execution_count", "transient"}
    return [{key: value for key, value in output.items() if key not in volatile} for output in cell.outputs]
