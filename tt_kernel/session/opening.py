"""What a run sends first, and keeps of it: the same for all repeats of a run, so a sweep makes it once for each point."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pydantic import TypeAdapter

from tt_kernel.domain.canonical import digest, indented_json
from tt_kernel.domain.messages import Message
from tt_kernel.domain.specs import Snapshot, ToolOffer
from tt_kernel.store.secrets import Scrubber
from tt_kernel.store.tape import Asked

_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])


@dataclass(frozen=True)
class Opening:
    """The first request of a run.

    Attributes:
        messages: The conversation that it carries.
        asked: What of it does not grow.
        scrubber: Takes the secrets out of what is kept.
    """

    messages: Sequence[Message]
    asked: Asked
    snapshot: Snapshot
    scrubber: Scrubber

    @cached_property
    def digest(self) -> str:
        return digest([message.digest_body() for message in self.messages])

    @cached_property
    def tools(self) -> str:
        """The digest of the snapshot."""
        return self.snapshot.digest

    @cached_property
    def documents(self) -> dict[str, bytes]:
        """The files of the run that tell of it, by their paths in its folder."""
        dumped = _MESSAGES.dump_python(list(self.messages), mode="json")
        return {
            "input/messages.json": indented_json(self.scrubber.json(dumped)),
            "input/snapshot.json": indented_json(self.snapshot.model_dump(mode="json")),
        }


def offers_of(snapshot: Snapshot) -> tuple[ToolOffer, ...]:
    """The tools as every request carries them."""
    return tuple(map(ToolOffer.of, snapshot.bindings))
