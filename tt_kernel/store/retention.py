"""Which runs to keep: spec tauritavern §7.8. A plan first, then the deed; never by itself.

- The newest `keep_runs` ended runs stay; older ones are deleted.
- Of those that stay, all but the newest `keep_full` lose what is heavy (arguments, results, checkpoints); journal, input and
  answer stay.
- A run that goes on, or that something refers to (a kept run, a cell, a session), stays as it is and is reported as blocked: what
  a cell shows it may also read from the run's folder. What fails is reported and does not stop the rest.
- What a deleted run cost stays in the books (`spending.py`). A folder is moved out of the way before it is deleted: killed in
  between, it is a left-over and not half a run.
Recordings are not touched here: a deleted run still replays (`garbage.py` tells which nobody needs).
"""

import secrets
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.runs import TERMINAL, RunRecord
from tt_kernel.store.atomic import TEMPORARY_PREFIX
from tt_kernel.store.layout import AgentFolder, RunLayout
from tt_kernel.store.locks import hold
from tt_kernel.store.spending import Spending

HEAVY = ("tool-args", "tool-results", "checkpoints")


class Retention(Frozen):
    """How many ended runs are kept at all, and how many of them in full."""

    keep_runs: int = Field(default=100, ge=0, le=10_000)
    keep_full: int = Field(default=20, ge=0, le=10_000)


@dataclass(frozen=True)
class Step:
    """`size` is what it frees, in bytes."""

    run: str
    action: str
    size: int


@dataclass(frozen=True)
class Blocked:
    run: str
    reason: str


@dataclass(frozen=True)
class PrunePlan:
    steps: tuple[Step, ...]
    blocked: tuple[Blocked, ...]

    @property
    def size(self) -> int:
        return sum(step.size for step in self.steps)


@dataclass(frozen=True)
class PruneOutcome:
    done: tuple[Step, ...]
    failed: tuple[Blocked, ...]


def plan_prune(
    folder: AgentFolder,
    records: Sequence[RunRecord],
    retention: Retention,
    named: Mapping[str, str] | None = None,
    chosen: Collection[str] = (),
) -> PrunePlan:
    """What would be done.

    Args:
        records: All runs, newest first.
        named: Run -> who else refers to it, as a sentence.
        chosen: Only these runs are meant, whatever their age.
    """
    ended = [record for record in records if record.status in TERMINAL]
    kept, old = ended[: retention.keep_runs], ended[retention.keep_runs :]
    if chosen:
        old, kept = [r for r in ended if r.id in chosen], [r for r in ended if r.id not in chosen]
        retention = Retention(keep_runs=len(old), keep_full=len(kept))
    going_on = [r for r in records if r.status not in TERMINAL and (not chosen or r.id in chosen)]
    blocked = [Blocked(r.id, "it is still going on") for r in going_on]
    goes_on = _references([*kept, *(r for r in records if r.status not in TERMINAL)])
    referred = {**(named or {}), **{run: f"run {other} goes on from it" for run, other in goes_on.items()}}
    steps = []
    for record in old:
        if record.id in referred:
            blocked.append(Blocked(record.id, referred[record.id]))
        else:
            steps.append(Step(record.id, "delete", _size(folder.run(record.id).root)))
    for record in kept[retention.keep_full :]:
        size = sum(_size(folder.run(record.id).root / name) for name in HEAVY)
        if size and record.id in referred:
            blocked.append(Blocked(record.id, referred[record.id]))
        elif size:
            steps.append(Step(record.id, "slim", size))
    return PrunePlan(tuple(steps), tuple(blocked))


def carry_out(folder: AgentFolder, plan: PrunePlan, records: Sequence[RunRecord]) -> PruneOutcome:
    """Do what a plan says. Each step stands alone.

    Args:
        records: As for the plan.
    """
    known = {str(record.id): record for record in records}
    spending = Spending(folder)
    done, failed = [], []
    for step in plan.steps:
        layout = folder.run(step.run)
        try:
            if step.action == "delete":
                spending.keep(known[step.run])
                _delete(layout)
            else:
                _slim(layout)
        except StorageFault as fault:
            failed.append(Blocked(step.run, fault.message))
        except OSError as error:
            failed.append(Blocked(step.run, f"{error.strerror or error}: {error.filename or layout.root}"))
        else:
            done.append(step)
    return PruneOutcome(tuple(done), tuple(failed))


def _delete(layout: RunLayout) -> None:
    """Nobody goes on with the run meanwhile: resuming takes the same lock."""
    if not layout.root.exists():
        return
    aside = layout.root.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(6)}")
    held = hold(layout.root, wait=0)
    try:
        with suppress(PermissionError):
            layout.root.rename(aside)
    finally:
        held.release()
    if layout.root.exists():  # Windows moves no folder in which a file is open
        layout.root.rename(aside)
    shutil.rmtree(aside)


def _slim(layout: RunLayout) -> None:
    for name in HEAVY:
        if (layout.root / name).exists():
            shutil.rmtree(layout.root / name)


def _references(records: Sequence[RunRecord]) -> dict[str, str]:
    """Run -> a kept run that refers to it."""
    found: dict[str, str] = {}
    for record in records:
        branch = record.branch.of if record.branch else None
        for other in (record.continue_from, record.revises, record.persist_base, branch):
            if other is not None:
                found.setdefault(str(other), str(record.id))
    return found


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0
