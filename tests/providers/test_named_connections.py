"""A user's connection: its address belongs to the identity, its key and no other goes to that address (DESIGN §9)."""

import pytest

from tt_kernel.domain.connections import Connection
from tt_kernel.domain.errors import ModelUnavailable, ProviderError
from tt_kernel.domain.messages import UserMessage
from tt_kernel.providers.connect import NO_KEY
from tt_kernel.providers.names import credentials, describe_model, provider_for

from ..fakes.wires import Answer  # noqa: TID252  tests are no installed package
from .conftest import KEY, SERVICES, reply_of, request_for

OTHER = "value-of-the-environment-0123"


def connection(**fields):
    return Connection(**({"name": "lab", "provider": "openai"} | fields))


def sent_key(heard):
    headers = heard.headers
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or headers["authorization"].removeprefix("Bearer ")


@pytest.fixture
def reached(service, tmp_path, monkeypatch):
    """dialect, credential -> the connection to the fake service and the key that it heard."""

    async def ask(dialect, credential):
        name, key, _, below = SERVICES[dialect]
        monkeypatch.setenv(key, OTHER)
        monkeypatch.setenv("LAB_LLM", KEY)
        named = connection(provider=name.partition(":")[0], base_url=service.url + below, credential=credential)
        provider = provider_for(name, base_dir=tmp_path, connection=named)
        service.will(Answer(text="Hello."))
        reply = await reply_of(provider, request_for(UserMessage(text="hi")))
        assert reply.message.text == "Hello."
        assert provider.identity == describe_model(name, base_dir=tmp_path, connection=named).identity
        return provider, sent_key(service.heard[-1])

    return ask


async def test_the_named_key_goes_to_the_named_address(reached, dialect, service):
    provider, key = await reached(dialect, "LAB_LLM")
    assert key == KEY
    assert provider.identity["baseUrl"] == service.url + SERVICES[dialect][3]


async def test_no_other_key_is_ever_sent_there(reached, dialect):
    _, key = await reached(dialect, None)
    assert key == NO_KEY


async def test_a_key_alone_keeps_the_usual_address_and_identity(service, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_LLM", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", service.url + "/v1")
    provider = provider_for("openai:m", base_dir=tmp_path, connection=connection(credential="LAB_LLM"))
    service.will(Answer(text="Hello."))
    await reply_of(provider, request_for(UserMessage(text="hi")))
    assert sent_key(service.heard[-1]) == KEY
    assert provider.identity == describe_model("openai:m", base_dir=tmp_path).identity


def test_two_addresses_are_two_models(tmp_path):
    def identity(url):
        return describe_model("openai:m", base_dir=tmp_path, connection=connection(base_url=url)).identity

    assert identity("http://a/v1") != identity("http://b/v1")
    assert identity("http://a/v1/") == identity("http://a/v1")


@pytest.mark.parametrize(
    ("credential", "way_out"),
    [
        ("LAB_LLM", "Set the environment variable LAB_LLM."),
        ("keyring:lab/me", "Store it in a terminal: keyring set lab me."),
    ],
)
def test_a_missing_credential_is_named_with_the_way_out(credential, way_out, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", OTHER)
    with pytest.raises(ModelUnavailable) as caught:
        provider_for("openai:m", base_dir=tmp_path, connection=connection(credential=credential))
    assert caught.value.message == f"Model 'openai:m' needs {credential}, the credential of connection 'lab'. {way_out}"


async def test_a_provider_without_an_address_of_its_own_says_so(tmp_path):
    named = connection(provider="openrouter", base_url="http://127.0.0.1:9/v1")
    provider = provider_for("openrouter:m", base_dir=tmp_path, connection=named)
    with pytest.raises(ModelUnavailable, match="provider openrouter takes no baseUrl of its own") as caught:
        await reply_of(provider, request_for(UserMessage(text="hi")))
    assert caught.value.code == "agent.profile_model_connection_invalid"


@pytest.mark.parametrize("credential", ["LAB_LLM", None])
async def test_a_refused_key_names_the_connections_credential_and_shows_nothing_of_it(
    credential, service, tmp_path, monkeypatch
):
    monkeypatch.setenv("LAB_LLM", KEY)
    named = connection(base_url=service.url + "/v1", credential=credential)
    provider = provider_for("openai:m", base_dir=tmp_path, connection=named)
    service.will(Answer(status=401, error={"error": {"message": f"wrong key {KEY}", "type": "x", "code": "y"}}))
    with pytest.raises(ProviderError) as caught:
        await reply_of(provider, request_for(UserMessage(text="hi")))
    assert caught.value.code == "model.authentication"
    assert f"Check {credential or 'connection'}" in caught.value.message
    assert KEY not in caught.value.message


async def test_an_echoed_key_is_replaced(service, tmp_path, monkeypatch):
    monkeypatch.setenv("LAB_LLM", KEY)
    named = connection(base_url=service.url + "/v1", credential="LAB_LLM")
    provider = provider_for("openai:m", base_dir=tmp_path, connection=named)
    service.will(Answer(status=500, error={"error": {"message": f"upstream said no to {KEY}"}}))
    with pytest.raises(ProviderError) as caught:
        await reply_of(provider, request_for(UserMessage(text="hi")))
    assert KEY not in caught.value.message
    assert "[secret" in caught.value.message


def test_the_credential_is_known_to_whoever_scrubs(monkeypatch):
    monkeypatch.setenv("LAB_LLM", KEY)
    assert credentials(connection(credential="LAB_LLM"))["LAB_LLM"] == KEY
    assert "LAB_LLM" not in credentials()
    assert credentials(connection(credential="NOT_SET")) == credentials()
