"""A node's process, from its first word to its exit status."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from functools import partial
from pathlib import Path

import pytest

from cluster.network.channel import ChannelClient, ChannelServer
from cluster.node import process as node_process
from cluster.node.process import ALONE, NodeSpec, live
from tests.cluster.engines import HashEngine
from tests.cluster.private_folders import left


def test_who_is_left_alone_sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Master, nursery and Ray's process were killed at once: nobody else would remove their folder."""

    async def address_of_a_dead_master() -> NodeSpec:
        master = ChannelServer(lambda _peer, _message: None, lambda _peer, _why: None)
        master.open()
        spec = NodeSpec("node-1", master.admit("node-1"), HashEngine)
        master.close()
        return spec

    spec = asyncio.run(address_of_a_dead_master())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(node_process, "ChannelClient", partial(ChannelClient, gone_s=0.5))
    folder = left(tmp_path)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert live(spec, "", 0.0) == ALONE
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert not folder.exists()
