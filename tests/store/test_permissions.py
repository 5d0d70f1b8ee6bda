"""DESIGN §10: permission documents of the notebook and of the user; the nearest decides, deny wins, damage is never ignored."""

import pytest

from tt_kernel.domain.errors import NotFound, ProfileInvalid
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.specs import PermissionRule, ToolSpec
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.permissions import PermissionShelf
from tt_kernel.toolkit.permissions import PermissionEngine

BASH = ToolSpec(id=ToolId.parse("builtin:Bash"), description="d", input_schema={}, group="shell", effect="host")


@pytest.fixture
def shelf(tmp_path):
    return PermissionShelf(AgentFolder(tmp_path / "nb.agent"), tmp_path / "user")


def rule(decision, tool="Bash", **arguments):
    return PermissionRule(tool=tool, decision=decision, arguments=arguments)


def decide(shelf, command="ls"):
    return PermissionEngine(shelf.layers(), interactive=True).decide(BASH, "Bash", {"command": command}).decision


def test_without_documents_the_defaults_hold(shelf):
    assert decide(shelf) == "ask"


def test_the_nearest_document_decides(shelf):
    shelf.add(rule("ask"), "user")
    shelf.add(rule("allow", command="pytest*"))
    assert decide(shelf, "pytest -q") == "allow"
    assert decide(shelf, "rm x") == "ask"


def test_a_deny_anywhere_wins(shelf):
    shelf.add(rule("allow"))
    shelf.add(rule("deny"), "user")
    assert decide(shelf) == "deny"


def test_a_rule_for_the_same_is_replaced(shelf):
    shelf.add(rule("allow"))
    shelf.add(rule("deny"))
    assert [r.decision for r in shelf.load("notebook").rules] == ["deny"]


def test_rules_are_removed_by_tool(shelf):
    shelf.add(rule("allow"))
    shelf.add(rule("allow", tool="Edit"))
    assert [r.tool for r in shelf.remove("Bash").rules] == ["Edit"]
    with pytest.raises(NotFound, match="Edit"):
        shelf.remove("Bash")


def test_safety_fails_closed(shelf):
    assert shelf.set_safety("sandbox").safety == "sandbox"
    assert shelf.set_safety("whatever").safety == "ask"


@pytest.mark.parametrize("text", ['{"rules": [{"tool": "Bash"}]}', '{"rules": 3}', '{"unknown": 1}'])
def test_a_document_that_cannot_be_understood_is_an_error(shelf, tmp_path, text):
    (tmp_path / "nb.agent").mkdir()
    (tmp_path / "nb.agent" / "permissions.json").write_text(text)
    with pytest.raises(ProfileInvalid) as caught:
        shelf.layers()
    assert caught.value.code == "agent.permissions_invalid"
