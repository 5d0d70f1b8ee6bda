"""The network switch of the tests themselves."""

import asyncio
import os
import socket
import subprocess
import sys

import loopback_only
import pytest

ELSEWHERE = ("192.0.2.1", 80)  # an address that documentation may use and nobody has


def test_a_connection_elsewhere_is_refused() -> None:
    with pytest.raises(loopback_only.NetworkIsOff), socket.socket() as sock:
        sock.connect(ELSEWHERE)


def test_a_datagram_elsewhere_is_refused() -> None:
    with pytest.raises(loopback_only.NetworkIsOff), socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", ELSEWHERE)


async def test_asyncio_connections_and_look_ups_are_refused() -> None:
    with pytest.raises(loopback_only.NetworkIsOff):
        await asyncio.open_connection(*ELSEWHERE)
    with pytest.raises(loopback_only.NetworkIsOff):
        await asyncio.open_connection("example.com", 80)


def test_loopback_works() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    with server, socket.create_connection(("localhost", server.getsockname()[1])) as client:
        assert client.getpeername() == server.getsockname()


def test_processes_started_by_tests_are_offline_too() -> None:
    code = f"import socket; socket.socket().connect({ELSEWHERE!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Tests are offline: connection to '192.0.2.1' refused." in done.stderr


def test_settings_and_credentials_of_the_user_are_gone() -> None:
    assert [name for name in os.environ if name.startswith("TT_") or name.endswith("_API_KEY")] == []
    assert "tt-tests-" in os.path.expanduser("~")
