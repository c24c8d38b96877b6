"""Connections that were closed, and whose numbers are something else by now."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from cluster.network.backlog import Backlog


def descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


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
