"""What a run finds around it, frozen when it is prepared: the chat above its cell, and the lorebooks (spec tauritavern §17.1).

The active world info follows from them, the prompt and chance. All invocations of the run look at the same.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.chat import FrozenChat
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.worldinfo import Activation, LoreBook, TimedState, WorldInfoSettings
from tt_kernel.runtime.activation import Scene, activate, remembered
from tt_kernel.runtime.activation.timed import TimedEffects, has_consequences
from tt_kernel.runtime.chat import with_prompt

USER = "User"
"""What `{{user}}` stands for when nothing else is said."""


@dataclass(frozen=True)
class Surroundings:
    """Attributes:
    chat: None where there is none.
    books: Those that are scanned; without books nothing is activated.
    settings: Of the scan.
    scene: Its circumstances.
    timed: What earlier runs of the notebook left behind.
    stored: What was active when the run was started first, where it goes on or is made again: taken instead of a scan.
    """

    chat: FrozenChat | None = None
    books: tuple[LoreBook, ...] = ()
    settings: WorldInfoSettings = WorldInfoSettings()
    scene: Scene = Scene()
    timed: TimedState = TimedState()
    stored: Activation | None = None

    def key(self, prompt: str, *, reads_chat: bool) -> Json:
        """The part of the run key that stands for this. Of the timed effects, only what counts here and now: what this run and
        those further down left behind must not make it another run.

        Args:
            prompt: The run's, after interpolation.
            reads_chat: The run can see the chat: a chat tool is bound, or messages are in the first request. A scan of books
                sees it too, in any case.
        """
        chat = self.chat.digest if self.chat is not None and (reads_chat or self.books) else None
        if not self.books:
            return {"chat": chat}
        timed = TimedEffects(self.timed, with_prompt(self.chat, prompt))
        effects = [
            [book.name, entry.uid, sorted(found)]
            for book in self.books
            for entry in book.entries
            if has_consequences(entry) and (found := timed.of(book.name, entry) - {"delay"})
        ]
        return {
            "chat": chat,
            "books": [book.digest for book in self.books],
            "settings": self.settings.model_dump(mode="json"),
            "timed": effects,
        }

    def activation(
        self, prompt: str, chance: Callable[[str], random.Random], timestamp_ms: int = 0
    ) -> Activation | None:
        """What is active for this prompt; None when there are no books.

        Args:
            prompt: The run's, after interpolation.
            chance: `Clockwork.random` of the run.
            timestamp_ms: When the run was started; a record for people.
        """
        if self.stored is not None or not self.books:
            return self.stored
        messages = with_prompt(self.chat, prompt)
        found = activate(self.books, messages, self.settings, chance, self.timed, scene=self.scene)
        return found.model_copy(update={"timestamp_ms": timestamp_ms})

    def timed_after(self, prompt: str, activation: Activation | None) -> TimedState:
        """What later runs must remember of an activation for this prompt."""
        if activation is None or self.stored is not None:
            return self.timed
        return remembered(self.timed, activation, self.books, with_prompt(self.chat, prompt))

    def triggered_by(self, trigger: str) -> "Surroundings":
        """The same for another type of generation (`regenerate` for a revision)."""
        return replace(self, scene=replace(self.scene, trigger=trigger))


def scene_of(profile: Profile, macros: Mapping[str, str] = MappingProxyType({})) -> Scene:
    """The scene of a notebook: the profile is the character (spec tauritavern §16.2, DESIGN §5.2).

    Args:
        profile: Its id and display name are what character filters name; its description may be scanned.
        macros: More values of `{{name}}`, or others.
    """
    values = {"user": USER, "char": profile.display_name, **{name.lower(): value for name, value in macros.items()}}
    return Scene(
        names=(profile.id, profile.display_name),
        macros=MappingProxyType(values),
        character_description=profile.description or "",
    )
