"""A profile's model by connection: asked live by the user's own document, replayed without it (DESIGN §7, §9; spec tauritavern §11.2)."""

import json

import pytest

from tt_kernel.domain.connections import Connection
from tt_kernel.domain.errors import ModelUnavailable, ProfileInvalid, ReplayMiss
from tt_kernel.domain.profiles import Profile
from tt_kernel.session.models import live_provider, model_breaches, preset_breaches, startable, target_of
from tt_kernel.store.connections import ConnectionShelf

from ..fakes.services import FakeService  # noqa: TID252  tests are no installed package
from ..fakes.wires import Answer  # noqa: TID252  tests are no installed package
from .support import drive, make_session

KEY = "quite-an-ordinary-value"
"""Looks like no key, and its variable is not called like one."""


def profile(**fields):
    return Profile.model_validate({"id": "p", "displayName": "P"} | fields)


BOUND = profile(model={"mode": "connectionRef", "connectionRef": "lab", "modelId": "some-model"})


@pytest.fixture
def service(monkeypatch):
    monkeypatch.setenv("LAB_LLM", KEY)
    with FakeService() as fake:
        yield fake.will(Answer(text="Hello from the lab."))


@pytest.fixture
def user(tmp_path, monkeypatch):
    """This user's own folder."""
    monkeypatch.setattr("tt_kernel.session.core.user_folder", lambda: tmp_path / "user")
    return ConnectionShelf(tmp_path / "user")


def lab(service, **fields):
    return Connection(
        **({"name": "lab", "provider": "openai", "base_url": service.url + "/v1", "credential": "LAB_LLM"} | fields)
    )


@pytest.fixture
def recorded(service, user, tmp_path):
    """A notebook with one run over the connection."""
    user.save(lab(service))
    run, _ = drive(make_session(tmp_path / "nb"), "hi", profile=BOUND)
    assert run.text == "Hello from the lab."
    assert len(service.heard) == 1
    return run


def test_a_run_asks_the_connection_and_its_record_names_it(recorded, service):
    assert service.heard[0].headers["authorization"] == f"Bearer {KEY}"
    record = json.loads((recorded.folder / "run.json").read_text())
    assert record["model"] == "openai:some-model"
    assert record["connection"]["baseUrl"] == service.url + "/v1"


def test_the_credential_is_in_no_file_of_the_notebook(recorded, tmp_path):
    texts = [path.read_text(errors="replace") for path in (tmp_path / "nb").rglob("*") if path.is_file()]
    assert [text for text in texts if KEY in text] == []


def test_an_echoed_credential_is_scrubbed(service, user, tmp_path):
    user.save(lab(service))
    service.will(Answer(text=f"Your key is {KEY}."))
    run, _ = drive(make_session(tmp_path / "nb"), f"my key is {KEY}", profile=BOUND)
    assert run.text == "Your key is [secret LAB_LLM]."
    assert KEY not in run.messages[1].text


def test_a_colleague_replays_without_the_connection_the_key_and_the_network(recorded, user, tmp_path, monkeypatch):
    (user.folder / "lab.json").unlink()
    monkeypatch.delenv("LAB_LLM")
    for mode in ("auto", "replay"):
        run, _ = drive(make_session(tmp_path / "nb"), "hi", profile=BOUND, mode=mode)
        assert (run.text, run.replayed) == ("Hello from the lab.", True)


def test_a_notebook_does_not_decide_where_a_key_is_sent(recorded, user, service, tmp_path):
    """The run's record knows an address; a live request goes only where a document of this user says."""
    (user.folder / "lab.json").unlink()
    session = make_session(tmp_path / "nb")
    with pytest.raises(ModelUnavailable, match="There is no connection 'lab'") as caught:
        drive(session, "something new", profile=BOUND)
    assert caught.value.code == "agent.profile_model_connection_missing"
    assert len(service.heard) == 1


def test_another_address_is_another_model(recorded, user, service, tmp_path):
    with FakeService() as other:
        user.save(lab(other.will(Answer(text="Hello from elsewhere."))))
        with pytest.raises(ReplayMiss, match="The identity differs"):
            drive(make_session(tmp_path / "nb"), "hi", profile=BOUND, mode="replay")
        run, _ = drive(make_session(tmp_path / "nb"), "hi", profile=BOUND)
    assert run.text == "Hello from elsewhere."


def test_the_environments_address_is_the_machines(service, tmp_path, monkeypatch):
    """Recorded behind OPENAI_BASE_URL, replayed on a machine without it."""
    monkeypatch.setenv("OPENAI_BASE_URL", service.url + "/v1")
    drive(make_session(tmp_path / "nb"), "hi", model="openai:some-model")
    monkeypatch.delenv("OPENAI_BASE_URL")
    run, _ = drive(make_session(tmp_path / "nb"), "hi", model="openai:some-model", mode="replay")
    assert run.text == "Hello from the lab."


def test_a_named_model_comes_before_the_profiles_connection(user, tmp_path):
    session = make_session(tmp_path / "nb", "turns: [Hello.]")
    run, _ = drive(session, "hi", profile=BOUND, model="scripted:script.yaml")
    assert run.text == "Hello."


# ---- what a profile's model is


@pytest.mark.parametrize(
    ("model_id", "default", "name"),
    [
        ("gpt-x", None, "openai:gpt-x"),
        ("openai:gpt-x", None, "openai:gpt-x"),
        (None, "qwen2.5:0.5b", "openai:qwen2.5:0.5b"),
        ("gpt-x", "other", "openai:gpt-x"),
    ],
)
def test_the_model_is_the_profiles_or_the_connections(model_id, default, name, user):
    user.save(Connection(name="lab", provider="openai", model=default))
    chosen = profile(model={"mode": "connectionRef", "connectionRef": "lab", "modelId": model_id})
    target = target_of(chosen, user)
    assert (target.name, target.connection.name) == (name, "lab")
    assert model_breaches(chosen, user) == []


def test_a_model_that_cannot_be_asked_has_its_code(user, tmp_path):
    nameless = profile(model={"mode": "connectionRef", "connectionRef": "lab"})
    unchosen = profile(model={"mode": "requiresConfiguration"})
    user.save(Connection(name="lab", provider="openai"))
    user.folder.joinpath("broken.json").write_text("{}")
    cases = {
        "model_id_required": nameless,
        "model_connection_missing": profile(model={"mode": "connectionRef", "connectionRef": "away", "modelId": "m"}),
        "model_connection_invalid": profile(model={"mode": "connectionRef", "connectionRef": "broken", "modelId": "m"}),
        "model_requires_configuration": unchosen,
    }
    for code, chosen in cases.items():
        with pytest.raises(ModelUnavailable) as caught:
            target_of(chosen, user, default="local:smollm2")
        assert caught.value.code == f"agent.profile_{code}"
        assert [(b.code, b.message, b.blocks) for b in model_breaches(chosen, user)] == [
            (caught.value.code, caught.value.message, True)
        ]
    assert model_breaches(nameless, None) == []
    assert [b.code for b in model_breaches(unchosen, None)] == ["agent.profile_model_requires_configuration"]
    assert "%agent profile set p -m MODEL" in model_breaches(unchosen, None)[0].message


def test_a_default_is_the_sessions_then_the_environments(user, monkeypatch):
    monkeypatch.setenv("TT_MODEL", "local:smollm2")
    assert target_of(profile(), user, default="openai:a").name == "openai:a"
    assert target_of(profile(), user).name == "local:smollm2"
    assert target_of(profile(model={"modelId": "openai:b"}), user, default="openai:a").name == "openai:b"
    monkeypatch.delenv("TT_MODEL")
    with pytest.raises(ModelUnavailable) as caught:
        target_of(profile(), user)
    assert caught.value.code == "model.not_configured"


def test_without_a_connection_the_provider_is_the_environments(user, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x" * 20)
    provider = live_provider("openai:m", None, base_dir=tmp_path, connections=user)
    assert provider.identity == {"service": "openai-chat", "baseUrl": None}


# ---- starting


def test_an_agent_for_others_is_not_started_directly(tmp_path):
    child = profile(
        run={"directRunnable": False, "presentation": "background"},
        delegation={"callable": True, "allowAsSubagent": True},
    )
    with pytest.raises(ProfileInvalid) as caught:
        make_session(tmp_path / "nb", "turns: [x]").prepare("hi", profile=child)
    assert caught.value.code == "agent.profile_not_direct_runnable"


@pytest.mark.parametrize(
    ("preset", "codes"),
    [
        ({"mode": "none"}, []),
        ({"mode": "ref", "ref": {"apiId": "openai", "name": "Long"}}, [("preset_missing", False)]),
        ({"mode": "ref", "ref": {"apiId": "openai", "name": "Long"}, "required": True}, [("preset_missing", True)]),
        (
            {"mode": "ref", "ref": {"apiId": "novel", "name": "Long"}, "required": True},
            [("preset_api_unsupported", True), ("preset_missing", True)],
        ),
    ],
)
def test_a_required_preset_is_missing(preset, codes):
    chosen = profile(preset=preset)
    assert [(b.code.removeprefix("agent.profile_"), b.blocks) for b in preset_breaches(chosen)] == codes
    if any(blocks for _, blocks in codes):
        with pytest.raises(ProfileInvalid) as caught:
            startable(chosen)
        assert caught.value.code == f"agent.profile_{codes[0][0]}"
    else:
        assert startable(chosen) == chosen


@pytest.mark.parametrize(
    ("effort", "own", "sent"),
    [("high", None, "high"), ("high", "low", "low"), ("auto", None, None), (None, None, None)],
)
def test_the_effort_of_the_preset_choice_is_sent(effort, own, sent):
    preset = {"mode": "ref", "ref": {"apiId": "openai", "name": "x"}, "reasoningEffort": effort}
    assert startable(profile(preset=preset, sampling={"reasoningEffort": own})).sampling.reasoning_effort == sent


def test_the_credential_is_scrubbed_from_a_revision_too(recorded, service, tmp_path):
    """In a new kernel, whose scrubber has not met the connection yet."""
    service.will(Answer(text=f"Now with {KEY}."))
    session = make_session(tmp_path / "nb")
    stream = session.stream(session.prepare_fix(recorded.id, "shorter"))
    from .support import _collect

    _collect(session, stream)
    assert stream.run.text == "Now with [secret LAB_LLM]."
