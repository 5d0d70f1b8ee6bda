"""Who may do what: permission rules and their defaults (DESIGN §10). Asked in the pipeline, for every caller.

How a call is decided:
1. A `deny` rule of any document wins.
2. Safety `ask` (the strictest of the documents counts, so a document can tighten it and none can loosen it): everything that
   may change something asks.
3. The first matching rule of the nearest document that has one.
4. The default by effect: `none`, `workspace` and what only reads this machine: allow. Functions of this notebook: allow,
   because the user wrote them here. `project`, `host` and `external`: ask.
Where nobody can answer, ask is deny.
"""

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tt_kernel.domain.canonical import Json, JsonObject, canonical_json
from tt_kernel.domain.profiles import Permissions
from tt_kernel.domain.specs import PermissionRule, ToolSpec

Verdict = Literal["allow", "ask", "deny"]

STRICTNESS = ("auto", "sandbox", "sandbox-offline", "ask")
"""Safety modes, loosest first (spec liveagent §3.2)."""

_HARMLESS = frozenset({"none", "workspace"})
_NOTEBOOK = "extension/notebook:"


@dataclass(frozen=True)
class Decision:
    """`rule` is the text of the rule that decided; `unattended`: it asks, but nobody can answer here."""

    decision: Verdict
    rule: str
    unattended: bool = False

    def refusal(self, name: str) -> str:
        """Why the tool `name` was not run, and how that can be changed: for the model and for the person who reads on."""
        if self.unattended:
            return (
                f'{name} was not run: rule "{self.rule}" and nobody can answer here. To allow it, add '
                f'{{"tool": "{name}", "decision": "allow"}} to permissions.rules of the profile. Do not repeat this call.'
            )
        return f'{name} was not run: rule "{self.rule}" forbids it. Do not repeat this call.'


class PermissionEngine:
    """Decides calls by the permission documents of a run.

    Args:
        layers: Nearest first: run, notebook, user, shipped.
        interactive: Somebody can be asked.
    """

    def __init__(self, layers: Sequence[Permissions], interactive: bool) -> None:
        self._layers = tuple(layers)
        self._interactive = interactive

    @property
    def safety(self) -> str:
        """The strictest safety mode of the layers."""
        return max((layer.safety for layer in self._layers), key=STRICTNESS.index, default="auto")

    def decide(self, spec: ToolSpec, name: str, arguments: JsonObject) -> Decision:
        """Decide one call.

        Args:
            spec: The tool.
            name: Its call name.
            arguments: Decoded arguments.
        """
        verdict, rule = self._verdict(spec, name, arguments)
        if verdict == "ask" and not self._interactive:
            return Decision("deny", rule, unattended=True)
        return Decision(verdict, rule)

    def _verdict(self, spec: ToolSpec, name: str, arguments: JsonObject) -> tuple[Verdict, str]:
        matching = [rule for rule in self._rules() if _applies(rule, spec, name, arguments)]
        denying = next((rule for rule in matching if rule.decision == "deny"), None)
        if denying is not None:
            return "deny", _text(denying)
        if self.safety == "ask" and not spec.read_only and spec.effect != "none":
            return "ask", "safety = ask"
        if matching:
            return matching[0].decision, _text(matching[0])
        return _default(spec)

    def _rules(self) -> Iterator[PermissionRule]:
        for layer in self._layers:
            yield from layer.rules


def _default(spec: ToolSpec) -> tuple[Verdict, str]:
    if spec.id.startswith(_NOTEBOOK):
        return "allow", "notebook functions = allow"
    if spec.effect in _HARMLESS:
        return "allow", f"{spec.effect} = allow"
    # What an external tool says of itself is no reason to trust it (spec liveagent §11.1).
    if spec.read_only and spec.effect != "external":
        return "allow", "read only = allow"
    return "ask", f"{spec.effect} = ask"


def _applies(rule: PermissionRule, spec: ToolSpec, name: str, arguments: JsonObject) -> bool:
    return _names(rule.tool, spec, name) and all(
        argument in arguments and fnmatch.fnmatchcase(_spelled(arguments[argument]), pattern)
        for argument, pattern in rule.arguments.items()
    )


def _names(pattern: str, spec: ToolSpec, name: str) -> bool:
    if pattern.startswith("server:"):
        return spec.id.provider == f"mcp/{pattern.removeprefix('server:')}"
    if pattern.startswith("group:"):
        return spec.group == pattern.removeprefix("group:")
    return any(text == pattern or fnmatch.fnmatchcase(text, pattern) for text in (spec.id, name))


def _spelled(value: Json) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _text(rule: PermissionRule) -> str:
    where = "".join(f" {name}={pattern}" for name, pattern in rule.arguments.items())
    return f"{rule.tool}{where} = {rule.decision}"
