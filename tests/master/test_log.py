"""The log file and what a person hears of it."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
import structlog

from master.log import LogError, fleet_listener, open_log


def test_lines_of_both_kinds_and_levels(tmp_path: Path) -> None:
    heard: list[str] = []
    log = structlog.get_logger("game")
    with open_log(tmp_path / "made", file_level="info", console_level="warning", console=heard.append) as path:
        log.debug("quiet")
        log.info("move", usi="7g7f", name="七")
        log.warning("late", why="a slow disk", ms=3)
        logging.getLogger("cluster.node").error("%s failed", "node-1")
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


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(LogError, match="no log can be written to"),
        open_log(tmp_path / "file" / "logs", file_level="info", console_level="info", console=print),
    ):
        pass
