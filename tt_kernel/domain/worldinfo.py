"""World info: SillyTavern lorebooks, and what of them is active in a run (spec tauritavern §16)."""

from typing import Literal, TypeAlias

from pydantic import Field

from tt_kernel.domain.canonical import JsonObject, digest
from tt_kernel.domain.frozen import Frozen

Position = Literal["before", "after", "an_top", "an_bottom", "depth", "em_top", "em_bottom", "outlet"]

POSITIONS: tuple[Position, ...] = ("before", "after", "an_top", "an_bottom", "depth", "em_top", "em_bottom", "outlet")
"""What the position numbers 0 to 7 of a lorebook mean (spec tauritavern §16.1)."""

Logic = Literal["and_any", "not_all", "not_any", "and_all"]

LOGICS: tuple[Logic, ...] = ("and_any", "not_all", "not_any", "and_all")
"""What the numbers 0 to 3 of `selectiveLogic` mean."""

LoreRole = Literal["system", "user", "assistant"]

LORE_ROLES: tuple[LoreRole, ...] = ("system", "user", "assistant")
"""What the numbers 0 to 2 of an entry's `role` mean."""

Source = Literal["chat", "persona", "character", "global"]
"""Whose lore a book is; decides the order of the books (spec tauritavern §16.2)."""

Strategy = Literal["evenly", "character_first", "global_first"]

Uid: TypeAlias = int | str | None

Number: TypeAlias = int | float
"""As it was written: 100 is not turned into 100.0."""


class CharacterFilter(Frozen):
    """For which characters an entry exists: those named or tagged, or, with `is_exclude`, all others."""

    is_exclude: bool = False
    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class LoreEntry(Frozen):
    """One entry, with SillyTavern's fields. None in an option means the setting of the whole scan.

    Attributes:
        uid: None when the book gives no usable one, or gives it twice.
        position: Number 0 to 7 (POSITIONS); others are placed nowhere.
        delay_until_recursion: 0: not delayed; else the level of recursion.
        probability: Percent; counts only with `use_probability`.
        sticky: For how many messages after its activation the entry stays active; `cooldown`: for how many it is then barred;
            `delay`: how many messages the chat must have. 0: no such effect.
        extra: Members of the JSON that the other fields do not hold, or hold differently; written back as they were.
    """

    uid: Uid = None
    key: tuple[str, ...] = ()
    keysecondary: tuple[str, ...] = ()
    comment: str = ""
    content: str = ""
    constant: bool = False
    vectorized: bool = False
    selective: bool = True
    selective_logic: int = 0
    add_memo: bool = False
    order: Number = 100
    position: int = 0
    disable: bool = False
    ignore_budget: bool = False
    exclude_recursion: bool = False
    prevent_recursion: bool = False
    delay_until_recursion: int = 0
    match_persona_description: bool = False
    match_character_description: bool = False
    match_character_personality: bool = False
    match_character_depth_prompt: bool = False
    match_scenario: bool = False
    match_creator_notes: bool = False
    probability: Number = 100
    use_probability: bool = True
    depth: int = 4
    outlet_name: str = ""
    group: str = ""
    group_override: bool = False
    group_weight: Number = 100
    scan_depth: int | None = None
    case_sensitive: bool | None = None
    match_whole_words: bool | None = None
    use_group_scoring: bool | None = None
    automation_id: str = ""
    role: int = 0
    sticky: int = 0
    cooldown: int = 0
    delay: int = 0
    triggers: tuple[str, ...] = ()
    display_index: int | None = None
    character_filter: CharacterFilter = CharacterFilter()
    extra: JsonObject = Field(default_factory=dict)

    @property
    def place(self) -> Position | None:
        return POSITIONS[self.position] if 0 <= self.position < len(POSITIONS) else None

    @property
    def logic(self) -> Logic:
        return LOGICS[self.selective_logic] if 0 <= self.selective_logic < len(LOGICS) else "and_any"

    @property
    def lore_role(self) -> LoreRole:
        return LORE_ROLES[self.role] if 0 <= self.role < len(LORE_ROLES) else "system"

    @property
    def groups(self) -> tuple[str, ...]:
        """Inclusion groups: a comma-separated list."""
        return tuple(dict.fromkeys(name for part in self.group.split(",") if (name := part.strip())))

    @property
    def label(self) -> str:
        """The trimmed comment, else the first key that is not blank, else the uid (spec tauritavern §16.1)."""
        keys = (key.strip() for key in self.key)
        return self.comment.strip() or next((key for key in keys if key), "" if self.uid is None else str(self.uid))

    @property
    def fingerprint(self) -> str:
        """16 hex digits that change with the entry: a timed effect ends when its entry is edited."""
        return digest(self.model_dump(mode="json"))[:16]

    def document(self) -> JsonObject:
        """The entry as SillyTavern writes it, with everything that was read."""
        plain: JsonObject = self.model_dump(mode="json", exclude={"extra"})
        return {**plain, **self.extra}


class LoreBook(Frozen):
    """A lorebook. `name` is the world's name in references; `extra` holds the other members of the document."""

    name: str
    source: Source = "chat"
    entries: tuple[LoreEntry, ...] = ()
    extra: JsonObject = Field(default_factory=dict)

    def document(self) -> JsonObject:
        """The book in SillyTavern's format: entries by uid; those without one get the lowest free number."""
        taken = {str(entry.uid) for entry in self.entries}
        free = (name for name in map(str, range(2 * len(self.entries))) if name not in taken)
        entries = {next(free) if entry.uid is None else str(entry.uid): entry.document() for entry in self.entries}
        return {**self.extra, "entries": entries}

    @property
    def digest(self) -> str:
        return digest([self.name, self.source, self.document()])


class WorldInfoSettings(Frozen):
    """How books are scanned: SillyTavern's activation settings, with its defaults (spec tauritavern §16.2).

    Attributes:
        books: Names or globs of the books to scan.
        scan_depth: How many of the last messages are scanned; the prompt is the last one.
        budget_percent: Share of `context_tokens` that active entries may take; `budget_cap`: at most so many tokens, 0: no cap.
        min_activations: Scan further back until so many entries are active; `min_activations_depth`: at most so far back, 0:
            to the beginning.
        recursive: Contents of active entries are scanned for keys too; `max_recursion_steps`: at most so many sweeps in all,
            0: until nothing new is found.
        include_names: Scan `name: text`. Off by default: the names of a notebook's messages are words like "code".
        match_whole_words: A key of one word matches only a whole word.
        strategy: How character and global books are ordered among themselves.
    """

    books: tuple[str, ...] = ("*",)
    scan_depth: int = Field(default=2, ge=0, le=1000)
    context_tokens: int = Field(default=32_768, ge=1)
    budget_percent: float = Field(default=25, ge=0, le=100)
    budget_cap: int = Field(default=0, ge=0)
    min_activations: int = Field(default=0, ge=0)
    min_activations_depth: int = Field(default=0, ge=0)
    recursive: bool = True
    max_recursion_steps: int = Field(default=0, ge=0)
    include_names: bool = False
    case_sensitive: bool = False
    match_whole_words: bool = True
    use_group_scoring: bool = False
    strategy: Strategy = "character_first"

    @property
    def budget(self) -> int:
        """In tokens."""
        share = max(round(self.context_tokens * self.budget_percent / 100), 1)
        return min(share, self.budget_cap) if self.budget_cap else share


class ActivatedEntry(Frozen):
    """An active entry as the run keeps it (spec tauritavern §16.1), with what its placement needs.

    `reason` tells why it is active: `constant`, `key`, `sticky`, `decorator` or `forced`.
    """

    world: str
    uid: Uid = None
    display_name: str
    constant: bool = False
    content: str
    position: Position | None = None
    depth: int = 4
    role: LoreRole = "system"
    outlet: str = ""
    reason: str = ""

    @property
    def identity(self) -> str | None:
        return lore_ref(self.world, self.uid)


class Activation(Frozen):
    """The frozen result of one scan, in the order of placement: later is closer to the end of the prompt.

    Attributes:
        timestamp_ms: When; a record for people.
        trigger: The type of generation.
        overflowed: The budget kept entries out.
        notes: What a person should know, such as a key whose regular expression took too long.
    """

    timestamp_ms: int = 0
    trigger: str = "normal"
    entries: tuple[ActivatedEntry, ...] = ()
    overflowed: bool = False
    notes: tuple[str, ...] = ()

    @property
    def refs(self) -> tuple[str, ...]:
        """One reference an entry: by world and uid, or by its number (from 0) where that is missing or taken."""
        refs: dict[str, None] = {}
        for number, entry in enumerate(self.entries):
            identity = entry.identity
            refs[identity if identity and identity not in refs else f"worldinfo:activated#{number}"] = None
        return tuple(refs)


class TimedRecord(Frozen):
    """An activation that has consequences later.

    Attributes:
        at: How many messages the chat had, the prompt included.
        anchor: `ChatMessage.anchor` of that prompt; empty: the position alone counts.
        fingerprint: Of the entry as it was.
    """

    world: str
    uid: Uid
    at: int
    anchor: str = ""
    fingerprint: str


class TimedState(Frozen):
    """What timed effects remember between the runs of a notebook."""

    records: tuple[TimedRecord, ...] = ()


def lore_ref(world: str, uid: Uid) -> str | None:
    """`worldinfo:<world>#<uid>`, or None when either is missing."""
    return f"worldinfo:{world}#{uid}" if world and uid is not None and uid != "" else None
