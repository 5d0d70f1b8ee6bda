"""What one run is made of: tape, folder, tools, policies, provider and invocation, put together in one place."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.events import Event
from tt_kernel.domain.ids import ROOT_INVOCATION, builtin
from tt_kernel.domain.messages import Message
from tt_kernel.domain.ports import Provider
from tt_kernel.domain.profiles import ModelRetry, Profile
from tt_kernel.domain.turns import ModelReply
from tt_kernel.providers.recorded import RecordedProvider
from tt_kernel.runtime.conversation import Conversation
from tt_kernel.runtime.dispatch import Dispatcher
from tt_kernel.runtime.drafts import Drafts
from tt_kernel.runtime.invocation import Invocation, Plan
from tt_kernel.runtime.limits import Meter
from tt_kernel.runtime.progress import Progress
from tt_kernel.runtime.projection import RunProjection
from tt_kernel.session.bench import Bench
from tt_kernel.session.branching import apply_edits
from tt_kernel.session.compacting import compactor_of, first_reply
from tt_kernel.session.hands import Hands
from tt_kernel.session.keeper import Keeper
from tt_kernel.session.ledger import Ledger
from tt_kernel.session.loading import resumed_conversation
from tt_kernel.session.lookout import documents, opening_of
from tt_kernel.session.memory import memory_of
from tt_kernel.session.misses import explain_miss
from tt_kernel.session.models import live_model
from tt_kernel.session.opening import Opening
from tt_kernel.session.pictures import Pictures
from tt_kernel.session.policies import Policies
from tt_kernel.session.prepared import PreparedRun, Shared
from tt_kernel.store.atomic import write_bytes
from tt_kernel.store.copies import copy_files
from tt_kernel.store.journal import Journal, now_iso
from tt_kernel.store.recordings import RecordedRun, Recordings
from tt_kernel.store.results import ResultStore
from tt_kernel.store.runs import RunFolder
from tt_kernel.store.secrets import Scrubber
from tt_kernel.store.tape import Tape
from tt_kernel.toolkit.clockwork import Clockwork
from tt_kernel.toolkit.deferral import Offers
from tt_kernel.toolkit.gate import Gate
from tt_kernel.toolkit.permissions import PermissionEngine, answer_seconds
from tt_kernel.toolkit.planning import Planning
from tt_kernel.tools.plan import PlanDesk
from tt_kernel.tools.workspace import ReadState, ReadStates

_REPLY: TypeAdapter[ModelReply] = TypeAdapter(ModelReply)


@dataclass(frozen=True)
class Assembly:
    """One run, ready to be driven."""

    ledger: Ledger
    invocation: Invocation
    projection: RunProjection
    opening: Opening
    keeper: Keeper
    hands: Hands


def assemble(shared: Shared, prepared: PreparedRun) -> Assembly:
    """Build one run.

    Raises:
        ReplayMiss: Mode `replay` and nothing is recorded for the first request.
        ModelUnavailable, BudgetUsedUp: A model must be asked and cannot be.
        StorageFault: The run's folder cannot be made.
    """
    opening = opening_of(prepared, shared.scrubber)
    tape = _tape(shared.recordings, prepared, opening)
    recorded = _look_ahead(tape, opening.messages, prepared)
    inner = None if recorded else _live_provider(shared, prepared)
    ledger = _reopened(shared, prepared, tape) if prepared.resumption else _ledger(shared, prepared, tape, recorded)
    try:
        return _Builder(shared, prepared, opening, ledger, inner).build(live=recorded is None)
    except BaseException:
        ledger.close(None)
        raise


def _live_provider(shared: Shared, prepared: PreparedRun) -> Provider:
    shared.budget.check()
    request = prepared.request
    return live_model(request, base_dir=shared.base_dir, connections=shared.connections, circuits=shared.circuits)


def is_recorded(recordings: Recordings, prepared: PreparedRun, scrubber: Scrubber) -> bool:
    """Whether the first turn of a run can be replayed."""
    opening = opening_of(prepared, scrubber)
    return first_reply(_tape(recordings, prepared, opening), prepared, opening.messages) is not None


def _tape(recordings: Recordings, prepared: PreparedRun, opening: Opening) -> Tape:
    return Tape(
        recordings,
        opening.asked,
        slot=prepared.slot or 1,
        borrows=not prepared.one_of_many,
        recording=prepared.request.mode != "off",
    )


def _look_ahead(tape: Tape, messages: Sequence[Message], prepared: PreparedRun) -> RecordedRun | None:
    """The run whose first turn is recorded, if any: tools see its time and randomness."""
    mode = prepared.request.mode
    first = first_reply(tape, prepared, messages)
    if mode == "replay":
        answered = first or tape.failure()
        if answered is None:
            raise explain_miss(tape)
        return tape.recorded_run(answered)
    return None if first is None or mode in ("live", "off") else tape.recorded_run(first)


def _ledger(shared: Shared, prepared: PreparedRun, tape: Tape, recorded: RecordedRun | None) -> Ledger:
    scrub = shared.scrubber
    return Ledger(
        agent_folder=shared.folder,
        folder=RunFolder.stage(scrub),
        journal=Journal("", None, scrub),
        tape=tape,
        request=prepared.request,
        key=prepared.key,
        slot=prepared.slot or 1,
        seed=recorded.seed if recorded else prepared.seed,
        started_at=recorded.started_at if recorded else now_iso(),
        notebook=shared.notebook,
    )


def _reopened(shared: Shared, prepared: PreparedRun, tape: Tape) -> Ledger:
    """The ledger of a run that goes on: its own folder, journal and id."""
    assert prepared.resumption is not None
    record = prepared.resumption.record
    folder = RunFolder.reopen(shared.folder, record, shared.scrubber)
    ledger = Ledger(
        agent_folder=shared.folder,
        folder=folder,
        journal=Journal(record.id, folder.layout.events, shared.scrubber),
        tape=tape,
        request=prepared.request,
        key=record.key,
        slot=record.slot,
        seed=record.seed,
        started_at=record.started_at,
        notebook=record.notebook,
    )
    ledger.run_id, ledger.record = record.id, folder.record
    tape.go_live(
        RecordedRun(id=record.id, key=record.key, slot=record.slot, started_at=record.started_at, seed=record.seed)
    )
    return ledger


@dataclass
class _Builder:
    shared: Shared
    prepared: PreparedRun
    opening: Opening
    ledger: Ledger
    inner: Provider | None

    def build(self, *, live: bool) -> Assembly:
        self.results = ResultStore(self.ledger.folder, self.shared.scrubber)
        resumption = self.prepared.resumption
        if resumption is None:
            self._save_input()
            self._prepare_files()
        if live:
            self.ledger.go_live()
        progress, notes = Progress(), list[Event]()
        if resumption is not None:
            progress.commits, progress.published = resumption.commits, resumption.published
        snapshot, profile = self.prepared.snapshot, self.prepared.request.profile
        plans = PlanDesk(lambda: self.ledger.folder.layout.workspace_root("plan"))
        self.planning = Planning(plans.save) if profile.run.plan else None
        hands = self._hands(progress, notes)
        invocation = Invocation(
            plan=self._plan(),
            provider=self._provider(),
            dispatcher=Dispatcher(
                invocation_id=ROOT_INVOCATION,
                snapshot=snapshot,
                gate=Gate(snapshot),
                caller=hands,
                results=self.results,
                write=self.ledger.write,
                progress=progress,
                notes=notes,
            ),
            conversation=self._conversation(),
            progress=progress,
            meter=self._meter(profile),
            write=self.ledger.write,
            drafts=Drafts(self._body(), self._read_text),
        )
        keeper = Keeper(self.ledger, invocation, self.reads, foreground=profile.run.presentation == "foreground")
        invocation.dispatcher.before_commit = keeper.before_commit
        invocation.compactor = compactor_of(
            self.prepared, self.opening.messages, invocation.provider, self.ledger, hands.forget_windows
        )
        apply_edits(invocation, self.shared, self.prepared, self.ledger.tape, self.permit)
        return Assembly(self.ledger, invocation, self._projection(), self.opening, keeper, hands)

    def _body(self) -> str | None:
        """The file that a foreground run publishes."""
        foreground = self.prepared.request.profile.run.presentation == "foreground"
        can_commit = self.prepared.snapshot.call_name(builtin("workspace.commit")) is not None
        return self.prepared.request.profile.message_body.path if foreground and can_commit else None

    def _read_text(self, path: str) -> str | None:
        try:
            return (self.ledger.folder.layout.root / path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    def _conversation(self) -> Conversation:
        resumption = self.prepared.resumption
        if resumption is None:
            return Conversation(self.opening.messages)
        return resumed_conversation(self.ledger.folder.layout, resumption.events, resumption.guidance)

    def _meter(self, profile: Profile) -> Meter:
        """Limits count from anew on resume; the numbers of the turns go on."""
        resumption = self.prepared.resumption
        meter = Meter(profile.limits, also=self.breaker.exhausted, budget=self.shared.budget.problem)
        if resumption is not None:
            meter.number = resumption.record.turns
            meter.earlier = resumption.record.usage
            meter.earlier_replayed = resumption.record.replayed_usage
        return meter

    def _prepare_files(self) -> None:
        """The memory that the run begins with, and the files of the answer that is revised."""
        revision, base = self.prepared.revision, self.prepared.persist_base
        if revision is not None:
            layout = self.ledger.folder.layout
            for root in ("output", "scratch", "plan", "summaries", "tool-results"):
                if (revision.files / root).is_dir():
                    copy_files(revision.files / root, layout.workspace_root(root))
            write_bytes(layout.workspace_root("output") / "previous_output.md", revision.text.encode())
        if base is not None:
            files = self.ledger.folder.layout.root / self.prepared.files_root
            memory_of(self.shared, self.prepared).project(base, files)

    def _save_input(self) -> None:
        images: dict[str, bytes] = {}
        for file in self.prepared.request.attachments:
            data = self.prepared.blobs.get(file.sha256) or self.ledger.tape.read_blob(file.sha256)
            if data is None:
                raise StorageFault(message=f"The attached image {file.path} is in no recording of this notebook.")
            images[file.path] = data
            self.ledger.tape.save_blob(file, data)
        self.ledger.folder.begins_with(
            lambda: self.opening.documents | documents(self.prepared, self.ledger.started_at) | images
        )

    def _hands(self, progress: Progress, notes: list[Event]) -> Hands:
        request = self.prepared.request
        documents = self.shared.permissions.layers()
        bench = Bench(
            profile=request.profile,
            snapshot=self.prepared.snapshot,
            folder=self.ledger.folder,
            results=self.results,
            clock=Clockwork(started_at=datetime.fromisoformat(self.ledger.started_at), seed=self.ledger.seed),
            run_id=lambda: self.ledger.shown_id,
            model=request.model,
            safety=lambda: PermissionEngine([request.profile.permissions, *documents], interactive=True).safety,
            answer_seconds=answer_seconds([request.profile.permissions, *documents]),
            interactive=self.shared.interactive,
            accepts_images=self.prepared.facts.accepts_images,
            session=self.prepared.chat is not None,
            surroundings=self.prepared.surroundings,
            activation=self.prepared.activation,
        )
        resumption = self.prepared.resumption
        known = resumption.read_states if resumption else {}
        self.reads = ReadStates({path: ReadState.model_validate(state) for path, state in known.items()})
        policies = Policies(
            profile=request.profile,
            snapshot=self.prepared.snapshot,
            mode=request.mode,
            ledger=self.ledger,
            results=self.results,
            scrubber=self.shared.scrubber,
            progress=progress,
            notes=notes,
            documents=documents,
            approver=self.shared.approver,
            interactive=self.shared.interactive,
            planning=self.planning,
        )
        self.breaker, self.permit = policies.breaker, policies.permit
        functions, reads = self.prepared.functions, self.reads
        return Hands(lambda: self.shared.toolbox.bind(bench, functions, reads), policies.caller)

    def _provider(self) -> RecordedProvider:
        request = self.prepared.request
        return RecordedProvider(
            name=request.model,
            identity=self.prepared.facts.identity,
            accepts_images=self.prepared.facts.accepts_images,
            make=lambda: self.inner or _live_provider(self.shared, self.prepared),
            tape=self.ledger.tape,
            mode=request.mode,
            before_live=self._before_asking,
            clean=self._clean,
            explain=lambda: explain_miss(self.ledger.tape),
        )

    def _before_asking(self) -> None:
        self.shared.budget.check()
        self.ledger.go_live()

    def _clean(self, reply: ModelReply) -> ModelReply:
        dumped = reply.model_dump(mode="json")
        if not self.shared.scrubber.suspects(canonical_json(dumped)):
            return reply
        return _REPLY.validate_python(self.shared.scrubber.json(dumped))

    def _plan(self) -> Plan:
        snapshot, profile = self.prepared.snapshot, self.prepared.request.profile
        return Plan(
            invocation_id=ROOT_INVOCATION,
            completion=snapshot.completion,
            offers=Offers(snapshot),
            sampling=profile.sampling,
            # A failure that is replayed was the last of its attempts.
            retry=ModelRetry(max_retries=0) if self.prepared.request.mode == "replay" else profile.run.model_retry,
            stream=profile.run.stream,
            commit_name=snapshot.call_name(builtin("workspace.commit")),
            finish_name=snapshot.call_name(builtin("workspace.finish")),
            read_image=self._read_image,
            save_direct_output=self._save_direct_output,
            take_guidance=self._take_guidance,
            planning=self.planning,
        )

    def _projection(self) -> RunProjection:
        """Of a run that goes on, the picture begins with what it had done."""
        projection = self._empty_projection()
        for event in self.prepared.resumption.events if self.prepared.resumption else ():
            projection.apply(event)
        return projection

    def _empty_projection(self) -> RunProjection:
        pictures = Pictures(self.shared.recordings, self._read_image, keep=self.prepared.request.mode != "off")
        return RunProjection(self.shared.relative(self.ledger.shown_id), pictures.draw)

    def _read_image(self, file: StoredFile) -> bytes:
        """From the run's folder, or, for an image of a conversation that goes on, from the recordings."""
        path = self.ledger.folder.layout.root / file.path
        if path.is_file():
            return path.read_bytes()
        data = self.ledger.tape.read_blob(file.sha256)
        if data is None:
            raise StorageFault(message=f"The image {file.path} is neither in the run's folder nor in the recordings.")
        return data

    def _take_guidance(self) -> list[str]:
        """What is recorded at this place, else what a person has said since the last turn."""
        ledger = self.ledger
        if not ledger.is_live and self.prepared.request.mode in ("auto", "replay"):
            recorded = ledger.tape.find_guidance()
            if recorded:
                return recorded
        texts = [self.shared.scrubber.text(text) for text in ledger.guidance.take()]
        if texts:
            ledger.go_live()
            ledger.tape.record_guidance(texts)
        return texts

    def _save_direct_output(self, text: str) -> str:
        """Beside the message body (spec tauritavern §9.3)."""
        body = self.prepared.request.profile.message_body.path
        path = f"{body.rpartition('/')[0] or 'output'}/direct_output.md"
        write_bytes(self.ledger.folder.layout.root / path, text.encode("utf-8", "backslashreplace"))
        return path
