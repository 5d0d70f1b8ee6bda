"""What a scan knows besides the books and the messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Scene:
    """The circumstances of one scan (spec tauritavern §16.2). In a notebook the character is the profile.

    Attributes:
        trigger: Type of the generation: `normal`, `continue`, `regenerate`, `swipe`, `impersonate` or `quiet`.
        names: Names of the character that a filter may mean; compared without case.
        tags: Its tags.
        macros: Values of `{{name}}` in keys and contents, names in lower case: `user`, `char`, ...
        persona_description, character_description, character_personality, character_note, scenario, creator_notes: Texts that
            entries may ask to have scanned.
        injected: Other parts of the prompt that are scanned for every entry.
        forced: References of entries that are active whatever their keys say.
    """

    trigger: str = "normal"
    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    macros: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    persona_description: str = ""
    character_description: str = ""
    character_personality: str = ""
    character_note: str = ""
    scenario: str = ""
    creator_notes: str = ""
    injected: tuple[str, ...] = ()
    forced: frozenset[str] = frozenset()
