"""Tools that the model is not shown before it has looked for them: spec liveagent §11.5.

When the schemas of MCP servers and installed extensions are long, they are left out of the requests. They stay in the snapshot,
so they can be called by name at any time; `ToolSearch` finds them. What is shown follows from the conversation alone (the
searches and calls in it), so a replay, a resumed run and a conversation that goes on show the same without any state.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tt_kernel.domain.canonical import Json, canonical_json
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.messages import AssistantMessage, CallPart, Message
from tt_kernel.domain.specs import Binding, Snapshot, ToolOffer, ToolSpec
from tt_kernel.toolkit.tokens import estimated_tokens

SEARCH = builtin("ToolSearch")
THRESHOLD_TOKENS = 12_000
"""Estimated tokens of all schemas that could be left out; more than that, and they are."""
MAX_RESULTS = 10
DEFAULT_RESULTS = 5
NAME_SCORE, SERVER_SCORE, DESCRIPTION_SCORE = 3, 2, 1

_SEPARATORS = re.compile(r"[\s,;/|]+")
_NOTEBOOK = "extension/notebook"


def can_wait(spec: ToolSpec) -> bool:
    """Whether a tool may be left out: one of an MCP server or an installed package. Functions of the notebook never are."""
    return spec.id.provider.startswith(("mcp/", "extension/")) and spec.id.provider != _NOTEBOOK


def server_of(spec: ToolSpec) -> str:
    """`github` for `mcp/github:…` and `extension/github:…`."""
    return spec.id.provider.partition("/")[2]


def deferring(snapshot: Snapshot, search: ToolSpec) -> Snapshot:
    """The snapshot with what waits marked, and with the tool that finds it, where that saves enough; else unchanged.

    Args:
        snapshot: Of an invocation.
        search: `ToolSearch`; its description is completed by what is hidden.
    """
    waiting = [binding for binding in snapshot.bindings if can_wait(binding.spec)]
    if sum(map(_tokens, waiting)) <= THRESHOLD_TOKENS:
        return snapshot
    told = search.model_copy(update={"description": f"{search.description}\n\n{_hidden(waiting)}"})
    bindings = (*(b for b in snapshot.bindings if b.spec.id != SEARCH), Binding(name=SEARCH.native, spec=told))
    return snapshot.model_copy(update={"bindings": bindings, "deferred": tuple(b.spec.id for b in waiting)})


def found_tools(bindings: Iterable[Binding], query: str, most: int = DEFAULT_RESULTS) -> list[Binding]:
    """The deferred tools that a query means, best first; ties keep their order.

    Each term of the query counts 3 where it occurs in the call name, 2 in the server's, 1 in the description.
    """
    terms = [term for term in _SEPARATORS.split(query.casefold()) if term]
    scored = [(sum(_score(term, binding) for term in terms), binding) for binding in bindings]
    hits = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])
    return [binding for _, binding in hits[:most]]


@dataclass
class Offers:
    """The tools that the next request of one conversation shows. What was found comes last, in the order it was found."""

    snapshot: Snapshot
    _seen: int = 0
    _found: dict[ToolId, ToolOffer] = field(default_factory=dict)

    def __call__(self, messages: Sequence[Message]) -> tuple[ToolOffer, ...]:
        """Args:
        messages: The conversation so far; the same one each time, longer.
        """
        if not self.snapshot.deferred:
            return self._shown
        if len(messages) < self._seen:
            self._seen = 0  # the conversation was compacted; what was found before stays found
        for message in messages[self._seen :]:
            if isinstance(message, AssistantMessage):
                for part in message.calls:
                    self._found.update((b.spec.id, ToolOffer.of(b)) for b in self._activated(part))
        self._seen = len(messages)
        return (*self._shown, *self._found.values())

    @property
    def _shown(self) -> tuple[ToolOffer, ...]:
        return tuple(map(ToolOffer.of, self.snapshot.shown))

    def _activated(self, part: CallPart) -> list[Binding]:
        """A search activates what it finds; calling a tool by its name activates that one."""
        called = self.snapshot.find(part.name)
        if called is None:
            return []
        if called.spec.id != SEARCH:
            return [called] if called.spec.id in self.snapshot.deferred else []
        query, most = part.arguments.for_model.get("query"), part.arguments.for_model.get("max_results")
        if not isinstance(query, str) or not _is_number(most):
            return []  # the call is refused as well
        return found_tools(deferred_bindings(self.snapshot), query, DEFAULT_RESULTS if most is None else int(most))


def deferred_bindings(snapshot: Snapshot) -> list[Binding]:
    return [binding for binding in snapshot.bindings if binding.spec.id in snapshot.deferred]


def _is_number(most: Json) -> bool:
    """As the tool's own schema has it: 3.0 is 3."""
    if most is None:
        return True
    whole = isinstance(most, int) or (isinstance(most, float) and most.is_integer())
    return whole and not isinstance(most, bool) and 1 <= most <= MAX_RESULTS


def _score(term: str, binding: Binding) -> int:
    places = (
        (binding.name, NAME_SCORE),
        (server_of(binding.spec), SERVER_SCORE),
        (binding.spec.description, DESCRIPTION_SCORE),
    )
    return sum(points for text, points in places if term in text.casefold())


def _tokens(binding: Binding) -> int:
    return estimated_tokens(canonical_json(ToolOffer.of(binding).model_dump(mode="json")))


def _hidden(waiting: Sequence[Binding]) -> str:
    counts: dict[str, int] = {}
    for binding in waiting:
        counts[server_of(binding.spec)] = counts.get(server_of(binding.spec), 0) + 1
    listed = ", ".join(f"{server} ({count})" for server, count in counts.items())
    return f"Not shown yet, {len(waiting)} tools in all: {listed}."
