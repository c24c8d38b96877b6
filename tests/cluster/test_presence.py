"""The node processes of a machine, by their files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cluster.presence import RUN_DIR, NodeState, Presence, present


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(RUN_DIR, str(tmp_path / "run"))
    return tmp_path / "run"


def test_a_node_comes_and_goes(folder: Path) -> None:
    presence = Presence.enter("node-3", 812_345)
    assert presence is not None
    (node,) = present(folder)
    assert (node.pid, node.node_id, node.nps, node.state) == (os.getpid(), "node-3", 812_345, NodeState.SERVING)
    presence.now(NodeState.LEAVING)
    assert present(folder)[0].state is NodeState.LEAVING
    presence.now(NodeState.DISMISSED)
    presence.now(NodeState.LEAVING)  # it is asked once more, though it was dismissed
    assert present(folder)[0].state is NodeState.DISMISSED
    presence.leave()
    assert present(folder) == ()


def test_without_a_folder_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RUN_DIR, raising=False)
    assert Presence.enter("node-1", 1) is None


def test_another_process_with_the_same_id_is_another_process(folder: Path) -> None:
    Presence.enter("node-1", 1)
    (file,) = folder.glob("node-*.json")
    fields = json.loads(file.read_text())
    file.write_text(json.dumps({**fields, "started": fields["started"] - 1}))
    assert present(folder) == ()
    assert not file.exists()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"pid": "x", "state": "serving"}', '{"state": "asleep"}', "\xff"])
def test_a_file_that_is_none_of_ours_counts_for_nothing(folder: Path, text: str) -> None:
    folder.mkdir()
    (folder / "node-1.json").write_text(text)
    assert present(folder) == ()
