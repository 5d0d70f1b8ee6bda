"""Several models as one: when the first cannot serve, the next in the list does (spec liveagent §18).

- A switch needs a fault of the service: network, 5xx, 429 once its retries are used up; at once for what a retry cannot mend
  (401, 402, 403, 404, no quota left). A request that is too long or invalid would be that everywhere: no switch.
- Never after text of the answer was shown.
- At most `max_switches` in a run. The model that answered stays for the rest of the run.
- A model whose circuit is open is passed over. When no other is left, the last one is asked all the same: its own error says
  more than a refusal of ours.

Name and identity are those of the first model, so whatever answers is recorded under the request that was meant.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import ModelUnavailable, ProviderError
from tt_kernel.domain.ports import Provider
from tt_kernel.domain.turns import ModelChunk, ModelReply, ModelRequest, SwitchChunk, TextChunk
from tt_kernel.providers.circuits import Circuits

SWITCHING = frozenset(
    {
        "model.upstream_unavailable",
        "model.upstream_invalid_response",
        "model.timeout",
        "model.rate_limited",
        "model.authentication",
        "model.not_found",
        "model.quota_exceeded",
    }
)
"""Codes of faults that another model may not have (spec liveagent §18)."""

CIRCUIT_OPEN = "model.circuit_open"


@dataclass(frozen=True)
class Candidate:
    """A model that may answer. `key` tells its circuit; `make` is called when it is first asked."""

    name: str
    key: str
    make: Callable[[], Provider]


class FailoverProvider:
    """The provider of one run.

    Args:
        primary: The model of the run; it exists already, so that a missing key of it is the user's to know.
        primary_key: Of its circuit.
        fallbacks: The others, in order of preference.
        circuits: Of the session.
        max_retries: How often the runtime repeats a request that failed.
        max_switches: In the whole run.
    """

    def __init__(
        self,
        primary: Provider,
        fallbacks: Sequence[Candidate],
        *,
        primary_key: str,
        circuits: Circuits,
        max_retries: int,
        max_switches: int,
    ) -> None:
        self._primary = primary
        self._candidates = (Candidate(primary.name, primary_key, lambda: primary), *fallbacks)
        self._made: dict[int, Provider] = {0: primary}
        self._circuits = circuits
        self._max_retries = max_retries
        self._switches_left = max_switches
        self._at = 0
        self._request: ModelRequest | None = None
        self._failures = 0
        self._tried: set[int] = set()
        self._unusable: set[int] = set()

    @property
    def name(self) -> str:
        return self._primary.name

    @property
    def identity(self) -> Json:
        return self._primary.identity

    @property
    def accepts_images(self) -> bool:
        return self._primary.accepts_images

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """See `domain.ports.Provider`. A SwitchChunk comes before the chunks of another model.

        Raises:
            ProviderError: No model could answer, or the runtime should try this one again.
        """
        passed = self._begin(request)
        if passed is not None:
            yield passed
        while True:
            shown = False
            try:
                async with aclosing(self._attempt(request)) as chunks:
                    async for chunk in chunks:
                        shown = shown or isinstance(chunk, TextChunk)
                        yield chunk
            except ProviderError as error:
                switched = None if shown or not self._should_switch(error) else self._switch(request, error)
                if switched is None:
                    raise
                yield switched
            else:
                return

    async def aclose(self) -> None:
        for provider in self._made.values():
            await provider.aclose()

    # -- inside

    @property
    def _name(self) -> str:
        return self._candidates[self._at].name

    @property
    def _key(self) -> str:
        return self._candidates[self._at].key

    def _begin(self, request: ModelRequest) -> SwitchChunk | None:
        """A request, or another attempt at it; a model whose circuit is open is passed over at once."""
        if request is not self._request:
            self._request, self._failures, self._tried = request, 0, {self._at}
        if not self._circuits.is_open(self._key):
            return None
        rest = f"{self._name} failed too often and is left alone for a while."
        return self._switch(request, ProviderError(CIRCUIT_OPEN, rest))

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """One request to the model of now, with what it says about its circuit."""
        key, told = self._key, False
        self._circuits.enter(key)
        try:
            async with aclosing(self._made[self._at].stream(request)) as chunks:  # type: ignore[type-var]
                async for chunk in chunks:
                    if isinstance(chunk, ModelReply):
                        self._circuits.succeeded(key)
                        told = True
                        yield self._signed(chunk)
                        return
                    yield chunk
            raise _ended_early(self._name)  # counts like a fault of the service
        except ProviderError as error:
            if error.code in SWITCHING:
                self._circuits.failed(key)
                self._failures += 1
                told = True
            raise
        finally:
            if not told:
                self._circuits.left(key)

    def _should_switch(self, error: ProviderError) -> bool:
        """Not while the runtime has retries left for it, unless its circuit has opened meanwhile."""
        if error.code not in SWITCHING:
            return False
        return not error.retryable or self._failures > self._max_retries or self._circuits.is_open(self._key)

    def _switch(self, request: ModelRequest, error: ProviderError) -> SwitchChunk | None:
        """Go on to the first model of the list that may help; None when there is none."""
        if self._switches_left < 1:
            return None
        notes = [error.message]
        for index, candidate in enumerate(self._candidates):
            if index in self._tried or index in self._unusable or self._circuits.is_open(candidate.key):
                continue
            problem = self._prepare(index, request)
            if problem is not None:
                notes.append(f"{candidate.name} was passed over: {problem}")
                continue
            switched = SwitchChunk(
                from_model=self._name, to_model=candidate.name, code=error.code, message=" ".join(notes)
            )
            self._at, self._failures = index, 0
            self._tried.add(index)
            self._switches_left -= 1
            return switched
        return None

    def _prepare(self, index: int, request: ModelRequest) -> str | None:
        """Make the model ready to be asked; why not, if it cannot be."""
        if index not in self._made:
            try:
                self._made[index] = self._candidates[index].make()
            except ModelUnavailable as error:
                self._unusable.add(index)
                return error.message
        if not self._made[index].accepts_images and _has_images(request):
            return "it does not accept images."
        return None

    def _signed(self, reply: ModelReply) -> ModelReply:
        """The reply of a fallback names its service too: the name that a service reports need not tell it."""
        if self._at == 0:
            return reply
        kind, _, model = self._name.partition(":")
        return reply.model_copy(update={"model": f"{kind}:{reply.model or model}"})


def _ended_early(name: str) -> ProviderError:
    message = f"{name} ended its stream without a complete reply."
    return ProviderError("model.upstream_invalid_response", message, retryable=True)


def _has_images(request: ModelRequest) -> bool:
    return any(message.images for message in request.messages if message.role in ("user", "tool"))
