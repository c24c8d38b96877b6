"""The node processes of a machine, by their files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.machine.presence import RUN_DIR, NodeState, Presence, present
from master.cli import run
from tests.users import NOBODY, as_root


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
    presence.now(NodeState.LEAVING)  # it is asked once more, although it was dismissed
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


def link(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda folder: folder.chmod(0o777), "others may write to it"),
        (lambda folder: folder.chmod(0o1770), "others may write to it"),
        (link, "a link"),
        pytest.param(lambda folder: os.chown(folder, NOBODY, NOBODY), "it belongs to nobody", marks=as_root),
    ],
)
def test_a_folder_that_is_not_this_user_s_alone_is_not_used(
    folder: Path, change: Callable[[Path], None], why: str
) -> None:
    """Its files decide which processes get a signal."""
    folder.mkdir()
    change(folder)
    with pytest.raises(OSError, match=f"GOUGI_RUN_DIR: .*/run: .*{why}"):
        Presence.enter("node-1", 1)
    with pytest.raises(OSError, match=why):
        present(folder)
    assert not list(folder.iterdir())


def test_the_watch_over_a_machine_says_so(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder.mkdir(mode=0o700)
    folder.chmod(0o777)
    assert run(["fleet", "watch"]) == 2
    said = capfd.readouterr().err
    assert said == f"gougi: GOUGI_RUN_DIR: {folder}: others may write to it; it needs mode 700\n"
