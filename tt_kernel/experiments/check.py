"""`check`: the cells of a notebook that could not pass nbval, and why, from the saved file and the records alone."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.domain.events import CallDrifted
from tt_kernel.domain.views import RUN_MIME
from tt_kernel.session.core import Session
from tt_kernel.store.journal import read_journal

Kind = Literal[
    "not run", "fails", "no recording", "live", "approval", "unseeded tool", "volatile output", "widget only"
]

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"
_ASKED = "tool.permission_denied"
_VOLATILE = {
    r"0x[0-9a-f]{7,}": "a memory address",
    r"(?:CPU times|Wall time): ": "a duration",
    r"\b\d+(?:\.\d+)? ?(?:ms|µs|us|ns) ± ": "a duration",
    r"\d(?:it/s|s/it)\]": "a progress bar",
    r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d": "a time",
}
_SKIP = ("NBVAL_SKIP", "NBVAL_IGNORE_OUTPUT")
_AGENT = re.compile(r"\s*%%agent\b(?P<line>[^\n]*)")


@dataclass(frozen=True)
class Finding:
    """`cell` counts code cells from 1."""

    cell: int
    kind: Kind
    message: str

    @property
    def line(self) -> str:
        return f"cell {self.cell}: {self.kind}: {self.message}"


def check_notebook(path: Path) -> list[Finding]:
    """What stands in the way of `pytest --nbval`, in the order of the cells. Nothing is executed.

    Args:
        path: The saved .ipynb file.

    Raises:
        NotFound: No such file.
        UsageProblem: It is no notebook.
    """
    if not path.is_file():
        raise NotFound("notebook.not_found", f"There is no notebook {str(path)!r}. Save it first.")
    nbformat: Any = import_module("nbformat")
    try:
        notebook = nbformat.read(path, as_version=4)
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, UnicodeDecodeError) as error:
        raise UsageProblem("notebook.unreadable", f"{str(path)!r} is not a notebook: {error}") from None
    checker = _Checker(Session(path))
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    found = [f for number, cell in enumerate(cells, start=1) for f in checker.cell(number, cell)]
    return list(dict.fromkeys(found))


@dataclass
class _Checker:
    session: Session

    def __post_init__(self) -> None:
        self.recorded = {run for chain in self.session.recordings.roots() for run in chain.runs}

    def cell(self, number: int, cell: Any) -> Iterator[Finding]:
        runs = [o.data[RUN_MIME].get("id", "") for o in cell.outputs if RUN_MIME in o.get("data", {})]
        yield from self._agent(number, cell, runs)
        for run in runs:
            yield from self._run(number, run)
        if not any(word in cell.source for word in _SKIP):
            for output in cell.outputs:
                yield from _output(number, cell, output)

    def _agent(self, number: int, cell: Any, runs: list[str]) -> Iterator[Finding]:
        magic = _AGENT.match(cell.source)
        if magic is None:
            return
        words = magic["line"].split()
        if not runs and not {"-q", "--quiet"} & set(words):
            yield Finding(number, "not run", "The cell has no output of a run. Run it and save the notebook.")
        if "--live" in words:
            yield Finding(
                number, "live", "--live asks the model each time. Take it away; what it recorded is replayed."
            )

    def _run(self, number: int, run: str) -> Iterator[Finding]:
        if run not in self.recorded:
            yield Finding(number, "no recording", f"Nothing is recorded of run {run}. Run the cell again.")
        try:
            loaded = self.session.load(run)
        except NotFound:
            return  # pruned: the recordings replay all the same
        for record in loaded.tool_calls:
            if record.result is not None and record.result.error_code == _ASKED:
                yield Finding(number, "approval", record.result.content)
        for envelope in read_journal(self.session.folder.run(loaded.id).events):
            if isinstance(envelope.event, CallDrifted):
                event = envelope.event
                yield Finding(
                    number,
                    "unseeded tool",
                    f"{event.tool_id} gave something else when it was replayed: {event.difference}",
                )


def _output(number: int, cell: Any, output: Any) -> Iterator[Finding]:
    if output.output_type == "error":
        if "raises-exception" not in cell.metadata.get("tags", []):
            yield Finding(number, "fails", f"The cell raised {output.ename}: {output.evalue}".rstrip())
        return
    data = output.get("data", {})
    if RUN_MIME in data:
        return
    if WIDGET_MIME in data and "text/html" not in data and "text/markdown" not in data:
        yield Finding(
            number, "widget only", "What the cell shows is in a widget alone, and is gone when it is reopened."
        )
        return
    for text in [output.get("text", ""), *(str(v) for k, v in data.items() if k.startswith("text/"))]:
        for what in _volatile(text):
            yield Finding(number, "volatile output", f"The output has {what}, which is another one each time.")


def _volatile(text: str) -> Iterator[str]:
    for pattern, what in _VOLATILE.items():
        if re.search(pattern, text):
            yield what
    home = os.path.expanduser("~")  # noqa: PTH111  a text, not a path
    if len(home) > 1 and f"{home}{os.sep}" in text:
        yield "a path of this computer"
