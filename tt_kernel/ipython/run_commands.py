"""`%agent resume fix rollback rewind guide prune`: what is done with a run after it began."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.ipython.listing import Lines, Listing
from tt_kernel.ipython.notebook import Notebook

if TYPE_CHECKING:
    from tt_kernel.domain.runs import Run, RunRecord
    from tt_kernel.experiments.pruning import Item
    from tt_kernel.session.prepared import PreparedRun
    from tt_kernel.store.rewind import OnConflict

_RUN = re.compile(r"last|[0-9a-f]{1,8}(\.\d+)?")
MOST = 10_000
"""Runs that pruning can be told to keep."""
FILTERS = ("--status", "--profile", "--model", "--session")


@dataclass(frozen=True)
class Pending:
    """A run that a command decided; the magic starts it and shows it like any other. `ended`: it has been run before."""

    prepared: "PreparedRun | None" = None
    ended: "Run | None" = None


def names_run(words: Sequence[str], *, more: bool = False) -> bool:
    """Whether words are those of a command about a run; `more`: it needs words after the run."""
    return bool(words) and _RUN.fullmatch(words[0]) is not None and (not more or len(words) > 1)


def resume(notebook: Notebook, words: Sequence[str]) -> Pending:
    """Go on with a stopped run. One that was resumed to its end before is only shown again."""
    session = notebook.session
    record = _record(notebook, words[0])
    if record.status == "completed" and _was_resumed(notebook, record.id):
        return Pending(ended=session.load_stored(record.id))
    return Pending(session.prepare_resume(record.id, " ".join(words[1:]) or None))


def fix(notebook: Notebook, words: Sequence[str]) -> Pending:
    """Change the answer of a run: a new run with its tools, files and conversation."""
    return Pending(notebook.session.prepare_fix(_record(notebook, words[0]).id, " ".join(words[1:])))


def rollback(notebook: Notebook, words: Sequence[str]) -> Lines:
    record = _record(notebook, words[0])
    if len(words) < 2:  # noqa: PLR2004  run and checkpoint
        from tt_kernel.store.run_checkpoints import RunCheckpoints  # noqa: PLC0415

        known = RunCheckpoints(notebook.session.folder.run(record.id)).ids()
        raise UsageProblem(message=f"%agent rollback {words[0]} CHECKPOINT; there are: {', '.join(known) or 'none'}.")
    notebook.session.rollback(record.id, words[1])
    return Lines(f"The workspace of run {record.id} is as it was at {words[1]}.")


def rewind(notebook: Notebook, words: Sequence[str]) -> Lines:
    """Put back the project files that a run changed."""
    flags = {word for word in words[1:] if word.startswith("--")}
    unknown = sorted(flags - {"--keep", "--overwrite"}) + [w for w in words[1:] if not w.startswith("--")]
    if unknown or len(flags) > 1:
        raise UsageProblem(message="%agent rewind RUN [--keep | --overwrite]: what to do with files changed since.")
    on_conflict: OnConflict = "keep" if "--keep" in flags else "overwrite" if "--overwrite" in flags else "refuse"
    rewound = notebook.session.rewind(_record(notebook, words[0]).id, on_conflict)
    lines = [f"put back   {path}" for path in rewound.restored]
    lines += [f"left       {path}: {reason}" for path, reason in rewound.kept]
    lines += [f"unchanged  {path}" for path in rewound.unchanged]
    return Lines("\n".join(lines) or "The run changed no project file.")


def guide(notebook: Notebook, words: Sequence[str]) -> Lines:
    notebook.session.guide(" ".join(words))
    return Lines("The agent reads it before its next turn.")


def is_guidance(_: Sequence[str]) -> bool:
    return True


def prune(notebook: Notebook, words: Sequence[str]) -> "Listing[Item]":
    """What would be deleted, of the runs that are named if any are; with --yes it is."""
    from tt_kernel.experiments.pruning import COLUMNS  # noqa: PLC0415
    from tt_kernel.experiments.pruning import prune as pruned  # noqa: PLC0415
    from tt_kernel.store.retention import Retention  # noqa: PLC0415

    named = list(itertools.takewhile(lambda word: _RUN.fullmatch(word) is not None, words))
    options = _numbers(words[len(named) :], ("--keep", "--full"))
    if named and options:
        raise UsageProblem(message="%agent prune RUN... deletes these runs; --keep and --full are for all others.")
    chosen = [str(_record(notebook, run).id) for run in named]
    retention = Retention(
        keep_runs=options.get("--keep", Retention().keep_runs), keep_full=options.get("--full", Retention().keep_full)
    )
    report = pruned(notebook.session, retention, runs=chosen, carry="--yes" in words)
    return Listing(report.items, COLUMNS, [item.row for item in report.items], report.notes)


def is_prune(words: Sequence[str]) -> bool:
    return all(word.startswith("--") or word.isdigit() or _RUN.fullmatch(word) for word in words)


def runs(notebook: Notebook, words: Sequence[str]) -> "Listing[RunRecord]":
    """The runs, newest first, that fit all filters."""
    wanted = dict(zip(words[::2], words[1::2], strict=False))
    records = [r for r in notebook.session.index.list() if _fits(r, wanted)]
    rows = [(r.id, r.status, r.profile.id, r.model, str(r.turns), str(r.tool_calls), r.prompt) for r in records]
    empty = f"{notebook.session.folder.root.name} has no {'such runs' if wanted else 'runs yet'}."
    columns = ("run", "status", "profile", "model", "turns", "calls", "prompt")
    return Listing(records, columns, rows, [] if rows else [empty])


def is_runs(words: Sequence[str]) -> bool:
    return len(words) % 2 == 0 and all(word in FILTERS for word in words[::2])


def _fits(record: "RunRecord", wanted: dict[str, str]) -> bool:
    facts = {
        "--status": record.status,
        "--profile": record.profile.id,
        "--model": record.model,
        "--session": record.session or "",
    }
    return all(facts[name] == value for name, value in wanted.items())


def _record(notebook: Notebook, run_id: str) -> "RunRecord":
    session = notebook.session
    return session.index.find(session.load("last").id if run_id == "last" else run_id)


def _was_resumed(notebook: Notebook, run_id: str) -> bool:
    from tt_kernel.store.journal import read_journal  # noqa: PLC0415

    return any(e.event.type == "run_resumed" for e in read_journal(notebook.session.folder.run(run_id).events))


def _numbers(words: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    queue = [word for word in words if word != "--yes"]
    while queue:
        name = queue.pop(0)
        if name not in names or not queue or not queue[0].isdigit() or int(queue[0]) > MOST:
            raise UsageProblem(
                message="%agent prune [RUN... | --keep RUNS --full RUNS] [--yes]: numbers from 0 to 10000."
            )
        found[name] = int(queue.pop(0))
    return found
