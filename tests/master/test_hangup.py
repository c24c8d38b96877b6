"""The terminal of a player is closed, or the reader of its output ends: a game on a server continues to its end."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from rsshogi.record import Record

from cluster.machine import processes
from tests.cluster.processes import alive
from tests.master.command import GOUGI, Running
from tests.master.terminal import Terminal
from tests.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]

PASSWORD = {"GOUGI_CSA_PASSWORD": "hush"}
MOVES = 6
SMALL = ("--hash", "16", "--nodes", "1", "--threads", "1")


def play_words(address: str, name: str) -> list[str]:
    return ["play", "--server", address, "--game", "test-5-1F", "--name", name, "--records", name, *SMALL]


def log_events(folder: Path) -> list[dict[str, str]]:
    (log,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def assert_whole(folder: Path) -> None:
    """The records of a game with all of its moves lie there."""
    (path,) = folder.glob("*.csa")
    assert Record.from_csa_file(str(path)).move_count == MOVES
    assert path.with_suffix(".kif").stat().st_size


def number_of(folder: Path) -> int:
    """The id of the process that keeps its log there."""
    return int(next(folder.glob("*.jsonl")).stem.rpartition("-")[2])


def test_a_game_on_a_server_outlives_terminal_and_reader(tmp_path: Path) -> None:
    """anna's terminal is closed, and bert's output is read for two lines only. He would play game after game; after
    SIGUSR1 the running game is his last."""
    server = Running(["serve", "--port", "0", "--max-moves", str(MOVES), "--records", "server"], tmp_path)
    try:
        address = server.wait_for("listening on").split()[2].rstrip(";")
        read_for_a_moment = ["bash", "-c", '"$@" 2>&1 | head -2; exit "${PIPESTATUS[0]}"', "bash", *GOUGI]
        with (
            Terminal([*GOUGI, *play_words(address, "anna")], tmp_path, PASSWORD) as anna,
            Terminal([*read_for_a_moment, *play_words(address, "bert"), "--games", "0"], tmp_path, PASSWORD) as bert,
        ):
            server.wait_for("game_started")
            os.kill(number_of(tmp_path / "bert"), signal.SIGUSR1)
            anna.wait_for("depth")
            anna.hang_up()
            assert anna.process.wait(200) == 0
            assert bert.seen(200).code == 1  # the user has not seen all of it
            pid = number_of(tmp_path / "anna")
            wait_for(lambda: not alive(pid))
    finally:
        server.kill()
    for name in ("server", "anna", "bert"):
        assert_whole(tmp_path / name)
    (closed,) = [event for event in log_events(tmp_path / "anna") if event["event"] == "terminal_closed"]
    assert "the games go on" in closed["then"]
    assert "output_lost" in {event["event"] for event in log_events(tmp_path / "bert")}
    written = "".join(path.read_text(encoding="latin-1") for path in tmp_path.rglob("*.*") if path.is_file())
    assert PASSWORD["GOUGI_CSA_PASSWORD"] not in written


def test_an_embedded_game_ends_in_good_order(tmp_path: Path) -> None:
    with Terminal([*GOUGI, "play", "--time", "60+1", *SMALL], tmp_path) as terminal:
        terminal.wait_for("depth")
        started = processes.descendants(terminal.process.pid)
        assert started
        terminal.hang_up()
        assert terminal.process.wait(60) == 130
        wait_for(lambda: not any(alive(process.pid) for process in started))
    (record,) = (tmp_path / "records").glob("*.csa")
    assert "%CHUDAN" in record.read_text(encoding="utf-8")
    assert record.with_suffix(".kif").stat().st_size
