"""The gate: is what the model calls a tool of this invocation, and may it call one now (spec tauritavern §2.5)."""

import difflib
from dataclasses import dataclass

from tt_kernel.domain.errors import ProviderError, ToolError
from tt_kernel.domain.specs import Binding, Snapshot, ToolChoice

MAX_LISTED = 40
"""How many tool names an error lists when none is near."""


@dataclass(frozen=True)
class Gate:
    snapshot: Snapshot

    def admit(self, name: str, choice: ToolChoice) -> Binding:
        """The binding that a called name means.

        Args:
            name: As the model wrote it.
            choice: What the turn's request said about tools.

        Raises:
            ToolError: `model.unknown_tool_call`, recoverable (DESIGN §5.1), naming the nearest tools.
            ProviderError: `model.tool_choice_violation`: the model called a tool that the request did not permit.
        """
        binding = self.snapshot.find(name)
        if choice.kind == "none":
            raise _violation(f"The model called {name!r} although the request allowed no tool call.")
        if binding is None:
            raise ToolError("model.unknown_tool_call", self._unknown(name))
        if choice.kind == "specific" and binding.name != choice.name:
            raise _violation(f"The model called {binding.name!r} although the request asked for {choice.name!r}.")
        return binding

    def _unknown(self, name: str) -> str:
        names = [binding.name for binding in self.snapshot.bindings]
        folded = {n.casefold(): n for n in names}
        near = [folded[n] for n in difflib.get_close_matches(name.strip().casefold(), folded, n=3)]
        near = near or [n for n in names if name and (name.endswith(n) or n.endswith(name))][:3]
        head = f"There is no tool {name!r}; nothing was done."
        if near:
            return f"{head} Did you mean {' or '.join(near)}?"
        if not names:
            return f"{head} No tool is available in this run."
        more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
        return f"{head} Available tools: {', '.join(names[:MAX_LISTED])}{more}."


def _violation(message: str) -> ProviderError:
    return ProviderError("model.tool_choice_violation", message)
