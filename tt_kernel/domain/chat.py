"""The chat of a notebook: what stands above the calling cell, as messages (DESIGN §5.2)."""

import hashlib
from typing import Literal

from tt_kernel.domain.canonical import digest, encode_json
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.ids import Digest

ChatRole = Literal["user", "assistant", "system"]

ChatOrigin = Literal["frontend", "history", "saved"]
"""Where the cells were taken from. frontend: the front end told them. history: this kernel's own executions, in the order of
the saved file where there is one. saved: the file alone; nothing of it was executed in this kernel."""


class ChatMessage(Frozen):
    """One message. `index` counts from 0.

    Attributes:
        name: Who speaks: `code`, `markdown` or `prompt` for the user's, the profile's id for an answer.
        date: When it was sent, as the source tells it; notebooks do not.
        anchor: 16 hex digits of the digest of what was written, without outputs: finds the message again after cells were
            inserted above it.
    """

    index: int
    role: ChatRole
    name: str
    text: str
    date: str | None = None
    anchor: str = ""


class FrozenChat(Frozen):
    """A run's chat, fixed when the run starts.

    Attributes:
        messages: In order.
        origin: Where they are from; a record for people, not a part of the digest.
        calling: `anchor` of the calling cell's own message, as later runs will see it; empty where there is no cell.
    """

    messages: tuple[ChatMessage, ...] = ()
    origin: ChatOrigin = "saved"
    calling: str = ""

    @property
    def digest(self) -> Digest:
        """Of what tools can show: equal for equal messages, wherever they were taken from."""
        return digest([[m.role, m.name, m.text, m.date] for m in self.messages])


def anchor_of(text: str) -> str:
    """The `anchor` of a message that was written as `text`."""
    return hashlib.sha256(encode_json(text.strip())).hexdigest()[:16]
