"""Who may do what: permission rules and their defaults (DESIGN §10). Asked in the pipeline, for every caller.

How a call is decided:
1. A `deny` rule of any document wins.
2. Safety `ask` (the strictest of the documents counts, so a document can tighten it and none can loosen it): everything that
   may change something asks.
3. The first matching rule of the nearest document that has one.
4. The default by effect: `none`, `workspace` and what only reads this machine: allow. Functions of this notebook: allow,
   because the user wrote them here. `project`, `host` and `external`: ask.
Where nobody can answer, ask is deny.

A pattern that allows is read with care: `*` in a pattern for a `command` does not stand for what chains commands
(`; & | < > $( ` and line ends), so that `pytest*` does not allow `pytest; rm -r .`. Patterns that ask or deny have no such limit.
"""

import fnmatch
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tt_kernel.domain.canonical import Json, JsonObject, canonical_json
from tt_kernel.domain.profiles import Permissions
from tt_kernel.domain.specs import PermissionRule, ToolSpec

Verdict = Literal["allow", "ask", "deny"]

STRICTNESS = ("auto", "sandbox", "sandbox-offline", "ask")
"""Safety modes, loosest first (spec liveagent §3.2)."""

ANSWER_SECONDS = 180.0
"""Spec liveagent §3.3."""

_HARMLESS = frozenset({"none", "workspace"})
_CHAINING = re.compile(r"[;&|<>`\n\r]|\$\(")
_SIMPLE_WORD = re.compile(r"[\w./-]+")
_NOTEBOOK = "extension/notebook:"


@dataclass(frozen=True)
class Decision:
    """How a call was decided.

    Attributes:
        rule: The text of the rule that decided.
        patterns: The argument patterns of that rule; empty for defaults.
        unattended: It asks, but nobody can answer here.
        arguments: What was judged, where it asks: a path may be spelled differently from the call's.
    """

    decision: Verdict
    rule: str
    patterns: Mapping[str, str] = field(default_factory=dict)
    unattended: bool = False
    arguments: JsonObject = field(default_factory=dict)

    def refusal(self, name: str) -> str:
        """Why the tool `name` was not run, and how that can be changed: for the model and for the person who reads on."""
        if self.unattended:
            return (
                f'{name} was not run: rule "{self.rule}" and nobody can answer here. '
                f"The user can allow it with %agent permissions allow {name}{_option(self.arguments)}. "
                "Do not repeat this call."
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
        decision = self._decision(spec, name, arguments)
        if decision.decision != "ask":
            return decision
        if self._interactive:
            return replace(decision, arguments=arguments)
        return replace(decision, decision="deny", unattended=True, arguments=arguments)

    def _decision(self, spec: ToolSpec, name: str, arguments: JsonObject) -> Decision:
        matching = [rule for rule in self._rules() if _applies(rule, spec, name, arguments)]
        denying = next((rule for rule in matching if rule.decision == "deny"), None)
        if denying is not None:
            return _by(denying)
        if self.safety == "ask" and not spec.read_only and spec.effect != "none":
            return Decision("ask", "safety = ask")
        return _by(matching[0]) if matching else _default(spec)

    def _rules(self) -> Iterator[PermissionRule]:
        for layer in self._layers:
            yield from layer.rules


def answer_seconds(layers: Sequence[Permissions]) -> float:
    """How long a person has to answer: what the nearest document says that says anything."""
    return next((layer.answer_seconds for layer in layers if layer.answer_seconds is not None), ANSWER_SECONDS)


def arguments_match(patterns: Mapping[str, str], arguments: JsonObject, *, allowing: bool) -> bool:
    """Whether every argument that `patterns` names is there and its text matches the glob.

    Args:
        patterns: Argument -> glob.
        arguments: Of a call.
        allowing: The match lets the call happen, so chained commands are no match.
    """
    return all(
        argument in arguments
        and fnmatch.fnmatchcase(spelled(arguments[argument]), pattern)
        and not (allowing and argument == "command" and _chains(spelled(arguments[argument]), pattern))
        for argument, pattern in patterns.items()
    )


def _chains(text: str, pattern: str) -> bool:
    """Whether a command has more that chains commands than its pattern says in so many words."""
    return bool(Counter(_CHAINING.findall(text)) - Counter(_CHAINING.findall(pattern)))


def spelled(value: Json) -> str:
    """An argument as rules see it: text as it is, anything else as canonical JSON."""
    return value if isinstance(value, str) else canonical_json(value)


def rule_text(rule: PermissionRule) -> str:
    """`Bash command=git * = ask`."""
    where = "".join(f" {name}={pattern}" for name, pattern in rule.arguments.items())
    return f"{rule.tool}{where} = {rule.decision}"


def _by(rule: PermissionRule) -> Decision:
    return Decision(rule.decision, rule_text(rule), rule.arguments)


def _default(spec: ToolSpec) -> Decision:
    if spec.id.startswith(_NOTEBOOK):
        return Decision("allow", "notebook functions = allow")
    if spec.effect in _HARMLESS:
        return Decision("allow", f"{spec.effect} = allow")
    # What an external tool says of itself is no reason to trust it (spec liveagent §11.1); built-in ones are ours.
    if spec.read_only and (spec.effect != "external" or spec.id.provider == "builtin"):
        return Decision("allow", "read only = allow")
    return Decision("ask", f"{spec.effect} = ask")


def _applies(rule: PermissionRule, spec: ToolSpec, name: str, arguments: JsonObject) -> bool:
    return _names(rule.tool, spec, name) and arguments_match(
        rule.arguments, arguments, allowing=rule.decision == "allow"
    )


def _option(arguments: JsonObject) -> str:
    """The `--pattern` that allows no more than calls like this one, where it can be written simply."""
    word = _SIMPLE_WORD.match(str(arguments.get("command", "")).strip())
    if word:
        return f' --pattern "command={word[0]}*"'
    path = str(arguments.get("path", ""))
    return f' --pattern "path={path}"' if _SIMPLE_WORD.fullmatch(path) else ""


def _names(pattern: str, spec: ToolSpec, name: str) -> bool:
    if pattern.startswith("server:"):
        return spec.id.provider == f"mcp/{pattern.removeprefix('server:')}"
    if pattern.startswith("group:"):
        return spec.group == pattern.removeprefix("group:")
    return any(text == pattern or fnmatch.fnmatchcase(text, pattern) for text in (spec.id, name))
