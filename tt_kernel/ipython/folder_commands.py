"""`%agent roots` and `%agent session`: folders that were granted, and conversations."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.ipython.listing import Listing
from tt_kernel.ipython.notebook import Notebook

if TYPE_CHECKING:
    from tt_kernel.domain.sessions import SessionTurn
    from tt_kernel.store.roots import Grant

_ROOTS = "%agent roots [list | add ALIAS FOLDER [--write] | remove ALIAS]"


def is_roots(words: Sequence[str]) -> bool:
    return not words or words[0] in ("list", "add", "remove")


def roots(notebook: Notebook, words: Sequence[str]) -> "Listing[Grant]":
    """The folders that agents of this notebook may use besides its own, after what was asked."""
    grants = notebook.session.toolbox.beside.grants
    match list(words):
        case [] | ["list"]:
            pass
        case ["add", alias, folder, *flags] if set(flags) <= {"--write", "--read"}:
            path = Path(folder).expanduser()
            place = path if path.is_absolute() else notebook.session.base_dir / path
            grants.add(alias, place, "write" if "--write" in flags else "read")
        case ["remove", alias]:
            grants.remove(alias)
        case _:
            raise UsageProblem(message=_ROOTS)
    found = grants.list()
    rows = [(f"root://{g.alias}/", g.access, g.state, g.path) for g in found]
    none = "No folder is granted. " + _ROOTS
    return Listing(found, ("root", "access", "state", "folder"), rows, [] if rows else [none])


def is_session(words: Sequence[str]) -> bool:
    return not words or (words[0] == "list" and len(words) == 1) or (words[0] == "show" and len(words) == 2)  # noqa: PLR2004


def session(notebook: Notebook, words: Sequence[str]) -> object:
    """The sessions, or what was said in one."""
    shelf = notebook.session.chats.shelf
    if words and words[0] == "show":
        return _shown(notebook, words[1])
    names = shelf.names()
    records = [shelf.record(name) for name in names]
    rows = [(r.name, r.profile, r.model, str(len(shelf.page(r.name, 0, 200)))) for r in records]
    none = "There are no sessions. %%agent --session NAME begins one."
    return Listing(records, ("session", "profile", "model", "turns"), rows, [] if rows else [none])


def _shown(notebook: Notebook, name: str) -> "Listing[SessionTurn]":
    from tt_kernel.domain.sessions import turns_of  # noqa: PLC0415

    shelf = notebook.session.chats.shelf
    shelf.record(name)
    turns = turns_of(shelf.entries(name))
    rows = [(turn.run, turn.status, turn.prompt, _answer(turn)) for turn in turns]
    return Listing(turns, ("run", "status", "said", "answered"), rows)


def _answer(turn: "SessionTurn") -> str:
    return next((m.text for m in reversed(turn.messages) if m.role == "assistant" and m.text), "")
