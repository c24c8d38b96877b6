"""The USI driver: real threads and a real loop around an engine of this process, and the command with a real fleet."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cluster.api import FleetError, Searcher
from cluster.coordination.settings import Settings
from cluster.drivers.local_driver import LocalSearcher
from master.usi.driver import UsiDriver
from master.usi.options import FleetOptions, FleetPlan
from tests.cluster.engines import HashEngine
from tests.master.command import Running
from tests.master.usi.bench import PLAN
from tests.usi_gui import Gui
from worker.shogi import Position
from worker.warm import warm_up

Build = Callable[[FleetPlan], Searcher]


def local_fleet(_plan: FleetPlan) -> Searcher:
    engine = HashEngine(pace_s=0.002, max_depth=100_000)
    return LocalSearcher(lambda: engine, Settings(validate=True))


def fleet(build: Build = local_fleet) -> Gui:
    """A GUI with the fleet's driver."""
    return Gui(lambda write: lambda gui: asyncio.run(UsiDriver(FleetOptions(PLAN), build, write).run(gui)))


@pytest.fixture(autouse=True, scope="module")
def warm() -> None:
    """Everything compiled: the loop and its time limits are not those of a compiler."""
    warm_up()


@pytest.fixture
def gui() -> Iterator[Gui]:
    gui = fleet()
    gui.send("isready")
    gui.until("readyok")
    yield gui
    assert gui.quit() == 0


def test_a_search_and_an_analysis(gui: Gui) -> None:
    gui.send("setoption name MultiPV value 2", "setoption name PvInterval value 0")
    gui.send("position startpos moves 7g7f", "go nodes 3000")
    lines = gui.until("bestmove")
    assert {line.split(" multipv ")[1][0] for line in lines if line.startswith("info depth")} == {"1", "2"}
    position = Position.startpos()
    position.push_usi("7g7f")
    position.push_usi(lines[-1].split()[1])
    gui.send("go infinite")
    gui.until("info depth")
    gui.send("stop")
    gui.until("bestmove")


def test_ponder_hit_and_miss(gui: Gui) -> None:
    for last in ("ponderhit", "stop"):
        gui.send("setoption name PvInterval value 100", "position startpos moves 7g7f 3c3d", "go ponder byoyomi 300")
        gui.until("info depth")
        gui.send(last)
        position = Position.startpos()
        position.push_all(["7g7f", "3c3d"])
        position.push_usi(gui.until("bestmove")[-1].split()[1])


def test_a_mate_and_a_new_game(gui: Gui) -> None:
    gui.send("usinewgame", "position sfen 8k/9/8P/9/9/9/9/9/9 b G 1", "go mate 5000")
    assert gui.until("checkmate")[-1] == "checkmate G*1b"
    gui.send("position startpos", "go mate infinite")
    assert gui.until("checkmate")[-1] == "checkmate nomate"


def test_a_request_that_the_fleet_refuses_is_answered(gui: Gui) -> None:
    gui.send("position startpos", "go depth 3 searchmoves 7g7e")
    assert "7g7e" in gui.until("info string error")[-1]
    assert gui.until("bestmove")[-1] == "bestmove resign"
    gui.send("position startpos", "go depth 3 searchmoves 7g7e 9g9f 1g1f")
    assert gui.until("bestmove")[-1].split()[1] in ("9g9f", "1g1f")


def test_another_fleet_takes_the_place_of_the_first() -> None:
    plans: list[FleetPlan] = []

    def build(plan: FleetPlan) -> Searcher:
        plans.append(plan)
        if plan.threads == 7:
            raise FleetError("seven threads are too many")
        return local_fleet(plan)

    gui = fleet(build)
    gui.send("isready", "setoption name Threads value 2", "isready", "setoption name Threads value 7", "isready")
    errors = [[line for line in gui.until("readyok") if " error: " in line] for _ in range(3)]
    assert errors == [[], [], ["info string error: seven threads are too many"]]
    assert [plan.threads for plan in plans] == [1, 2, 7]
    gui.send("position startpos", "go nodes 500")
    gui.until("bestmove")
    assert gui.quit() == 0


def test_without_a_fleet_it_ends() -> None:
    def build(_plan: FleetPlan) -> Searcher:
        raise FleetError("no fleet\nto be had")

    gui = fleet(build)
    gui.send("isready")
    gui.until("info string error: no fleet to be had")
    gui.end()
    assert gui.code == 1


def test_a_gui_that_is_gone_ends_it() -> None:
    gui = fleet()
    gui.send("isready")
    gui.until("readyok")
    gui.deaf = True
    gui.send("position startpos", "go infinite", "stop")
    gui.end()
    assert gui.code == 0


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_real_fleet(tmp_path: Path) -> None:
    """The command with two nodes over Ray, as a GUI runs it, until its machine is shut down."""
    running = Running(["usi", "--nodes", "2"], tmp_path, stdin=subprocess.PIPE)
    assert running.process.stdin is not None
    position = Position.startpos()
    position.push_all(["7g7f", "3c3d"])

    def send(*lines: str) -> None:
        for line in lines:
            running.process.stdin.write(line + "\n")  # type: ignore[union-attr]
            running.process.stdin.flush()  # type: ignore[union-attr]

    def until(word: str) -> list[str]:
        running.wait_for(word, 150)
        heard, running.lines = running.lines, []
        return heard

    try:
        send("usi", "setoption name USI_Hash value 16", "setoption name MultiPV value 3", "isready")
        assert until("readyok")[0].startswith("id name Gougi")
        send("usinewgame", "position startpos moves 7g7f 3c3d", "go movetime 500")
        lines = until("bestmove")
        infos = [line for line in lines if line.startswith("info depth")]
        assert {line.split(" multipv ")[1][0] for line in infos} == {"1", "2", "3"}
        for line in infos:
            assert position.legal_length(line.split(" pv ")[1].split()) == len(line.split(" pv ")[1].split())
        assert any(line.startswith("info string vote ") and "/2" in line for line in lines)
        position.push_usi(lines[-1].split()[1])
        send("go infinite")
        until("info depth")
        running.process.send_signal(signal.SIGTERM)
        assert running.end() == 130, running.output
        assert not running.left_behind()
        assert not any(tmp_path.iterdir()), "nothing is written where the GUI happens to run it"
    finally:
        running.kill()
