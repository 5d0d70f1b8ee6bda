"""The user's connections: `<user folder>/connections/<name>.json` (DESIGN §9).

They are user-wide only. A notebook that came from somebody else must not decide where this user's keys are sent, so no
connection is read from an agent folder.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from tt_kernel.domain.connections import Connection
from tt_kernel.domain.errors import ModelUnavailable, NotFound, StorageFault, TTError
from tt_kernel.store.atomic import read_json, storage_fault, write_json
from tt_kernel.store.documents import documents_in, first_error, holds_secret, sentence_of
from tt_kernel.store.locks import locked

MISSING = "agent.profile_model_connection_missing"
INVALID = "agent.profile_model_connection_invalid"

_WITHOUT_SERVICE = frozenset({"local", "scripted"})


class ConnectionShelf:
    """Finds and stores connections by name."""

    def __init__(self, user_folder: Path) -> None:
        """Args:
        user_folder: See `layout.user_folder`.
        """
        self.folder = user_folder / "connections"

    def load(self, name: str) -> Connection:
        """The connection of this name.

        Raises:
            ModelUnavailable: `agent.profile_model_connection_missing`, naming those that there are;
                `agent.profile_model_connection_invalid`, naming the file, the field and what is expected.
        """
        paths = {path.stem: path for path in documents_in(self.folder)}
        if name not in paths:
            raise ModelUnavailable(MISSING, self._not_there(name, list(paths)))
        return read_connection(paths[name])

    def list(self) -> list[Connection]:
        """Every valid connection, by name."""
        return [found for found in self._read().values() if isinstance(found, Connection)]

    def broken(self) -> dict[Path, TTError]:
        """The files that are no valid connection, with the reason."""
        return {path: found for path, found in self._read().items() if isinstance(found, TTError)}

    def save(self, connection: Connection) -> Path:
        """Store a connection under its name.

        Raises:
            ModelUnavailable: it breaks a rule or holds a secret.
            StorageFault: naming the file; the old one is untouched.
        """
        problem = problem_of(connection)
        if problem is None and holds_secret(connection):
            problem = "it holds a secret. Name the environment variable that has it in credential."
        if problem is not None:
            raise ModelUnavailable(INVALID, f"Connection {connection.name!r} was not saved: {problem}")
        path = self.folder / f"{connection.name}.json"
        with locked(path.parent):
            write_json(path, connection, durable=True)
        return path

    def remove(self, name: str) -> None:
        """Forget a connection, a broken one too; its credential is elsewhere and stays.

        Raises:
            NotFound: naming those that there are.
        """
        paths = {path.stem: path for path in documents_in(self.folder)}
        if name not in paths:
            raise NotFound(MISSING, self._not_there(name, list(paths)))
        try:
            with locked(self.folder):
                paths[name].unlink(missing_ok=True)
        except OSError as error:
            raise storage_fault("delete", paths[name], error) from error

    def _read(self) -> dict[Path, Connection | TTError]:
        found: dict[Path, Connection | TTError] = {}
        for path in documents_in(self.folder):
            try:
                found[path] = read_connection(path)
            except (ModelUnavailable, StorageFault) as problem:
                found[path] = problem
        return found

    def _not_there(self, wanted: str, known: Sequence[str]) -> str:
        near = difflib.get_close_matches(wanted, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Connections: {', '.join(known) or 'none yet'}."
        return f"There is no connection {wanted!r}. {hint} They are JSON files in {self.folder}."


def read_connection(path: Path) -> Connection:
    """The connection of a file.

    Raises:
        ModelUnavailable: `agent.profile_model_connection_invalid`.
        StorageFault: it cannot be read.
    """
    try:
        connection = Connection.model_validate(read_json(path))
    except ValidationError as error:
        sentence = sentence_of(first_error(error), Connection, "connection", hidden=("credential", "baseUrl"))
        raise ModelUnavailable(INVALID, f"Connection {path}: {sentence}") from error
    except StorageFault as fault:
        if fault.code != "storage.not_json":
            raise
        raise ModelUnavailable(INVALID, f"Connection {fault.message}") from fault
    if connection.name != path.stem:
        raise ModelUnavailable(INVALID, f"Connection {path}: name is {connection.name!r}, unlike the file's name.")
    problem = problem_of(connection)
    if problem is not None:
        raise ModelUnavailable(INVALID, f"Connection {path}: {problem}")
    return connection


def problem_of(connection: Connection) -> str | None:
    """What is wrong with a connection beyond its shape."""
    if connection.provider in _WITHOUT_SERVICE:
        return (
            f"provider {connection.provider} needs no connection; name the model itself in the profile (model.modelId)."
        )
    if connection.base_url is None:
        return None
    try:
        parts = urlsplit(connection.base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        return "baseUrl must be an http or https address."
    if parts.username or parts.password or parts.query or parts.fragment:
        return "baseUrl may hold no user, password or query; name the variable that holds the key in credential."
    return None
