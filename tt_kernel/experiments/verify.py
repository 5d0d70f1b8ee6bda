"""`tt verify`: execute a notebook from its record alone, offline, and hold every run against it.

The cells work on a copy of the agent folder: commands of theirs, such as `%agent profile set`, may write there, and in the end the
copy must be as the folder is. The notebook's own folder cannot be written to, unless the cells are given a copy of that too.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from tt_kernel.domain.errors import NotFound
from tt_kernel.domain.views import RUN_MIME, RunView
from tt_kernel.experiments.execute import CellAnswered, CellStarted, Execution, Progress, essence, execute_notebook
from tt_kernel.experiments.freeze import tampered
from tt_kernel.experiments.witness import Testimonies, Testimony
from tt_kernel.session.core import Session
from tt_kernel.store.layout import LOCK_NAME

Verdict = Literal["identical", "drift", "missing", "stale", "differs", "failed"]
"""`identical`: as recorded, to the byte. `drift`: a tool that is executed again gave something else. `missing`: nothing is
recorded. `stale`: prompt, profile, tool, skill or model changed since. `differs`: the record, or the saved output, says
something else. `failed`: the run ended with an error that is no replay's."""

_APART = frozenset({".git", ".venv", "node_modules", ".ipynb_checkpoints"})
"""What stands beside notebooks and is not theirs: it is not copied with their folder."""
_DERIVED = (".cache", LOCK_NAME)
_STALE = frozenset(
    {"model", "provider", "setting", "tool", "system", "prompt", "message", "image", "result", "permission", "other"}
)


@dataclass(frozen=True)
class RunVerdict:
    """One run.

    Attributes:
        cell: Which code cell, from 1.
        run: Its id; that of the nearest thing there is where it could not begin: empty.
        verdict: What came of it.
        why: Empty where it is identical.
    """

    cell: int
    run: str
    verdict: Verdict
    why: str = ""

    @property
    def line(self) -> str:
        return f"cell {self.cell:<3} {self.run or '-':12} {self.verdict:10} {self.why}".rstrip()


@dataclass(frozen=True)
class Verified:
    """A notebook. `problems` are those of cells, and of the notebook as a whole."""

    notebook: Path
    runs: tuple[RunVerdict, ...]
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.problems and all(run.verdict == "identical" for run in self.runs)

    @property
    def lines(self) -> list[str]:
        """The report, line by line."""
        good = sum(run.verdict == "identical" for run in self.runs)
        head = f"{self.notebook}: {'verified' if self.passed else 'not verified'}, {good} of {len(self.runs)} runs identical"
        return [head, *(f"  {run.line}" for run in self.runs), *(f"  {problem}" for problem in self.problems)]


async def verify_notebook(
    notebook: Path,
    *,
    kernel: str | None = None,
    cell_seconds: float | None = None,
    in_copy: bool = False,
    report: Callable[[Progress], None] = lambda _: None,
) -> Verified:
    """Execute a notebook strictly from its record.

    The network is off, only temporary folders can be written to, and every run is a replay, whatever its cell asks for. The
    notebook and its folder stay as they are.

    Args:
        notebook: The .ipynb file.
        kernel: Kernel name; None: the notebook's own.
        cell_seconds: Seconds that one cell may take.
        in_copy: Give the cells a copy of the notebook's whole folder, for code that writes beside the notebook.
        report: Told of the progress.

    Raises:
        NotFound: No such notebook or kernel.
        UsageProblem: The file is no notebook.
    """
    with tempfile.TemporaryDirectory(prefix="tt-verify-") as folder:
        session, said = Session(notebook), Path(folder, "report.jsonl")
        work, copy = _copied(notebook, session.folder.root, Path(folder, "copy"), whole=in_copy)
        execution = Execution(
            work, Path(folder, notebook.name), "replay", kernel, cell_seconds, said, agent_folders=copy.parent
        )
        watch = _Watch(session, Testimonies(said), report)
        executed = await execute_notebook(execution, watch)
        fresh, saved = _read(executed.destination), _read(notebook)
        runs = _without_expected(watch.runs, saved, fresh)
        told = {run.cell for run in runs if run.verdict != "identical"}
        problems = [*([executed.problem] if executed.problem else []), *tampered(notebook), *_failed_cells(fresh, told)]
        problems += _changed(session.folder.root, copy)
    return Verified(notebook, (*runs, *_other_outputs(saved, fresh, runs)), tuple(problems))


def _copied(notebook: Path, agent_folder: Path, target: Path, *, whole: bool) -> tuple[Path, Path]:
    """The notebook to execute, and the copy of its agent folder, whatever is derived left out."""
    folder = notebook.resolve().parent
    if whole:

        def others(place: str, names: list[str]) -> set[str]:
            return {name for name in names if Path(place) == folder and (name in _APART or name.endswith(".agent"))}

        shutil.copytree(folder, target / folder.name, ignore=others, symlinks=True)
    copy = (target / folder.name if whole else target) / agent_folder.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    if agent_folder.is_dir():
        shutil.copytree(agent_folder, copy, ignore=shutil.ignore_patterns(*_DERIVED))
    return (copy.parent / notebook.name if whole else notebook), copy


def _changed(agent_folder: Path, copy: Path) -> Iterator[str]:
    """What the cells left different: a replay changes nothing."""
    before, after = _files(agent_folder), _files(copy)
    for name in sorted({*before, *after}):
        if name not in before:
            yield f"The cells made {agent_folder.name}/{name}."
        elif name not in after:
            yield f"The cells deleted {agent_folder.name}/{name}."
        elif not _same(before[name], after[name]):
            yield f"The cells changed {agent_folder.name}/{name}."


def _files(folder: Path) -> dict[str, Path]:
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {name.as_posix(): path for name, path in found.items() if not {*name.parts} & {*_DERIVED}}


def _same(one: Path, other: Path) -> bool:
    """By time and size, as they were copied; by content, if something was written."""
    a, b = one.stat(), other.stat()
    return (a.st_size, a.st_mtime_ns) == (b.st_size, b.st_mtime_ns) or one.read_bytes() == other.read_bytes()


def _without_expected(runs: list[RunVerdict], saved: Any, fresh: Any) -> list[RunVerdict]:
    """Without the misses that a cell asked for and handled itself: it puts out what it did when it was saved."""
    pairs = enumerate(zip(_code(saved), _code(fresh), strict=True), start=1)
    as_before = {n for n, (old, new) in pairs if essence(old) == essence(new) and not any(_errors(new))}
    return [run for run in runs if run.run or run.verdict == "identical" or run.cell not in as_before]


@dataclass
class _Watch:
    """Reads what the kernel reports after each cell."""

    session: Session
    testimonies: Testimonies
    then: Callable[[Progress], None]
    cell: int = 0
    runs: list[RunVerdict] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        if isinstance(progress, CellStarted):
            self.cell = progress.number
        elif isinstance(progress, CellAnswered):
            self.runs += [verdict(self.cell, said, self._recorded(said.id)) for said in self.testimonies.news()]
        self.then(progress)

    def _recorded(self, run_id: str) -> tuple[RunView, ...]:
        try:
            return self.session.ends(run_id) if run_id else ()
        except NotFound:
            return ()  # its folder was pruned; the recordings are what was replayed


def verdict(cell: int, said: Testimony, recorded: Sequence[RunView]) -> RunVerdict:
    """What came of one run, by what it is recorded as: a run that was resumed has ended more than once."""
    if said.code == "replay.miss":
        found: Verdict = "drift" if said.kind == "drift" else "stale" if said.kind in _STALE else "missing"
        return RunVerdict(cell, said.id, found, said.message)
    if said.status != "completed" and not said.replayed:
        return RunVerdict(cell, said.id, "failed", said.message or f"It ended as {said.status}.")
    if recorded and said.view is not None and said.view not in recorded:
        return RunVerdict(cell, said.id, "differs", _difference(recorded[-1], said.view))
    return RunVerdict(cell, said.id, "identical")


def _difference(recorded: RunView, now: RunView) -> str:
    old, new = recorded.model_dump(mode="json"), now.model_dump(mode="json")
    name = next(name for name in old if old[name] != new[name])
    return f"The record's {name} is {_short(old[name])}, the replay's {_short(new[name])}."


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."  # noqa: PLR2004  a line of a report


def _failed_cells(fresh: Any, told: set[int]) -> Iterator[str]:
    """Cells that raised and may not, other than those whose run is reported already."""
    for number, cell in enumerate(_code(fresh), start=1):
        errors = _errors(cell)
        if errors and number not in told and "raises-exception" not in cell.metadata.get("tags", []):
            yield f"cell {number:<3} {errors[0].ename}: {errors[0].evalue}".rstrip()


def _errors(cell: Any) -> list[Any]:
    return [output for output in cell.outputs if output.output_type == "error"]


def _other_outputs(saved: Any, fresh: Any, runs: list[RunVerdict]) -> Iterator[RunVerdict]:
    """Runs whose saved output is not what the record says: edited by hand, or of another version."""
    told = {run.cell for run in runs if run.verdict != "identical"}
    for number, (before, after) in enumerate(zip(_code(saved), _code(fresh), strict=True), start=1):
        old, new = _views(before), _views(after)
        if old and old != new and number not in told:
            run = str(old[0].get("id", ""))
            yield RunVerdict(number, run, "differs", "The saved output is not that of the record.")


def _views(cell: Any) -> list[dict[str, Any]]:
    return [output.data[RUN_MIME] for output in cell.outputs if RUN_MIME in output.get("data", {})]


def _code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def _read(path: Path) -> Any:
    nbformat: Any = import_module("nbformat")  # slow, and untyped
    return nbformat.read(path, as_version=4)
