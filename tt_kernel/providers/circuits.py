"""Circuit breakers: a model that failed again and again is left alone for a while (spec liveagent §18).

Of one session, so that its next run does not begin by waiting for a service that is known to be down.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

FAILURES_TO_OPEN = 4
"""Failures in a row after which a model is not asked any more (spec liveagent §18)."""
OPEN_SECONDS = 60.0
"""How long it is left alone; then one request may try (spec liveagent §18)."""


@dataclass
class _Circuit:
    failures: int = 0
    opened_at: float | None = None
    probing: bool = False


@dataclass
class Circuits:
    """The breakers of a session's models, by a key that tells model and address.

    Closed: requests pass. Open: none does, for OPEN_SECONDS. Then half-open: one request at a time may try; its success closes
    the circuit, its failure opens it for another OPEN_SECONDS.

    Args:
        monotonic: The clock, in seconds.
    """

    monotonic: Callable[[], float] = time.monotonic
    _circuits: dict[str, _Circuit] = field(default_factory=dict)

    def is_open(self, key: str) -> bool:
        """Whether no request may pass now. Asking changes nothing."""
        circuit = self._of(key)
        if circuit.opened_at is None:
            return False
        return circuit.probing or self.monotonic() - circuit.opened_at < OPEN_SECONDS

    def enter(self, key: str) -> None:
        """A request begins; on a half-open circuit it is the one that tries."""
        circuit = self._of(key)
        circuit.probing = circuit.opened_at is not None

    def succeeded(self, key: str) -> None:
        self._circuits[key] = _Circuit()

    def failed(self, key: str) -> None:
        circuit = self._of(key)
        circuit.failures += 1
        if circuit.opened_at is not None or circuit.failures >= FAILURES_TO_OPEN:
            circuit.opened_at = self.monotonic()
        circuit.probing = False

    def left(self, key: str) -> None:
        """The request ended in a way that says nothing about the service (it was stopped, or was a bad request)."""
        self._of(key).probing = False

    def _of(self, key: str) -> _Circuit:
        return self._circuits.setdefault(key, _Circuit())
