"""Where a run's record goes: nowhere while everything is replayed, to its own folder from the first live step on."""

from dataclasses import dataclass, field

from tt_kernel.domain.events import Event
from tt_kernel.domain.ids import Digest, RunId
from tt_kernel.domain.runs import RunRecord, RunRequest
from tt_kernel.runtime.guidance import Guidance
from tt_kernel.runtime.recorder import Recorder
from tt_kernel.store.journal import Journal
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.recordings import RecordedRun
from tt_kernel.store.runs import RunFolder
from tt_kernel.store.tape import Tape


@dataclass
class Ledger:
    """One run's folder, journal and tape, kept in step.

    `go_live` is called before anything happens that a replay would not do: it gives the run its id and folder, writes what
    waited, and tells the tape who records.
    """

    agent_folder: AgentFolder
    folder: RunFolder
    journal: Journal
    tape: Tape
    request: RunRequest
    key: Digest
    slot: int
    seed: int
    started_at: str
    notebook: str | None
    run_id: RunId | None = None
    record: RunRecord | None = None
    recorder: Recorder = field(init=False)
    guidance: Guidance = field(default_factory=Guidance)

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.journal)

    @property
    def is_live(self) -> bool:
        return self.run_id is not None

    @property
    def shown_id(self) -> str:
        """The run's id; while everything is replayed, that of the run it is replayed from."""
        return self.run_id or self.tape.source or self.key[:8]

    def write(self, event: Event) -> Event:
        return self.recorder.write(event)

    def go_live(self) -> None:
        """Raises StorageFault when the folder cannot be made."""
        if self.run_id is not None:
            return
        self.folder.save(
            RunRecord(
                id=RunId(self.key[:8]),
                key=self.key,
                slot=self.slot,
                status="running",
                profile=self.request.profile,
                model=self.request.model,
                connection=self.request.connection,
                prompt=self.request.prompt,
                attachments=self.request.attachments,
                extra_tools=self.request.extra_tools,
                continue_from=self.request.continue_from,
                revises=self.request.revises,
                session=self.request.session,
                persist_base=self.request.persist_base,
                chat_digest=self.request.chat_digest,
                branch=self.request.branch,
                mode=self.request.mode,
                seed=self.seed,
                started_at=self.started_at,
                notebook=self.notebook,
            )
        )
        run_id = self.run_id = self.folder.materialise(self.agent_folder, self.key)
        self.record = self.folder.record
        self.journal.attach(self.folder.layout.events, run_id)
        self.tape.go_live(
            RecordedRun(id=run_id, key=self.key, slot=self.slot, started_at=self.started_at, seed=self.seed)
        )

    def close(self, end: RunRecord | None) -> None:
        """Write the final record, or drop what was only staged."""
        self.journal.close()
        if self.record is None:
            self.folder.discard()
            return
        if end is not None:
            self.record = self.folder.save(end)
        self.folder.release()
