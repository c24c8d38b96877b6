"""Connections that are measured, and those whose numbers are something else by now."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from cluster.network.backlog import Backlog
from tests.cluster.sharing_process import until


def descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def test_a_connection_whose_messages_come_is_not_measured() -> None:
    """A node listens to sixteen others, and looks ten times a second on the core on which it searches."""
    asked = 0

    def is_ours(_connection: socket.socket) -> bool:
        nonlocal asked
        asked += 1
        return True

    backlog = Backlog(is_ours, 1000)
    with socket.create_server(("127.0.0.1", 0)) as door:
        far = socket.create_connection(door.getsockname())
        near, _ = door.accept()
    with far, near:
        backlog.opened(near.fileno())
        for _ in range(10):
            far.sendall(bytes(2000))
            backlog._read.add(near.fileno())
            assert backlog.look() == []
        assert asked == 0
        assert backlog.look() == [], "the first look behind the last message measures"
        far.sendall(bytes(2000))
        until(lambda: bool(backlog.look()))
        assert asked > 1


def test_numbers_that_are_other_files_by_now_are_forgotten() -> None:
    backlog = Backlog(lambda connection: bool(connection.getsockname()[1] == 1), 1000)
    pair = socket.socketpair(socket.AF_UNIX)
    pipe = os.pipe()
    try:
        for number in (pair[0].fileno(), pipe[0]):
            backlog.opened(number)
        before = descriptors()
        assert backlog.look() == []
        assert len(descriptors()) == len(before)
        assert backlog._received == {}
    finally:
        for end in pair:
            end.close()
        for number in pipe:
            os.close(number)
