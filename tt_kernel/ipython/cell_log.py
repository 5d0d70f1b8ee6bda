"""What was executed in this kernel, cell by cell, with its text outputs: the half of the chat that is not saved yet.

IPython's own history has sources and values; this log adds the cells' ids (so that a cell that ran twice counts once) and what was
displayed. Cells that ran before tt_kernel was loaded are taken from the history. What an awaiting cell prints is recorded
nowhere in the kernel; `complete` is then False.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from tt_kernel.domain.canonical import Json, JsonObject
from tt_kernel.ipython.cell import parent_of
from tt_kernel.ipython.frames import called_from
from tt_kernel.runtime.cells import Answer, CellOutputs, plain_text, read_answer


@dataclass(eq=False)
class Executed:
    """One execution of a cell.

    Attributes:
        source: As it was sent, without the last line's end.
        id: The front end's name of the cell; empty where it has none.
        complete: `outputs` has everything that the cell put out.
    """

    source: str
    id: str = ""
    outputs: CellOutputs = CellOutputs()
    complete: bool = False


@dataclass
class _Displays:
    """What the running cell displayed. A display that is updated stays in its place."""

    bundles: list[JsonObject] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def add(self, data: JsonObject, display_id: str | None, *, update: bool) -> None:
        if update:
            if display_id in self.places:
                self.bundles[self.places[display_id]] = data
            return
        if display_id is not None:
            self.places[display_id] = len(self.bundles)
        self.bundles.append(data)


class CellLog:
    """Listens to one shell.

    Attributes:
        cells: Executions in order, the running one included.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.cells: list[Executed] = []
        self._running: Executed | None = None
        self._displays = _Displays()
        self._marks: dict[int, tuple[int, int]] = {}

    def install(self) -> None:
        """Take over what the history has, and listen from now on."""
        self._adopt()
        self._shell.events.register("pre_run_cell", self._begin)
        self._shell.events.register("post_run_cell", self._end)
        if hasattr(self._shell.display_pub, "register_hook"):
            self._shell.display_pub.register_hook(self._on_message)

    def remove(self) -> None:
        self._shell.events.unregister("pre_run_cell", self._begin)
        self._shell.events.unregister("post_run_cell", self._end)
        if hasattr(self._shell.display_pub, "unregister_hook"):
            self._shell.display_pub.unregister_hook(self._on_message)

    @property
    def running(self) -> Executed | None:
        """The cell that is being executed."""
        return self._running

    def displayed(self, data: JsonObject, display_id: str | None = None, *, update: bool = False) -> None:
        """Another thread published this for the running cell (the main thread's displays are heard without it)."""
        self._displays.add(data, display_id, update=update)

    # What the shell tells

    def _begin(self, info: Any) -> None:
        if self._running is not None and info.cell_id in (None, self._running.id):
            return  # a cell that a cell runs
        self._running = Executed(_source(info.raw_cell), info.cell_id or "", complete=not self._awaits(info))
        self._displays = _Displays()
        self._marks = self._measured()
        self.cells.append(self._running)

    def _end(self, result: Any) -> None:
        """`result` is None when an awaiting cell was cancelled."""
        running = self._running
        if running is None:
            return
        if result is None:
            self._running = None
        elif _source(result.info.raw_cell) == running.source:  # else it is of a cell that the running cell ran
            self._running = None
            running.id = running.id or result.info.cell_id or ""
            running.outputs = self._outputs(result)

    def _on_message(self, message: JsonObject) -> JsonObject:
        """A hook of the display publisher; gives every message on as it is."""
        kind = message["header"]["msg_type"]
        content = message["content"]
        if kind == "clear_output":
            self._displays = _Displays()
        elif self._running is not None:
            display_id = (content.get("transient") or {}).get("display_id")
            self._displays.add(content.get("data") or {}, display_id, update=kind == "update_display_data")
        return message

    # Reading

    def _adopt(self) -> None:
        history = self._shell.history_manager
        for count, raw in enumerate(history.input_hist_raw):
            if count and raw.strip():
                outputs = self._read(_behind(history.outputs.get(count, ()), (0, 0)))
                self.cells.append(Executed(_source(raw), outputs=outputs))
        if called_from(InteractiveShell.run_code.__code__):
            self._running = self._cell_that_loads()

    def _cell_that_loads(self) -> Executed:
        """The cell that runs now: the last of the history, unless it is run without history."""
        code = _source((parent_of(self._shell).get("content") or {}).get("code") or "")
        if not self.cells or (code and self.cells[-1].source != code):
            self.cells.append(Executed(code))
        return self.cells[-1]

    def _outputs(self, result: Any) -> CellOutputs:
        recorded = self._shell.history_manager.outputs
        items = [
            item
            for count, mark in self._marks.items()
            for item in _behind(recorded.get(count, ()), mark)
            # What a cell prints is under its own number; a cell that it ran has the same print under the next one too.
            if item[0] != "out_stream" or count == result.execution_count
        ]
        outputs = self._read(items)
        answers = [found for bundle in self._displays.bundles if (found := read_answer(bundle)) is not None]
        shown = [plain_text(bundle) for bundle in self._displays.bundles if read_answer(bundle) is None]
        error = result.error_before_exec or result.error_in_exec
        return CellOutputs(
            printed=outputs.printed,
            shown=(*outputs.shown, *shown),
            values=outputs.values,
            errors=(_said(error),) if error is not None else (),
            answers=(*outputs.answers, *(answers or _answer_of(result.result, outputs.answers))),
        )

    def _read(self, items: Sequence[tuple[str, Any]]) -> CellOutputs:
        """What IPython recorded. Displays are left out where `_on_message` hears them."""
        hears = hasattr(self._shell.display_pub, "register_hook")
        shown = [] if hears else [bundle for kind, bundle in items if kind == "display_data"]
        values = [bundle for kind, bundle in items if kind == "execute_result"]
        return CellOutputs(
            printed="".join(piece for kind, pieces in items if kind == "out_stream" for piece in pieces),
            shown=tuple(plain_text(bundle) for bundle in shown if read_answer(bundle) is None),
            values=tuple(plain_text(bundle) for bundle in values if read_answer(bundle) is None),
            answers=tuple(found for bundle in (*shown, *values) if (found := read_answer(bundle)) is not None),
        )

    def _measured(self) -> dict[int, tuple[int, int]]:
        """How much there is under the numbers that IPython may give the outputs of the cell that begins.

        It is the counter before or after its increment; without history the counter stands still, and a last stream grows.
        """
        count = self._shell.execution_count
        outputs = self._shell.history_manager.outputs
        return {number: _length(outputs.get(number, ())) for number in (count - 1, count)}

    def _awaits(self, info: Any) -> bool:
        transformed = getattr(info, "transformed_cell", None)
        return bool(
            transformed is None
            or self._shell.should_run_async(info.raw_cell, transformed_cell=transformed, preprocessing_exc_tuple=None)
        )


def _source(raw: str) -> str:
    return raw.rstrip("\n")


def _said(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  an exception of the user's, whose text may fail
        return f"{type(error).__name__}: "


def _length(items: Sequence[Any]) -> tuple[int, int]:
    """How many outputs there are, and how many pieces the last one has, if it is a stream."""
    last = items[-1] if items else None
    return len(items), len(last.bundle["stream"]) if last is not None and last.output_type == "out_stream" else 0


def _behind(items: Sequence[Any], mark: tuple[int, int]) -> list[tuple[str, Any]]:
    """Kind and content (pieces of a stream, else a bundle) of the outputs that came after a mark."""
    start, pieces = mark
    grown = [("out_stream", items[start - 1].bundle["stream"][pieces:])] if start and pieces else []
    fresh = [(item.output_type, item.bundle.get("stream", item.bundle)) for item in items[start:]]
    return [*grown, *fresh]


def _answer_of(value: Json, known: Sequence[Answer]) -> Sequence[Answer]:
    """The answer of a cell whose value is a Run, when its display was not heard."""
    from tt_kernel.domain.runs import Run  # noqa: PLC0415  not before there may be one

    return (Answer(value.view.profile, value.view.text),) if isinstance(value, Run) and not known else ()
