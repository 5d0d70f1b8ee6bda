"""Which cells stand above the calling cell: DESIGN §5.2.

A kernel is not told what a notebook looks like. It knows what it executed (cell_log.py), and there is the saved file:

- The file gives the order, the Markdown cells, and the code cells that this kernel did not execute.
- An executed cell is found in the file by its id, else by its source, of equal ones the next one down. What was executed counts
  as it was executed, with its outputs of now.
- A cell that is not in the file yet is taken to stand below everything that was executed before it.

A front end that reports its cells (`tell`) is believed before the file, until the file is saved anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.chat import ChatOrigin, FrozenChat, anchor_of
from tt_kernel.domain.errors import StorageFault
from tt_kernel.ipython.cell_log import CellLog, Executed
from tt_kernel.runtime.cells import Cell, read_cell, written
from tt_kernel.runtime.chat import chat_messages
from tt_kernel.store.atomic import read_json

FORMAT = 4
"""Of notebook files; others are converted."""


class ChatSource:
    """Gives the chat of one shell's notebook."""

    def __init__(self, log: CellLog, path: Callable[[], Path | None]) -> None:
        """Args:
        log: What the shell executed.
        path: The notebook's file; asked each time.
        """
        self._log = log
        self._path = path
        self._file = SavedNotebook()
        self._told: tuple[Cell, ...] = ()
        self._told_of: int | None = None

    def tell(self, cells: Sequence[Cell]) -> None:
        """The front end's cells, all of them, in order, as they are now; also those that are not saved.

        They count until the next report, and no longer than until the notebook is saved: the file is newer then.
        """
        self._told, self._told_of = tuple(cells), self._saved_at()

    def freeze(self) -> FrozenChat:
        """The chat of the cell that is running now.

        Raises:
            StorageFault: The notebook's file is there, and cannot be read.
        """
        calling = self._log.running
        own = Cell("code", calling.source, id=calling.id) if calling is not None else None
        above, origin = self._reported(calling) or self._known(calling)
        anchor = anchor_of(written(own)) if own is not None else ""
        return FrozenChat(messages=chat_messages(above), origin=origin, calling=anchor)

    def _reported(self, calling: Executed | None) -> tuple[list[Cell], ChatOrigin] | None:
        """By what the front end said, if that is of now: the calling cell is a part of it, as it is."""
        told = {cell.id: cell for cell in self._told}
        if calling is None or self._told_of != self._saved_at():
            return None
        own = told.get(calling.id)
        if own is None or own.source.rstrip("\n") != calling.source.rstrip("\n"):
            return None
        ran = [execution for execution in self._log.cells if not execution.id or execution.id in told]
        return cells_above(self._told, ran, calling)[0], "frontend"

    def _saved_at(self) -> int | None:
        path = self._path()
        try:
            return path.stat().st_mtime_ns if path is not None else None
        except OSError:
            return None

    def _known(self, calling: Executed | None) -> tuple[list[Cell], ChatOrigin]:
        path = self._path()
        saved = self._file.cells(path) if path is not None else ()
        return cells_above(saved, self._log.cells, calling)


@dataclass
class SavedNotebook:
    """A notebook's file, read again only after it changed."""

    _stamp: tuple[Path, int, int] | None = None
    _cells: tuple[Cell, ...] = ()

    def cells(self, path: Path) -> tuple[Cell, ...]:
        """Its code and Markdown cells; none where there is no such file, or it is a script.

        Raises:
            StorageFault: It cannot be read, or is no notebook.
        """
        try:
            stat = path.stat()
        except OSError:
            return ()
        if path.suffix != ".ipynb":
            return ()
        stamp = (path, stat.st_mtime_ns, stat.st_size)
        if stamp != self._stamp:
            self._cells = tuple(cell for raw in _raw_cells(path) if (cell := read_cell(raw)) is not None)
            self._stamp = stamp
        return self._cells


def _raw_cells(path: Path) -> list[Json]:
    document = read_json(path)
    if isinstance(document, dict) and document.get("nbformat") != FORMAT:
        document = _converted(document, path)
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list):
        raise StorageFault("storage.not_notebook", f"{path} is no notebook: it has no list of cells.")
    return [cell for cell in cells if isinstance(cell, dict)]


def _converted(document: Json, path: Path) -> Json:
    import nbformat  # noqa: PLC0415  for old notebooks only

    try:
        return nbformat.convert(nbformat.from_dict(document), FORMAT)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise StorageFault("storage.not_notebook", f"{path} is no notebook that can be read: {error}.") from error


# Saved and executed cells in one order


@dataclass(eq=False)
class _Slot:
    """A place in the notebook: a saved cell, an executed one, or both."""

    saved: Cell | None
    ran: Executed | None = None

    @property
    def cell(self) -> Cell:
        if self.ran is None:
            assert self.saved is not None
            return self.saved
        outputs = self.ran.outputs
        if not self.ran.complete and self.saved is not None and self.saved.source.rstrip("\n") == self.ran.source:
            # What the kernel did not record is what was saved; answers and errors it always knows.
            outputs = replace(self.saved.outputs, answers=outputs.answers, errors=outputs.errors)
        return Cell("code", self.ran.source, outputs, self.ran.id)


class _Notebook:
    """Saved cells, with executed ones put in their places, one after the other."""

    def __init__(self, saved: Sequence[Cell]) -> None:
        self._slots = [_Slot(cell) for cell in saved]
        self._by_id = {cell.id: number for number, cell in enumerate(saved) if cell.id and cell.kind == "code"}
        self._by_source: dict[str, list[int]] = {}
        for number, cell in enumerate(saved):
            if cell.kind == "code":
                self._by_source.setdefault(cell.source.rstrip("\n"), []).append(number)
        self._new: dict[int, list[_Slot]] = {}
        self._new_by_id: dict[str, _Slot] = {}
        self._furthest = self._latest = -1

    def put(self, execution: Executed) -> _Slot:
        """The execution's place."""
        number = self._find(execution)
        if number is not None:
            self._latest, self._furthest = number, max(number, self._furthest)
            slot = self._slots[number]
        else:
            slot = self._new_by_id.get(execution.id) or _Slot(None)
            if slot.ran is None:
                self._new.setdefault(self._furthest, []).append(slot)
            if execution.id:
                self._new_by_id[execution.id] = slot
        slot.ran = execution
        return slot

    def order(self) -> list[_Slot]:
        if (
            self._furthest < 0
        ):  # nothing of the file was executed: what was is new, and new cells are written at the end
            return [*self._slots, *self._new.get(-1, ())]
        slots = [*self._new.get(-1, ())]
        for number, slot in enumerate(self._slots):
            slots += [slot, *self._new.get(number, ())]
        return slots

    def _find(self, execution: Executed) -> int | None:
        """The saved cell that was executed: by id, else the next one down with the same source."""
        if execution.id in self._by_id:
            return self._by_id[execution.id]
        same = self._by_source.get(execution.source, ())
        return min(same, key=lambda n: (self._slots[n].ran is not None, n <= self._latest, n), default=None)


def cells_above(
    saved: Sequence[Cell], executed: Sequence[Executed], calling: Executed | None
) -> tuple[list[Cell], ChatOrigin]:
    """The cells above the calling one, and where they are from.

    Args:
        saved: The file's cells.
        executed: What this kernel executed, in order; the calling cell may be among it.
        calling: None: everything is above.
    """
    notebook = _Notebook(saved)
    for execution in executed:
        if execution is not calling:
            notebook.put(execution)
    own = notebook.put(calling) if calling is not None else None
    order = notebook.order()
    above = order[: order.index(own)] if own is not None else order
    from_history = not saved or any(slot.ran is not None for slot in above)
    return [slot.cell for slot in above], "history" if from_history else "saved"
