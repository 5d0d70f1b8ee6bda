"""`%%agent` and `%agent`: what a cell calls, awaited (see transform.py) or synchronous."""

from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.ipython.arguments import Options, parse_cell, parse_line
from tt_kernel.ipython.errors import giving_up_in_one_line, one_line_errors
from tt_kernel.ipython.help import help_text
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.ipython.subcommands import find_command
from tt_kernel.ipython.transform import strip_nbval

if TYPE_CHECKING:
    from tt_kernel.ipython.running import Started


@magics_class
class AgentMagics(Magics):
    """The magic of one shell.

    Attributes:
        notebook: The shell's notebook.
        shown: The Run that the running cell has on display already; shown again as the cell's value, it stays silent.
    """

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.notebook = Notebook(shell)
        self.shown: object = None

    @no_var_expand
    @line_cell_magic
    def agent(self, line: str, cell: str | None = None) -> object:
        return self.run_line(line) if cell is None else self.run_cell(line, strip_nbval(cell))

    agent.__doc__ = help_text()

    def run_cell(self, line: str, body: str) -> object:
        """Run an agent and block until it ended. Returns the Run, which is on display already."""
        with one_line_errors():
            return self._run(parse_cell(line), body)

    def run_line(self, line: str) -> object:
        """`%agent SUBCOMMAND …`, or a one-line run."""
        with one_line_errors():
            command = find_command(line)
            if command is not None:
                done = command(self.notebook)
                return self._finish(self._begun(done)) if _is_pending(done) else done
            options = parse_line(line)
            return self._run(options, options.text or "")

    async def await_cell(self, line: str, body: str) -> None:
        """Like `run_cell` while the kernel's loop goes on. The Run becomes `_`; nothing is returned to be displayed."""
        with one_line_errors():
            await self._await(parse_cell(line), body)

    async def await_line(self, line: str) -> object:
        with one_line_errors():
            command = find_command(line)
            if command is not None:
                done = command(self.notebook)
                if not _is_pending(done):
                    return done
                await self._finish_async(self._begun(done))
                return None
            options = parse_line(line)
            await self._await(options, options.text or "")
        return None

    def forget(self, *_: object) -> None:
        """A new cell has nothing on display yet."""
        self.shown = None

    def _run(self, options: Options, prompt: str) -> object:
        if options.is_sweep:
            from tt_kernel.ipython.sweeping import conclude_sweep, start_sweep  # noqa: PLC0415

            sweep = start_sweep(self.notebook, options, prompt, shows=False)
            with giving_up_in_one_line():
                self.notebook.foreground.wait(sweep.settled, sweep.cancel)
            return conclude_sweep(self.notebook, sweep, is_value=True)
        from tt_kernel.ipython.running import start  # noqa: PLC0415  wires everything; not before a run

        return self._finish(start(self.notebook, options, prompt))

    async def _await(self, options: Options, prompt: str) -> None:
        if options.is_sweep:
            from tt_kernel.ipython.sweeping import conclude_sweep, start_sweep  # noqa: PLC0415

            sweep = start_sweep(self.notebook, options, prompt, shows=True)
            with giving_up_in_one_line():
                await self.notebook.foreground.wait_async(sweep.settled, sweep.cancel)
            conclude_sweep(self.notebook, sweep, is_value=False)
            return
        from tt_kernel.ipython.running import start  # noqa: PLC0415  wires everything; not before a run

        await self._finish_async(start(self.notebook, options, prompt))

    def _begun(self, pending: Any) -> "Started":
        from tt_kernel.ipython.running import begin, show_again  # noqa: PLC0415

        if pending.ended is not None:
            return show_again(self.notebook, pending.ended)
        return begin(self.notebook, Options(), pending.prepared)

    def _finish(self, started: "Started") -> object:
        from tt_kernel.ipython.running import conclude  # noqa: PLC0415

        with giving_up_in_one_line():
            self.notebook.foreground.wait(started.settled, started.cancel)
        self.shown = conclude(self.notebook, started, is_value=True)
        return self.shown

    async def _finish_async(self, started: "Started") -> None:
        from tt_kernel.ipython.running import conclude  # noqa: PLC0415

        with giving_up_in_one_line():
            await self.notebook.foreground.wait_async(started.settled, started.cancel)
        conclude(self.notebook, started, is_value=False)


def _is_pending(done: object) -> bool:
    """A command decided a run (`run_commands.Pending`) in place of an answer."""
    return type(done).__name__ == "Pending" and hasattr(done, "prepared")


def installed() -> AgentMagics:
    """The magic of the current shell.

    Raises:
        UsageProblem: It was unloaded.
    """
    shell = get_ipython()
    found = shell.magics_manager.registry.get(AgentMagics.__name__) if shell else None
    if isinstance(found, AgentMagics):
        return found
    with one_line_errors():
        raise UsageProblem(message="tt_kernel is not loaded. Load it: %load_ext tt_kernel")


def run_cell(line: str, body: str) -> object:
    return installed().run_cell(line, body)


def run_line(line: str) -> object:
    return installed().run_line(line)


async def await_cell(line: str, body: str) -> None:
    await installed().await_cell(line, body)


async def await_line(line: str) -> object:
    return await installed().await_line(line)
