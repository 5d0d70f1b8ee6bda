"""spec tauritavern §17.4: the default system prompt names only bound tools, by their call names."""

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.ids import builtin
from tt_kernel.domain.messages import AssistantMessage, SystemMessage, UserMessage
from tt_kernel.domain.profiles import Instructions, Profile, RunPolicy, WorkspacePolicy
from tt_kernel.domain.specs import Binding, Snapshot, ToolSpec
from tt_kernel.runtime.prompt import initial_messages, system_prompt

PROFILE = Profile(id="p", display_name="P")


def snapshot(*natives, completion="reply"):
    bindings = tuple(
        Binding(
            name=n.replace(".", "_"),
            spec=ToolSpec(id=builtin(n), description="d", input_schema={}, group=n.split(".")[0], effect="none"),
        )
        for n in natives
    )
    return Snapshot(completion=completion, bindings=bindings)


def test_a_line_appears_only_if_its_tool_is_bound():
    text = system_prompt(PROFILE, snapshot("workspace.read_file"))
    assert "workspace_read_file" in text
    assert "workspace_write_file" not in text
    assert "workspace.read_file" not in text


def test_reply_and_finish_end_differently():
    reply = system_prompt(PROFILE, snapshot("dice.roll"))
    assert "answer the user in plain text" in reply
    both = snapshot("workspace.commit", "workspace.finish", completion="finish")
    finish = system_prompt(PROFILE, both)
    assert "workspace_commit, then call workspace_finish" in finish
    background = PROFILE.model_copy(update={"run": RunPolicy(presentation="background")})
    assert "workspace_commit, then" not in system_prompt(background, both)


def test_without_tools_no_tools_are_mentioned():
    text = system_prompt(PROFILE, snapshot())
    assert "tool" not in text


def test_roots_are_listed_when_files_can_be_seen():
    profile = PROFILE.model_copy(
        update={"workspace": WorkspacePolicy(visible_roots=("output", "plan"), writable_roots=("plan",))}
    )
    text = system_prompt(profile, snapshot("workspace.list_files"))
    assert "Folders you can see: output/, plan/. Folders you can write to: plan/." in text
    assert "Folders" not in system_prompt(profile, snapshot("dice.roll"))


def test_a_custom_instruction_replaces_the_whole_text():
    profile = PROFILE.model_copy(update={"instructions": Instructions(agent_system_prompt="Only this.")})
    assert system_prompt(profile, snapshot("dice.roll")) == "Only this."


def test_the_prompt_is_passed_byte_for_byte_after_the_earlier_conversation():
    image = StoredFile(path="input/x.png", mime_type="image/png", sha256="0", size=1)
    history = [SystemMessage(text="old"), UserMessage(text="a"), AssistantMessage(text="b")]
    prompt = "braces {x} $HOME ?x \\frac{1}{2} 你好\n\ttab "
    messages = initial_messages(PROFILE, snapshot(), prompt, (image,), history)
    assert [m.role for m in messages] == ["system", "user", "assistant", "user"]
    assert messages[0].text != "old"
    assert messages[-1].text == prompt
    assert messages[-1].images == (image,)


# ---- §17.3: directories; §17.4: the other lines


def test_directories_stand_at_the_end_of_default_and_custom_text():
    custom = PROFILE.model_copy(update={"instructions": Instructions(agent_system_prompt="Only this.")})
    directories = ["Skills: lore.", "", "Agents: critic."]
    assert system_prompt(custom, snapshot(), directories) == "Only this.\n\nSkills: lore.\n\nAgents: critic."
    assert system_prompt(PROFILE, snapshot(), directories).endswith("\n\nSkills: lore.\n\nAgents: critic.")
    (system, _) = initial_messages(custom, snapshot(), "x", directories=["D"])
    assert system.text == "Only this.\n\nD"


def test_every_tool_with_a_line_of_guidance_has_it_only_when_bound():
    from tt_kernel.runtime.prompt import _GUIDANCE

    natives = [native for native, _ in _GUIDANCE]
    whole = system_prompt(PROFILE, snapshot(*natives, completion="finish"))
    for native in natives:
        assert f"- {native.replace('.', '_')}: " in whole
        alone = system_prompt(PROFILE, snapshot(native))
        assert [line.split(":")[0] for line in alone.splitlines() if line.startswith("- ")] == [
            f"- {native.replace('.', '_')}"
        ]
        assert native not in whole or "." not in native
    assert "{" not in whole


def test_a_run_that_plans_is_told_so_whatever_its_own_prompt_says():
    """Spec liveagent §16."""
    told = "This run only plans: look around and change nothing."
    tools = ("workspace.read_file", "ExitPlanMode")
    custom = PROFILE.model_copy(update={"instructions": Instructions(agent_system_prompt="Only this.")})
    for profile in (PROFILE, custom):
        text = system_prompt(profile, snapshot(*tools), ["D"])
        assert told in text
        assert "call ExitPlanMode with the whole plan" in text
        assert text.endswith("\n\nD")
        assert told not in system_prompt(profile, snapshot("workspace.read_file"))
    assert "answer the user in plain text" not in system_prompt(PROFILE, snapshot(*tools))


def test_tools_that_wait_to_be_found_are_not_named():
    """Spec liveagent §11.5."""
    whole = snapshot("workspace.read_file", "dice.roll")
    waiting = whole.model_copy(update={"deferred": (whole.bindings[1].spec.id,)})
    assert "with these tools: workspace_read_file." in system_prompt(PROFILE, waiting)


def test_what_persist_is_for_is_told_where_it_can_be_written():
    told = "persist/ outlives the run"
    assert told in system_prompt(PROFILE, snapshot("workspace.write_file"))
    assert told in system_prompt(PROFILE, snapshot("workspace.shell"))
    assert told not in system_prompt(PROFILE, snapshot("workspace.read_file"))
    for policy in (
        WorkspacePolicy(visible_roots=("output", "persist"), writable_roots=("output",)),
        WorkspacePolicy(visible_roots=("output",), writable_roots=("output",)),
    ):
        profile = PROFILE.model_copy(update={"workspace": policy})
        assert told not in system_prompt(profile, snapshot("workspace.write_file"))


def test_how_to_finish_depends_on_presentation_commit_and_handoff():
    tools = ("workspace.write_file", "workspace.commit", "workspace.finish")
    text = system_prompt(PROFILE, snapshot(*tools, completion="finish"))
    assert "nothing to read in it before your first workspace_commit" in text
    assert "For example: workspace_write_file output/main.md, workspace_commit, workspace_finish." in text
    background = PROFILE.model_copy(update={"run": RunPolicy(presentation="background")})
    assert "For example" not in system_prompt(background, snapshot(*tools, completion="finish"))
    assert "give the task away" not in text
    assert "Or give the task away with agent_handoff" in system_prompt(
        PROFILE, snapshot(*tools, "agent.handoff", completion="finish")
    )


def test_a_child_returns_and_knows_whose_files_it_sees():
    text = system_prompt(PROFILE, snapshot("workspace.read_file", "task.return", completion="return"))
    assert "works on a task for another agent" in text
    assert "The agent that asked sees the same files under the same names." in text
    assert text.endswith("To end: call task_return with your result.")
    assert "user" not in text
