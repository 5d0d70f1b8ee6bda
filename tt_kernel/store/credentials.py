"""Credentials by their names: a variable of the environment, or an entry of the operating system's keyring.

Values are read when they are needed and kept nowhere.
"""

import os
from importlib import import_module
from importlib.util import find_spec

from tt_kernel.domain.connections import KEYRING


def credential_value(name: str) -> str | None:
    """The credential of this name (`domain.connections.CredentialName`).

    None when it is not set, or the keyring has no such entry, is locked, or is not installed; `how_to_set` says what to do.
    """
    if not name.startswith(KEYRING):
        return os.environ.get(name) or None
    if not _has_keyring():
        return None
    service, _, user = name.removeprefix(KEYRING).partition("/")
    try:
        value = import_module("keyring").get_password(service, user)
    except Exception:  # noqa: BLE001  each system's keyring fails in its own way; the result is the same
        return None
    return value or None


def how_to_set(name: str) -> str:
    """A sentence that says where the credential is expected."""
    if not name.startswith(KEYRING):
        return f"Set the environment variable {name}."
    if not _has_keyring():
        return "Run: pip install 'tt_kernel[keyring]'."
    service, _, user = name.removeprefix(KEYRING).partition("/")
    return f"Store it in a terminal: keyring set {service} {user}."


def _has_keyring() -> bool:
    return find_spec("keyring") is not None
