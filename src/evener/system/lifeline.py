"""Lifelines: connections between ranks that notice a rank that has ended, or a machine out of reach.

Rank 0 has a connection to every other rank. The kernel answers the probes of a connection, so a rank that is
stopped or busy stays connected. A rank that ends as planned says goodbye first.
"""

from __future__ import annotations

import atexit
import contextlib
import secrets
import socket
import threading
from time import sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["Lifeline"]

# Seconds without traffic before a probe, and between probes; probes without an answer before an error.
_PROBING = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 3, "TCP_KEEPCNT": 4}
# Seconds that other ranks have to connect to an address of rank 0, and rank 0 to read who connected.
_CONNECT = 3.0
# Seconds in which the launcher can end this rank before the rank reports that another has ended.
_GRACE = 2.0
_TOKEN_BYTES, _NUMBER_BYTES = 16, 8
_GOODBYE = b"g"


class Lifeline:
    """The connections of one rank. Threads watch them; a connection that cannot be made is not watched.

    The constructor is a collective operation; all ranks must call it. `lost` is called with a sentence about
    another rank that was lost.
    """

    def __init__(
        self, rank: int, host: str, allgather: Callable[[Any], list[Any]], lost: Callable[[str], None]
    ) -> None:
        self._hosts = allgather(host)
        self._lost = lost
        self._lines: list[socket.socket] = []
        self._leaving = False
        listener, offer = None, None
        if rank == 0:
            with contextlib.suppress(OSError):
                listener = socket.create_server(("", 0), backlog=len(self._hosts))
                token = secrets.token_bytes(_TOKEN_BYTES)
                offer = (token, listener.getsockname()[1], list(_addresses()))
        offer = allgather(offer)[0]
        if listener is not None and offer is not None:
            _start(self._accept, listener, offer[0])
        elif offer is not None:
            _start(self._connect, rank, *offer)
        atexit.register(self.leave)

    def leave(self) -> None:
        """Say goodbye, so that no rank reports the end of this rank."""
        self._leaving = True
        for line in self._lines:
            with contextlib.suppress(OSError):
                line.sendall(_GOODBYE)

    def _accept(self, listener: socket.socket, token: bytes) -> None:
        with listener, contextlib.suppress(OSError):
            while len(self._lines) < len(self._hosts) - 1:
                line, _ = listener.accept()
                line.settimeout(_CONNECT)
                with contextlib.suppress(OSError):
                    content = _receive(line, _TOKEN_BYTES + _NUMBER_BYTES)
                    if secrets.compare_digest(content[:_TOKEN_BYTES], token):
                        rank = int.from_bytes(content[_TOKEN_BYTES:], "big")
                        self._lines.append(line)
                        _start(self._watch, line, rank)

    def _connect(self, own_rank: int, token: bytes, port: int, addresses: list[str]) -> None:
        local = ["127.0.0.1"] if self._hosts[own_rank] == self._hosts[0] else []
        for address in [*local, *addresses]:
            with contextlib.suppress(OSError):
                line = socket.create_connection((address, port), timeout=_CONNECT)
                line.sendall(token + own_rank.to_bytes(_NUMBER_BYTES, "big"))
                self._lines.append(line)
                self._watch(line, 0)
                return

    def _watch(self, line: socket.socket, rank: int) -> None:
        """Wait for the goodbye of a rank, and report the rank if it ends or is out of reach without one."""
        line.settimeout(None)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _PROBING.items():
            if hasattr(socket, option):  # not on all systems
                line.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        try:
            said, what = line.recv(1), "has ended without an error message"
        except ConnectionResetError:
            said, what = b"", "has ended without an error message"
        except OSError as error:
            said, what = b"", f"cannot be reached ({(error.strerror or str(error)).lower()})"
        if said != _GOODBYE:
            sleep(_GRACE)
            if not self._leaving:
                where = f"rank {rank} of {len(self._hosts)} on {self._hosts[rank]}"
                self._lost(f"{where} {what}; this ends the job")


def _start(target: Callable[..., None], *args: object) -> None:
    threading.Thread(target=target, args=args, name="evener-lifeline", daemon=True).start()


def _receive(line: socket.socket, length: int) -> bytes:
    content = b""
    while len(content) < length and (part := line.recv(length - len(content))):
        content += part
    return content


def _addresses() -> Iterator[str]:
    """Yield the IPv4 addresses of this machine, without loopback."""
    with contextlib.suppress(OSError, ImportError):
        import fcntl

        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                request = name.encode()[:15].ljust(40, b"\0")
                address = socket.inet_ntoa(fcntl.ioctl(probe, _SIOCGIFADDR, request)[20:24])
                if not address.startswith("127."):
                    yield address


_SIOCGIFADDR = 0x8915  # ioctl of Linux: the address of an interface
