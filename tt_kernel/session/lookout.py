"""What a run finds around its cell: looked up when it is prepared, kept in its `input/`, taken from there when it goes on.

`input/chat.json`, `input/worldinfo.json` and `input/books.json` are there where the run looks at them (spec tauritavern §17.1).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from tt_kernel.domain.canonical import Json, indented_json
from tt_kernel.domain.chat import FrozenChat
from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.ids import builtin
from tt_kernel.domain.messages import Message
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.runs import RunRecord
from tt_kernel.domain.specs import Snapshot
from tt_kernel.domain.worldinfo import LoreBook, WorldInfoSettings
from tt_kernel.runtime.activation import with_world_info
from tt_kernel.runtime.activation.snapshot import thaw_activation
from tt_kernel.runtime.chat import initial_history, thaw_chat
from tt_kernel.runtime.prompt import initial_messages
from tt_kernel.runtime.surroundings import Surroundings, scene_of
from tt_kernel.session.opening import Opening, offers_of
from tt_kernel.session.prepared import PreparedRun
from tt_kernel.store.atomic import read_json
from tt_kernel.store.layout import AgentFolder, RunLayout
from tt_kernel.store.secrets import Scrubber
from tt_kernel.store.tape import Asked
from tt_kernel.store.worldinfo import LoreShelf, load_timed, save_timed

Document = TypeVar("Document", FrozenChat | None, LoreBook)

_BOOKS: TypeAdapter[tuple[LoreBook, ...]] = TypeAdapter(tuple[LoreBook, ...])
_EVERYTHING = WorldInfoSettings().books
"""Nobody chose books: those of the notebook are meant. The user's own must not change the runs of others' notebooks."""
_SEARCH = builtin("worldinfo.search")


@dataclass
class Lookout:
    """Sees what stands around the cells of one notebook.

    Attributes:
        chat: Freezes the chat of the cell that runs now; called on its thread. None: there is none.
    """

    folder: AgentFolder
    lore: LoreShelf
    chat: Callable[[], FrozenChat | None] = lambda: None

    def look(self, profile: Profile, snapshot: Snapshot, scrubber: Scrubber, *, continues: bool) -> Surroundings:
        """What a run of this profile sees now. The chat is only asked for when something of the run looks at it.

        Args:
            profile: The run's.
            snapshot: Its tools.
            scrubber: Takes secrets out of what the model may see.
            continues: It goes on with an earlier conversation, which stands in place of the chat.

        Raises:
            UserError: A lorebook that was named and is missing, or one that cannot be read; a notebook that cannot.
        """
        settings = profile.context.world_info
        books = self._books(settings) if _reads_lore(profile, snapshot) else ()
        chat = self.chat() if books or reads_chat(profile, snapshot, continues=continues) else None
        return Surroundings(
            _without_secrets(chat, scrubber),
            tuple(_without_secrets(book, scrubber) for book in books),
            settings,
            scene_of(profile),
            load_timed(self.folder),
        )

    def _books(self, settings: WorldInfoSettings) -> tuple[LoreBook, ...]:
        return self.lore.books(settings.books, only="notebook" if settings.books == _EVERYTHING else None)


def _without_secrets(document: Document, scrubber: Scrubber) -> Document:
    """What is sent is what is stored. Nearly always the same object."""
    if document is None or not scrubber.suspects(document.model_dump_json()):
        return document
    return type(document).model_validate(scrubber.json(document.model_dump(mode="json")))


def reads_chat(profile: Profile, snapshot: Snapshot, *, continues: bool) -> bool:
    """Whether a run can see the chat itself: a chat tool is bound, or messages are in the first request."""
    window = 0 if continues else profile.context.initial_chat_history_messages
    return window != 0 or any(binding.spec.group == "chat" for binding in snapshot.bindings)


def _reads_lore(profile: Profile, snapshot: Snapshot) -> bool:
    tools = any(binding.spec.group == "worldinfo" for binding in snapshot.bindings)
    return tools or profile.context.include_activated_world_info


def first_messages(prepared: PreparedRun) -> list[Message]:
    """System prompt, the chat or the conversation that goes on, the prompt, and the active world info in its places."""
    request, history = prepared.request, prepared.history
    context = request.profile.context
    above = initial_history(prepared.surroundings.chat, 0 if history else context.initial_chat_history_messages)
    messages = initial_messages(
        request.profile, prepared.snapshot, request.prompt, request.attachments, (*above, *history)
    )
    return with_world_info(messages, prepared.activation if context.include_activated_world_info else None)


def opening_of(prepared: PreparedRun, scrubber: Scrubber) -> Opening:
    """What this run sends first."""
    if prepared.made is not None:
        return prepared.made
    request, facts, offers = prepared.request, prepared.facts, offers_of(prepared.snapshot)
    return Opening(
        list(prepared.opening) if prepared.opening is not None else first_messages(prepared),
        Asked(request.model, facts.identity, request.profile.sampling, offers, blind=not facts.accepts_images),
        prepared.snapshot,
        scrubber,
    )


def made_in_advance(prepared: PreparedRun, scrubber: Scrubber) -> PreparedRun:
    """The same run, for many repeats: what they have in common is made once. The dice of lorebooks are each repeat's own."""
    return prepared if prepared.surroundings.books else replace(prepared, made=opening_of(prepared, scrubber))


# In the run's folder


def documents(prepared: PreparedRun, started_at: str) -> dict[str, bytes]:
    """What the run looks at, as files of its `input/`. Books, which may be large, only where a tool searches them."""
    around, activation = prepared.surroundings, prepared.activation
    found: dict[str, Json] = {}
    if around.chat is not None:
        found["chat"] = around.chat.model_dump(mode="json")
    if activation is not None:
        moment = int(datetime.fromisoformat(started_at).timestamp() * 1000)
        found["worldinfo"] = activation.model_copy(update={"timestamp_ms": moment}).model_dump(mode="json")
    if around.books and prepared.snapshot.call_name(_SEARCH):
        found["books"] = _BOOKS.dump_python(around.books, mode="json")
    return {f"input/{name}.json": indented_json(document) for name, document in found.items()}


def kept(layout: RunLayout, record: RunRecord) -> Surroundings:
    """What a stored run looked at, for going on, revising and replaying it.

    Raises:
        StorageFault: `agent.input_history_conflict`, `agent.invalid_worldinfo_activation_snapshot`.
    """
    around = Surroundings(scene=scene_of(record.profile))
    if record.chat_digest is not None:
        around = replace(around, chat=thaw_chat(_read(layout, "chat"), record.chat_digest))
    if (layout.input / "worldinfo.json").is_file():
        around = replace(around, stored=thaw_activation(_read(layout, "worldinfo")))
    if (layout.input / "books.json").is_file():
        around = replace(around, books=_thawed_books(layout))
    return around


def _thawed_books(layout: RunLayout) -> tuple[LoreBook, ...]:
    try:
        return _BOOKS.validate_python(_read(layout, "books"))
    except ValidationError as error:
        message = f"The lorebooks of run {layout.root.name} are damaged: {error.error_count()} wrong values."
        raise StorageFault("agent.invalid_worldinfo_activation_snapshot", message) from error


def _read(layout: RunLayout, name: str) -> object:
    """None where there is no such file: what thaws it says what that means."""
    path = layout.input / f"{name}.json"
    return read_json(path) if path.is_file() else None


def keep_timed(folder: AgentFolder, prepared: PreparedRun) -> None:
    """Remember what has consequences for later runs of the notebook: sticky entries and cooldowns (spec tauritavern §16.2)."""
    around, activation = prepared.surroundings, prepared.activation
    if activation is None or around.stored is not None:
        return
    now = replace(around, timed=load_timed(folder))  # another run may have ended since this one was prepared
    save_timed(folder, now.timed_after(prepared.request.prompt, activation))
