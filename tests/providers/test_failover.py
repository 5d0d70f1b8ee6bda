"""Provider switch-over and circuit breaker: spec liveagent §18, DESIGN §9."""

from pathlib import Path

import pytest

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.errors import ModelUnavailable, ProviderError
from tt_kernel.domain.events import ModelAttemptFailed, ModelCompleted, ModelRetryScheduled, ModelSwitched
from tt_kernel.domain.ids import ROOT_INVOCATION
from tt_kernel.domain.messages import UserMessage
from tt_kernel.domain.profiles import ModelChoice, ModelRetry
from tt_kernel.domain.turns import ModelReply, SwitchChunk
from tt_kernel.providers.circuits import FAILURES_TO_OPEN, OPEN_SECONDS, Circuits
from tt_kernel.providers.failover import CIRCUIT_OPEN, Candidate, FailoverProvider
from tt_kernel.providers.scripted import ScriptedProvider
from tt_kernel.runtime.turn import Turn

from .conftest import collect, request_for


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """Models a.yaml, b.yaml, ... with one turn each, on one set of circuits with a clock that stands still."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.circuits = Circuits(self.clock)
        self.made: list[str] = []

    def model(self, name: str, turn: str, *, images: bool = True) -> ScriptedProvider:
        path = self.folder / f"{name}.yaml"
        path.write_text(f"script: 1\nimages: {str(images).lower()}\nturns:\n  - {turn}\n", encoding="utf-8")
        return ScriptedProvider(f"scripted:{name}.yaml", path)

    def candidate(self, name: str, turn: str, **options) -> Candidate:
        full = f"scripted:{name}.yaml"

        def make():
            self.made.append(name)
            return self.model(name, turn, **options)

        return Candidate(full, full, make)

    def failover(self, first: str, *others: Candidate, max_retries=0, max_switches=3) -> FailoverProvider:
        primary = self.model("a", first)
        return FailoverProvider(
            primary,
            others,
            primary_key=primary.name,
            circuits=self.circuits,
            max_retries=max_retries,
            max_switches=max_switches,
        )


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def ask(text="hi", **more):
    return request_for(UserMessage(text=text, **more))


def switches(chunks):
    return [(c.from_model, c.to_model, c.code) for c in chunks if isinstance(c, SwitchChunk)]


async def events_of(provider, request, retries=0):
    turn = Turn(provider, request, ROOT_INVOCATION, 1, ModelRetry(max_retries=retries, interval_ms=0))
    return [event async for event in turn.run()]


SAYS_B = "say: from b"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("500", "model.upstream_unavailable"),
        ("503", "model.upstream_unavailable"),
        ("529", "model.upstream_unavailable"),
        ("429", "model.rate_limited"),
        ("408", "model.timeout"),
        ("cut", "model.upstream_invalid_response"),
        ("401", "model.authentication"),
        ("403", "model.authentication"),
        ("404", "model.not_found"),
        ("quota", "model.quota_exceeded"),
    ],
)
async def test_faults_of_the_service_switch(bench, error, code):
    provider = bench.failover(f"{{say: a, fail: {error}}}", bench.candidate("b", SAYS_B))
    chunks = await collect(provider.stream(ask()))
    assert switches(chunks) == [("scripted:a.yaml", "scripted:b.yaml", code)]
    assert chunks[-1].message.text == "from b"


@pytest.mark.parametrize(
    "turn", ["{say: a, fail: 400}", "{say: a, fail: tools}", "refuse: no", "{say: a, asked: other}"]
)
async def test_faults_of_the_request_do_not(bench, turn):
    provider = bench.failover(turn, bench.candidate("b", SAYS_B))
    with pytest.raises(ProviderError):
        await collect(provider.stream(ask()))
    assert bench.made == []


async def test_too_long_does_not():
    from tt_kernel.providers.failover import SWITCHING

    assert not SWITCHING & {"model.context_window_exceeded", "model.invalid_request", "model.tools_unsupported"}


async def test_a_transient_fault_is_retried_first_and_the_next_model_has_its_own_retries(bench):
    provider = bench.failover(
        "{say: a, fail: {error: 503, times: always}}",
        bench.candidate("b", "{say: from b, fail: {error: 503, times: 2}}"),
        max_retries=2,
    )
    events = await events_of(provider, ask(), retries=2)
    kinds = [type(event) for event in events if not event.type.startswith("live")]
    failed = [ModelAttemptFailed, ModelRetryScheduled]
    assert kinds == [*failed, *failed, ModelSwitched, *failed, *failed, ModelCompleted]
    switched = next(event for event in events if isinstance(event, ModelSwitched))
    assert (switched.to_model, switched.code) == ("scripted:b.yaml", "model.upstream_unavailable")
    assert "HTTP 503" in switched.message
    assert [e.attempt for e in events if isinstance(e, ModelAttemptFailed)] == [1, 2, 1, 2]


async def test_what_a_retry_cannot_mend_switches_at_once(bench):
    provider = bench.failover("{say: a, fail: 401}", bench.candidate("b", SAYS_B), max_retries=3)
    events = await events_of(provider, ask(), retries=3)
    assert not any(isinstance(event, ModelAttemptFailed) for event in events)
    assert isinstance(events[0], ModelSwitched)


async def test_never_after_output_was_shown(bench):
    provider = bench.failover("{say: a long answer, fail: {error: cut, after: 6}}", bench.candidate("b", SAYS_B))
    with pytest.raises(ProviderError) as caught:
        await collect(provider.stream(ask()))
    assert caught.value.code == "model.upstream_invalid_response"
    assert bench.made == []


async def test_the_winner_is_sticky_and_signs_its_replies(bench):
    provider = bench.failover("{say: a, fail: 503}", bench.candidate("b", SAYS_B))
    first = await collect(provider.stream(ask()))
    second = await collect(provider.stream(ask()))
    assert second[-1].message.text == "from b", "a.yaml would answer now"
    assert switches(second) == []
    assert [c.model for c in (first[-1], second[-1]) if isinstance(c, ModelReply)] == ["scripted:b.yaml"] * 2
    assert provider.name == "scripted:a.yaml", "what is recorded belongs to the model that was meant"
    assert provider.identity == bench.model("a", "{say: a, fail: 503}").identity


@pytest.mark.parametrize("most", [1, 2, 3])
async def test_at_most_so_many_switches(bench, most):
    others = [bench.candidate(name, "{say: x, fail: {error: 401, times: always}}") for name in "bcdef"]
    provider = bench.failover("{say: a, fail: 401}", *others, max_switches=most)
    chunks = []
    with pytest.raises(ProviderError):
        async for chunk in provider.stream(ask()):
            chunks.append(chunk)
    assert [to for _, to, _ in switches(chunks)] == [f"scripted:{name}.yaml" for name in "bcd"[:most]]


def test_the_limit_is_3_of_1_to_10():
    assert ModelChoice().max_switches == 3
    assert ModelChoice().fallbacks == ()
    for wrong in (0, 11):
        with pytest.raises(ValueError, match=r"max_?[sS]witches"):
            ModelChoice(max_switches=wrong)
    with pytest.raises(ValueError, match="fallbacks"):
        ModelChoice(fallbacks=("gpt-5",))


async def test_the_error_of_the_last_model_is_what_is_raised(bench):
    provider = bench.failover("{say: a, fail: 401}", bench.candidate("b", "{say: b, fail: quota}"))
    with pytest.raises(ProviderError, match="quota"):
        await collect(provider.stream(ask()))


async def test_a_fallback_that_cannot_be_used_is_passed_over_and_named(bench):
    def no_key():
        raise ModelUnavailable(message="Model 'openai:x' needs OPENAI_API_KEY.")

    provider = bench.failover(
        "{say: a, fail: 503}", Candidate("openai:x", "openai:x", no_key), bench.candidate("b", SAYS_B)
    )
    chunks = await collect(provider.stream(ask()))
    (switch,) = [c for c in chunks if isinstance(c, SwitchChunk)]
    assert switch.to_model == "scripted:b.yaml"
    assert "openai:x was passed over: Model 'openai:x' needs OPENAI_API_KEY." in switch.message


async def test_a_model_without_eyes_is_passed_over_when_there_are_images(bench):
    blind = bench.candidate("b", SAYS_B, images=False)
    image = StoredFile(path="input/a.png", mime_type="image/png", sha256="0" * 64, size=1)
    provider = bench.failover("{say: a, fail: 503}", blind, bench.candidate("c", "say: from c"))
    chunks = await collect(provider.stream(ask(images=(image,))))
    assert chunks[-1].message.text == "from c"


# ---- the circuit breaker


async def test_four_failures_open_the_circuit_for_60_seconds(bench):
    """The next run of the session does not ask the broken model at all."""
    assert (FAILURES_TO_OPEN, OPEN_SECONDS) == (4, 60.0)
    broken = "{say: a, fail: {error: 503, times: always}}"
    for _ in range(4):
        assert not bench.circuits.is_open("scripted:a.yaml")
        with pytest.raises(ProviderError):
            await collect(bench.failover(broken).stream(ask()))
    assert bench.circuits.is_open("scripted:a.yaml")
    chunks = await collect(bench.failover("say: from a", bench.candidate("b", SAYS_B)).stream(ask()))
    assert switches(chunks) == [("scripted:a.yaml", "scripted:b.yaml", CIRCUIT_OPEN)]
    assert "left alone" in chunks[0].message
    bench.clock.now += 59.9
    assert bench.circuits.is_open("scripted:a.yaml")
    bench.clock.now += 0.1
    assert not bench.circuits.is_open("scripted:a.yaml")


async def test_an_opening_circuit_ends_the_retries(bench):
    provider = bench.failover(
        "{say: a, fail: {error: 503, times: always}}", bench.candidate("b", SAYS_B), max_retries=10
    )
    events = await events_of(provider, ask(), retries=10)
    assert [e.attempt for e in events if isinstance(e, ModelAttemptFailed)] == [1, 2, 3]
    assert isinstance(events[-1], ModelCompleted)


async def test_half_open_lets_one_try_whose_success_closes(bench):
    for _ in range(4):
        bench.circuits.failed("m")
    bench.clock.now += 60
    bench.circuits.enter("m")
    assert bench.circuits.is_open("m"), "the second one has to wait for the first"
    bench.circuits.succeeded("m")
    assert not bench.circuits.is_open("m")
    for _ in range(3):
        bench.circuits.failed("m")
    assert not bench.circuits.is_open("m"), "the count began anew"


async def test_a_failed_try_opens_for_another_60_seconds(bench):
    for _ in range(4):
        bench.circuits.failed("m")
    bench.clock.now += 60
    bench.circuits.enter("m")
    bench.circuits.failed("m")
    assert bench.circuits.is_open("m")
    bench.clock.now += 60
    assert not bench.circuits.is_open("m")


async def test_a_try_that_was_stopped_leaves_the_circuit_half_open(bench):
    for _ in range(4):
        bench.circuits.failed("scripted:a.yaml")
    bench.clock.now += 60
    stream = bench.failover("{say: a long answer, chunk: 2}").stream(ask())
    await anext(stream)
    assert bench.circuits.is_open("scripted:a.yaml")
    await stream.aclose()
    assert not bench.circuits.is_open("scripted:a.yaml")


async def test_bad_requests_do_not_count(bench):
    for _ in range(5):
        with pytest.raises(ProviderError):
            await collect(bench.failover("{say: a, fail: 400}").stream(ask()))
    assert not bench.circuits.is_open("scripted:a.yaml")


async def test_with_every_circuit_open_the_model_is_asked_all_the_same(bench):
    for key in ("scripted:a.yaml", "scripted:b.yaml"):
        for _ in range(4):
            bench.circuits.failed(key)
    provider = bench.failover("say: from a", bench.candidate("b", SAYS_B))
    chunks = await collect(provider.stream(ask()))
    assert chunks[-1].message.text == "from a"
