"""A node's process, from its first message to its exit status."""

from __future__ import annotations

import asyncio
import json
import signal
from functools import partial
from pathlib import Path

import pytest

from cluster.machine.presence import RUN_DIR
from cluster.machine.status import folder
from cluster.network.channel import ChannelClient, ChannelServer
from cluster.node import process as node_process
from cluster.node.process import ALONE, NodeSpec, run_node
from tests.cluster.engines import HashEngine


def test_a_node_left_alone_removes_its_masters_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Master and fork server were killed at once: no other process would remove the master's file."""

    async def address_of_a_dead_master() -> NodeSpec:
        master = ChannelServer(lambda _peer, _message: None, lambda _peer, _why: None)
        master.open()
        spec = NodeSpec("node-1", master.admit("node-1"), HashEngine)
        master.close()
        return spec

    spec = asyncio.run(address_of_a_dead_master())
    monkeypatch.setenv(RUN_DIR, str(tmp_path / "run"))
    monkeypatch.setattr(node_process, "ChannelClient", partial(ChannelClient, gone_s=0.5))
    file = folder() / "master-1.json"
    file.write_text(json.dumps({"pid": 1, "started": -1, "began": 0.0}))
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert run_node(spec, "", 0.0) == ALONE
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert not file.exists()
