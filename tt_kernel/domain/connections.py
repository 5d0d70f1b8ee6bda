"""How a model service is reached: its address and the name of a credential, never the credential (DESIGN §9)."""

import re
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tt_kernel.domain.frozen import Frozen

ConnectionName = Annotated[str, StringConstraints(pattern=re.compile(r"^[a-z0-9_-]{1,128}\Z"))]

KEYRING = "keyring:"
"""Beginning of a credential's name that means an entry of the operating system's keyring: `keyring:SERVICE/USER`."""

CredentialName = Annotated[
    str, StringConstraints(pattern=re.compile(r"^(?:[A-Za-z_][A-Za-z0-9_]{0,99}|keyring:[^/\s]+/[^\s]+)\Z"))
]
"""An environment variable, or an entry of the keyring."""


class Connection(Frozen):
    """`<user folder>/connections/<name>.json`: the user's own, named by profiles (`model.connectionRef`).

    Attributes:
        provider: The part before the colon of a model name: `openai`, `anthropic`, `ollama` ...
        model: The part after the colon, where a profile does not say it.
        base_url: Address of the service; None: the provider's usual one. It decides the answers, so it is a part of every
            request's digest, unlike the addresses of the environment (`OPENAI_BASE_URL`), which belong to the machine.
        credential: Where the key is. With `base_url` only this key is ever sent there, and none if none is named.
    """

    schema_version: Literal[1] = 1
    kind: Literal["tt_kernel.connection"] = "tt_kernel.connection"
    name: ConnectionName
    description: str | None = None
    provider: str = Field(min_length=1)
    model: str | None = Field(default=None, min_length=1)
    base_url: str | None = None
    credential: CredentialName | None = None
