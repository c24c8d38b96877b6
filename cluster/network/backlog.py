"""Cuts connections of which much has come, and no whole message: ZeroMQ limits a message's frames, not how many it has,
and keeps them until the last has come.

Each look compares what the system has received on a connection with what it had when a message was last read from it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Callable
from typing import Any, Final

import zmq
from zmq.utils.monitor import recv_monitor_message

MOST_BYTES: Final = 16 * 1024 * 1024
"""Thousands of reports; and more than a master that stood still for a minute finds waiting."""
LOOK_S: Final = 0.1
_INFO_BYTES: Final = 136
_RECEIVED: Final = struct.Struct("=Q")
_RECEIVED_AT: Final = 128
"""Offset of ``tcpi_bytes_received`` in Linux' ``struct tcp_info`` (since 4.1)."""


class Backlog:
    """The connections of one socket, looked at now and then.

    Args:
        is_ours: whether a connection is one of the socket's: a file descriptor that was closed is soon another's.
        most_bytes: what may come on a connection without a whole message.
    """

    def __init__(self, is_ours: Callable[[socket.socket], bool], most_bytes: int) -> None:
        self._is_ours = is_ours
        self._most_bytes = most_bytes
        self._received: dict[int, int | None] = {}
        """Bytes received when a message was last read, by file descriptor; None: not measured since."""
        self._read: set[int] = set()
        """File descriptors of which a message was read since the last look."""

    def opened(self, descriptor: int) -> None:
        """A connection was made."""
        self._received[descriptor] = 0

    def read(self, frame: zmq.Frame) -> None:
        """A whole message was read, of which this is a frame."""
        descriptor: Any = frame.get(zmq.SRCFD)
        self._read.add(int(descriptor))

    def look(self) -> list[str]:
        """Cut the connections on which too much has come; returns why, for each."""
        read, self._read = self._read, set()
        cut = []
        for descriptor, before in list(self._received.items()):
            if descriptor in read:
                # Whole messages come. It is measured when none does: each measurement takes a dozen system calls.
                self._received[descriptor] = None
                continue
            try:
                if why := self._judge(descriptor, before):
                    cut.append(why)
                    del self._received[descriptor]
            except OSError:  # it was closed
                del self._received[descriptor]
        return cut

    def _judge(self, descriptor: int, before: int | None) -> str:
        """Look at one connection; returns why it was cut.

        Raises:
            OSError: it is none any more, or none of ours.
        """
        duplicate = os.dup(descriptor)
        try:
            connection = socket.socket(fileno=duplicate)
        except OSError:  # another kind of file by now
            os.close(duplicate)
            raise
        with contextlib.closing(connection):
            if connection.family not in (socket.AF_INET, socket.AF_INET6) or not self._is_ours(connection):
                raise ConnectionError
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
            (received,) = _RECEIVED.unpack_from(info, _RECEIVED_AT)
            if before is None or received < before:
                self._received[descriptor] = received
            elif received - before > self._most_bytes:
                host = connection.getpeername()[0]
                connection.shutdown(socket.SHUT_RDWR)
                return f"{received - before} bytes from {host} without a whole message: cut"
        return ""


class BacklogWatch:
    """Watches the connections of a socket that listens, on the running asyncio loop.

    Args:
        listening: the socket; it listens on TCP.
        on_cut: called with why, for each connection that was cut.
    """

    def __init__(self, listening: zmq.Socket[bytes], on_cut: Callable[[str], None]) -> None:
        self._listening = listening
        self._on_cut = on_cut
        self._backlog = Backlog(comes_to(listening), MOST_BYTES)
        self.read = self._backlog.read
        self._monitor = listening.get_monitor_socket(zmq.EVENT_ACCEPTED)
        self._task = asyncio.ensure_future(self._look())

    def close(self) -> None:
        """Watch no more; before the socket is closed."""
        self._task.cancel()
        self._listening.disable_monitor()
        self._monitor.close(linger=0)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            with contextlib.suppress(zmq.Again):
                while True:
                    self._backlog.opened(recv_monitor_message(self._monitor, zmq.DONTWAIT)["value"])
            for why in self._backlog.look():
                self._on_cut(why)


def comes_to(listening: zmq.Socket[Any]) -> Callable[[socket.socket], bool]:
    """Whether a connection is one to the port on which that socket listens."""
    endpoint: Any = listening.getsockopt(zmq.LAST_ENDPOINT)
    port = int(endpoint.decode().rpartition(":")[2])
    return lambda connection: bool(connection.getsockname()[1] == port)
