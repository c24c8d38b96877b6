"""The status file of a master's fleet, and the users who may read it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cluster.api import Listener, NodeView, SearchListener
from cluster.machine import status
from cluster.machine.presence import RUN_DIR
from cluster.machine.processes import started
from cluster.machine.status import FleetState, StatusFile, folder, masters
from master.cli import run
from tests.answers import make_decision, make_progress
from worker.files import replace_file

EVENTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("ray_started", {"address": "127.0.0.1:6379", "capacity": 2, "pid": 7}),
    ("node_starting", {"node": "node-1"}),
    ("node_starting", {"node": "node-2"}),
    ("node_ready", {"node": "node-1", "host": "here", "pid": 11, "engine": "gougi"}),
    ("node_joined", {"node": "node-1", "live": 1}),
    ("node_joined", {"node": "node-2", "live": 2}),
    ("node_joined", {"node": "fallback", "live": 3}),
    ("node_lost", {"node": "node-2", "reason": "its process died", "live": 1}),
)
FLEET = (
    NodeView("node-1", True, "7g7f", 14, 55, 1_200_000, 600_000),
    NodeView("node-2", False, "others", 9, None, 0, 7),
)
PROGRESS = make_progress(1, 900, 14, 55, ("7g7f",), 1_200_000, FLEET)
DECISION = make_decision(1, "7g7f", 55, 14, ("7g7f", "3c3d"), 1_200_000, 950, "vote", (), FLEET)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN_DIR, str(tmp_path / "run"))


def state() -> FleetState:
    found = FleetState("gougi", 1000.0)
    for name, fields in EVENTS:
        found.on_event(name, fields, 1010.0)
    return found


def test_events_add_up() -> None:
    facts = state().facts()
    assert (facts["address"], facts["ray"], facts["losses"], facts["searching"]) == (
        "127.0.0.1:6379",
        "running",
        1,
        False,
    )
    one, two = facts["nodes"]
    assert (one["node"], one["state"], one["host"], one["pid"], one["lost"]) == ("node-1", "ready", "here", 11, 0)
    assert (two["node"], two["state"], two["lost"]) == ("node-2", "lost", 1)
    assert facts["last_losses"] == [{"at": 1010.0, "node": "node-2", "why": "its process died"}]


def test_a_search_and_its_decision() -> None:
    found = state()
    found.on_progress(PROGRESS)
    facts = found.facts()
    assert facts["searching"] and facts["nodes"][0]["job"] == "7g7f" and facts["nps"] == 600_000
    found.on_decision(DECISION, 1020.0)
    facts = found.facts()
    assert not facts["searching"] and facts["nodes"][0]["job"] == ""
    assert (facts["decision"]["move"], facts["decision"]["source"], facts["decision"]["at"]) == ("7g7f", "vote", 1020.0)


def published(heard: list[Any]) -> StatusFile:
    file = StatusFile("gougi")
    listener = file.watching(Listener(lambda name, _: heard.append(name), SearchListener(heard.append, heard.append)))
    for name, fields in EVENTS:
        listener.on_event(name, fields)
    listener.searches.on_progress(PROGRESS)
    listener.searches.on_decision(DECISION)
    file._thread.submit(lambda: None).result(30)
    return file


def test_the_file_is_its_user_s_alone_and_goes_with_the_fleet() -> None:
    heard: list[Any] = []
    file = published(heard)
    assert heard == [*(name for name, _ in EVENTS), PROGRESS, DECISION], "earlier listeners still get everything"
    (path,) = folder().glob("master-*.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder().stat().st_mode) == 0o700
    (facts,) = masters()
    assert (facts["pid"], facts["started"]) == (os.getpid(), started(os.getpid()))
    file.close()
    assert masters() == [] and not list(folder().iterdir())
    file.close()


def test_a_write_under_way_at_the_end_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    began, released = threading.Event(), threading.Event()

    def slowly(path: Path, content: bytes, *, mode: int) -> None:
        began.set()
        assert released.wait(30)
        replace_file(path, content, mode=mode)

    monkeypatch.setattr(status, "replace_file", slowly)
    file = StatusFile("gougi")
    file.watching(Listener(lambda name, fields: None)).on_event(*EVENTS[0])
    assert began.wait(30)
    threading.Timer(0.2, released.set).start()
    file.close()
    file._thread.shutdown(wait=True)
    assert not list(folder().iterdir())


def test_a_file_whose_process_is_gone_counts_for_nothing() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    path = folder() / f"master-{ended.pid}.json"
    path.write_text(json.dumps({"pid": ended.pid, "started": 5, "began": 1.0}))
    (folder() / "master-1.json").write_text("rubbish")
    assert masters() == []
    assert not path.exists()


def test_a_folder_that_others_can_write_to_is_not_used() -> None:
    folder().chmod(0o777)
    heard: list[Any] = []
    file = StatusFile("gougi")
    file.watching(Listener(on_event=lambda name, _: heard.append(name))).on_event(*EVENTS[0])
    assert heard == ["status_not_written", "ray_started"]
    file.close()


def test_the_process_facts_are_in_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    file = published([])
    status.tell(page="http://127.0.0.1:4082/")
    file._thread.submit(lambda: None).result(30)
    assert run(["status"]) == 0
    assert "live page: http://127.0.0.1:4082/\n" in capsys.readouterr().out
    status.tell(page="")
    file._thread.submit(lambda: None).result(30)
    assert run(["status"]) == 0
    assert "live page" not in capsys.readouterr().out
    file.close()


def test_gougi_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["status"]) == 1
    assert capsys.readouterr().err == "gougi: no player or engine of yours with a fleet runs here\n"
    file = published([])
    assert run(["status"]) == 0
    told = capsys.readouterr().out
    for words in (
        "idle",
        "Ray: running at 127.0.0.1:6379",
        "node-1",
        "600.0k",
        "1 of 2 nodes ready",
        "its process died",
    ):
        assert words in told
    assert "ago: 7g7f  +55  depth 14" in told
    assert run(["status", "--json"]) == 0
    (facts,) = json.loads(capsys.readouterr().out)["masters"]
    assert facts["decision"]["move"] == "7g7f" and facts["at"] <= time.time()
    file.close()
