"""The clock and the randomness that tools show to the model: both come from the run, so that re-execution gives the same text."""

import hashlib
import random
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Clockwork:
    """DESIGN §7: what a tool takes for "now" and for chance.

    Args:
        started_at: When the run was first recorded, aware, UTC.
        seed: The run's seed.
    """

    started_at: datetime
    seed: int

    def __post_init__(self) -> None:
        if self.started_at.utcoffset() is None:
            raise ValueError(f"Clockwork needs an aware time, got {self.started_at!r}; use datetime.now(UTC).")

    def random(self, name: str) -> random.Random:
        """A deterministic stream of its own for each `name`; asking again starts it again."""
        seed = hashlib.sha256(f"{self.seed}:{name}".encode()).digest()
        return random.Random(int.from_bytes(seed))  # noqa: S311  reproducible on purpose, never for secrets
