"""The embedded game from the command line: real nodes, real TCP, real signals, and no Ray."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rsshogi.record import Record

from tests.master.command import GOUGI, Running
from tests.master.planted_ray import Planted
from tests.master.terminal import at_terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts ``gougi play WORDS``; leftover processes are ended after the test."""
    started: list[Running] = []

    def begin(*words: str, env: dict[str, str] | None = None) -> Running:
        started.append(Running(["play", "--records", "games", "--hash", "16", "--nodes", "2", *words], tmp_path, env))
        return started[-1]

    yield begin
    for running in started:
        running.kill()


def only_record(folder: Path) -> Path:
    (path,) = (folder / "games").glob("*.csa")
    return path


def logged(folder: Path) -> list[dict[str, object]]:
    (path,) = (folder / "games").glob("*.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_terminal_that_stands_still_holds_up_no_game(tmp_path: Path) -> None:
    words = ("play", "--records", "games", "--hash", "16", "--time", "1+1", "--max-moves", "4")
    assert at_terminal([*GOUGI, *words], tmp_path, reads=False).code == 0
    assert len(Record.from_csa_str(only_record(tmp_path).read_text(encoding="utf-8")).moves) == 4
    # Every move of both sides is a search's.
    decided = [entry["source"] for entry in logged(tmp_path) if entry["event"] == "decided"]
    assert len(decided) == 4 and not {"none", "refused"} & set(decided)
    assert "fallback_move" not in {entry["event"] for entry in logged(tmp_path)}


def test_a_node_that_is_killed_costs_no_game(start: Start, tmp_path: Path) -> None:
    planted = Planted(tmp_path / "planted")
    running = start("--time", "1+1", "--max-moves", "8", "--name", "team", env=planted.env)
    line = running.wait_for("node-1 is ready")
    match = re.search(r"process (\d+)", line)
    assert match is not None
    running.wait_for("  4 ")
    os.kill(int(match[1]), signal.SIGKILL)
    assert running.end(200) == 0, running.output
    path = only_record(tmp_path)
    assert f"record: {path.relative_to(tmp_path)}" in running.lines
    assert "result for team: drawn by the 8-move limit, 8 moves" in running.lines
    assert any("node-1" in line and "node-2" in line and "votes" in line for line in running.lines)
    assert len(Record.from_csa_str(path.read_text(encoding="utf-8")).moves) == 8
    events = [entry["event"] for entry in logged(tmp_path)]
    assert events.count("game_over") == 1
    # The log holds every line of the server, so that the game can be replayed from it.
    received = [str(entry["line"]) for entry in logged(tmp_path) if entry.get("kind") == "ServerLine"]
    assert sum(bool(re.fullmatch(r"[+-]\d{4}[A-Z]{2},T\d+", line)) for line in received) == 16
    assert any("warning: node_lost" in line and "node-1" in line for line in running.lines)
    # On a busy machine other nodes may be silent for a second, too.
    assert "node-1" in [entry["node"] for entry in logged(tmp_path) if entry["event"] == "node_lost"]
    assert not running.left_behind()
    assert planted.told == ""


@pytest.mark.parametrize("moment", ["starting node-1", "  2 "])
def test_ctrl_c_leaves_no_process(start: Start, tmp_path: Path, moment: str) -> None:
    running = start("--time", "1+1")
    running.wait_for(moment)
    running.press_ctrl_c()
    assert running.end() == 130, running.output
    assert not running.left_behind()
    assert "Traceback" not in running.output
    assert running.lines[-2] == "interrupted" or running.lines[-1] == "interrupted"
    for path in (tmp_path / "games").glob("*.csa"):
        assert path.read_text(encoding="utf-8").rstrip().splitlines()[-1].startswith(("%CHUDAN", "'"))
    if moment.strip().isdigit():
        assert f"record: {only_record(tmp_path).relative_to(tmp_path)}" in running.lines
        assert sum(line.startswith("log: ") for line in running.lines) == 1


def test_ctrl_c_at_the_very_start(start: Start) -> None:
    running = start()
    # Before our first library is loaded, Python itself starts, with its own traceback.
    maps = Path(f"/proc/{running.process.pid}/maps")
    deadline = time.monotonic() + 60
    while "/site-packages/" not in maps.read_text():
        assert running.process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    running.press_ctrl_c()
    assert running.end() == 130, running.output
    assert "Traceback" not in running.output
    assert not running.left_behind()


def test_a_second_ctrl_c_ends_everything_at_once(start: Start) -> None:
    running = start("--time", "1+1")
    running.wait_for("starting node-1")
    running.press_ctrl_c()
    time.sleep(0.3)  # two signals at the same instant are one
    running.press_ctrl_c()
    assert running.end(50) == 130, running.output
    assert "interrupted" not in running.lines, "an end in good order says so"
    assert "Traceback" not in running.output
    assert not running.left_behind()


def test_kill_dash_nine_leaves_nothing(start: Start) -> None:
    """Neither a node nor the fallback: the fork server ends the nodes."""
    running = start("--time", "1+1")
    running.wait_for("  1 ")
    running.process.kill()
    assert running.end() == -signal.SIGKILL
    assert not running.left_behind(60)
