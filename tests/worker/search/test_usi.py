"""The single engine's USI loop, driven as a GUI drives it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.training import generation0
from tests.usi_gui import Gui, best
from worker.nnue.format import serialise_network
from worker.shogi import Position
from worker.usi.options import Options


@pytest.fixture
def gui() -> Iterator[Gui]:
    gui = Gui()
    gui.send("usi")
    gui.until("usiok")
    gui.send("setoption name USI_Hash value 16", "setoption name MinimumThinkingTime value 0", "isready")
    gui.until("readyok")
    yield gui
    gui.quit()


def test_a_game_move_by_move(gui: Gui) -> None:
    gui.send("usinewgame")
    position = Position.startpos()
    moves: list[str] = []
    for _ in range(6):
        moves_text = f" moves {' '.join(moves)}" if moves else ""
        gui.send(f"position startpos{moves_text}", "go nodes 3000")
        moves.append(best(gui.until("bestmove")))
        position.push_usi(moves[-1])


def test_infinite_shows_the_mate_that_ends_its_search_and_waits_for_the_stop(gui: Gui) -> None:
    gui.send("position sfen 8k/9/6G1P/9/9/9/9/9/4K4 b G2r2b2g4s4n4l17p 1", "go infinite")
    assert "score mate 1 " in gui.until("info depth")[-1]
    assert gui.silent(0.2)
    gui.send("stop")
    assert best(gui.until("bestmove")) != "resign"


def test_no_time_at_all_is_no_search_without_end(gui: Gui) -> None:
    gui.send("position startpos", "go movetime 0")
    gui.until("bestmove")


def test_lines_of_one_depth_are_shown_together(gui: Gui) -> None:
    gui.send("setoption name MultiPV value 3", "position startpos", "go depth 7")
    numbers = [line.split(" multipv ")[1][0] for line in gui.until("bestmove")[:-1]]
    assert numbers and numbers == ["1", "2", "3"] * (len(numbers) // 3)


def test_no_bestmove_while_pondering(gui: Gui) -> None:
    gui.send("position startpos moves 7g7f", "go ponder nodes 100")
    assert gui.silent(0.3)
    gui.send("ponderhit")
    gui.until("bestmove")
    gui.send("position startpos moves 7g7f", "go ponder btime 1000 wtime 1000 byoyomi 200")
    assert gui.silent(0.3)
    gui.send("ponderhit")
    gui.until("bestmove")
    gui.send("go ponder btime 1000 wtime 1000 byoyomi 200")
    assert gui.silent(0.2)
    gui.send("stop")
    gui.until("bestmove")


def test_the_only_move_goes_out_at_once_after_the_hit(gui: Gui) -> None:
    """The half hour of the clock would be over long after the test."""
    gui.send("position sfen k8/9/9/9/9/9/9/7r1/8K b - 1", "go ponder btime 1800000 wtime 1800000")
    assert gui.silent(0.3)
    gui.send("ponderhit")
    assert best(gui.until("bestmove")) == "1i2h"


def test_a_least_time_reaches_the_search(gui: Gui) -> None:
    gui.send("setoption name MinimumThinkingTime value 1500", "position startpos")
    gui.send("go btime 60001 wtime 60001")
    assert int(gui.until("bestmove")[-2].split(" time ")[1].split()[0]) >= 1500


def test_mated_resigns_and_declares(gui: Gui) -> None:
    gui.send("position sfen 8k/8G/8P/9/9/9/9/9/4K4 w 2r2b3g4s4n4l17p 2", "go depth 3")
    assert best(gui.until("bestmove")) == "resign"
    gui.send("position sfen 2SGKGS2/1R5B1/PPPP5/9/9/9/9/9/4k4 b RB 1", "go depth 3")
    assert best(gui.until("bestmove")) == "win"


def test_bad_input_is_answered_and_survived(gui: Gui) -> None:
    for line, words in (
        ("position sfen 9/9/9 b - 1", "3 ranks"),
        ("position startpos moves 7g7e", "7g7e"),
        ("position nowhere", "expected 'startpos' or 'sfen'"),
        ("position startpos 7g7f 3c3d", "and 'moves' before moves"),
        ("setoption name USI_Hash value 0", "not within 1 to"),
        ("setoption name USI_Ponder value maybe", "neither true nor false"),
        ("setoption name EnteringKingRule value Chess", "none of NoEnteringKing"),
        ("setoption name Colour value blue", "unknown option 'Colour'"),
        ("dance", "unknown command 'dance'"),
    ):
        gui.send(line)
        assert words in gui.until("info string error")[-1]
    gui.send("position startpos", "go depth 2")
    gui.until("bestmove")


BAD_NUMBERS = [
    ("go btime abc wtime abc", "btime needs a whole number"),
    ("go btime 1e3 byoyomi 100", "btime needs a whole number"),
    ("go btime", "btime needs a whole number"),
    ("go btime wtime 1000", "btime needs a whole number"),
    ("go movetime ²", "movetime needs a whole number"),
    ("go depth deep", "depth needs a whole number"),
    ("go nodes -", "nodes needs a whole number"),
    ("go sideways depth 1", "unknown: sideways"),
]


def test_a_go_with_bad_numbers_is_answered_by_a_move(gui: Gui) -> None:
    for go, words in BAD_NUMBERS:
        gui.send("position startpos", go)
        assert words in gui.until("info string error")[-1]
        Position.startpos().push_usi(best(gui.until("bestmove")))


def test_a_go_with_numbers_beyond_all_bounds_is_a_search(gui: Gui) -> None:
    digits = "9" * 5000
    gui.send("position startpos", f"go btime {digits} wtime {digits} nodes {digits} depth {digits}")
    assert gui.silent(0.3)
    gui.send("stop")
    assert best(gui.until("bestmove")) != "resign"


@pytest.mark.parametrize(
    ("rule", "position"),
    [("CSARule27", "4k4/9/9/4r4/9/9/4R4/9/3K5 b - 1"), ("TryRule", "9/5K3/9/9/9/9/9/9/4k4 b - 1")],
)
def test_no_move_is_played_outside_the_list(gui: Gui, rule: str, position: str) -> None:
    gui.send(
        f"setoption name EnteringKingRule value {rule}", f"position sfen {position}", "go depth 3 searchmoves 7g7e"
    )
    assert gui.until("info string error")[-1] == "info string error: go: no searchmoves 7g7e: not legal"
    assert best(gui.until("bestmove")) == "resign"
    gui.send("go depth 3 searchmoves 4b4c" if rule == "TryRule" else "go depth 3 searchmoves 6i6h")
    assert best(gui.until("bestmove")) in ("4b4c", "6i6h")


def test_a_network_that_cannot_be_used_ends_it_though_there_is_an_engine(gui: Gui) -> None:
    """The user asked for another network; the engine would play on with the old one, unnoticed."""
    gui.send("setoption name EvalFile value /no/such/nn.bin", "isready")
    assert "/no/such/nn.bin" in gui.until("info string error")[-1]
    assert gui.quit() == 1
    assert gui.silent(0.01)


def test_options_reach_the_search(gui: Gui) -> None:
    gui.send("setoption name NodesLimit value 4321", "setoption name PvInterval value 0", "position startpos", "go")
    assert " nodes 4321 " in gui.until("bestmove")[-2]
    gui.send("setoption name NodesLimit value 0", "setoption name DepthLimit value 3", "go")
    assert gui.until("bestmove")[-2].startswith("info depth 3 ")
    gui.send("setoption name MultiPV value 3", "go")
    assert {line.split(" multipv ")[1][0] for line in gui.until("bestmove")[:-1]} == {"1", "2", "3"}
    gui.send("setoption name ResignValue value 500", "position sfen 4k4/9/9/9/9/9/9/9/4K4 b 2r2b4g 1", "go")
    assert best(gui.until("bestmove")) == "resign"
    gui.send("setoption name EnteringKingRule value TryRule", "position sfen 9/5K3/9/9/9/9/9/9/4k4 b - 1", "go")
    assert best(gui.until("bestmove")) == "4b5a"


def test_the_network_file_may_be_named_by_its_folder() -> None:
    options = Options()
    assert options.plan == (128, 1, None, None, "")
    options.set("EvalDir", "eval")
    assert options.plan[2] == "eval"
    options.set("EvalFile", "")  # as a GUI sends an empty field
    assert options.plan[2] == "eval"
    options.set("EvalFile", "kp.bin")
    options.set("EvalArchitecture", "kp_256x2-32-32")
    assert options.plan[2:] == ("eval/kp.bin", None, "kp_256x2-32-32")


def test_a_mate_at_the_root_is_played_but_not_while_pondering(gui: Gui, tmp_path: Path) -> None:
    # A net that never changes: with another one the tree may find the mate before the search for mates does.
    (tmp_path / "nn.bin").write_bytes(serialise_network(generation0.build()))
    gui.send(f"setoption name EvalFile value {tmp_path / 'nn.bin'}", "isready")
    gui.until("readyok")
    sfen = "l7l/5rsk1/3G2npp/p1pBp1p2/1P3p1PP/P1P1P1P2/L1Nb1gN2/1pg+p3K1/8L b GSPr2snp 95"
    gui.send(f"position sfen {sfen}", "go btime 600000 wtime 600000 byoyomi 30000")
    line = gui.until("bestmove")[-2]
    position = Position.from_sfen(sfen)
    pv = line.split(" pv ")[1].split()
    position.push_all(pv)
    assert position.is_mated()
    assert f" score mate {len(pv)} " in line
    gui.send("go ponder btime 600000 wtime 600000 byoyomi 30000")
    assert gui.silent(0.3)
    gui.send("stop")
    assert " score mate " in gui.until("bestmove")[-2]
    gui.send("setoption name RootMateSearchNodesLimit value 0", "usinewgame", f"position sfen {sfen}", "go nodes 1000")
    assert " score cp " in gui.until("bestmove")[-2]


@pytest.mark.parametrize("limit", ["60000", "9" * 17])
def test_go_mate(gui: Gui, limit: str) -> None:
    sfen = "1p1n2gnl/l6gg/3PPP+S1k/p4R1Pp/bnpp3p1/4B1PSP/P2+s1ppSK/g8/LNP5L b R2p 52"
    gui.send(f"position sfen {sfen}", f"go mate {limit}")
    answer = gui.until("checkmate")[-1].split()[1:]
    position = Position.from_sfen(sfen)
    position.push_all(answer)
    assert position.is_mated()
    gui.send("position startpos", "go mate infinite")
    assert gui.until("checkmate")[-1] == "checkmate nomate"
    gui.send("go mate soon")
    assert gui.until("checkmate")[-1] == "checkmate timeout"
    assert "neither a time in ms nor" in gui.until("info string error")[-1]
