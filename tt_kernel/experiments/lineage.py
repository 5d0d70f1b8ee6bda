"""`tree`: which runs go on from, revise or branch from which."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.runs import RunRecord
from tt_kernel.widgets.wording import one_line

PROMPT_CHARS = 60


@dataclass(frozen=True)
class Node:
    """A run in the tree.

    Attributes:
        record: The run.
        relation: How it comes from its parent; empty for a run of its own.
        depth: 0 for a run of its own.
    """

    record: RunRecord
    relation: str
    depth: int


class Tree:
    """The runs of a notebook as a forest, the oldest first. Shows itself; iterating gives its nodes, parents first."""

    def __init__(self, records: Sequence[RunRecord]) -> None:
        self.nodes = tuple(_nodes(records))

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return "\n".join(map(_line, self.nodes)) or "There are no runs yet."


def parent_of(record: RunRecord) -> tuple[str, str] | None:
    """The run that a run comes from, and how."""
    if record.branch is not None:
        return record.branch.of, f"branch at turn {record.branch.turn}"
    if record.revises is not None:
        return record.revises, "revision"
    if record.continue_from is not None:
        return record.continue_from, "continued"
    return None


def _nodes(records: Sequence[RunRecord]) -> Iterator[Node]:
    known = {record.id: record for record in records}
    children: dict[str, list[tuple[RunRecord, str]]] = {}
    roots: list[tuple[RunRecord, str]] = []
    for record in sorted(records, key=lambda r: (r.started_at, r.id)):
        parent = parent_of(record)
        if parent is None:
            roots.append((record, ""))
        elif parent[0] in known:
            children.setdefault(parent[0], []).append((record, parent[1]))
        else:
            roots.append((record, f"{parent[1]} of {parent[0]}, which is gone"))
    stack = [(record, relation, 0) for record, relation in reversed(roots)]
    while stack:
        record, relation, depth = stack.pop()
        yield Node(record, relation, depth)
        stack += [(child, how, depth + 1) for child, how in reversed(children.pop(record.id, []))]


def _line(node: Node) -> str:
    record = node.record
    stem = "   " * (node.depth - 1) + "└─ " if node.depth else ""
    how = f" [{node.relation}]" if node.relation else ""
    return f"{stem}{record.id} {record.status}{how} {_change(record)}"


def _change(record: RunRecord) -> str:
    """What is new about it: the edits of a branch, else its prompt."""
    branch = record.branch
    last = branch.edits[-1] if branch and branch.edits and branch.edits[-1].turn == branch.turn else None
    if last is None:
        return one_line(record.prompt, PROMPT_CHARS)
    parts = [f"message {one_line(last.message, PROMPT_CHARS)}"] if last.message is not None else []
    parts += [f"reply {one_line(last.reply, PROMPT_CHARS)}"] if last.reply is not None else []
    parts += [
        f"call {number}: {one_line(canonical_json(value), PROMPT_CHARS)}"
        for number, value in sorted(last.calls.items())
    ]
    parts += [f"result {number}: {one_line(text, PROMPT_CHARS)}" for number, text in sorted(last.results.items())]
    parts += [f"{name}={value}" for name, value in sorted(last.settings.items())]
    parts += [f"model {last.model}"] if last.model else []
    return "; ".join(parts) or one_line(record.prompt, PROMPT_CHARS)
