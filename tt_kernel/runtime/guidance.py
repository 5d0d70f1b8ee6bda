"""What a person says to a run while it goes on: spec tauritavern §9.4."""

from collections import deque
from threading import Lock

from tt_kernel.domain.errors import UsageProblem

MAX_CHARS = 16_000
"""Of one message."""
MAX_PENDING = 8
MAX_TOTAL_CHARS = 64_000


class Guidance:
    """Messages that wait for the next turn. Submitted from any thread, taken by the invocation."""

    def __init__(self) -> None:
        self._pending: deque[str] = deque()
        self._lock = Lock()
        self._open = True

    def submit(self, text: str) -> None:
        """Queue a message.

        Raises:
            UsageProblem: `agent.guidance_too_large` (one of the three limits) or `agent.guidance_run_not_accepting`.
        """
        with self._lock:
            if not self._open:
                raise UsageProblem("agent.guidance_run_not_accepting", "The run has ended; it takes no more guidance.")
            if not text.strip():
                raise UsageProblem("agent.guidance_too_large", "Guidance needs at least one word.")
            if len(text) > MAX_CHARS:
                raise _too_large(f"The message has {len(text)} characters; at most {MAX_CHARS} are allowed.")
            if len(self._pending) >= MAX_PENDING:
                raise _too_large(f"{MAX_PENDING} messages wait already; the run takes them at its next turn.")
            if sum(map(len, self._pending)) + len(text) > MAX_TOTAL_CHARS:
                raise _too_large(f"The waiting messages would have more than {MAX_TOTAL_CHARS} characters together.")
            self._pending.append(text)

    def take(self) -> list[str]:
        """The waiting messages, which are then no longer waiting."""
        with self._lock:
            taken = list(self._pending)
            self._pending.clear()
            return taken

    def close(self) -> list[str]:
        """Accept nothing more; the messages that no turn took."""
        with self._lock:
            self._open = False
            left = list(self._pending)
            self._pending.clear()
            return left


def wrapped(text: str) -> str:
    """The message as the model reads it."""
    return f"<user_guidance>\n{text}\n</user_guidance>"


def _too_large(message: str) -> UsageProblem:
    return UsageProblem("agent.guidance_too_large", message)
