"""``gougi lab --real`` as a user meets it: real nodes, one that is killed, Ctrl-C and going on."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from cluster.machine.status import masters
from tests.master.command import Running, gougi

CORE = str(min(os.sched_getaffinity(0)))
TINY = (
    *("lab", "--real", "--ms", "40", "--nodes", "2", "--strategy", "consult:majority", "--hash", "1", "--resign", "0"),
    *("--max-moves", "44", "--opening-plies", "4", "--cores", CORE, "--oversubscribe", "--out", "lab"),
)
"""Two nodes on one core, for a machine of the tests may have no more."""


def games(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "lab" / "games.jsonl").read_text().splitlines()]


def node_processes() -> list[int]:
    """The process numbers of the nodes of all masters that publish themselves in this test's folder."""
    return [node["pid"] for master in masters() for node in master["nodes"] if node["node"].startswith("node-")]


@pytest.mark.slow
def test_real_nodes_one_that_dies_ctrl_c_and_going_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir = tmp_path / "run"
    run_dir.mkdir(mode=0o700)
    monkeypatch.setenv("GOUGI_RUN_DIR", str(run_dir))
    env = {"GOUGI_RUN_DIR": str(run_dir)}
    running = Running([*TINY, "--games", "100"], tmp_path, env)
    try:
        running.wait_for("2/100 ")
        assert "2 nodes on 1 core" in running.output
        nodes = node_processes()
        assert len(nodes) == 2
        assert all(os.sched_getaffinity(pid) == {int(CORE)} for pid in nodes)
        time.sleep(1.2)  # after the pause in which tables are emptied: within a game
        os.kill(nodes[0], signal.SIGKILL)
        assert "A: node lost (node node-" in running.wait_for("is void and played again")
        running.wait_for("5/100 ")
        running.press_ctrl_c()
        assert running.end() == 130
        assert "Traceback" not in running.output
        assert "the same command goes on" in running.output
        assert not running.left_behind(10)
    finally:
        running.kill()
    before = games(tmp_path)
    assert sum(game["real"]["voids"] for game in before) >= 1
    assert [game["game"] for game in before] == list(range(len(before)))
    wanted = len(before) // 2 * 2 + 2
    done = gougi(*TINY, "--games", str(wanted), "--json", cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    after = games(tmp_path)
    assert after[: len(before)] == before
    assert len(after) == wanted
    for game in after:
        a, b = game["real"]["a"], game["real"]["b"]
        assert game["real"]["cores"] == game["real"]["cores_b"] == [int(CORE)]
        assert 40 * game["a"]["moves"] == a["asked_ms"]
        assert a["used_ms"] > 0.7 * a["asked_ms"]
        assert min(game["a"]["nodes"], game["b"]["nodes"]) > 0
        assert b["master_s"] == 0, "one node has no fleet"
    assert sum(game["real"]["a"]["nodes_s"] for game in after) > 0
    assert sum(game["real"]["a"]["master_s"] for game in after) > 0
    known = json.loads((tmp_path / "lab" / "lab.json").read_text())
    assert (known["settings"]["ms"], known["machine"]["cores"]) == (40, CORE)
    found = json.loads(done.stdout)
    assert (found["real"], found["finished"], found["points"][0]["real"]["voids"]) == (True, True, 1)
    refused(tmp_path, env, wanted)


def refused(folder: Path, env: dict[str, str], wanted: int) -> None:
    """Check that the folder refuses other games."""
    others = ("lab", "--nodes", "2", "--games", str(wanted), "--out", "lab")
    virtual = gougi(*others, cwd=folder, env=env)
    assert (virtual.returncode, "its games are in real time, these would be virtual ones" in virtual.stderr) == (
        2,
        True,
    )
    longer = gougi(*TINY, "--ms", "50", "--games", str(wanted), cwd=folder, env=env)
    assert (longer.returncode, "(ms was 40 and is 50)" in longer.stderr) == (2, True)


@pytest.mark.slow
def test_a_player_that_cannot_be_opened_is_told_in_a_line(tmp_path: Path) -> None:
    done = gougi(*TINY, "--games", "2", "--hash", "100000000", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("gougi: consult:majority, 2 nodes, game 0: a node cannot start: node-")
    assert "Unable to allocate" in last
