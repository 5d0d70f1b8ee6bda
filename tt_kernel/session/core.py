"""A session: what one notebook's runs share."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tt_kernel.domain.canonical import Json, digest
from tt_kernel.domain.connections import Connection
from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.domain.messages import Message, UserMessage
from tt_kernel.domain.ports import Approver
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.runs import RecordMode, Run, RunRecord, RunRequest
from tt_kernel.domain.specs import Snapshot
from tt_kernel.providers.names import ModelFacts, credentials, describe_model
from tt_kernel.runtime.foreground import Foreground
from tt_kernel.runtime.guidance import wrapped
from tt_kernel.session.attachments import attach
from tt_kernel.session.loading import load_run, resumed_conversation
from tt_kernel.session.models import Target, startable, target_of
from tt_kernel.session.pictures import Pictures
from tt_kernel.session.prepared import PreparedRun, Revision, Shared
from tt_kernel.session.resume import resumption_of, stored_snapshot
from tt_kernel.session.settings import with_settings
from tt_kernel.session.slots import Slots
from tt_kernel.session.stream import RunStream
from tt_kernel.session.toolbox import Toolbox
from tt_kernel.store.connections import ConnectionShelf
from tt_kernel.store.layout import AgentFolder, user_folder
from tt_kernel.store.permissions import PermissionShelf
from tt_kernel.store.persist import PersistShelf
from tt_kernel.store.profiles import ProfileShelf
from tt_kernel.store.recordings import Recordings
from tt_kernel.store.run_checkpoints import RunCheckpoints
from tt_kernel.store.runs import RunIndex
from tt_kernel.store.secrets import Scrubber

LAST_STATE = "last"
"""`persist_base`: what the session's last run left."""
MODES: tuple[RecordMode, ...] = ("auto", "live", "replay", "off")


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
        self.foreground = foreground or Foreground()
        self.profiles = ProfileShelf(self.folder, user_folder())
        self.connections = ConnectionShelf(user_folder())
        self.index = RunIndex(self.folder)
        self.default_model: str | None = None
        self.scrubber = Scrubber.from_environment(also=credentials())
        self.recordings = Recordings(self.folder.recordings, self._line)
        self.toolbox = Toolbox(namespace if namespace is not None else {}, self.foreground)
        self.approver = approver
        self.interactive = interactive
        self.persist = PersistShelf(self.folder.persist)
        self.permissions = PermissionShelf(self.folder, user_folder())
        self._slots = Slots()
        self._active: list[RunStream] = []
        self._memory: dict[str, Run] = {}
        self._last: str | None = None
        self._state: str | None = None

    # -- runs

    def prepare(
        self,
        prompt: str,
        *,
        profile: str | Profile = "assistant",
        model: str | None = None,
        tools: Sequence[str] = (),
        functions: Sequence[Callable[..., object]] = (),
        continue_from: str | Run | None = None,
        mode: RecordMode | None = None,
        settings: Mapping[str, Json] | None = None,
        images: Sequence[bytes] = (),
        raw: bool = False,
        persist_base: str | None = LAST_STATE,
    ) -> PreparedRun:
        """Resolve everything that decides a run; nothing is executed yet. Parameters as of `tt_kernel.run`.

        `continue_from="last"` is the last run of this session, else of the folder. `persist_base` is the memory state to begin
        with; by default what the session's last run left.

        Raises:
            UserError: Unknown profile, field, tool, run or model, or no model at all.
        """
        chosen = self.profiles.load(profile) if isinstance(profile, str) else profile
        chosen = startable(with_settings(chosen, settings or {}))
        target = self._target(chosen, model)
        earlier = self._earlier(continue_from)
        attachments, blobs = attach(images)
        request = RunRequest(
            prompt=self.scrubber.text(prompt),
            profile=chosen,
            model=target.name,
            connection=target.connection,
            attachments=attachments,
            extra_tools=tuple(tools),
            continue_from=earlier.id if earlier else None,
            mode=self._mode(mode),
            raw=raw,
            persist_base=self._state if persist_base == LAST_STATE else persist_base,
        )
        return self._prepared(request, blobs, earlier.messages if earlier else (), functions)

    def prepare_replay(self, run_id: str, *, functions: Sequence[Callable[..., object]] = ()) -> PreparedRun:
        """The stored run's own request, in mode `replay`."""
        record = self.index.find(run_id)
        earlier = self._earlier(record.continue_from)
        request = RunRequest(
            prompt=record.prompt,
            profile=record.profile,
            model=record.model,
            connection=record.connection,
            attachments=record.attachments,
            extra_tools=record.extra_tools,
            continue_from=record.continue_from,
            persist_base=record.persist_base,
            mode="replay",
        )
        prepared = self._prepared(request, {}, earlier.messages if earlier else (), functions)
        return replace(prepared, slot=record.slot)

    def prepare_resume(
        self, run_id: str, guidance: str | None = None, *, functions: Sequence[Callable[..., object]] = ()
    ) -> PreparedRun:
        """Go on with a stopped run in its own folder; `guidance` is said to the model first.

        Raises:
            UsageProblem: It cannot go on; the codes are in `session/resume.py`.
        """
        record = self.index.find(run_id)
        layout = self.folder.run(record.id)
        snapshot = stored_snapshot(layout)
        name = self.notebook.name if self.notebook else None
        resumption = resumption_of(record, layout, snapshot, name, guidance)
        request = RunRequest(
            prompt=record.prompt,
            profile=record.profile,
            model=record.model,
            connection=record.connection,
            attachments=record.attachments,
            extra_tools=record.extra_tools,
            continue_from=record.continue_from,
            mode="off" if record.mode == "off" else "live",
        )
        conversation = resumed_conversation(layout, resumption.events, guidance)
        return PreparedRun(
            request=request,
            key=record.key,
            snapshot=snapshot,
            functions=tuple(self.toolbox.functions(functions)),
            blobs={},
            history=(),
            facts=self._facts(request, record.prompt),
            slot=record.slot,
            opening=tuple(conversation.messages),
            persist_base=record.persist_base,
            resumption=resumption,
        )

    def prepare_fix(
        self,
        run_id: str,
        request: str,
        *,
        mode: RecordMode | None = None,
        functions: Sequence[Callable[..., object]] = (),
    ) -> PreparedRun:
        """A new run that changes the answer of an earlier one, with its tools and conversation (spec tauritavern §10.6)."""
        record = self.index.find(run_id)
        layout = self.folder.run(record.id)
        earlier = self.load(record.id)
        asked = RunRequest(
            prompt=self.scrubber.text(request),
            profile=record.profile,
            model=record.model,
            connection=record.connection,
            extra_tools=record.extra_tools,
            revises=record.id,
            persist_base=earlier.persist_state or record.persist_base,
            mode=self._mode(mode),
        )
        guidance = UserMessage(text=wrapped(asked.prompt), source="guidance")
        prepared = self._prepared(asked, {}, earlier.messages, functions, snapshot=stored_snapshot(layout))
        return replace(
            prepared,
            opening=(*earlier.messages, guidance),
            revision=Revision(files=layout.root, text=earlier.text),
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
        """A run of this notebook by its id or a unique beginning of it; `last` is the newest."""
        if run_id in self._memory:
            return self._memory[run_id]
        record = self._newest() if run_id == "last" else self.index.find(run_id)
        layout = self.folder.run(record.id)
        pictures = Pictures(self.recordings, lambda file: (layout.root / file.path).read_bytes())
        return load_run(record, layout, self.relative(record.id), pictures.draw)

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

    # -- inside

    def _prepared(
        self,
        request: RunRequest,
        blobs: Mapping[str, bytes],
        history: Sequence[Message],
        functions: Sequence[Callable[..., object]],
        *,
        snapshot: Snapshot | None = None,
    ) -> PreparedRun:
        facts = self._facts(request, _first_prompt(request.prompt, history))
        own = self.toolbox.functions(functions)
        extra = (*request.extra_tools, *self.toolbox.ids_of(functions))
        snapshot = snapshot or self.toolbox.snapshot(request.profile, extra, own, accepts_images=facts.accepts_images)
        key = digest(
            {
                "profile": request.profile.model_dump(mode="json"),
                "model": request.model,
                "prompt": request.prompt,
                "attachments": [file.sha256 for file in request.attachments],
                "tools": snapshot.digest,
                "history": [message.digest_body() for message in history],
                "memory": self.persist.content_digest(request.persist_base),
                "revises": request.revises,
            }
        )
        return PreparedRun(
            request=request,
            key=key,
            snapshot=snapshot,
            functions=tuple(own),
            blobs=blobs,
            history=tuple(history),
            facts=facts,
            persist_base=request.persist_base,
        )

    def _facts(self, request: RunRequest, prompt: str) -> ModelFacts:
        return describe_model(request.model, base_dir=self.base_dir, prompt=prompt, connection=request.connection)

    def _shared(self) -> Shared:
        return Shared(
            folder=self.folder,
            base_dir=self.base_dir,
            notebook=self.notebook.name if self.notebook else None,
            recordings=self.recordings,
            persist=self.persist,
            permissions=self.permissions,
            connections=self.connections,
            scrubber=self.scrubber,
            toolbox=self.toolbox,
            approver=self.approver,
            interactive=self.interactive,
            relative=self.relative,
        )

    def _line(self, value: Json) -> bytes:
        return self.scrubber.line(value)

    def _forget(self, stream: RunStream) -> None:
        if stream in self._active:
            self._active.remove(stream)

    def _remember(self, run: Run) -> None:
        self._memory[run.id] = run
        self._last = run.id
        if run.status == "completed":
            self._state = run.persist_state

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

    def _target(self, profile: Profile, model: str | None) -> Target:
        """The model to ask, and the scrubber that knows its credential: a key may have been set since the last run."""
        target = (
            Target(model)
            if model
            else target_of(profile, self.connections, default=self.default_model, remembered=self._remembered)
        )
        self.scrubber = Scrubber.from_environment(also=credentials(target.connection))
        return target

    def _remembered(self, name: str) -> Connection | None:
        """A connection that the user does not have, as the newest run with it knew it."""
        used = (record.connection for record in self.index.list() if record.connection is not None)
        return next((connection for connection in used if connection.name == name), None)

    def _mode(self, mode: RecordMode | None) -> RecordMode:
        chosen = mode or os.environ.get("TT_RECORD") or "auto"
        if chosen not in MODES:
            raise UsageProblem(message=f"TT_RECORD is {chosen!r}; it must be one of {', '.join(MODES)}.")
        return chosen


def _first_prompt(prompt: str, history: Sequence[Message]) -> str:
    """What a conversation began with: a scripted model is chosen by it."""
    return next((message.text for message in history if message.role == "user"), prompt)
