"""The network is switched off, except this machine's own loopback.

Python imports `sitecustomize.py` of this folder, and so this module, at start-up when the folder is on PYTHONPATH: kernels
and tools that tests start are offline too. tests/conftest.py imports it for the test process itself. It is an audit hook:
it sees every socket that is made in Python, including asyncio's, and nothing can take it away.
"""

import ipaddress
import platform
import sys

LOCAL_NAMES = frozenset({"localhost", "", None})


class NetworkIsOff(OSError):
    """Raised instead of connecting; an OSError, because that is what code that meets a dead network must handle."""


def is_local(host: object) -> bool:
    if isinstance(host, (bytes, bytearray)):
        host = host.decode("ascii", "replace")
    if host in LOCAL_NAMES or host == platform.node():
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]  # a path for AF_UNIX, a tuple for the internet
        if isinstance(address, tuple) and address and not is_local(address[0]):
            raise NetworkIsOff(f"Tests are offline: connection to {address[0]!r} refused.")
    elif event == "socket.getaddrinfo" and not is_local(arguments[0]):
        raise NetworkIsOff(f"Tests are offline: look-up of {arguments[0]!r} refused.")


sys.addaudithook(refuse_network)
