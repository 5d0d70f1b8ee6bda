"""`find`: runs by the words of their prompts, messages, calls and results, and by tool, model, profile, status and date."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from tt_kernel.domain.errors import StorageFault, UsageProblem
from tt_kernel.experiments.search_index import SearchIndex
from tt_kernel.store.layout import AgentFolder

LIMIT = 50
SNIPPET_WORDS = 14
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")

_FILTERS = {
    "tool": "tools LIKE '% ' || ? || ' %'",
    "model": "model LIKE '%' || ? || '%'",
    "profile": "profile = ?",
    "status": "status = ?",
    "since": "started >= ?",
    "until": "started < ?",
    "in": "",
}
"""What a word `name:value` narrows the search to."""

_RUN = "id, status, profile, model, started, prompt"
KINDS = ("prompt", "message", "call", "result", "answer")


@dataclass(frozen=True)
class Query:
    """Words that must all occur in one text (`"…"` is a phrase, a word matches words that begin with it), and filters."""

    words: tuple[str, ...] = ()
    filters: dict[str, str] = field(default_factory=dict)

    @property
    def match(self) -> str:
        """In the language of FTS5; every word is quoted, so nothing in it is an operator."""
        quoted = (word.replace('"', '""') for word in self.words)
        return " AND ".join(f'"{word}"' if " " in word else f'"{word}"*' for word in quoted)


@dataclass(frozen=True)
class Hit:
    """A run that fits.

    Attributes:
        run: Its id.
        where: Which text fits best: prompt, message, call, result or answer; empty where no words were asked for.
        snippet: The place in it, the words in [brackets].
    """

    run: str
    status: str
    profile: str
    model: str
    started: str
    prompt: str
    where: str = ""
    snippet: str = ""


def parse_query(words: Sequence[str]) -> Query:
    """Words, and filters written `tool:dice_roll model:gpt profile:writer status:failed since:2026-11 until:2026-12 in:prompt`.

    Raises:
        UsageProblem: A date or kind that is none.
    """
    plain: list[str] = []
    filters: dict[str, str] = {}
    for word in words:
        name, colon, value = word.partition(":")
        if not (colon and value and name in _FILTERS):
            plain.append(word)
        elif name in ("since", "until") and not _DATE.fullmatch(value):
            raise UsageProblem(message=f"{word}: a date is written 2026, 2026-11 or 2026-11-30.")
        elif name == "in" and value not in KINDS:
            raise UsageProblem(message=f"{word}: it is one of {', '.join(KINDS)}.")
        else:
            filters[name] = value
    return Query(tuple(word for word in plain if re.search(r"\w", word)), filters)


def find(folder: AgentFolder, query: Query, *, limit: int = LIMIT) -> list[Hit]:
    """The runs that fit, best first; without words the newest first.

    Args:
        folder: Of the notebook.
        query: What to look for.
        limit: How many runs at most.

    Raises:
        StorageFault: The index cannot be read or built.
    """
    if not folder.runs.is_dir():
        return []
    with closing(SearchIndex(folder).connect()) as connection:
        try:
            rows = connection.execute(*_statement(query, limit)).fetchall()
        except sqlite3.DatabaseError as error:
            raise StorageFault(message=f"The search index of {folder.root.name} cannot be read: {error}.") from error
    best: dict[str, Hit] = {}
    for row in rows:
        best.setdefault(row[0], Hit(*row))
    return list(best.values())[:limit]


def _statement(query: Query, limit: int) -> tuple[str, list[str | int]]:
    """The best texts first and the runs after them: joining 10,000 matches before they are ranked would take too long."""
    facts = {name: value for name, value in query.filters.items() if name != "in"}
    fit = " AND ".join(_FILTERS[name] for name in facts) or "1"
    if not query.words and "in" not in query.filters:
        return f"SELECT {_RUN} FROM runs WHERE {fit} ORDER BY started DESC, id LIMIT ?", [*facts.values(), limit]  # noqa: S608  fixed parts
    conditions: dict[str, list[str]] = {}
    if query.words:
        conditions["texts MATCH ?"] = [query.match]
    if "in" in query.filters:
        conditions["kind = ?"] = [query.filters["in"]]
    if facts:
        conditions[f"run IN (SELECT id FROM runs WHERE {fit})"] = list(facts.values())  # noqa: S608
    place = f"snippet(texts, 0, '[', ']', '…', {SNIPPET_WORDS})" if query.words else "substr(body, 1, 100)"
    order = "rank" if query.words else "rowid DESC"
    rank = "rank" if query.words else "-rowid"
    best = f"SELECT run, kind, {place} AS place, {rank} AS score FROM texts WHERE {' AND '.join(conditions)} ORDER BY {order} LIMIT ?"  # noqa: S608
    values = [value for values in conditions.values() for value in values]
    ordered = "score, started DESC, id, kind" if query.words else "started DESC, id, kind"
    return f"SELECT {_RUN}, kind, place FROM ({best}) JOIN runs ON id = run ORDER BY {ordered}", [*values, limit * 8]  # noqa: S608
