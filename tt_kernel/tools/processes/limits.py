"""The numbers of spec liveagent §6. Tests give a table smaller ones."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

Status = Literal["running", "completed", "failed", "cancelled", "timed_out"]
"""running: alive. completed: exit status 0. failed: another exit status. cancelled: stopped. timed_out: its hard limit."""

TimeoutMs = Annotated[int, Field(ge=1_000, le=600_000)]
BashYieldMs = Annotated[int, Field(ge=250, le=30_000)]
WaitYieldMs = Annotated[int, Field(ge=5_000, le=300_000)]

BASH_YIELD_MS = 10_000
WAIT_YIELD_MS = 30_000


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes, times in seconds.

    Attributes:
        sessions: Sessions that a table keeps; the oldest that has ended gives way.
        ring: Output that a session keeps, stdout and stderr together.
        page: Output of one response.
        keep: How long a session that has ended can still be asked.
        clean_every: How often sessions are looked through for that.
        grace: From the request to end to the kill; and from the exit to the end of the output.
        stop: How long a stop waits for the session to have ended.
        together: Bash calls that run at the same time.
    """

    sessions: int = 64
    ring: int = 2**20
    page: int = 64 * 1024
    keep: float = 600.0
    clean_every: float = 60.0
    grace: float = 0.3
    stop: float = 5.0
    together: int = 4


SYNCHRONOUS_OUTPUT = 400_000
"""Bytes of stdout, and of stderr, that the synchronous path keeps; the head is kept (spec liveagent §6.1)."""

_PATIENT = (120_000, 600_000)
_IMPATIENT = (30_000, 30_000)

SYNCHRONOUS_TIMEOUTS = {
    "anthropic": _PATIENT,
    "openai": _IMPATIENT,
    "google": _IMPATIENT,
    "xai": _IMPATIENT,
    "deepseek": _IMPATIENT,
}
"""Provider of the run's model -> (default, maximum) time-out in ms of the synchronous path. Others: as patient as any."""


def synchronous_timeout(provider: str, asked: int | None) -> int:
    """The time-out in ms of a synchronous call: what was asked for, within the provider's maximum."""
    default, most = SYNCHRONOUS_TIMEOUTS.get(provider, _PATIENT)
    return min(asked or default, most)
