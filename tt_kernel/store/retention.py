"""Which runs to keep: spec tauritavern §7.8. A plan first, then the deed; never by itself.

- The newest `keep_runs` ended runs stay; older ones are deleted.
- Of those that stay, all but the newest `keep_full` lose what is heavy (arguments, results, checkpoints); journal, input and
  answer stay.
- A run that goes on, or that a kept run refers to, is reported as blocked. What fails is reported and does not stop the rest.
Recordings are not touched: a deleted run still replays.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.runs import TERMINAL, RunRecord
from tt_kernel.store.layout import AgentFolder

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


def plan_prune(folder: AgentFolder, records: Sequence[RunRecord], retention: Retention) -> PrunePlan:
    """What would be done.

    Args:
        records: All runs, newest first.
    """
    ended = [record for record in records if record.status in TERMINAL]
    kept, old = ended[: retention.keep_runs], ended[retention.keep_runs :]
    blocked = [Blocked(r.id, "it is still going on") for r in records if r.status not in TERMINAL]
    referred = _references([*kept, *(r for r in records if r.status not in TERMINAL)])
    steps = []
    for record in old:
        if record.id in referred:
            blocked.append(Blocked(record.id, f"run {referred[record.id]} goes on from it"))
        else:
            steps.append(Step(record.id, "delete", _size(folder.run(record.id).root)))
    for record in kept[retention.keep_full :]:
        size = sum(_size(folder.run(record.id).root / name) for name in HEAVY)
        if size:
            steps.append(Step(record.id, "slim", size))
    return PrunePlan(tuple(steps), tuple(blocked))


def carry_out(folder: AgentFolder, plan: PrunePlan) -> PruneOutcome:
    """Do what a plan says. Each step stands alone."""
    done, failed = [], []
    for step in plan.steps:
        root = folder.run(step.run).root
        try:
            for target in [root] if step.action == "delete" else [root / name for name in HEAVY]:
                if target.exists():
                    shutil.rmtree(target)
        except OSError as error:
            failed.append(Blocked(step.run, f"{error.strerror or error}: {error.filename or root}"))
        else:
            done.append(step)
    return PruneOutcome(tuple(done), tuple(failed))


def _references(records: Sequence[RunRecord]) -> dict[str, str]:
    """Run -> a kept run that refers to it."""
    found: dict[str, str] = {}
    for record in records:
        for other in (record.continue_from, record.revises, record.persist_base):
            if other is not None:
                found.setdefault(str(other), str(record.id))
    return found


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()) if folder.exists() else 0
