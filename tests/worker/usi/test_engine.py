"""UsiEngine against a scripted process with faults on demand, and against the engines that Debian ships."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.waiting import wait_for
from worker.engine import Bound, Engine, EngineError, Limits, SearchInfo
from worker.rules import Rules
from worker.score import mated_in
from worker.shogi import STARTPOS
from worker.usi.engine import Timeouts, UsiEngine
from worker.usi.process import UsiProcess

SCRIPT = Path(__file__).with_name("scripted_usi.py")
SHORT = Timeouts(start_s=10.0, ready_s=10.0, stop_s=0.3)
Make = Callable[..., UsiEngine]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes scripted engines, and closes them."""
    made: list[UsiEngine] = []

    def scripted(
        *faults: str,
        options: dict[str, str] | None = None,
        timeouts: Timeouts = SHORT,
    ) -> UsiEngine:
        command = [sys.executable, "-u", str(SCRIPT), *faults]
        engine = UsiEngine(command, options, timeouts=timeouts)
        made.append(engine)
        return engine

    yield scripted
    for engine in made:
        engine.close()


def heard(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines()


HELPED = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"], start_new_session=True)
answers = {"usi": "usiok", "isready": "readyok"}
for line in sys.stdin:
    if line.strip() == "quit":
        break
    print(answers.get(line.strip(), ""), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="only there a program leaves its group so")
@pytest.mark.timeout(25)
def test_a_program_that_outlives_the_engine_holds_up_nothing(tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text(HELPED, encoding="utf-8")
    engine = UsiEngine([sys.executable, str(script)], timeouts=SHORT)
    engine.set_position(STARTPOS)
    with pytest.raises(EngineError, match="no bestmove"):
        engine.go(Limits(movetime_ms=10))
    engine.close()


@pytest.mark.parametrize("is_new_game", [False, True])
def test_an_engine_that_died_while_it_was_idle_is_replaced(make: Make, is_new_game: bool) -> None:
    engine = make()
    process = engine._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    wait_for(lambda: process.ended)
    if is_new_game:
        engine.new_game()
    engine.set_position(STARTPOS)
    assert engine.go(Limits(nodes=100)).bestmove == "7g7f"


def test_search_reports_lines_and_bestmove(make: Make) -> None:
    engine: Engine = make()
    infos: list[SearchInfo] = []
    engine.set_position(STARTPOS)
    result = engine.go(Limits(nodes=100, multipv=2), infos.append)
    assert engine.name == "Scripted 1.0"
    assert (result.bestmove, result.ponder, result.nodes) == ("7g7f", "3c3d", 120)
    assert [line.pv for line in result.lines] == [("7g7f", "3c3d"), ("2g2f", "8c8d")], "rep_draw is no move"
    assert [line.score for line in result.lines] == [34, mated_in(4)]
    assert infos[0].bound is Bound.LOWER
    assert infos[1].hashfull == 7


def test_a_move_of_its_own_book_is_a_line_with_an_even_score(make: Make) -> None:
    engine = make("book")
    engine.set_position(STARTPOS)
    result = engine.go(Limits(nodes=100))
    assert [(line.pv, line.score, line.depth) for line in result.lines] == [(("7g7f",), 0, 0)]


def test_the_move_that_it_plays_counts_and_not_its_last_exact_line(make: Make) -> None:
    engine = make("changes")
    engine.set_position(STARTPOS)
    infos: list[SearchInfo] = []
    result = engine.go(Limits(nodes=100), infos.append)
    assert result.bestmove == "2g2f"
    assert result.lines == (infos[-1],)
    assert (infos[-1].pv, infos[-1].score, infos[-1].bound) == (("2g2f", "8c8d"), 40, Bound.LOWER)


def test_position_limits_and_options_reach_the_engine(make: Make, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    options = {"Skill Level": "3", "Style": "wild one", "Clear": "", "USI_Ponder": "false"}
    engine = make("log", str(log), options=options)
    engine.set_position(STARTPOS, ["7g7f", "3c3d"])
    engine.go(Limits(movetime_ms=60_000, depth=4, searchmoves=("2g2f", "6g6f"), ignoremoves=("2g2f",), multipv=11))
    lines = heard(log)
    assert "setoption name Skill Level value 3" in lines
    assert "setoption name Style value wild one" in lines
    assert "setoption name Clear" in lines
    assert lines[-3:] == [
        "setoption name MultiPV value 10",  # its maximum
        "position startpos moves 7g7f 3c3d",
        "go depth 4 movetime 60000 searchmoves 6g6f",
    ]
    engine.set_position("4k4/9/9/9/9/9/9/9/4K4 b - 1")
    assert engine.go(Limits(nodes=1, ignoremoves=("5i5h", "5i4i"))).bestmove in {"5i6i", "5i4h", "5i6h"}


def test_rules_of_a_search_become_options_if_the_engine_has_them(make: Make, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    engine = make("log", str(log), options={"DrawValueBlack": "-7"})

    def told(rules: Rules) -> list[str]:
        before = len(heard(log))
        engine.rules = rules
        engine.set_position(STARTPOS)
        engine.go(Limits(nodes=1))
        return [line.removeprefix("setoption name ") for line in heard(log)[before:] if line.startswith("setoption")]

    assert told(Rules()) == [], "the user's setting stays"
    limited = Rules(max_moves=256, draw_black=-50, draw_white=50)
    assert told(limited) == ["MaxMovesToDraw value 256", "DrawValueBlack value -50"]
    assert told(limited) == []
    assert told(Rules(draw_black=5000)) == ["MaxMovesToDraw value 0"], "a value above its maximum is not sent"
    assert told(Rules()) == ["DrawValueBlack value -7"]


def test_dialect_without_movetime_is_told_byoyomi(make: Make, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    engine = make("log", str(log), "named", "gpsshogi (smp) vm r3033")
    engine.set_position(STARTPOS)
    engine.go(Limits(movetime_ms=60_000))
    assert heard(log)[-1] == "go btime 0 wtime 0 byoyomi 60000"
    for limits, word in ((Limits(nodes=9), "nodes"), (Limits(depth=9), "depth"), (Limits(searchmoves=("7g7f",)), "se")):
        with pytest.raises(EngineError, match=f"does not understand 'go {word}"):
            engine.go(limits)
    assert engine.go(Limits(movetime_ms=80)).bestmove == "7g7f", "a limit that it does not know does not end it"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"Hash": "4"}, "no option 'Hash'; it has: Clear, DrawValueBlack, EvalFile"),
        ({"Skill Level": "21"}, "21 is not within -20 to 20"),
        ({"Own Book": "yes"}, "'yes' is neither true nor false"),
    ],
)
def test_wrong_options_are_refused_by_name(make: Make, options: dict[str, str], words: str) -> None:
    with pytest.raises(EngineError, match=words):
        make(options=options)


def test_start_that_fails(make: Make) -> None:
    with pytest.raises(EngineError, match="/no/such/engine: cannot be started"):
        UsiEngine(["/no/such/engine"])
    with pytest.raises(EngineError, match=r"exit code 7; stderr: no network file"):
        make("die-at-start")
    with pytest.raises(EngineError, match=r"exit code 6; error: nn\.bin: no such file$"):
        make("refuse-ready")
    with pytest.raises(EngineError, match=r"no usiok within 0\.3 s"):
        make("silent", timeouts=Timeouts(start_s=0.3))
    with pytest.raises(EngineError, match=r"no readyok within 0\.3 s"):
        make("no-ready", timeouts=Timeouts(ready_s=0.3))
    assert make("slow-start", "blank").name == "Scripted 1.0"


def test_garbage_and_a_flood_on_stderr_do_no_harm(make: Make) -> None:
    engine = make("garbage", "noisy", "blank")
    for _ in range(3):
        engine.set_position(STARTPOS)
        result = engine.go(Limits(nodes=100))
        assert result.bestmove == "7g7f"
        assert result.nodes == 120
        assert [line.score for line in result.lines] == [34]


def test_crash_names_the_command_and_its_last_words(make: Make) -> None:
    engine = make("crash-on-go")
    engine.set_position(STARTPOS)
    for _ in range(2):
        with pytest.raises(
            EngineError, match=r"scripted_usi\.py crash-on-go: .*exit code 3; stderr: unknown option in"
        ):
            engine.go(Limits(nodes=1))


def test_new_process_after_a_crash(make: Make, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    engine = make("crash-once", str(tmp_path / "mark"), "log", str(log), options={"Skill Level": "1"})
    engine.set_position(STARTPOS, ["7g7f"])
    with pytest.raises(EngineError, match="exit code 4"):
        engine.go(Limits(nodes=1, multipv=2))
    engine.set_position(STARTPOS)
    assert engine.go(Limits(nodes=1, multipv=2)).bestmove == "7g7f"
    assert heard(log).count("setoption name Skill Level value 1") == 2
    assert heard(log).count("setoption name MultiPV value 2") == 2


@pytest.mark.parametrize("fault", ["illegal", "false-win"])
def test_illegal_answer_is_an_error(make: Make, fault: str) -> None:
    engine = make(fault)
    engine.set_position(STARTPOS)
    with pytest.raises(EngineError, match=r"(bestmove 1a9i is not allowed|declares a win) .*in lnsgkgsnl"):
        engine.go(Limits(nodes=1))


def test_hanging_engine_is_killed_after_the_grace(make: Make, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    engine = make("hang", "log", str(log))
    engine.set_position(STARTPOS)
    with pytest.raises(EngineError, match=r"no bestmove 0\.3 s after stop: killed"):
        engine.go(Limits(movetime_ms=50))
    assert heard(log)[-2:] == ["go movetime 50", "stop"]


def test_stop_ends_an_infinite_search(make: Make) -> None:
    engine = make()
    engine.set_position(STARTPOS)
    timer = threading.Timer(0.2, engine.stop)
    timer.start()
    began = time.monotonic()
    result = engine.go(Limits())
    assert result.bestmove == "7g7f"
    assert result.ponder is None, "a ponder move that is not legal is dropped"
    assert time.monotonic() - began > 0.15


def test_stop_before_go_ends_it_at_once_and_set_position_forgets_it(make: Make) -> None:
    engine = make()
    engine.set_position(STARTPOS)
    engine.stop()
    engine.go(Limits())
    engine.set_position(STARTPOS)
    threading.Timer(0.2, engine.stop).start()
    began = time.monotonic()
    engine.go(Limits(movetime_ms=60_000))
    assert time.monotonic() - began < 40


def test_ends_of_the_game_need_no_engine(make: Make) -> None:
    engine = make("crash-on-go")
    engine.set_position("4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1")
    assert engine.go(Limits(nodes=1)).bestmove == "resign"
    engine.set_position("+P+P+P+P+P+P+P+P+P/+P+PK6/9/9/9/9/9/9/8k b 2R2B 1")
    assert engine.go(Limits(nodes=1)).bestmove == "win"


def test_bad_position_leaves_the_old_one(make: Make) -> None:
    engine = make()
    engine.set_position(STARTPOS, ["2g2f", "8c8d"])
    for sfen, moves in (("nonsense", ()), (STARTPOS, ("7g7f", "7g7f"))):
        with pytest.raises(EngineError):
            engine.set_position(sfen, moves)
    assert engine.go(Limits(nodes=1)).bestmove == "7g7f"
    with pytest.raises(EngineError, match="5e5d is not legal"):
        engine.go(Limits(searchmoves=("5e5d",)))
    with pytest.raises(EngineError, match="no root move is left"):
        engine.go(Limits(searchmoves=("7g7f",), ignoremoves=("7g7f",)))


def test_the_program_is_in_our_session_but_not_of_our_group() -> None:
    """The end of a node's session ends a program that hangs, and Ctrl-C does not reach it."""
    process = UsiProcess([sys.executable, "-u", str(SCRIPT)], 10.0)
    try:
        assert (os.getsid(process.pid), os.getpgid(process.pid)) == (os.getsid(0), process.pid)
    finally:
        process.kill()


_ECHO = """
import sys
for line in sys.stdin.buffer:
    answer = {b"usi": b"option name EvalDir type string default eval\\nusiok\\n", b"isready": b"readyok\\n"}
    sys.stdout.buffer.write(answer.get(line.strip(), b""))
    sys.stdout.buffer.flush()
    if line.startswith(b"setoption"):
        open(sys.argv[1], "wb").write(line)
"""


def test_the_name_of_a_file_reaches_the_program_as_it_is(tmp_path: Path) -> None:
    """One in Shift JIS, from an archive of Windows."""
    process = UsiProcess([sys.executable, "-c", _ECHO, str(tmp_path / "heard")], 10.0)
    try:
        process.set_options({"EvalDir": os.fsdecode(b"\x90\x85/eval")})
        process.ready(10.0)
    finally:
        process.kill()
    assert (tmp_path / "heard").read_bytes() == b"setoption name EvalDir value \x90\x85/eval\n"


def installed(name: str) -> str:
    path = shutil.which(name, path="/usr/games:/usr/bin:/usr/local/bin")
    if path is None:
        pytest.skip(f"{name} is not installed (Debian: apt install {name.replace('gpsusi', 'gpsshogi')})")
    return path


def test_fairy_stockfish() -> None:
    engine = UsiEngine([installed("fairy-stockfish")], {"Hash": "16"})
    try:
        engine.new_game()
        engine.set_position(STARTPOS, ["7g7f"])
        result = engine.go(Limits(nodes=3000, multipv=3))
        assert len({line.pv[0] for line in result.lines}) == 3
        engine.set_position("4k4/9/4P4/9/9/9/9/9/4K4 b G2r2b3g4s4n4l17p 1")
        mate = engine.go(Limits(depth=4))
        assert (mate.bestmove, mate.lines[0].score) == ("G*5b", 31999)
        assert engine.go(Limits(movetime_ms=100, searchmoves=("5i5h",))).bestmove == "5i5h"
    finally:
        engine.close()


def test_gpsusi() -> None:
    engine = UsiEngine([installed("gpsusi")], {"BookDepth": "0"})
    assert not engine.can_split
    try:
        engine.set_position(STARTPOS)
        result = engine.go(Limits(movetime_ms=600))
        assert result.lines
        assert abs(result.lines[0].score) < 500
        with pytest.raises(EngineError, match="does not understand 'go nodes'"):
            engine.go(Limits(nodes=10))
        threading.Timer(0.3, engine.stop).start()
        assert engine.go(Limits()).bestmove
    finally:
        engine.close()


def test_no_process_and_no_zombie_is_left(make: Make) -> None:
    def children() -> set[str]:
        """Process ids of our children, zombies included."""
        found = set()
        for task in Path("/proc/self/task").iterdir():
            found |= set((task / "children").read_text().split())
        return found

    before = children()
    engine = make("hang")
    assert len(children() - before) == 1
    with pytest.raises(EngineError):
        engine.go(Limits(movetime_ms=1))
    assert children() == before
    other = make()
    other.close()
    assert children() == before
