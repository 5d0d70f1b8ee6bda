"""`prune`: what a notebook's agent folder could do without, and deleting it. A plan first; nothing goes by itself.

In this order: runs beyond the retention (`store/retention.py`), recordings whose runs are gone and that nothing refers to, images of
neither, unfinished writes of killed processes, derived data. After it the notebook replays as before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.runs import TERMINAL, RunRecord
from tt_kernel.session.core import Session
from tt_kernel.store.garbage import Waste, throw_away, waste
from tt_kernel.store.references import references
from tt_kernel.store.retention import PrunePlan, Retention, Step, carry_out, plan_prune

COLUMNS = ("what", "name", "action", "frees")
MANY = 4
_RECORDED = frozenset({"recordings", "blob"})
_TOGETHER = {"blob": "images", "left-over": "unfinished", "cache": "derived data"}


@dataclass(frozen=True)
class Item:
    """A line of a report: something to delete, and the bytes that frees."""

    what: str
    name: str
    action: str
    size: int

    @property
    def row(self) -> tuple[str, str, str, str]:
        return (self.what, self.name, self.action, size_text(self.size))


@dataclass(frozen=True)
class Pruned:
    """What would be deleted, or was. `notes` say what stays and why; what `failed` is among them."""

    items: tuple[Item, ...]
    notes: tuple[str, ...]
    failed: tuple[str, ...] = ()


def prune(
    session: Session, retention: Retention | None = None, *, runs: Sequence[str] = (), carry: bool = False
) -> Pruned:
    """Tell what could be deleted, or delete it.

    Args:
        session: Of the notebook.
        retention: How many runs to keep.
        runs: Ids or beginnings of ids: only these runs, whatever their age, and the recordings that nobody else needs.
        carry: Do it.

    Raises:
        NotFound: No such run.
        StorageFault: A file that refers to runs cannot be read: nothing was deleted.
    """
    records = session.index.list()
    refers = references(session.folder, session.notebook)
    chosen = {str(session.index.find(run).id) for run in runs}
    plan = plan_prune(session.folder, records, retention or Retention(), refers.named, chosen)
    leaving = {step.run for step in plan.steps if step.action == "delete"}
    needed = set(refers.named) | session.shown | {str(r.id) for r in records if str(r.id) not in leaving}
    found = waste(session.folder, needed, frozen=refers.text)
    notes = list(_stays(plan))
    going_on = [r.id for r in records if r.status not in TERMINAL]
    unsure = f"run {going_on[0]} is still going on" if going_on else refers.unsure
    held = [item for item in found if unsure and item.kind in _RECORDED]
    if held:
        found = [item for item in found if item not in held]
        notes.append(f"Recordings without a run stay ({size_text(_sum(held))}): {unsure}.")
    if carry:
        return _carried(session, plan, records, found, notes)
    items = (*_steps(plan.steps), *_grouped(found))
    size = size_text(_sum(items))
    notes.append(f"Nothing was deleted yet. --yes does it and frees {size}." if items else "There is nothing to prune.")
    return Pruned(items, tuple(notes))


def _carried(
    session: Session, plan: PrunePlan, records: Sequence[RunRecord], found: Sequence[Waste], notes: Sequence[str]
) -> Pruned:
    outcome = carry_out(session.folder, plan, records)
    failed = [f"run {b.run} failed: {b.reason}" for b in outcome.failed]
    gone = []
    for item in found:
        if outcome.failed and item.kind in _RECORDED:
            continue  # a run that should have gone still needs its recordings
        try:
            throw_away(session.folder, item)
        except StorageFault as fault:
            failed.append(fault.message)
        else:
            gone.append(item)
    items = (*_steps(outcome.done), *_grouped(gone))
    said = f"{size_text(_sum(items))} freed." if items else "There is nothing to prune."
    return Pruned(items, (*notes, *failed, said), tuple(failed))


def _stays(plan: PrunePlan) -> Iterator[str]:
    """One line a run, but one for all those of the notebook's cells where they are many."""
    of_cells = [b for b in plan.blocked if b.reason.startswith("cell ")]
    for blocked in plan.blocked:
        if len(of_cells) < MANY or blocked not in of_cells:
            yield f"run {blocked.run} stays: {blocked.reason}"
    if len(of_cells) >= MANY:
        yield f"{len(of_cells)} runs stay: cells of the notebook show them"


def _steps(steps: Sequence[Step]) -> list[Item]:
    return [Item("run", step.run, step.action, step.size) for step in steps]


def _grouped(found: Sequence[Waste]) -> list[Item]:
    """A line for each chain, one for all files of another kind."""
    items = [
        Item("recordings", item.path.stem, _forgets(item), item.size) for item in found if item.kind == "recordings"
    ]
    for kind, what in _TOGETHER.items():
        files = [item for item in found if item.kind == kind]
        if files:
            name = files[0].path.name if kind == "cache" else f"{len(files)} files"
            items.append(Item(what, name, "delete", _sum(files)))
    return items


def _forgets(item: Waste) -> str:
    return "delete" if len(item.runs) == item.of else f"forget {len(item.runs)} of {item.of} runs"


def _sum(items: Sequence[Item] | Sequence[Waste]) -> int:
    return sum(item.size for item in items)


def size_text(size: int) -> str:
    """`12.3 kB`."""
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{size / 1000:.1f} kB"  # noqa: PLR2004
