"""The log file, and the messages for the user."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
import structlog

from master.csa.summary import GameSummary
from master.logs.files import LogFile
from master.logs.log import About, fleet_listener, open_log
from master.player.events import Conclusion, GameEnded, GameFound, GameOutcome
from worker.clock.timecontrol import TimeControl
from worker.shogi import STARTPOS


def test_lines_of_both_kinds_and_levels(tmp_path: Path) -> None:
    heard: list[str] = []
    log = structlog.get_logger("game")
    with open_log(tmp_path / "made", file_level="info", console_level="warning", console=heard.append) as path:
        log.debug("quiet")
        log.info("move", usi="7g7f", name="七")
        log.warning("late", why="a slow disk", ms=3)
        logging.getLogger("cluster.node.runner").error("%s failed", "node-1")
        try:
            raise ValueError("broken")
        except ValueError:
            log.exception("game_failed")
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [entry["event"] for entry in entries] == ["move", "late", "node-1 failed", "game_failed"]
    assert entries[0] | {"timestamp": ""} == {
        "event": "move",
        "usi": "7g7f",
        "name": "七",
        "level": "info",
        "logger": "game",
        "timestamp": "",
    }
    assert "ValueError: broken" in entries[3]["exception"]
    assert heard == ["warning: late why='a slow disk' ms=3", "error: node-1 failed", "error: game_failed"]


def test_the_log_ends_with_its_block(tmp_path: Path) -> None:
    before = logging.getLogger().handlers[:]
    with open_log(tmp_path, file_level="debug", console_level="error", console=lambda _: None) as path:
        pass
    structlog.get_logger("game").info("later")
    assert logging.getLogger().handlers == before
    assert path.read_text() == ""


def test_fleet_events(tmp_path: Path) -> None:
    heard: list[str] = []
    told: list[tuple[str, dict[str, object]]] = []
    with open_log(tmp_path, file_level="info", console_level="warning", console=heard.append) as path:
        listener = fleet_listener(lambda name, fields: told.append((name, fields)))
        listener.on_event("node_joined", {"node": "node-1"})
        listener.on_event("node_lost", {"node": "node-1", "reason": "its process died"})
    assert [name for name, _ in told] == ["node_joined", "node_lost"]
    assert heard == ["warning: node_lost node=node-1 reason='its process died'"]
    assert len(path.read_text().splitlines()) == 2


def test_no_error_ends_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emit = LogFile.emit

    def broken(file: LogFile, record: logging.LogRecord) -> None:
        monkeypatch.undo()
        raise OSError(116, "Stale file handle")

    monkeypatch.setattr(LogFile, "emit", broken)
    with open_log(tmp_path, file_level="info", console_level="error", console=pytest.fail) as path:
        for event in ("lost", "kept"):
            structlog.get_logger("game").info(event)
    assert LogFile.emit is emit
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()] == ["kept"]


def test_a_disk_that_refuses_at_the_very_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: LogFile) -> None:
        raise OSError(28, "No space left on device")

    heard: list[str] = []
    with open_log(tmp_path, file_level="info", console_level="error", console=heard.append) as path:
        monkeypatch.setattr(LogFile, "close", refuse)
    assert heard == [f"error: log_not_written file={path} error='[Errno 28] No space left on device'"]


def test_every_line_says_which_game_and_search_it_is_about(tmp_path: Path) -> None:
    heard: list[str] = []
    about = About()
    time = TimeControl(60_000)
    found = GameFound(GameSummary("game-1", ("me", "you"), 0, 0, (time, time), STARTPOS))
    with open_log(tmp_path, file_level="info", console_level="warning", console=heard.append, about=about) as path:
        tell = fleet_listener().on_event
        tell("node_joined", {"node": "node-1"})
        about.observe(found)
        tell("search_started", {"search_id": 7})
        tell("node_lost", {"node": "node-1", "reason": "gone"})
        logging.getLogger("others").warning("strange")
        tell("decided", {"search_id": 7})
        tell("node_joined", {"node": "node-1"})
        about.observe(GameEnded(GameOutcome(Conclusion.WIN, "TORYO")))
        tell("node_joined", {"node": "node-2"})
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["event"], line.get("game_id"), line.get("search_id"), line.get("node")) for line in lines] == [
        ("node_joined", None, None, "node-1"),
        ("search_started", "game-1", 7, None),
        ("node_lost", "game-1", 7, "node-1"),
        ("strange", "game-1", None, None),
        ("decided", "game-1", 7, None),
        ("node_joined", "game-1", None, "node-1"),
        ("node_joined", None, None, "node-2"),
    ]
    assert heard == ["warning: node_lost node=node-1 reason=gone", "warning: strange"]
