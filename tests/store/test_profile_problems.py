"""Everything that is wrong with a profile at once, each thing at its field; and writing only over what was read."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from tt_kernel.domain.errors import ProfileChanged, ProfileInvalid
from tt_kernel.domain.profiles import Profile
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.profile_problems import problems_of
from tt_kernel.store.profiles import ProfileShelf, decode_profile

PLAIN = Profile(id="x", display_name="X").model_dump(mode="json")


def changed(**fields):
    document = json.loads(json.dumps(PLAIN))
    for name, value in fields.items():
        part, _, field = name.partition("__")
        if field:
            document[part][field] = value
        else:
            document[part] = value
    return document


def told(document):
    return {".".join(map(str, problem.path)): problem.message for problem in problems_of(document)[1]}


def test_nothing_is_wrong():
    assert problems_of(PLAIN) == (Profile(id="x", display_name="X"), [])


def test_every_field_of_the_wrong_shape_is_told():
    document = changed(limits__turns=0, extra=1, permissions__rules=[{"tool": "a", "decision": "nope"}], id="")
    profile, _ = problems_of(document)
    assert profile is None
    assert told(document) == {
        "id": "id is '': String should match pattern '^[a-z0-9_-]{1,128}$'.",
        "limits.turns": "limits.turns is 0: Input should be greater than or equal to 1.",
        "permissions.rules.0.decision": "permissions.rules.0.decision is 'nope': Input should be 'allow', 'ask' or 'deny'.",
        "extra": "extra is no field of a profile.",
    }


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (changed(displayName=" "), "displayName"),
        (changed(run__completion="finish"), "tools.allow"),
        (changed(instructions__agentSystemPrompt=" "), "instructions.agentSystemPrompt"),
        (changed(model__connectionRef="lab"), "model.connectionRef"),
        (changed(workspace__writableRoots=["output"], workspace__visibleRoots=[]), "workspace.visibleRoots"),
        (changed(output__artifacts=[{"id": "a b", "path": "output/a"}]), "output.artifacts"),
        (changed(output__artifacts=[{"id": "a", "path": "elsewhere"}]), "output.artifacts"),
        (changed(delegation__callable=True), "delegation.callable"),
        (changed(skills__visible=["No!"]), "skills.visible"),
        (changed(plan__mode="free"), "plan.mode"),
        (changed(tools__toolDescriptions={"builtin:dice.roll": {"description": "x"}}), "tools.toolDescriptions"),
    ],
)
def test_a_broken_rule_is_told_at_its_field(document, field):
    assert field in told(document)


@pytest.mark.parametrize("document", [changed(limits__turns=0), changed(displayName=" ")])
def test_the_words_are_those_of_the_store(document):
    with pytest.raises(ProfileInvalid) as error:
        decode_profile(document, source="x")
    assert error.value.message == f"Profile x: {problems_of(document)[1][0].message}"


def test_a_secret_is_told_where_it_stands_and_not_repeated(monkeypatch):
    key = "sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ub3A"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    (path, message, blocks), *rest = problems_of(changed(instructions__agentSystemPrompt=f"Use {key}."))[1]
    assert (path, blocks, rest) == (("instructions", "agentSystemPrompt"), True, [])
    assert message.startswith("instructions.agentSystemPrompt holds a secret.")
    assert key not in message


def test_a_document_that_is_no_object():
    assert problems_of([1]) == (None, [((), "Input should be a valid dictionary or instance of Profile.", True)])


# ---- writing only over what was read


@pytest.fixture
def shelf(tmp_path):
    return ProfileShelf(AgentFolder(tmp_path / "nb.agent"), tmp_path / "user")


def test_a_document_is_replaced_while_it_is_what_was_read(shelf):
    profile = Profile(id="x", display_name="X")
    path = shelf.save(profile, read_as=b"")
    shelf.save(profile.model_copy(update={"display_name": "Y"}), read_as=path.read_bytes())
    assert shelf.load("x").display_name == "Y"


def test_a_document_that_changed_is_left_alone(shelf):
    profile = Profile(id="x", display_name="X")
    path = shelf.save(profile)
    read = path.read_bytes()
    path.write_bytes(read.replace(b'"X"', b'"Z"'))
    for seen in (read, b""):
        with pytest.raises(ProfileChanged, match="was changed meanwhile"):
            shelf.save(profile, read_as=seen)
    assert shelf.load("x").display_name == "Z"


def test_a_document_that_is_gone_is_not_made_again(shelf):
    profile = Profile(id="x", display_name="X")
    path = shelf.save(profile)
    read = path.read_bytes()
    path.unlink()
    with pytest.raises(ProfileChanged):
        shelf.save(profile, read_as=read)
    assert not path.exists()


def test_of_writers_at_the_same_time_one_wins(shelf):
    """Each has its own lock on the folder, as processes have."""
    path = shelf.save(Profile(id="x", display_name="X"))
    read = path.read_bytes()

    def write(number):
        try:
            shelf.save(Profile(id="x", display_name=f"Writer {number}"), read_as=read)
        except ProfileChanged:
            return None
        return f"Writer {number}"

    with ThreadPoolExecutor(8) as pool:
        won = [name for name in pool.map(write, range(24)) if name]
    assert won == [shelf.load("x").display_name]
