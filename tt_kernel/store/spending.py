"""What the runs of a notebook cost: from their records, from the journal while one goes on, and of runs that were deleted since.

`spent.json` keeps, of each run that pruning deleted, what `%agent costs` tells of it. An entry counts once its run has no folder
any more, so that it may be written before the folder goes: killed in between, nothing is lost and nothing counts twice.
"""

from collections.abc import Sequence

from pydantic import Field, TypeAdapter

from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.runs import TERMINAL, RunRecord, RunStatus
from tt_kernel.domain.turns import Usage
from tt_kernel.store.atomic import decoded, read_if_there, write_json
from tt_kernel.store.interruptions import used
from tt_kernel.store.journal import read_journal
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.locks import locked

NAME = "spent.json"


class Spent(Frozen):
    """What one run paid for: replayed turns are not in `usage`. `prompt` is None where it is not known any more."""

    run: str
    started_at: str
    model: str
    profile: str
    status: RunStatus
    usage: Usage = Usage()
    prompt: str | None = None


class _Document(Frozen):
    deleted: tuple[Spent, ...] = Field(default=())


_DOCUMENT = TypeAdapter(_Document)


def spent_of(record: RunRecord) -> Spent:
    return Spent(
        run=record.id,
        started_at=record.started_at,
        model=record.model,
        profile=record.profile.id,
        status=record.status,
        usage=record.usage.minus(record.replayed_usage),
        prompt=record.prompt,
    )


class Spending:
    """The books of one agent folder."""

    def __init__(self, folder: AgentFolder) -> None:
        self._folder = folder
        self._path = folder.root / NAME

    def all(self, records: Sequence[RunRecord]) -> list[Spent]:
        """Of the runs that there are, and of those that were deleted.

        Raises:
            StorageFault: `storage.spending_damaged`: the document cannot be read. What was spent is not forgotten by guessing.
        """
        there = {(record.id, record.started_at) for record in records}
        return [*map(self._spent, records), *(s for s in self._deleted() if (s.run, s.started_at) not in there)]

    def keep(self, record: RunRecord) -> None:
        """Remember a run that is about to be deleted. One that paid nothing needs no entry.

        Raises:
            StorageFault: It could not be written; the run must stay.
        """
        spent = spent_of(record).model_copy(update={"prompt": None})
        if spent.usage == Usage():
            return
        with locked(self._folder.root):
            others = [s for s in self._deleted() if (s.run, s.started_at) != (spent.run, spent.started_at)]
            write_json(self._path, _Document(deleted=(*others, spent)), durable=True)

    def _spent(self, record: RunRecord) -> Spent:
        """Of a run that goes on, perhaps in another kernel, the journal tells what it has used so far."""
        if record.status in TERMINAL:
            return spent_of(record)
        total, replayed = used([line.event for line in read_journal(self._folder.run(record.id).events)])
        return spent_of(record).model_copy(update={"usage": total.minus(replayed)})

    def _deleted(self) -> Sequence[Spent]:
        data = read_if_there(self._path)
        if not data:
            return ()
        document = decoded(_DOCUMENT, data)
        if document is None:
            raise StorageFault(
                "storage.spending_damaged",
                f"{self._path} cannot be read: it holds what deleted runs cost. Restore it from git, or delete it.",
            )
        return document.deleted
