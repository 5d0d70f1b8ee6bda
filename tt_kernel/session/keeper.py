"""PreImages of a run that has a folder: before commits and at its end (spec tauritavern §7.7)."""

from dataclasses import dataclass
from typing import Literal

from tt_kernel.domain.events import CheckpointCreated, Event
from tt_kernel.runtime.invocation import Invocation
from tt_kernel.session.ledger import Ledger
from tt_kernel.store.run_checkpoints import CheckpointState, Progress, RunCheckpoints
from tt_kernel.tools.workspace import ReadStates


@dataclass
class Keeper:
    ledger: Ledger
    invocation: Invocation
    reads: ReadStates
    foreground: bool

    def before_commit(self) -> list[Event]:
        return self.take("commit", "tools")

    def take(self, reason: Literal["commit", "end"], step: Literal["model", "tools", "exited"]) -> list[Event]:
        """A checkpoint and its event; nothing while the run is only replayed."""
        if not self.ledger.is_live:
            return []
        checkpoint = RunCheckpoints(self.ledger.folder.layout).take(
            run=self.ledger.shown_id,
            terminal_seq=self.ledger.journal.last_seq,
            reason=reason,
            state=CheckpointState(
                foreground=self.foreground,
                commits=self.invocation.progress.commits,
                published=self.invocation.progress.published,
            ),
            progress=Progress(
                turn=self.invocation.meter.number,
                step=step,
                read_states={path: known.model_dump(mode="json") for path, known in self.reads.dump().items()},
                drift_attempts=self.invocation.drifts,
            ),
        )
        return [self.ledger.write(CheckpointCreated(checkpoint=checkpoint.id, reason=reason))]
