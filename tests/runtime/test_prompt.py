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
