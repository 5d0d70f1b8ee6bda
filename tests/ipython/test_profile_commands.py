"""`%agent profile …`: spec tauritavern §11; everything returned is an object that shows itself."""

import io
import json
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tt_kernel.domain.errors import NotFound, ProfileInvalid, UsageProblem
from tt_kernel.domain.profiles import Breach, Profile
from tt_kernel.ipython.subcommands import find_command

OLD = Path(__file__).parent.parent / "store" / "old_profiles"


@pytest.fixture
def agent(shell, tmp_path, monkeypatch):
    """Runs `%agent LINE` in a notebook of its own folder with an empty user folder; gives (value or error, what was shown)."""
    (tmp_path / "script.yaml").write_text("script: 1\nturns:\n  - say: Echo.\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TT_MODEL", "scripted:script.yaml")
    monkeypatch.setenv("TT_NOTEBOOK", str(tmp_path / "nb.ipynb"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))

    def run(line):
        out = io.StringIO()
        with redirect_stdout(out):
            result = shell.run_cell(f"%agent {line}", store_history=True)
        return result.error_in_exec or result.result, out.getvalue()

    run.folder = tmp_path
    run.profiles = tmp_path / "nb.agent" / "profiles"
    run.user = tmp_path / "config" / "tt_kernel" / "profiles"
    return run


def stored(path):
    return json.loads(path.read_text())


def rows(page):
    return {row[0]: row[1:] for row in page.rows}


# ---- list and show


@pytest.mark.parametrize("line", ["profile", "profile list", "profiles"])
def test_list(agent, line):
    value, out = agent(line)
    assert [profile.id for profile in value] == ["assistant", "engineer", "writer"]
    assert all(word in out for word in ("shipped", "finish", "reply"))
    assert "<table" in value._repr_html_()
    assert list(value.to_df().columns) == ["id", "from", "model", "ends by", "description"]


def test_show_tells_what_is_not_default_and_the_whole_document(agent):
    value, out = agent("profile show writer")
    assert value.profile.id == "writer"
    assert rows(value)["run.completion"] == ("finish",)
    assert "limits.turns" not in rows(value)
    assert json.loads(value.sections[0].body) == value.profile.model_dump(mode="json")
    assert out.strip().endswith("the document has all of them.")
    assert "<details>" in value.html
    assert "```text" in value.markdown


# ---- set, new, edit, diff


def test_set_stores_a_copy_of_a_shipped_profile_beside_the_notebook(agent):
    value, out = agent("profile set writer limits.turns=20 run.model_retry.maxRetries=1")
    assert stored(agent.profiles / "writer.json")["limits"]["turns"] == 20
    assert rows(value) == {"run.modelRetry.maxRetries": ("3", "1"), "limits.turns": ("", "20")}
    assert "Document: nb.agent/profiles/writer.json" in out
    assert value.path == agent.profiles / "writer.json"
    agent("profile set writer limits.turns=null")
    assert stored(agent.profiles / "writer.json")["limits"]["turns"] is None


def test_set_for_all_notebooks_stays_there(agent):
    agent("profile set writer --user limits.turns=20")
    agent("profile set writer limits.turns=21")
    assert stored(agent.user / "writer.json")["limits"]["turns"] == 21
    assert not agent.profiles.exists()


def test_set_text_with_spaces_and_json(agent):
    agent('profile set writer instructions.agent_system_prompt="Be brief. Say a=b." sampling.stop=["x"]')
    document = stored(agent.profiles / "writer.json")
    assert document["instructions"]["agentSystemPrompt"] == "Be brief. Say a=b."
    assert document["sampling"]["stop"] == ["x"]


def test_lists_grow_and_shrink(agent):
    value, _ = agent("profile set writer tools.allow+=builtin:dice.roll tools.allow-=builtin:workspace.shell")
    allow = stored(agent.profiles / "writer.json")["tools"]["allow"]
    assert allow[-1] == "builtin:dice.roll"
    assert "builtin:workspace.shell" not in allow
    assert rows(value)["tools.allow"] == ("-builtin:workspace.shell", "+builtin:dice.roll")
    error, _ = agent("profile set writer tools.allow-=builtin:nothing")
    assert "tools.allow has no 'builtin:nothing'" in str(error)
    error, _ = agent("profile set writer limits.turns+=1")
    assert "is no list" in str(error)


def test_set_refuses_what_breaks_a_rule_and_stores_nothing(agent):
    for words, code in {
        "tools.allow-=builtin:workspace.finish": "agent.profile_finish_required",
        "output.artifacts=[]": "agent.profile_output_empty",
        "limits.turns=0": "agent.profile_contract_invalid",
        "limits.turn=1": "agent.profile_field_unknown",
        'workspace.visibleRoots=["tmp"]': "agent.profile_workspace_root_invalid",
        "tools.allow+=builtin:nothing": "agent.profile_unknown_tool",
        "tools.allow+=extension/notebook:nothing": "agent.profile_unknown_tool",
    }.items():
        error, out = agent(f"profile set writer {words}")
        assert isinstance(error, ProfileInvalid)
        assert error.code == code
        assert "Traceback" not in out
    assert not agent.profiles.exists()


def test_a_function_of_the_notebook_can_be_allowed_once_it_is_there(agent, shell):
    shell.run_cell(
        "import tt_kernel\n@tt_kernel.tool\ndef shout(text: str) -> str:\n    'Loud.'\n    return text.upper()"
    )
    value, _ = agent("profile set writer tools.allow+=extension/notebook:shout")
    assert "extension/notebook:shout" in value.profile.tools.allow
    del shell.user_ns["shout"]
    value, _ = agent("profile set writer limits.turns=3")  # selected already: kept, told, no error
    assert "extension/notebook:shout" in value.profile.tools.allow
    found, _ = agent("profile diagnose writer")
    assert [(breach.code, breach.blocks) for breach in found] == [("tool.unavailable", False)]


def test_the_model_is_set_by_name_or_by_connection(agent):
    value, _ = agent("profile set writer -m openai:gpt-x")
    assert (value.profile.model.mode, value.profile.model.model_id) == ("currentPromptSnapshot", "openai:gpt-x")
    value, _ = agent("profile set writer --model lab")
    assert (value.profile.model.mode, value.profile.model.connection_ref) == ("connectionRef", "lab")


def test_a_profile_keeps_its_id(agent):
    error, _ = agent("profile set writer id=other")
    assert "A copy: %agent profile new other --from writer" in str(error)


def test_new_copies_another_profile_under_its_own_name(agent):
    value, _ = agent("profile new my-critic --from writer run.completion=reply")
    document = stored(agent.profiles / "my-critic.json")
    assert (document["id"], document["displayName"], document["description"]) == ("my-critic", "My critic", None)
    assert document["run"]["completion"] == "reply"
    assert document["tools"]["allow"] == list(agent("profile show writer")[0].profile.tools.allow)
    assert rows(value)["run.completion"] == ("finish", "reply")
    error, _ = agent("profile new my-critic")
    assert isinstance(error, UsageProblem)
    assert agent("profile new my-critic --replace")[0].profile.run.completion == "reply"
    assert agent("profile new 42 --user")[0].path == agent.user / "42.json"
    error, _ = agent("profile new Bad.Id")
    assert error.code == "agent.profile_id_invalid"


def test_edit_says_where_the_document_is_and_how_to_set(agent):
    value, out = agent("profile edit writer")
    assert "shipped with tt_kernel" in out
    assert "%agent profile set writer FIELD=VALUE" in out
    agent("profile set writer limits.turns=2")
    value, out = agent("profile edit writer")
    assert "The document is nb.agent/profiles/writer.json." in out
    assert value.profile.limits.turns == 2
    value.path.write_text("{")
    value, out = agent("profile edit writer")
    assert value.profile is None
    assert "not valid JSON" in out


def test_diff(agent):
    value, _ = agent("profile diff writer assistant")
    assert rows(value)["run.completion"] == ("finish", "reply")
    assert value.columns == ("field", "writer", "assistant")
    assert "No field differs." in agent("profile diff writer writer")[1]
    error, _ = agent("profile diff writer")
    assert str(error) == "Compare with what? %agent profile diff writer OTHER"
    agent("profile set writer limits.turns=2")
    assert rows(agent("profile diff writer")[0]) == {"limits.turns": ("", "2")}


# ---- diagnose


def test_diagnose_lists_every_finding_of_a_draft(agent):
    agent.profiles.mkdir(parents=True)
    document = json.loads((OLD / "v3-lorekeeper.json").read_text())
    document["displayName"] = " "
    document["model"] = {"mode": "connectionRef", "connectionRef": "lab", "modelId": "m"}
    document["tools"]["allow"].append("builtin:workspace.raed_file")
    document["tools"]["toolDescriptions"]["builtin:workspace.read_file"] = {"properties": {"nope": "x"}}
    (agent.profiles / "lorekeeper.json").write_text(json.dumps(document))
    value, _ = agent("profile diagnose lorekeeper")
    assert all(isinstance(breach, Breach) for breach in value)
    found = {breach.code.removeprefix("agent.profile_"): breach.blocks for breach in value}
    assert found["display_name_required"]
    assert found["model_connection_missing"]
    assert found["unknown_tool_property"]
    assert not found["unknown_tool"]
    assert not found["preset_missing"]
    assert not found["tool.unavailable"]
    assert any("Nearest: builtin:workspace.read_file" in breach.message for breach in value)
    everything, _ = agent("profile diagnose")
    assert "lorekeeper" in repr(everything)


def test_diagnose_of_sound_profiles(agent):
    value, out = agent("profile diagnose")
    assert list(value) == []
    assert "Nothing is wrong with assistant, engineer, writer." in out


def test_diagnose_an_undecodable_document(agent):
    agent.profiles.mkdir(parents=True)
    (agent.profiles / "x.json").write_text("{")
    (breach,) = agent("profile diagnose x")[0]
    assert breach.code == "agent.profile_contract_invalid"


# ---- import and export


def test_an_old_profile_is_imported_and_the_importer_chooses_the_model(agent):
    shutil.copy(OLD / "v1-novelist.json", agent.folder / "old.json")
    value, _ = agent("profile import old.json --as mine -m scripted:script.yaml")
    document = stored(agent.profiles / "mine.json")
    assert (document["schemaVersion"], document["id"]) == (5, "mine")
    assert document["model"]["modelId"] == "scripted:script.yaml"
    assert isinstance(value.profile, Profile)
    error, _ = agent("profile import old.json --as mine")
    assert "There is a profile 'mine' already. Add --as ID, or --replace." in str(error)
    assert agent("profile import old.json --as mine --replace --user")[0].path == agent.user / "mine.json"


def test_what_is_exported_has_no_model_and_cannot_run_until_one_is_chosen(agent):
    agent("profile new mine -m openai:gpt-x")
    agent("profile export mine out.json")
    assert stored(agent.folder / "out.json")["model"] == {
        **stored(agent.profiles / "mine.json")["model"],
        "mode": "requiresConfiguration",
        "modelId": None,
    }
    _, out = agent("profile import out.json --as theirs")
    assert "%agent profile set theirs -m MODEL" in out
    error, _ = agent("-p theirs hello")
    assert error.code == "agent.profile_model_requires_configuration"
    assert "Echo." in agent("-p theirs -m scripted:script.yaml hello")[1]
    agent("profile set theirs -m scripted:script.yaml")
    assert "Echo." in agent("-p theirs hello")[1]


def test_an_export_replaces_a_file_only_when_told(agent):
    agent("profile export writer")
    assert (agent.folder / "writer.json").is_file()
    assert agent("profile export writer")[0].code == "storage.exists"
    assert agent("profile export writer --replace")[0].profile.id == "writer"
    assert isinstance(agent("profile import nothing.json")[0], NotFound)


# ---- repair


def test_repair_lists_and_does(agent):
    agent.profiles.mkdir(parents=True)
    (agent.profiles / "My One.json").write_text(json.dumps({"id": "one", "displayName": "One", "kind": "x"}))
    (agent.profiles / "junk.json").write_text("{")
    assert "%agent profile repair lists what can be done." in agent("profiles")[1]
    value, out = agent("profile repair")
    assert [file.path.name for file in value] == ["My One.json", "junk.json"]
    assert "normalizeIdentity or delete" in out
    agent('profile repair "My One.json" normalizeIdentity')
    assert agent("profile show my-one")[0].profile.display_name == "One"
    assert isinstance(agent("profile repair junk")[0], UsageProblem)
    assert "nb.agent/profiles/junk.json deleted" in agent("profile repair junk delete")[1]
    assert "No profile is broken." in agent("profile repair")[1]


# ---- the line


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("profile show", "Write: %agent profile show PROFILE"),
        ("profile new", "Write: %agent profile new ID"),
        ("profile set writer", "Nothing to set"),
        ("profile set writer --nope x=1", "--nope is no option here. Write: %agent profile set"),
        ("profile set writer -m", "-m needs a value: -m MODEL"),
        ("profile show nobody", "There is no profile 'nobody'"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_says_how_it_is_written(agent, line, words):
    error, out = agent(line)
    assert words in str(error)
    assert "Traceback" not in out
    assert not (agent.folder / "nb.agent" / "runs").exists()


@pytest.mark.parametrize(
    "line",
    [
        "profile this function",
        "profile list of the users",
        "profile set up my notebook",
        "profile show me the code",
        "prompt engineering is what",
        "prompt me for x",
    ],
)
def test_a_sentence_that_begins_with_the_word_is_a_prompt(line):
    assert find_command(line) is None


def test_tab_completes_actions_profiles_and_fields(shell):
    def offered(line):
        from tt_kernel.ipython.completion import complete

        magics = shell.magics_manager.registry["AgentMagics"]
        return {text for text, _ in complete(magics.notebook, line, 0, len(line))[1]}

    assert {"list", "show", "set", "repair"} <= offered("%agent profile ")
    assert {"assistant", "writer"} <= offered("%agent profile set ")
    assert "limits.turns=" in offered("%agent profile set writer ")
    assert {"assistant", "writer"} <= offered("%agent prompt ")
    assert "local:smollm2" in offered("%agent prompt writer -m ")
    assert {"profile", "prompt"} <= offered("%agent ")
