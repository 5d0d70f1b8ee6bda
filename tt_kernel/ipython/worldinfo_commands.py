"""`%agent worldinfo`: the lorebooks of the notebook, and what of them a prompt would make active."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.ipython.command_words import Parsed, parsed
from tt_kernel.ipython.listing import Listing
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.widgets.wording import counted

if TYPE_CHECKING:
    from tt_kernel.domain.worldinfo import ActivatedEntry, LoreBook, LoreEntry

USAGE = "%agent worldinfo [list | show BOOK | import FILE [--as NAME] [--replace] | activate PROMPT]"
_SHOWN = 80
"""Characters of an entry's content in a table."""
_WORDS = {"list": 1, "show": 2, "import": 2}
"""How many words a command has, itself included."""


def is_worldinfo(words: Sequence[str]) -> bool:
    """The word alone, or with a command; anything else is the beginning of a prompt."""
    return not words or words[0] in (*_WORDS, "activate")


def worldinfo(notebook: Notebook, words: Sequence[str]) -> object:
    action = words[0] if words else "list"
    if action == "activate":
        return _activate(notebook, " ".join(words[1:]))
    line = parsed(words, USAGE, takes=("--as", "--replace") if action == "import" else ())
    if words and len(line.words) != _WORDS[action]:
        raise UsageProblem(message=USAGE)
    if action == "show":
        return _show(notebook, line.words[1])
    return _import(notebook, line) if action == "import" else _list(notebook)


def _list(notebook: Notebook) -> "Listing[LoreBook]":
    lore = notebook.session.lookout.lore
    names = lore.names()
    books = [lore.load(name) for name, _ in names]
    rows = [(book.name, origin, _count(book)) for book, (_, origin) in zip(books, names, strict=True)]
    none = f"There are no lorebooks. {USAGE}"
    return Listing(books, ("book", "from", "entries"), rows, [] if rows else [none])


def _show(notebook: Notebook, name: str) -> "Listing[LoreEntry]":
    book = notebook.session.lookout.lore.load(name)
    rows = [(_uid(e.uid), e.label, _when(e), _where(e), _short(e.content)) for e in book.entries]
    return Listing(book.entries, ("uid", "label", "active", "place", "content"), rows, [f"{name}: {_count(book)}"])


def _import(notebook: Notebook, line: Parsed) -> "Listing[LoreEntry]":
    """A lorebook, or the book inside a character card; paths are relative to the notebook's folder."""
    session = notebook.session
    path = Path(line.words[1]).expanduser()
    place = path if path.is_absolute() else session.base_dir / path
    book = session.lookout.lore.import_file(place, line.value("--as"), replace="--replace" in line.flags)
    return _show(notebook, book.name)


def _activate(notebook: Notebook, prompt: str) -> "Listing[ActivatedEntry]":
    """What the default profile would have active for this prompt in this cell; nothing is asked or kept."""
    from tt_kernel.toolkit.clockwork import Clockwork  # noqa: PLC0415

    if not prompt:
        raise UsageProblem(message=USAGE)
    session = notebook.session
    profile = session.profiles.load("assistant")
    context = profile.context.model_copy(update={"include_activated_world_info": True})
    looking = profile.model_copy(update={"context": context})
    around = session.lookout.look(looking, session.tools(looking), session.planner.scrubber, continues=False)
    # A run has dice of its own: entries with a probability may come out otherwise there.
    activation = around.activation(prompt, Clockwork(datetime.fromtimestamp(0, UTC), 0).random)
    if activation is None:
        return Listing((), (), (), [f"There are no lorebooks. {USAGE}"])
    entries = activation.entries
    rows = [
        (e.world, _uid(e.uid), e.display_name, e.reason, e.position or "nowhere", _short(e.content)) for e in entries
    ]
    notes = [] if rows else ["Nothing is active for this prompt."]
    notes += ["The budget kept entries out."] if activation.overflowed else []
    return Listing(entries, ("book", "uid", "label", "because", "place", "content"), rows, [*notes, *activation.notes])


def _count(book: "LoreBook") -> str:
    off = sum(entry.disable for entry in book.entries)
    many = len(book.entries)
    return f"{many} {'entry' if many == 1 else 'entries'}" + (f", {off} disabled" if off else "")


def _when(entry: "LoreEntry") -> str:
    """When an entry is active, in short."""
    if entry.disable:
        return "disabled"
    when = "always" if entry.constant else ", ".join(entry.key) or "never by itself"
    if entry.use_probability and entry.probability < 100:  # noqa: PLR2004  percent
        when += f" ({entry.probability:g} %)"
    timed = [(entry.sticky, "sticky"), (entry.cooldown, "cooldown"), (entry.delay, "delay")]
    return "; ".join([when, *(f"{name} {counted(size, 'message')}" for size, name in timed if size)])


def _where(entry: "LoreEntry") -> str:
    place = entry.place or "nowhere"
    return (
        f"{place} {entry.depth}"
        if place == "depth"
        else f"{place} {entry.outlet_name}".strip()
        if place == "outlet"
        else place
    )


def _uid(uid: "int | str | None") -> str:
    return "" if uid is None else str(uid)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
