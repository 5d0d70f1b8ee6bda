"""A session: what one notebook's runs share."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.domain.ports import Approver
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.runs import Run, RunRecord
from tt_kernel.domain.specs import Snapshot
from tt_kernel.domain.views import RunView
from tt_kernel.providers.circuits import Circuits
from tt_kernel.providers.names import credentials, describe_model
from tt_kernel.runtime.foreground import Foreground
from tt_kernel.session.beside import Beside
from tt_kernel.session.chats import Chats
from tt_kernel.session.closing import Closing
from tt_kernel.session.loading import ends_of, load_run
from tt_kernel.session.lookout import Lookout, kept
from tt_kernel.session.pictures import Pictures
from tt_kernel.session.planning import Planner
from tt_kernel.session.prepared import PreparedRun, Shared
from tt_kernel.session.slots import Slots
from tt_kernel.session.stream import RunStream
from tt_kernel.session.toolbox import Toolbox
from tt_kernel.store.budget import BudgetShelf
from tt_kernel.store.connections import ConnectionShelf
from tt_kernel.store.layout import AgentFolder, user_folder
from tt_kernel.store.permissions import PermissionShelf
from tt_kernel.store.persist import PersistShelf
from tt_kernel.store.profiles import ProfileShelf
from tt_kernel.store.recordings import Recordings
from tt_kernel.store.rewind import OnConflict, Rewound, rewind
from tt_kernel.store.run_checkpoints import RunCheckpoints
from tt_kernel.store.runs import RunIndex
from tt_kernel.store.secrets import Scrubber
from tt_kernel.store.sessions import SessionShelf
from tt_kernel.store.spending import Spending
from tt_kernel.store.workspace import Workspace
from tt_kernel.store.worldinfo import LoreShelf


class Session:
    """One notebook's (or script's) store, catalog, providers and runs wired together.

    Args:
        notebook: The notebook or script; its agent folder lies beside it. None: the working directory's `agent` folder.
        folder: The agent folder, if it is not the one beside the notebook.
        namespace: Where `@tool` functions are looked up, at call time.
        approver: Who answers approvals; None: nobody, so what would ask is denied.
        foreground: The thread that lends itself to tools while it waits.
        interactive: Whether a person can answer.
    """

    def __init__(
        self,
        notebook: Path | None = None,
        *,
        folder: Path | None = None,
        namespace: Mapping[str, object] | None = None,
        approver: Approver | None = None,
        foreground: Foreground | None = None,
        interactive: bool = False,
    ) -> None:
        self.notebook = notebook.absolute() if notebook is not None else None
        place = folder.absolute() if folder else None
        self.folder = AgentFolder(place) if place else AgentFolder.for_notebook(self.notebook or Path.cwd() / "agent")
        self.base_dir = self.notebook.parent if self.notebook else self.folder.root.parent
        self.namespace = namespace if namespace is not None else {}
        self.foreground = foreground or Foreground()
        self.profiles = ProfileShelf(self.folder, user_folder())
        self.connections = ConnectionShelf(user_folder())
        self.index = RunIndex(self.folder)
        self.recordings = Recordings(self.folder.recordings, self._line)
        beside = Beside(self.base_dir, self.folder, self.notebook)
        self.toolbox = Toolbox(self.namespace, self.foreground, beside)
        self.approver = approver
        self.interactive = interactive
        self.persist = PersistShelf(self.folder.persist)
        self.spending = Spending(self.folder)
        self.budget = BudgetShelf(self.folder)
        self.permissions = PermissionShelf(self.folder, user_folder())
        self.lookout = Lookout(self.folder, LoreShelf(self.folder, user_folder()))
        self._slots = Slots()
        self._circuits = Circuits()
        self._closing = Closing()
        self._active: list[RunStream] = []
        self._memory: dict[str, Run] = {}
        self._last: str | None = None
        self.chats = Chats(SessionShelf(self.folder), self.namespace)
        self.planner = Planner(
            folder=self.folder,
            base_dir=self.base_dir,
            notebook=self.notebook.name if self.notebook else None,
            profiles=self.profiles,
            connections=self.connections,
            persist=self.persist,
            index=self.index,
            toolbox=self.toolbox,
            chats=self.chats,
            recordings=self.recordings,
            lookout=self.lookout,
            load=self.load,
            earlier=self._earlier,
            scrubber=Scrubber.from_environment(also=credentials()),
        )
        self.prepare = self.planner.prepare
        self.prepare_replay = self.planner.prepare_replay
        self.prepare_branch = self.planner.prepare_branch
        self.prepare_resume = self.planner.prepare_resume
        self.prepare_fix = self.planner.prepare_fix
        self.prepare_chat = self.planner.prepare_chat

    @property
    def default_model(self) -> str | None:
        """The model of runs that name none, before the environment's TT_MODEL."""
        return self.planner.default_model

    @default_model.setter
    def default_model(self, name: str | None) -> None:
        self.planner.default_model = name

    # -- runs

    def rewind(self, run_id: str, on_conflict: OnConflict = "refuse") -> Rewound:
        """Put back the project files that a run changed (spec liveagent §5.10).

        Raises:
            RewindConflict: With `refuse`, when something was changed since.
        """
        record = self.index.find(run_id)
        return rewind(
            self.folder.run(record.id).checkpoints, Workspace(self.toolbox.beside.roots()), on_conflict=on_conflict
        )

    def rollback(self, run_id: str, checkpoint: str) -> None:
        """Make a run's workspace what it was at a checkpoint.

        Raises:
            UsageProblem: `agent.resume_run_active`.
            NotFound: No such run or checkpoint.
        """
        record = self.index.find(run_id)
        if record.status == "running":
            raise UsageProblem("agent.resume_run_active", f"Run {record.id} is still going on.")
        RunCheckpoints(self.folder.run(record.id)).restore(checkpoint)

    def stream(self, prepared: PreparedRun, *, cell: str | None = None, execution: str | None = None) -> RunStream:
        """The run as a stream of events; iterate it on the agent loop. `cell` and `execution` say which cell asks."""
        if prepared.slot is None:
            prepared = replace(prepared, slot=self._slots.take(prepared.key, cell, execution))
        if prepared.chat is not None:
            self.chats.passed(prepared.chat.record.name, prepared.chat, cell)
        stream = RunStream(self._shared(), prepared, self._remember, self._forget)
        self._active.append(stream)
        return stream

    def guide(self, text: str, run_id: str | None = None) -> None:
        """Say something to a run that goes on: the newest one, or the one with this id.

        Raises:
            UsageProblem: `agent.guidance_active_run_missing`, `agent.guidance_too_large`.
        """
        running = [s for s in self._active if s.is_running and (run_id is None or s.view().id.startswith(run_id))]
        if not running:
            which = f"Run {run_id}" if run_id else "No run"
            raise UsageProblem("agent.guidance_active_run_missing", f"{which} is going on in this notebook now.")
        running[-1].guide(text)

    def load(self, run_id: str) -> Run:
        """A run of this notebook by its id or a unique beginning of it; `last` is this session's last, else the newest."""
        wanted = self._last if run_id == "last" and self._last is not None else run_id
        if wanted in self._memory:
            return self._memory[wanted]
        return self.load_stored(wanted)

    def load_stored(self, run_id: str) -> Run:
        """A run as its folder has it, also where this session replayed an earlier part of it."""
        record = self._newest() if run_id == "last" else self.index.find(run_id)
        layout = self.folder.run(record.id)
        pictures = Pictures(self.recordings, lambda file: (layout.root / file.path).read_bytes())
        return load_run(record, layout, self.relative(record.id), pictures.draw)

    def ends(self, run_id: str) -> tuple[RunView, ...]:
        """What was drawn each time a stored run ended: once, and again after each resumption.

        Raises:
            NotFound: No such run.
        """
        record = self.index.find(run_id)
        layout = self.folder.run(record.id)
        pictures = Pictures(self.recordings, lambda file: (layout.root / file.path).read_bytes())
        return ends_of(record, layout, self.relative(record.id), pictures.draw)

    def tools(self, profile: str | Profile = "assistant", *, model: str | None = None) -> Snapshot:
        """The tools that a run of this profile would get."""
        chosen = self.profiles.load(profile) if isinstance(profile, str) else profile
        accepts = describe_model(model, base_dir=self.base_dir).accepts_images if model else True
        return self.toolbox.snapshot(chosen, (), self.toolbox.functions(()), accepts_images=accepts)

    def relative(self, run_id: str) -> str:
        """A run's folder as outputs show it."""
        return f"{self.folder.root.name}/runs/{run_id}"

    async def aclose(self) -> None:
        """End the processes that this session owns."""
        await self.toolbox.aclose()

    def see_as(self, run_id: str) -> None:
        """Let the runs that follow see the notebook's cells as a stored run saw them: for scripts, which have no cells.

        Raises:
            NotFound: No such run.
        """
        record = self.index.find(run_id)
        chat = kept(self.folder.run(record.id), record).chat
        self.lookout.chat = lambda: chat

    @property
    def shown(self) -> frozenset[str]:
        """Ids of the runs that this session has run, replayed or been given."""
        return frozenset(self._memory)

    # -- inside

    def _shared(self) -> Shared:
        return Shared(
            folder=self.folder,
            base_dir=self.base_dir,
            notebook=self.notebook.name if self.notebook else None,
            recordings=self.recordings,
            persist=self.persist,
            permissions=self.permissions,
            budget=self.budget,
            connections=self.connections,
            scrubber=self.planner.scrubber,
            chats=self.chats,
            toolbox=self.toolbox,
            circuits=self._circuits,
            closing=self._closing,
            approver=self.approver,
            interactive=self.interactive,
            relative=self.relative,
        )

    def _line(self, value: Json) -> bytes:
        return self.planner.scrubber.line(value)

    def _forget(self, stream: RunStream) -> None:
        if stream in self._active:
            self._active.remove(stream)

    def _remember(self, run: Run) -> None:
        self._memory[run.id] = run
        self._last = run.id
        if run.status == "completed" and not run.in_session:
            self.planner.state = run.persist_state

    def _earlier(self, continue_from: str | Run | None) -> Run | None:
        if continue_from is None or isinstance(continue_from, Run):
            return continue_from
        if continue_from == "last" and self._last is not None:
            return self._memory[self._last]
        try:
            return self.load(continue_from)
        except NotFound as error:
            raise UsageProblem(message=f"There is no run to continue: {error.message}") from error

    def _newest(self) -> RunRecord:
        records = self.index.list()
        if not records:
            raise NotFound(message=f"{self.folder.root.name} has no runs yet.")
        return records[0]
