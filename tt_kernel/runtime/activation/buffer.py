"""The text that is scanned for an entry's keys: recent messages, texts it asks for, and what active entries say."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tt_kernel.domain.chat import ChatMessage
from tt_kernel.domain.worldinfo import LoreEntry, WorldInfoSettings
from tt_kernel.runtime.activation.keys import Part, Text
from tt_kernel.runtime.activation.scene import Scene

MAX_DEPTH = 1000

_SCENE_TEXTS = {
    "match_persona_description": "persona_description",
    "match_character_description": "character_description",
    "match_character_personality": "character_personality",
    "match_character_depth_prompt": "character_note",
    "match_scenario": "scenario",
    "match_creator_notes": "creator_notes",
}
"""An entry's flag -> the scene's text."""


@dataclass
class ScanBuffer:
    """Attributes:
    messages: Oldest first, the prompt last.
    widened: How many messages further back than the settings say are scanned by now.
    """

    messages: Sequence[ChatMessage]
    settings: WorldInfoSettings
    scene: Scene
    widened: int = 0
    _recursion: list[Part] = field(default_factory=list)
    _bases: dict[tuple[int, tuple[str, ...]], Part] = field(default_factory=dict)
    _known: dict[tuple[int, tuple[str, ...], int], Text] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        return self.settings.scan_depth + self.widened

    def text(self, entry: LoreEntry, *, with_recursion: bool) -> Text:
        depth = min(self.depth if entry.scan_depth is None else entry.scan_depth, MAX_DEPTH)
        asked = tuple(name for flag, name in _SCENE_TEXTS.items() if getattr(entry, flag))
        said = len(self._recursion) if with_recursion else 0
        key = (depth, asked, said)
        if key not in self._known:
            self._known[key] = Text((self._base(depth, asked), *self._recursion[:said]))
        return self._known[key]

    def add_recursion(self, texts: Sequence[str]) -> None:
        """What newly active entries say is scanned from now on."""
        if any(texts):
            self._recursion.append(Part.of(texts))

    @property
    def has_recursion(self) -> bool:
        return bool(self._recursion)

    def _base(self, depth: int, asked: tuple[str, ...]) -> Part:
        """What is scanned before there is recursion."""
        if (depth, asked) not in self._bases:
            texts = [getattr(self.scene, name) for name in asked]
            self._bases[depth, asked] = Part.of([*self._recent(depth), *texts, *self.scene.injected])
        return self._bases[depth, asked]

    def _recent(self, depth: int) -> list[str]:
        """Newest first."""
        recent = self.messages[len(self.messages) - min(depth, len(self.messages)) :]
        named = self.settings.include_names
        return [f"{m.name}: {m.text}" if named else m.text for m in reversed(recent)]
