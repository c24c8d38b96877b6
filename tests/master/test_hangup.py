"""The terminal of a player is closed, or what reads its output ends: a game on a server goes on to its end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rsshogi.record import Record

from cluster.machine import processes
from tests.master.command import GOUGI, Running
from tests.master.terminal import Terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]

PASSWORD = {"GOUGI_CSA_PASSWORD": "hush"}
MOVES = 12
SMALL = ("--hash", "16", "--nodes", "1", "--threads", "1")


def play_words(address: str, name: str) -> list[str]:
    return ["play", "--server", address, "--game", "test-5-1F", "--name", name, "--records", name, *SMALL]


@contextmanager
def opponent(folder: Path) -> Iterator[tuple[Running, str]]:
    """bert, who waits for a game on a practice server, and that server's address."""
    server = Running(["serve", "--port", "0", "--max-moves", str(MOVES), "--records", "server"], folder)
    bert = None
    try:
        address = server.wait_for("listening on").split()[2].rstrip(";")
        bert = Running(play_words(address, "bert"), folder, PASSWORD)
        yield bert, address
    finally:
        server.kill()
        if bert is not None:
            bert.kill()


def log_events(folder: Path) -> list[dict[str, str]]:
    (log,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def assert_whole(folder: Path) -> None:
    """The records of a game with all of its moves lie there."""
    (path,) = folder.glob("*.csa")
    assert Record.from_csa_file(str(path)).move_count == MOVES
    assert path.with_suffix(".kif").stat().st_size


def test_a_game_on_a_server_outlives_its_terminal(tmp_path: Path) -> None:
    with opponent(tmp_path) as (bert, address):
        words = [*GOUGI, *play_words(address, "anna")]
        with Terminal(words, tmp_path, PASSWORD) as terminal:
            bert.wait_for("depth")
            terminal.hang_up()
            assert terminal.process.wait(200) == 0
            assert bert.end(200) == 0, bert.output
            pid = int(next((tmp_path / "anna").glob("*.jsonl")).stem.rpartition("-")[2])
            processes_end(pid)
    for name in ("server", "anna", "bert"):
        assert_whole(tmp_path / name)
    (closed,) = [event for event in log_events(tmp_path / "anna") if event["event"] == "terminal_closed"]
    assert "the games go on" in closed["then"]


def test_a_game_on_a_server_outlives_the_reader_of_its_output(tmp_path: Path) -> None:
    with opponent(tmp_path) as (bert, address):
        words = ["bash", "-c", '"$@" 2>&1 | head -2; exit "${PIPESTATUS[0]}"', "bash", *GOUGI]
        with Terminal([*words, *play_words(address, "anna")], tmp_path, PASSWORD) as terminal:
            assert bert.end(200) == 0, bert.output
            assert terminal.seen(60).code == 1  # the user has not seen all of it
    for name in ("anna", "bert"):
        assert_whole(tmp_path / name)
    assert "output_lost" in {event["event"] for event in log_events(tmp_path / "anna")}


def test_an_embedded_game_ends_in_good_order(tmp_path: Path) -> None:
    with Terminal([*GOUGI, "play", "--time", "60+1", *SMALL], tmp_path) as terminal:
        terminal.wait_for("depth")
        started = processes.descendants(terminal.process.pid)
        assert started
        terminal.hang_up()
        assert terminal.process.wait(60) == 130
        for process in started:
            processes_end(process.pid)
    (record,) = (tmp_path / "records").glob("*.csa")
    assert "%CHUDAN" in record.read_text(encoding="utf-8")
    assert record.with_suffix(".kif").stat().st_size


def processes_end(pid: int) -> None:
    """Fail unless the process is gone within seconds (a dead one that nobody has asked for counts as gone)."""
    for _ in range(200):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError(f"process {pid} is still there")
