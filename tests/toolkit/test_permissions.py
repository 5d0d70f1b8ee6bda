"""Permission rules and their defaults: DESIGN §10, spec liveagent §3."""

import pytest

from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.profiles import Permissions
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.toolkit.permissions import PermissionEngine, answer_seconds


def spec(tool="builtin:Bash", effect="host", **more):
    fields = {"description": "d", "input_schema": {"type": "object"}, "group": "shell"}
    return ToolSpec(id=ToolId.parse(tool), effect=effect, **(fields | more))


def rules(*triples, safety="auto"):
    return Permissions(
        safety=safety,
        rules=[{"tool": t, "decision": d, "arguments": a[0] if a else {}} for t, d, *a in triples],
    )


def decide(*layers, tool=None, name="Bash", arguments=None, interactive=True):
    return PermissionEngine(layers, interactive).decide(tool or spec(), name, arguments or {})


@pytest.mark.parametrize(
    ("tool", "verdict"),
    [
        (spec(effect="none"), "allow"),
        (spec(effect="workspace"), "allow"),
        (spec(effect="project"), "ask"),
        (spec(effect="project", read_only=True), "allow"),
        (spec(effect="host"), "ask"),
        (spec("mcp/files:read", "external"), "ask"),
        (spec("mcp/files:read", "external", read_only=True), "ask"),
        (spec("extension/other:x", "external"), "ask"),
        (spec("extension/notebook:x", "external"), "allow"),
    ],
)
def test_defaults_by_effect(tool, verdict):
    assert decide(tool=tool).decision == verdict
    assert decide(Permissions(), Permissions(), tool=tool).decision == verdict


def test_headless_ask_is_deny_and_says_the_rule_and_the_way_out():
    """notes/ux.md: a refusal names the rule and how to change it."""
    decision = decide(interactive=False)
    assert (decision.decision, decision.rule, decision.unattended) == ("deny", "host = ask", True)
    assert decision.refusal("Bash") == (
        'Bash was not run: rule "host = ask" and nobody can answer here. The user can allow it with '
        "%agent permissions allow Bash. Do not repeat this call."
    )
    asked = decide(interactive=False, arguments={"command": "pytest -q tests"})
    assert '%agent permissions allow Bash --pattern "command=pytest*".' in asked.refusal("Bash")
    asked = decide(interactive=False, arguments={"path": "src/a.py", "content": "x"})
    assert '--pattern "path=src/a.py"' in asked.refusal("Write")
    assert "--pattern" not in decide(interactive=False, arguments={"path": 'a "b".py'}).refusal("Write")
    assert decide(tool=spec("extension/notebook:x", "external"), interactive=False).decision == "allow"


def test_deny_wins_over_every_document():
    near, far = rules(("Bash", "allow")), rules(("Bash", "deny"))
    assert decide(near, far).decision == "deny"
    assert decide(rules(("Bash", "allow"), ("Bash", "deny"))).decision == "deny"
    refusal = decide(near, far).refusal("Bash")
    assert refusal == 'Bash was not run: rule "Bash = deny" forbids it. Do not repeat this call.'


def test_the_nearest_document_wins_and_in_it_the_first_rule():
    assert decide(rules(("Bash", "allow")), rules(("Bash", "ask"))).decision == "allow"
    assert decide(rules(("Bash", "ask")), rules(("Bash", "allow"))).decision == "ask"
    assert decide(rules(("B*", "allow"), ("Bash", "ask"))).decision == "allow"
    assert decide(rules(("Other", "deny")), rules(("Bash", "allow"))).decision == "allow"


@pytest.mark.parametrize("pattern", ["builtin:Bash", "Bash", "builtin:*", "B?sh", "group:shell"])
def test_ways_to_name_a_tool(pattern):
    assert decide(rules((pattern, "allow"))).decision == "allow"


@pytest.mark.parametrize("pattern", ["builtin:bash", "Bas", "group:sh*", "server:Bash", "Bash*x"])
def test_what_does_not_name_it(pattern):
    assert decide(rules((pattern, "allow"))).decision == "ask"


def test_server_names_all_tools_of_an_mcp_server():
    tool = spec("mcp/files:read", "external")
    assert decide(rules(("server:files", "allow")), tool=tool, name="mcp_files_read").decision == "allow"
    assert decide(rules(("server:file", "allow")), tool=tool, name="mcp_files_read").decision == "ask"


def test_argument_patterns_must_all_match():
    one = rules(("Bash", "allow", {"command": "pytest*", "cwd": "src"}))
    assert decide(one, arguments={"command": "pytest -q", "cwd": "src"}).decision == "allow"
    assert decide(one, arguments={"command": "pytest -q", "cwd": "."}).decision == "ask"
    assert decide(one, arguments={"command": "pytest -q"}).decision == "ask"
    assert decide(rules(("Bash", "deny", {"n": "[45]"})), arguments={"n": 4}).decision == "deny"
    assert decide(one, arguments={"command": "pytest", "cwd": "src"}).rule == "Bash command=pytest* cwd=src = allow"


def test_safety_ask_asks_for_all_that_may_change_something():
    """Spec liveagent §3.2: lifts an allow, never a deny; read-only and harmless tools go on."""
    ask = rules(("Bash", "allow"), safety="ask")
    assert (decide(ask).decision, decide(ask).rule) == ("ask", "safety = ask")
    assert decide(ask, tool=spec("extension/notebook:x", "external"), name="x").decision == "ask"
    assert decide(ask, tool=spec(effect="workspace"), name="w").decision == "ask"
    assert decide(ask, tool=spec(effect="workspace", read_only=True), name="r").decision == "allow"
    assert decide(ask, tool=spec(effect="none"), name="n").decision == "allow"
    assert decide(rules(("Bash", "deny"), safety="ask")).decision == "deny"


def test_the_strictest_safety_counts():
    """A document can tighten, never loosen: spec liveagent §3.2."""
    engine = PermissionEngine([rules(safety="auto"), rules(safety="sandbox-offline"), rules(safety="sandbox")], True)
    assert engine.safety == "sandbox-offline"
    assert PermissionEngine([rules(safety="auto"), rules(safety="ask")], True).safety == "ask"
    assert PermissionEngine([], True).safety == "auto"


def test_an_unknown_safety_mode_is_ask():
    """Spec liveagent §3.5: fail closed."""
    assert Permissions.model_validate({"safety": "yolo"}).safety == "ask"
    assert Permissions.model_validate({"safety": None}).safety == "ask"
    assert Permissions().safety == "auto"


@pytest.mark.parametrize(
    ("pattern", "command", "verdict"),
    [
        ("pytest*", "pytest -q", "allow"),
        ("pytest*", "pytest; rm -r .", "ask"),
        ("pytest*", "pytest && rm x", "ask"),
        ("pytest*", "pytest | sh", "ask"),
        ("pytest*", "pytest > /etc/x", "ask"),
        ("pytest*", "pytest $(rm x)", "ask"),
        ("pytest*", "pytest `rm x`", "ask"),
        ("pytest*", "pytest\nrm x", "ask"),
        ("pytest* | tail*", "pytest -q | tail -5", "allow"),
        ("pytest* | tail*", "pytest -q | tail -5; rm x", "ask"),
        ("a; b", "a; b", "allow"),
    ],
)
def test_a_pattern_that_allows_does_not_allow_what_is_chained_to_it(pattern, command, verdict):
    found = decide(rules(("Bash", "allow", {"command": pattern})), arguments={"command": command})
    assert found.decision == verdict


def test_a_pattern_that_denies_or_asks_has_no_such_limit():
    assert decide(rules(("Bash", "deny", {"command": "rm*"})), arguments={"command": "rm x; ls"}).decision == "deny"
    layers = rules(("Bash", "ask", {"command": "git*"})), rules(("Bash", "allow"))
    assert decide(*layers, arguments={"command": "git x; ls"}).decision == "ask"


def test_built_in_tools_that_only_look_outside_are_allowed():
    """Asking the user a question needs no approval; what an MCP server says of itself is another matter."""
    assert decide(tool=spec("builtin:AskUserQuestion", "external", read_only=True)).decision == "allow"
    assert (
        decide(Permissions(safety="ask"), tool=spec("builtin:AskUserQuestion", "external", read_only=True)).decision
        == "allow"
    )


def test_how_long_a_person_has():
    """Spec liveagent §3.3: 3 minutes, unless a document says otherwise; the nearest that does."""
    assert answer_seconds([]) == 180
    assert answer_seconds([Permissions(), Permissions(answer_seconds=5), Permissions(answer_seconds=9)]) == 5
