"""Catalog and profile -> snapshot: spec tauritavern §2.4, §8.3, §11.2, §11.3."""

import pytest

from tt_kernel.domain.errors import NotFound, ProfileInvalid
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.toolkit.catalog import Catalog
from tt_kernel.toolkit.snapshot import make_snapshot

NAMES = ["workspace.read_file", "workspace.commit", "workspace.finish", "chat.search", "dice.roll", "task.return",
         "agent.delegate", "agent.handoff", "agent.await"]  # fmt: skip
CHAT_ONLY = {"chat.search", "workspace.commit", "workspace.finish", "agent.delegate", "agent.handoff", "agent.await"}
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "Where."}},
    "additionalProperties": False,
}


def spec(tool, **more):
    fields = {"description": f"About {tool}.", "input_schema": SCHEMA, "group": "test", "effect": "none"}
    return ToolSpec(id=ToolId.parse(tool), **(fields | more))


CATALOG = Catalog(
    [
        *(spec(f"builtin:{n}", contexts=("cell",) if n in CHAT_ONLY else ("cell", "session")) for n in NAMES),
        spec("extension/notebook:plot", returns_images=True, effect="external"),
        spec("extension/notebook:load", effect="external"),
        spec("mcp/files:read", effect="external"),
    ]
)
ALL = tuple(f"builtin:{n}" for n in NAMES if n != "task.return")


def profile(allow=ALL, **tools):
    return Profile(id="p", display_name="P", tools={"allow": allow, **tools})


def make(chosen=None, **how):
    how = {"completion": "finish", "context": "cell", "accepts_images": True} | how
    return make_snapshot(CATALOG, chosen or profile(), **how)


def names(snapshot):
    return [b.name for b in snapshot.bindings]


def codes(snapshot):
    return [(d.code, d.subject) for d in snapshot.diagnostics]


def test_finish_is_as_prepared_in_the_order_of_the_allow_list():
    assert names(make()) == ["workspace_read_file", "workspace_commit", "workspace_finish", "chat_search", "dice_roll",
                             "agent_delegate", "agent_handoff", "agent_await"]  # fmt: skip
    assert names(make(profile(["dice.roll", "builtin:workspace.*"])))[0] == "dice_roll"


def test_reply_has_no_finish_but_may_commit():
    got = names(make(completion="reply"))
    assert "workspace_finish" not in got
    assert "workspace_commit" in got


def test_return_removes_what_a_child_may_not_and_adds_task_return():
    assert names(make(completion="return")) == ["workspace_read_file", "chat_search", "dice_roll", "task_return"]


def test_task_return_is_never_offered_otherwise_and_never_allowed_by_a_profile():
    assert "task_return" not in names(make(profile(["builtin:*"])))
    assert names(make(profile(["builtin:*"]), completion="return")).count("task_return") == 1
    with pytest.raises(ProfileInvalid) as caught:
        make(profile(["builtin:task.return"]))
    assert caught.value.code == "agent.profile_task_return_runtime_only"


def test_session_context_drops_chat_tools():
    """Spec tauritavern §2.4(2), §23.4."""
    assert names(make(completion="reply", context="session")) == ["workspace_read_file", "dice_roll"]


def test_denied_never_appears_even_if_allowed():
    assert "dice_roll" not in names(make(profile(deny=["builtin:dice.roll"])))


def test_finish_without_finish_cannot_end():
    with pytest.raises(
        ProfileInvalid, match=r"ends by 'builtin:workspace\.finish' but does not have that tool"
    ) as caught:
        make(profile(["dice.roll"]))
    assert caught.value.code == "agent.profile_finish_required"
    assert names(make(profile(["dice.roll"]), completion="reply")) == ["dice_roll"]


def test_unavailable_external_tools_are_diagnostics_not_errors():
    """Spec tauritavern §11.3."""
    chosen = profile([*ALL, "mcp/gone:x", "extension/notebook:away", "extension/notebook:no*", "builtin:wrong"])
    snapshot = make(chosen)
    assert codes(snapshot) == [
        ("tool.unavailable", "mcp/gone:x"),
        ("tool.unavailable", "extension/notebook:away"),
        ("agent.profile_unknown_tool", "builtin:wrong"),
    ]
    assert len(snapshot.bindings) == len(ALL)


def test_image_tools_need_a_model_that_takes_images():
    chosen = profile(["extension/notebook:*"])
    assert names(make(chosen, completion="reply")) == ["load", "plot"]
    blind = make(chosen, completion="reply", accepts_images=False)
    assert names(blind) == ["load"]
    assert codes(blind) == [("extension.tool_needs_image_input", "extension/notebook:plot")]


def test_extra_tools_are_added_and_must_exist():
    assert names(make(profile(["dice.roll"]), completion="reply", extra_tools=["load"])) == ["dice_roll", "load"]
    with pytest.raises(NotFound):
        make(extra_tools=["laod"])


def test_descriptions_of_the_profile():
    texts = {"builtin:dice.roll": {"description": "Fate.", "properties": {"path": "Which fate."}}}
    before = CATALOG.get("builtin:dice.roll")
    bound = make(profile(tool_descriptions=texts)).find("dice_roll").spec
    assert bound.description == "Fate."
    assert bound.input_schema["properties"]["path"] == {"type": "string", "description": "Which fate."}
    assert before.input_schema["properties"]["path"]["description"] == "Where."
    only = {"builtin:dice.roll": {"properties": {"path": "Which fate."}}}
    assert make(profile(tool_descriptions=only)).find("dice_roll").spec.description == "About builtin:dice.roll."
    assert make(profile(tool_descriptions=texts)).digest != make().digest


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ({"builtin:dice.roll": {"description": " "}}, "tool_description_empty"),
        ({"builtin:dice.roll": {"properties": {"nope": "x"}}}, "unknown_tool_property"),
        ({"builtin:dice.roll": {"properties": {"path": ""}}}, "tool_property_description_empty"),
        ({"builtin:dice.rol": {"description": "x"}}, "tool_description_invisible"),
    ],
)
def test_wrong_descriptions(texts, code):
    with pytest.raises(ProfileInvalid) as caught:
        make(profile(tool_descriptions=texts))
    assert caught.value.code == f"agent.profile_{code}"


def test_a_description_of_an_absent_external_tool_is_kept_quiet():
    chosen = profile([*ALL, "mcp/gone:x"], tool_descriptions={"mcp/gone:x": {"description": "d"}})
    assert codes(make(chosen)) == [("tool.unavailable", "mcp/gone:x")]


def test_equal_input_gives_an_equal_digest():
    assert make().digest == make().digest
    assert make().digest != make(completion="reply").digest
