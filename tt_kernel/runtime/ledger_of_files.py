"""Which files a run has read and changed, told to the model when the calls that say so leave its sight (spec liveagent §19).

Only results of file tools count: no failed call, no listing or search, no image shown, no shell.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from tt_kernel.domain.calls import ToolResult
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.messages import Message
from tt_kernel.domain.runs import CallRecord

MAX_FILES = 100
"""Of each list; the newest stay (spec liveagent §19)."""
PATH_CHARS = 200
"""Of one path; a longer one keeps its end (spec liveagent §19)."""
TOTAL_CHARS = 4_000
"""Of both lists (spec liveagent §19)."""
RESERVE_CHARS = 1_000
"""Of TOTAL_CHARS, kept for the files that were only read, however many were changed (spec liveagent §19)."""
DIGEST_CHARS = 12
"""Of a file's SHA-256: enough to tell whether it changed since."""

How = Literal["read", "modified"]

_TOOLS: dict[ToolId, How] = {
    builtin("Read"): "read",
    builtin("workspace.read_file"): "read",
    builtin("Write"): "modified",
    builtin("Edit"): "modified",
    builtin("Delete"): "modified",
    builtin("workspace.write_file"): "modified",
    builtin("workspace.apply_patch"): "modified",
}
_HEADS: dict[How, str] = {"modified": "Files changed so far:", "read": "Files only read so far:"}
_LINE = re.compile(r"- (?P<path>.+?)(?: \((?P<note>sha256 [0-9a-f]+|deleted)\))?")


@dataclass
class FileLedger:
    """Path -> what is known of its content (`sha256 …`, `deleted`, or nothing), oldest first. A changed file is in one list only."""

    read: dict[str, str] = field(default_factory=dict)
    modified: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, messages: Iterable[Message], calls: Iterable[CallRecord]) -> "FileLedger":
        """What earlier summaries among `messages` carry over, and what `calls` did since."""
        ledger = cls()
        for message in messages:
            if message.role == "user" and message.source == "compaction":
                ledger.carry_over(message.text)
        for record in calls:
            if record.result is not None:
                ledger.note(record.result)
        return ledger

    def note(self, result: ToolResult) -> None:
        """One result, if it is of a file tool and no error."""
        how, facts = _TOOLS.get(result.tool_id), result.structured
        if how is None or result.is_error or not isinstance(facts, dict) or facts.get("kind") == "read_image":
            return
        path = facts.get("path")
        if isinstance(path, str) and path:
            sha256 = facts.get("contentHash") or facts.get("sha256")
            deleted = "deleted" if result.tool_id == builtin("Delete") else ""
            self._add(how, _cut(path), f"sha256 {sha256[:DIGEST_CHARS]}" if isinstance(sha256, str) else deleted)

    def carry_over(self, text: str) -> None:
        """The lists of an earlier summary, as `told` wrote them."""
        how: How | None = None
        for line in text.splitlines():
            heads: list[How] = [name for name, head in _HEADS.items() if head == line]
            match = _LINE.fullmatch(line)
            if heads:
                how = heads[0]
            elif how is not None and match is not None:
                self._add(how, match["path"], match["note"] or "")
            else:
                how = None

    def told(self) -> str:
        """Both lists for the model, the newest files first, within the limits; "" when there is none."""
        reserve = RESERVE_CHARS if self.read else 0
        changed = _listed("modified", self.modified, TOTAL_CHARS - reserve)
        return "\n".join(filter(None, (changed, _listed("read", self.read, TOTAL_CHARS - len(changed) - 1))))

    def _add(self, how: How, path: str, note: str) -> None:
        """A file that was changed stays with the changed ones when it is read again; its digest is the newest."""
        own = self.modified if how == "modified" or path in self.modified else self.read
        self.read.pop(path, None)
        known = own.pop(path, "")
        own[path] = note or known


def _listed(how: How, files: dict[str, str], room: int) -> str:
    lines, used = [], len(_HEADS[how])
    for path, note in list(reversed(files.items()))[:MAX_FILES]:
        line = f"- {path} ({note})" if note else f"- {path}"
        used += len(line) + 1
        if used > room:
            break
        lines.append(line)
    # The oldest of the shown first, so that a list that is carried over keeps its order.
    return "\n".join([_HEADS[how], *reversed(lines)]) if lines else ""


def _cut(path: str) -> str:
    path = " ".join(path.splitlines())
    return path if len(path) <= PATH_CHARS else f"...{path[3 - PATH_CHARS :]}"
