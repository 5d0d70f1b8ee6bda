"""Lorebooks as documents: `worldinfo/<book>.json` of the notebook and of the user (DESIGN §4, spec tauritavern §16).

- Books are read when they are asked for, and again only after they changed.
- `import_file` takes a lorebook, or a character card (JSON or PNG) with a book in it.
- `worldinfo/state/timed.json` remembers activations with consequences (sticky, cooldown). It is small, belongs to the
  notebook's history, and is written by runs.
"""

import difflib
import fnmatch
import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from tt_kernel.domain.canonical import Json, JsonObject, canonical_json
from tt_kernel.domain.errors import NotFound, StorageFault, UsageProblem
from tt_kernel.domain.worldinfo import LoreBook, Source, TimedState
from tt_kernel.store.atomic import decoded, read_json, storage_fault, write_json
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.locks import locked
from tt_kernel.store.lorebooks import INVALID, read_book

Origin = Literal["notebook", "user"]

MAX_RECORDS = 1000
"""Of the timed state; the oldest go first."""
MAX_NAME = 80
PNG = b"\x89PNG\r\n\x1a\n"
UNSUPPORTED = "worldinfo.import_unsupported"

_SOURCES: dict[Origin, Source] = {"notebook": "chat", "user": "global"}
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
_TIMED: TypeAdapter[TimedState] = TypeAdapter(TimedState)
_OF_CARDS = {"spec", "first_mes", "char_name", "character_book"}
"""Members by which a character card is known, besides a `data` object."""
_FOREIGN = {
    "lorebookVersion": "a NovelAI lorebook",
    "kind": "an Agnai memory book",
    "type": "a Risu lorebook",
}


class LoreShelf:
    """Finds, reads and stores lorebooks by name; of one name, the notebook's counts."""

    def __init__(self, agent_folder: AgentFolder, user_folder: Path) -> None:
        """Args:
        agent_folder: The notebook's.
        user_folder: The user's own documents; see `layout.user_folder`.
        """
        self._agent_folder = agent_folder
        self._folders: dict[Origin, Path] = {"notebook": agent_folder.worldinfo, "user": user_folder / "worldinfo"}
        self._read: dict[Path, tuple[tuple[int, int], LoreBook]] = {}

    def names(self) -> list[tuple[str, Origin]]:
        """Every book that `load` would give, by name."""
        found: dict[str, Origin] = {}
        for origin, folder in reversed(self._folders.items()):
            found.update(dict.fromkeys((path.stem for path in _files(folder)), origin))
        return sorted(found.items())

    def load(self, name: str) -> LoreBook:
        """The nearest book of this name.

        Raises:
            NotFound: `worldinfo.book_not_found`, naming the nearest names.
            UsageProblem: `worldinfo.book_invalid`: the file is no lorebook.
            StorageFault: It cannot be read.
        """
        origin = dict(self.names()).get(name)
        if origin is None:
            raise NotFound("worldinfo.book_not_found", f"There is no lorebook {name!r}.{self._hint(name)}")
        return self._cached(self._folders[origin] / f"{name}.json", name, _SOURCES[origin])

    def books(self, patterns: Sequence[str] = ("*",), *, only: Origin | None = None) -> tuple[LoreBook, ...]:
        """The books whose name matches one of the names or globs, by name. Raises as `load`.

        A plain name that no book has is an error; a glob may match nothing. `only`: of this origin.
        """
        names = [name for name, origin in self.names() if only in (None, origin)]
        plain = [pattern for pattern in patterns if not re.search(r"[*?\[]", pattern)]
        missing = [pattern for pattern in plain if pattern not in names]
        for name in missing:
            self.load(name)
        chosen = [name for name in names if any(name == p or fnmatch.fnmatchcase(name, p) for p in patterns)]
        return tuple(self.load(name) for name in chosen)

    def save(self, book: LoreBook, *, replace: bool = False) -> Path:
        """Store a book beside the notebook, in SillyTavern's format.

        Raises:
            UsageProblem: `worldinfo.book_exists`, or `worldinfo.name_invalid`: the name is no file name.
        """
        if file_name(book.name) != book.name:
            raise UsageProblem(
                "worldinfo.name_invalid",
                f"A lorebook cannot be called {book.name!r}; {file_name(book.name)!r} would do.",
            )
        folder = self._agent_folder.worldinfo
        self._agent_folder.create()
        path = folder / f"{book.name}.json"
        with locked(folder):
            if path.exists() and not replace:
                raise UsageProblem(
                    "worldinfo.book_exists",
                    f"There is a lorebook {book.name!r} already. Choose another name, or replace it.",
                )
            write_json(path, book.document())
        return path

    def import_file(self, path: Path, name: str | None = None, *, replace: bool = False) -> LoreBook:
        """Copy a lorebook, or the book inside a character card, into the notebook's `worldinfo/`.

        Args:
            path: A JSON or PNG file.
            name: How to call the book; None: as it calls itself, else as the file or the character is called.
            replace: Take the place of a book of the same name.

        Returns:
            The book as it was stored. A card's book is stored with the source `character`, and whole in `originalData`.

        Raises:
            UsageProblem: `worldinfo.import_unsupported` (no book in it), `worldinfo.book_invalid`, `worldinfo.book_exists`.
            StorageFault: The file cannot be read, or the book not be written.
        """
        document, own_name, source = _imported(path)
        book = read_book(document, file_name(name or own_name or path.stem), source, path.name)
        self.save(book, replace=replace)
        return book

    def _cached(self, path: Path, name: str, source: Source) -> LoreBook:
        try:
            stat = path.stat()
        except OSError as error:
            raise storage_fault("read", path, error) from error
        stamp = (stat.st_mtime_ns, stat.st_size)
        known = self._read.get(path)
        if known is None or known[0] != stamp:
            known = self._read[path] = (stamp, read_book(_lorebook_json(path), name, source, f"worldinfo/{path.name}"))
        return known[1]

    def _hint(self, name: str) -> str:
        names = [known for known, _ in self.names()]
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names[:10]
        return (
            f" There are: {', '.join(near)}."
            if near
            else f" Put SillyTavern lorebooks into {self._agent_folder.root.name}/worldinfo/."
        )


def file_name(name: str) -> str:
    """The nearest name that every file system takes."""
    clean = "".join(c if c.isprintable() and c not in '<>:"/\\|?*' else "_" for c in unicodedata.normalize("NFC", name))
    clean = clean.encode("utf-8", "replace")[:MAX_NAME].decode("utf-8", "ignore").strip(" .")
    return f"{clean}_" if clean.split(".")[0].lower() in _RESERVED else clean or "book"


# Timed effects


def load_timed(folder: AgentFolder) -> TimedState:
    """What timed effects remember; empty where there is nothing, or nothing readable."""
    try:
        return decoded(_TIMED, _timed_file(folder).read_bytes()) or TimedState()
    except OSError:
        return TimedState()


def save_timed(folder: AgentFolder, state: TimedState) -> None:
    """Keep it; the newest MAX_RECORDS activations. The file is left alone when it says the same already."""
    kept = TimedState(records=state.records[-MAX_RECORDS:])
    if kept == load_timed(folder):
        return
    folder.create()
    with locked(folder.worldinfo):
        write_json(_timed_file(folder), kept)


def _timed_file(folder: AgentFolder) -> Path:
    return folder.worldinfo / "state" / "timed.json"


# Files


def _files(folder: Path) -> list[Path]:
    """The books of a folder; none where it is missing. Hidden files are unfinished writes."""
    return [path for path in folder.glob("*.json") if not path.name.startswith(".") and path.is_file()]


def _lorebook_json(path: Path) -> Json:
    try:
        return read_json(path)
    except StorageFault as fault:
        if fault.code == "storage.not_json":
            raise UsageProblem(INVALID, fault.message) from fault
        raise


def _imported(path: Path) -> tuple[Json, str | None, Source]:
    """The document, what it calls itself, and whose lore it is."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise storage_fault("read", path, error) from error
    if data.startswith(PNG):
        return _of_card(_card(data, path), path)
    value = _json(data, path)
    if isinstance(value, dict) and isinstance(value.get("entries"), dict | list) and "lorebookVersion" not in value:
        name = value.get("name")
        return value, name if isinstance(name, str) and name.strip() else None, "chat"
    if isinstance(value, dict) and (isinstance(value.get("data"), dict) or _OF_CARDS & value.keys()):
        return _of_card(_card(value, path), path)
    raise UsageProblem(
        UNSUPPORTED, f"{path.name} is {_foreign(value)}, not a lorebook or a character card.\n{_WAY_OUT}"
    )


_WAY_OUT = "Import it in SillyTavern and export it from there as JSON, then import that."


def _json(data: bytes, path: Path) -> Json:
    try:
        value = json.loads(data.decode("utf-8-sig"))
        canonical_json(value)  # NaN and infinities are no JSON
    except (ValueError, RecursionError) as error:
        kinds = "a lorebook is JSON, a character card is JSON or PNG"
        raise UsageProblem(UNSUPPORTED, f"{path.name} is neither JSON nor PNG ({error}); {kinds}.") from error
    return value


def _card(content: Json | bytes, path: Path) -> JsonObject:
    """A character card's data."""
    from tavern_card import parse_card, parse_png_card  # noqa: PLC0415  for imports only

    try:
        card = parse_png_card(content) if isinstance(content, bytes) else parse_card(content)
        canonical_json(card)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UsageProblem(UNSUPPORTED, f"{path.name} is no character card that can be read: {error}.") from error
    data: JsonObject = card["data"]
    return data


def _of_card(card: JsonObject, path: Path) -> tuple[Json, str | None, Source]:
    book = card.get("character_book")
    if not isinstance(book, dict) or not book.get("entries"):
        raise UsageProblem(UNSUPPORTED, f"The character card {path.name} ({card['name']}) has no lorebook inside.")
    extensions: JsonObject = said if isinstance(said := book.get("extensions"), dict) else {}
    mark = {"tt_kernel": {"source": "character", "character": card["name"]}}
    document = {**book, "extensions": {**extensions, **mark}, "originalData": book}
    name = book.get("name")
    return document, name if isinstance(name, str) and name.strip() else card["name"], "character"


def _foreign(value: Json) -> str:
    """What else it may be, in words."""
    if isinstance(value, dict):
        return next((words for member, words in _FOREIGN.items() if member in value), "a JSON object without entries")
    return "a JSON list" if isinstance(value, list) else "a JSON value"
