"""The entries of all books as one scan looks at them: in order, with their decorators read (spec tauritavern §16.2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tt_kernel.domain.worldinfo import LoreBook, LoreEntry, Source, Strategy, lore_ref

Decorator = Literal["activate", "dont_activate"]

_DECORATORS: dict[str, Decorator] = {"@@activate": "activate", "@@dont_activate": "dont_activate"}


@dataclass(frozen=True, eq=False)
class Candidate:
    """One entry in one scan; two are never equal, even if their uids are.

    Attributes:
        stream: Name of its own stream of chance.
        content: Without the decorator lines.
    """

    world: str
    entry: LoreEntry
    stream: str
    content: str
    decorator: Decorator | None

    @property
    def ref(self) -> str | None:
        return lore_ref(self.world, self.entry.uid)


def candidates(books: Sequence[LoreBook], strategy: Strategy) -> list[Candidate]:
    """All entries in the order in which they are considered: chat lore, persona lore, then character and global by strategy."""

    def of(*sources: Source) -> list[Candidate]:
        found = (c for book in books if book.source in sources for c in _of_book(book))
        return sorted(found, key=lambda c: -c.entry.order)

    rest: dict[Strategy, list[Candidate]] = {
        "evenly": of("character", "global"),
        "character_first": of("character") + of("global"),
        "global_first": of("global") + of("character"),
    }
    return of("chat") + of("persona") + rest[strategy]


def _of_book(book: LoreBook) -> Iterable[Candidate]:
    for number, entry in enumerate(book.entries):
        decorator, content = read_decorators(entry.content)
        name = f"#{number}" if entry.uid is None else str(entry.uid)
        yield Candidate(book.name, entry, f"worldinfo:{book.name}#{name}", content, decorator)


def read_decorators(content: str) -> tuple[Decorator | None, str]:
    """The first known decorator among the lines `@@...` at the beginning, and the content without those lines.

    `@@@name` is what to fall back on where the decorator above it is not known.
    """
    found: Decorator | None = None
    known = True
    lines = content.splitlines(keepends=True)
    at = 0
    for at, line in enumerate(lines):  # noqa: B007  where the content begins
        if not line.startswith("@@"):
            break
        fallback = line.startswith("@@@")
        if fallback and known:
            continue
        named = _DECORATORS.get((line[1:] if fallback else line).strip().lower())
        known = named is not None
        found = found or named
    else:
        at = len(lines)
    return found, "".join(lines[at:])
