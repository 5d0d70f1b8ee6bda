"""Where the conversations of a notebook's sessions are, in this kernel.

A session's history is on disk and outlives the kernel. A cell that says what the history says at the place that this kernel has
reached is a replay of that turn; anything else is said at the end of the history. So Run All in a fresh kernel replays a
conversation from its beginning, and a new message goes to its end.
"""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.messages import Message, UserMessage
from tt_kernel.domain.runs import RecordMode
from tt_kernel.domain.sessions import SessionEntry, SessionRecord, SessionTurn, turns_of
from tt_kernel.store.sessions import SessionShelf

_WORD = re.compile(r"[A-Za-z_]\w*")
MAX_NAMES = 50
"""Names of the notebook that a turn keeps, for the note to a later kernel."""


@dataclass(frozen=True)
class ChatTurn:
    """The turn of a session that a run is.

    Attributes:
        record: The session.
        entries: Its history before this turn.
        seen: How many entries the history has now.
        opening: The user-role messages of the turn.
        replays: It is the turn of this number, counted from 0, and is only replayed; None: it is new.
        before: The state of the session's files that it begins with.
    """

    record: SessionRecord
    entries: tuple[SessionEntry, ...]
    seen: int
    opening: tuple[Message, ...]
    replays: int | None
    before: str | None


@dataclass
class Chats:
    """The sessions of a notebook, as this kernel has gone through them."""

    shelf: SessionShelf
    namespace: Mapping[str, object]
    kernel: str = field(default_factory=lambda: uuid.uuid4().hex)
    _reached: dict[str, int] = field(default_factory=dict)
    _cells: dict[tuple[str, str], int] = field(default_factory=dict)

    def recorded_turn(
        self, name: str, prompt: str, images: tuple[StoredFile, ...], cell: str | None, mode: RecordMode
    ) -> ChatTurn | None:
        """The turn that this message repeats, if it does. A strict replay is at its place of the history whatever it says."""
        entries = self.shelf.entries(name)
        turns = turns_of(entries)
        index = self._cells.get((name, cell), -1) if cell is not None else -1
        index = index if index >= 0 else self._reached.get(name, 0)
        if mode not in ("auto", "replay") or index >= len(turns):
            return None
        turn = turns[index]
        said = UserMessage(text=prompt, images=images)
        same = turn.prompt == prompt and turn.opening[-1].digest_body() == said.digest_body()
        if not same and mode == "auto":
            return None
        return ChatTurn(
            record=self.shelf.record(name),
            entries=tuple(entries[: entries.index(turn)]),
            seen=len(entries),
            opening=turn.opening if same else (*turn.opening[:-1], said),
            replays=index,
            before=turn.before,
        )

    def end_of(self, name: str) -> str:
        """Why a strict replay cannot go on: a sentence."""
        count = len(turns_of(self.shelf.entries(name)))
        if not count:
            return f"Session {name!r} is not recorded in this notebook."
        return f"Session {name!r} is recorded with {count} message{'s' * (count != 1)}, and this is one more."

    def new_turn(self, record: SessionRecord, prompt: str, images: tuple[StoredFile, ...]) -> ChatTurn:
        """The turn that this message adds.

        Raises:
            UsageProblem: `agent.session_text_required`.
        """
        if not prompt.strip():
            raise UsageProblem("agent.session_text_required", f"Session {record.name!r} needs a message.")
        entries = self.shelf.entries(record.name)
        turns = turns_of(entries)
        note = self._note(turns)
        message = UserMessage(text=prompt, images=images)
        return ChatTurn(
            record=record,
            entries=tuple(entries),
            seen=len(entries),
            opening=(UserMessage(text=note, source="kernel"), message) if note else (message,),
            replays=None,
            before=turns[-1].after if turns else None,
        )

    def passed(self, name: str, turn: ChatTurn, cell: str | None) -> None:
        """The turn is behind this kernel now."""
        index = turn.replays if turn.replays is not None else len(turns_of(turn.entries))
        self._reached[name] = index + 1
        if cell is not None:
            self._cells[name, cell] = index

    def names_in(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """Names of the notebook that a turn speaks of."""
        known = {n for n, value in self.namespace.items() if n[:1] != "_" and not isinstance(value, ModuleType)}
        words = {word for message in messages for word in _WORD.findall(message.text)}
        return tuple(sorted(known & words))[:MAX_NAMES]

    def _note(self, turns: Sequence[SessionTurn]) -> str | None:
        """For a conversation that began in another kernel: what it spoke of and is no longer there."""
        if not turns or turns[-1].kernel == self.kernel:
            return None
        spoken = {name for turn in turns for name in turn.names}
        missing = sorted(spoken - set(self.namespace))
        text = "The notebook's kernel was restarted since your last message: variables and functions of before may be gone."
        return f"{text} No longer defined: {', '.join(missing)}." if missing else text
