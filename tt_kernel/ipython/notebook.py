"""The notebook of one shell: its path, its session, and the thread that lends itself to tools."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.ipython.cell_log import CellLog
from tt_kernel.ipython.comms import FrontEnds
from tt_kernel.ipython.lookups import lookups_of
from tt_kernel.ipython.notebook_path import NotebookPath

if TYPE_CHECKING:
    from tt_kernel.ipython.chat_source import ChatSource
    from tt_kernel.runtime.foreground import Foreground
    from tt_kernel.session.core import Session


class Notebook:
    """What all cells of a notebook share. The session is made when it is first needed, and again when the path changes.

    `memory`: cell -> the memory state that its last run in this kernel left. `cells`: what was executed; `chat`: the cells above
    the running one, as runs may look at them.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.path = NotebookPath(shell.user_ns, in_kernel=getattr(shell, "kernel", None) is not None)
        self.memory: dict[str, str | None] = {}
        self.front_ends = FrontEnds(self._guide, self._reported, lookups_of(lambda: self.session))
        self.cells = CellLog(shell)
        self._session: Session | None = None
        self._foreground: Foreground | None = None

    @property
    def foreground(self) -> "Foreground":
        from tt_kernel.runtime.foreground import Foreground  # noqa: PLC0415  not before a run

        if self._foreground is None:
            self._foreground = Foreground()
        return self._foreground

    @property
    def session(self) -> "Session":
        """The session of the notebook as it is called now; also the one of `tt_kernel.run` in its cells."""
        path = self.path.get()
        if self._session is None or self._session.notebook != path:
            self.close()
            self._session = self._new_session(path)
        self._session.interactive = self.can_answer  # of the cell that asks, also through `tt_kernel.run`
        return self._session

    @cached_property
    def chat(self) -> "ChatSource":
        from tt_kernel.ipython.chat_source import ChatSource  # noqa: PLC0415  not before a run

        return ChatSource(self.cells, self.path.get)

    @property
    def can_answer(self) -> bool:
        """Whether somebody can be asked from the cell that runs now: through a front end, or in its input field."""
        from tt_kernel.ipython.display import can_ask  # noqa: PLC0415  not before a run

        return can_ask(self.shell) or self.front_ends.can_answer("approval", blocked=self.foreground.is_blocked)

    def _guide(self, text: str, run: str) -> None:
        self.session.guide(text, run)

    def _reported(self, cells: Sequence[JsonObject]) -> None:
        from tt_kernel.runtime.cells import read_cell  # noqa: PLC0415  not before a run

        self.chat.tell([cell for raw in cells if (cell := read_cell(raw)) is not None])

    def close(self) -> None:
        """End the processes of the session, without waiting for them."""
        if self._session is not None:
            from tt_kernel.runtime.loop_thread import submit  # noqa: PLC0415  loaded already

            submit(self._session.aclose())
            self._session = None

    def _new_session(self, path: Path | None) -> "Session":
        from tt_kernel.ipython.approver import NotebookApprover, NotebookAsker  # noqa: PLC0415  not before a run
        from tt_kernel.ipython.comm_approver import CommApprover, CommAsker  # noqa: PLC0415
        from tt_kernel.session.core import Session  # noqa: PLC0415

        shell, foreground, front_ends = self.shell, self.foreground, self.front_ends
        session = Session(
            path,
            namespace=shell.user_ns,
            approver=CommApprover(front_ends, foreground, NotebookApprover(shell, foreground)),
            foreground=foreground,
            interactive=self.can_answer,
        )
        session.lookout.chat = self.chat.freeze
        session.toolbox.asker = CommAsker(front_ends, foreground, NotebookAsker(shell, foreground))
        return session
