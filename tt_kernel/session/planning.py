"""Deciding a run before it starts: every name looked up, every option checked, nothing executed."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from tt_kernel.domain.canonical import Json, digest
from tt_kernel.domain.connections import Connection
from tt_kernel.domain.errors import ModelUnavailable, ReplayMiss, UsageProblem
from tt_kernel.domain.messages import Message, UserMessage
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.runs import RecordMode, Run, RunRequest, TurnEdit
from tt_kernel.domain.sessions import SessionRecord, history_messages
from tt_kernel.domain.specs import Snapshot
from tt_kernel.providers.names import ModelFacts, credentials, describe_model
from tt_kernel.runtime.guidance import wrapped
from tt_kernel.runtime.prompt import initial_messages
from tt_kernel.runtime.surroundings import Surroundings
from tt_kernel.session.assembly import is_recorded
from tt_kernel.session.attachments import attach
from tt_kernel.session.branching import branch_key, branched
from tt_kernel.session.chats import Chats, ChatTurn
from tt_kernel.session.loading import resumed_conversation
from tt_kernel.session.lookout import Lookout, kept, reads_chat
from tt_kernel.session.models import UNCHOSEN, Target, first_prompt, startable, target_of
from tt_kernel.session.prepared import PreparedRun, Revision
from tt_kernel.session.recalled import recalled_facts, recalled_model
from tt_kernel.session.resume import of_a_cell, resumption_of, stored_snapshot
from tt_kernel.session.settings import with_settings
from tt_kernel.session.toolbox import Toolbox
from tt_kernel.store.connections import ConnectionShelf
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.persist import PersistShelf
from tt_kernel.store.profiles import ProfileShelf
from tt_kernel.store.recordings import Recordings
from tt_kernel.store.runs import RunIndex
from tt_kernel.store.secrets import Scrubber

LAST_STATE = "last"
"""`persist_base`: what the session's last run left."""
MODES: tuple[RecordMode, ...] = ("auto", "live", "replay", "off")


@dataclass
class Planner:
    """What decides runs of one notebook.

    `earlier` finds a run to continue; `state` is the memory that the last run left. The scrubber is replaced with each
    preparation: a key may have been set since the last run.
    """

    folder: AgentFolder
    base_dir: Path
    notebook: str | None
    profiles: ProfileShelf
    connections: ConnectionShelf
    persist: PersistShelf
    index: RunIndex
    toolbox: Toolbox
    chats: Chats
    recordings: Recordings
    lookout: Lookout
    load: Callable[[str], Run]
    earlier: Callable[[str | Run | None], Run | None]
    scrubber: Scrubber
    default_model: str | None = None
    state: str | None = None

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
        chosen = startable(with_settings(self._profile(profile), settings or {}))
        target = self._target(chosen, model, prompt, self._mode(mode))
        earlier = self.earlier(continue_from)
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
            persist_base=self.state if persist_base == LAST_STATE else persist_base,
        )
        return self._prepared(request, blobs, earlier.messages if earlier else (), functions)

    def prepare_replay(self, run_id: str, *, functions: Sequence[Callable[..., object]] = ()) -> PreparedRun:
        """The stored run's own request, in mode `replay`."""
        record = self.index.find(run_id)
        earlier = self.earlier(record.continue_from)
        request = record.request(mode="replay", revises=record.revises)
        if record.revises is not None:
            return replace(self._revising(request, functions), slot=record.slot, key=record.key)
        around = kept(self.folder.run(record.id), record)
        prepared = self._prepared(request, {}, earlier.messages if earlier else (), functions, around=around)
        return replace(prepared, slot=record.slot, key=record.key)

    def prepare_branch(
        self,
        run_id: str,
        edit: TurnEdit,
        *,
        prompt: str | None = None,
        mode: RecordMode | None = None,
        functions: Sequence[Callable[..., object]] = (),
    ) -> PreparedRun:
        """Another run from a turn of a stored one on; parameters as of `session/branching.py`."""
        record = of_a_cell(self.index.find(run_id))
        request = branched(record, self.load(record.id), edit, prompt, self._mode(mode), self.scrubber)
        if record.revises is not None:
            return replace(self._revising(request, functions), key=branch_key(request, record), slot=record.slot)
        earlier = self.earlier(record.continue_from)
        around = kept(self.folder.run(record.id), record)
        prepared = self._prepared(request, {}, earlier.messages if earlier else (), functions, around=around)
        return replace(prepared, key=branch_key(request, record), slot=record.slot)

    def prepare_resume(
        self, run_id: str, guidance: str | None = None, *, functions: Sequence[Callable[..., object]] = ()
    ) -> PreparedRun:
        """Go on with a stopped run in its own folder; `guidance` is said to the model first.

        Raises:
            ReplayMiss: Everything is to be a replay, and a stopped run's end is not recorded.
            UsageProblem: It cannot go on; the codes are in `session/resume.py`.
        """
        record = of_a_cell(self.index.find(run_id))
        if self._mode(None) == "replay":
            raise ReplayMiss(message=f"Run {record.id} has not gone on since it was stopped.", kind="nothing")
        layout = self.folder.run(record.id)
        snapshot = stored_snapshot(layout)
        name = self.notebook
        resumption = resumption_of(record, layout, snapshot, name, guidance)
        mode = "off" if record.mode == "off" else "live"
        request = record.request(persist_base=None, branch=None, mode=mode)
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
            surroundings=kept(layout, record),
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
        record = of_a_cell(self.index.find(run_id))
        earlier = self.load(record.id)
        asked = RunRequest(
            prompt=self.scrubber.text(request),
            profile=record.profile,
            model=record.model,
            connection=record.connection,
            extra_tools=record.extra_tools,
            revises=record.id,
            persist_base=earlier.persist_state or record.persist_base,
            chat_digest=record.chat_digest,
            mode=self._mode(mode),
        )
        return self._revising(asked, functions)

    def _revising(self, request: RunRequest, functions: Sequence[Callable[..., object]]) -> PreparedRun:
        """A run that goes on from the one that it revises, with its files and tools."""
        record = self.index.find(request.revises or "")
        layout, earlier = self.folder.run(record.id), self.load(record.id)
        guidance = UserMessage(text=wrapped(request.prompt), source="guidance")
        prepared = self._prepared(
            request, {}, earlier.messages, functions, snapshot=stored_snapshot(layout), around=kept(layout, record)
        )
        return replace(
            prepared,
            opening=(*earlier.messages, guidance),
            revision=Revision(files=layout.root, text=earlier.text),
        )

    def prepare_chat(
        self,
        name: str,
        prompt: str,
        *,
        cell: str | None = None,
        profile: str | Profile = "assistant",
        model: str | None = None,
        tools: Sequence[str] = (),
        functions: Sequence[Callable[..., object]] = (),
        mode: RecordMode | None = None,
        settings: Mapping[str, Json] | None = None,
        images: Sequence[bytes] = (),
        raw: bool = False,
    ) -> PreparedRun:
        """A message to the session `name`: the replay of a turn of its history, or its next turn (spec tauritavern §10.7).

        Args:
            name: The session; it begins with its first message.
            cell: The cell that speaks. Others as of `prepare`.

        Raises:
            ReplayMiss: Mode `replay`, and the history has no such turn.
            UsageProblem: `agent.session_text_required`, a name that cannot be a folder, and what `prepare` raises.
        """
        chosen = startable(with_settings(_for_session(self._profile(profile)), settings or {}))
        target = self._target(chosen, model, prompt, self._mode(mode))
        attachments, blobs = attach(images)
        request = RunRequest(
            prompt=self.scrubber.text(prompt),
            profile=chosen,
            model=target.name,
            connection=target.connection,
            attachments=attachments,
            extra_tools=tuple(tools),
            session=_session_name(name),
            mode=self._mode(mode),
            raw=raw,
        )
        turn = self.chats.recorded_turn(name, request.prompt, attachments, cell, request.mode)
        if turn is not None:
            prepared = self._chat_run(request, blobs, functions, turn)
            if request.mode == "replay" or is_recorded(self.recordings, prepared, self.scrubber):
                return prepared
        if request.mode == "replay":
            raise ReplayMiss(message=self.chats.end_of(name), kind="nothing")
        record = SessionRecord(name=name, profile=chosen.id, model=target.name)
        if name in self.chats.shelf.names():
            record = self.chats.shelf.record(name).model_copy(update={"profile": chosen.id, "model": target.name})
        return self._chat_run(request, blobs, functions, self.chats.new_turn(record, request.prompt, attachments))

    def _chat_run(
        self,
        request: RunRequest,
        blobs: Mapping[str, bytes],
        functions: Sequence[Callable[..., object]],
        turn: ChatTurn,
    ) -> PreparedRun:
        prepared = self._prepared(request, blobs, history_messages(turn.entries), functions)
        system = initial_messages(request.profile, prepared.snapshot, "", session=True)[0]
        return replace(
            prepared,
            opening=(system, *history_messages(turn.entries), *turn.opening),
            persist_base=turn.before,
            chat=turn,
            slot=1,  # its place in the history tells a turn apart; the last recording of it is the one that counts
        )

    def _profile(self, profile: str | Profile) -> Profile:
        return self.profiles.load(profile) if isinstance(profile, str) else profile

    def _prepared(
        self,
        request: RunRequest,
        blobs: Mapping[str, bytes],
        history: Sequence[Message],
        functions: Sequence[Callable[..., object]],
        *,
        snapshot: Snapshot | None = None,
        around: Surroundings | None = None,
    ) -> PreparedRun:
        """`snapshot` and `around`: those of the run that is made again or revised; its id stands for them in the key."""
        facts = self._facts(request, first_prompt(request.prompt, history))
        own = self.toolbox.functions(functions)
        extra = (*request.extra_tools, *self.toolbox.ids_of(functions))
        snapshot = snapshot or self.toolbox.snapshot(
            request.profile,
            extra,
            own,
            accepts_images=facts.accepts_images,
            context="session" if request.session else "cell",
        )
        seen: dict[str, Json] = {}
        if around is None and request.session is None:
            around, seen = self._surroundings(request, snapshot, continues=bool(history))
            request = request.model_copy(update={"chat_digest": around.chat.digest if around.chat else None})
        key = digest(
            {
                # How lorebooks are scanned counts where there are some; it is a part of what is seen.
                "profile": request.profile.model_dump(mode="json", exclude={"context": {"world_info"}}),
                "model": request.model,
                "prompt": request.prompt,
                "attachments": [file.sha256 for file in request.attachments],
                "tools": snapshot.digest,
                "history": [message.digest_body() for message in history],
                "memory": self.persist.content_digest(request.persist_base),
                "revises": request.revises,
                "session": request.session,
                **seen,
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
            surroundings=around or Surroundings(),
        )

    def _surroundings(
        self, request: RunRequest, snapshot: Snapshot, *, continues: bool
    ) -> tuple[Surroundings, dict[str, Json]]:
        """What the run finds around it, and what of it belongs to the run key: nothing, if it looks at nothing."""
        around = self.lookout.look(request.profile, snapshot, self.scrubber, continues=continues)
        if around.chat is None and not around.books:
            return around, {}
        reads = reads_chat(request.profile, snapshot, continues=continues)
        return around, {"surroundings": around.key(request.prompt, reads_chat=reads)}

    def _facts(self, request: RunRequest, prompt: str) -> ModelFacts:
        if request.connection is not None:  # a run that goes on, or is revised, brings its own
            self.scrubber = Scrubber.from_environment(also=credentials(request.connection))
        try:
            return describe_model(request.model, base_dir=self.base_dir, prompt=prompt, connection=request.connection)
        except ModelUnavailable:
            known = recalled_facts(self.recordings, request.model, prompt, request.profile.sampling)
            if known is None or request.mode in ("live", "off"):
                raise
            return known

    def _target(self, profile: Profile, model: str | None, prompt: str, mode: RecordMode) -> Target:
        """The model to ask, and the scrubber that knows its credential: a key may have been set since the last run."""
        target = Target(model) if model else self._own_target(profile, prompt, mode)
        self.scrubber = Scrubber.from_environment(also=credentials(target.connection))
        return target

    def _own_target(self, profile: Profile, prompt: str, mode: RecordMode) -> Target:
        """The model of the profile or the settings; where there is none, the one that the prompt was recorded with."""
        try:
            return target_of(profile, self.connections, default=self.default_model, remembered=self._remembered)
        except ModelUnavailable as problem:
            known = recalled_model(self.recordings, self.scrubber.text(prompt))
            if problem.code != UNCHOSEN or known is None or mode in ("live", "off"):
                raise
            return Target(known)

    def _remembered(self, name: str) -> Connection | None:
        """A connection that the user does not have, as the newest run with it knew it."""
        used = (record.connection for record in self.index.list() if record.connection is not None)
        return next((connection for connection in used if connection.name == name), None)

    def _mode(self, mode: RecordMode | None) -> RecordMode:
        chosen = os.environ.get("TT_RECORD_ALWAYS") or mode or os.environ.get("TT_RECORD") or "auto"
        if chosen not in MODES:
            raise UsageProblem(message=f"TT_RECORD is {chosen!r}; it must be one of {', '.join(MODES)}.")
        return chosen


def _for_session(profile: Profile) -> Profile:
    """A session ends each run with a reply, whatever the profile says of cells."""
    return profile.model_copy(update={"run": profile.run.model_copy(update={"completion": "reply"})})


def _session_name(name: str) -> str:
    try:
        return SessionRecord(name=name, profile="", model="").name
    except ValidationError as error:
        raise UsageProblem(
            "agent.session_name_invalid",
            f"{name!r} cannot be a session's name: letters, digits, - and _, at most 64, beginning with a letter or digit.",
        ) from error
