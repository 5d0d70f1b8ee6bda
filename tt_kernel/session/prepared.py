"""What a run is made from: what its session shares, and everything that was decided before it starts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

from tt_kernel.domain.canonical import Json, digest
from tt_kernel.domain.events import Event
from tt_kernel.domain.ids import Digest
from tt_kernel.domain.messages import Message
from tt_kernel.domain.ports import Approver
from tt_kernel.domain.runs import RunRecord, RunRequest
from tt_kernel.domain.specs import Snapshot
from tt_kernel.domain.worldinfo import Activation
from tt_kernel.providers.circuits import Circuits
from tt_kernel.providers.names import ModelFacts
from tt_kernel.runtime.surroundings import Surroundings
from tt_kernel.session.chats import Chats, ChatTurn
from tt_kernel.session.closing import Closing
from tt_kernel.session.opening import Opening
from tt_kernel.session.toolbox import Toolbox
from tt_kernel.store.budget import BudgetShelf
from tt_kernel.store.connections import ConnectionShelf
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.permissions import PermissionShelf
from tt_kernel.store.persist import PersistShelf
from tt_kernel.store.recordings import Recordings
from tt_kernel.store.secrets import Scrubber
from tt_kernel.toolkit.clockwork import Clockwork
from tt_kernel.tools.functions import FunctionTool


@dataclass(frozen=True)
class Shared:
    """What the runs of a session have in common."""

    folder: AgentFolder
    base_dir: Path
    notebook: str | None
    recordings: Recordings
    persist: PersistShelf
    scrubber: Scrubber
    chats: Chats
    toolbox: Toolbox
    connections: ConnectionShelf
    permissions: PermissionShelf
    budget: BudgetShelf
    approver: Approver | None
    interactive: bool
    relative: Callable[[str], str]
    circuits: Circuits = field(default_factory=Circuits)
    closing: Closing = field(default_factory=Closing)


@dataclass(frozen=True)
class Resumption:
    """A stopped run that goes on in its own folder (spec tauritavern §10.5).

    `events` are those of its journal; `read_states` come from its last checkpoint.
    """

    record: RunRecord
    events: tuple[Event, ...]
    last_seq: int
    checkpoint: str
    commits: int
    published: str | None
    read_states: Mapping[str, Json]
    guidance: str | None


@dataclass(frozen=True)
class Revision:
    """An answer that is to be changed (spec tauritavern §10.6): its run's files, and its text as `output/previous_output.md`."""

    files: Path
    text: str


@dataclass(frozen=True)
class PreparedRun:
    """A run that is fully decided and not yet started.

    `slot` is None until the stream is opened. `one_of_many`: it is a counted repeat; another's recording is not its own.
    `opening` replaces the assembled initial messages. `persist_base` is the memory that the run begins with.
    `surroundings` are the chat and the lorebooks, frozen. `made` is what `opening_of` makes of all this, where it was made in
    advance for many repeats.
    """

    request: RunRequest
    key: Digest
    snapshot: Snapshot
    functions: tuple[FunctionTool, ...]
    blobs: Mapping[str, bytes]
    history: tuple[Message, ...]
    facts: ModelFacts
    slot: int | None = None
    one_of_many: bool = False
    opening: tuple[Message, ...] | None = None
    persist_base: str | None = None
    resumption: Resumption | None = None
    revision: Revision | None = None
    chat: ChatTurn | None = None
    surroundings: Surroundings = Surroundings()
    made: Opening | None = None

    @cached_property
    def activation(self) -> Activation | None:
        """The active world info; its dice are the run's. None where no books are scanned."""
        chance = Clockwork(
            datetime.fromtimestamp(0, UTC), self.seed
        ).random  # of a clockwork, only its dice are used here
        return self.surroundings.activation(self.request.prompt, chance)

    @property
    def seed(self) -> int:
        """From the run key and the slot: each repeat rolls its own dice."""
        return int(digest([self.key, self.slot or 1])[:12], 16)

    @property
    def files_root(self) -> str:
        """The folder of the run whose files outlive it: the notebook's memory, or a session's files."""
        return "session" if self.chat else "persist"

    @property
    def kind(self) -> Literal["root", "revision"]:
        return "revision" if self.revision else "root"
