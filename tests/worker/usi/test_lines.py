"""Lines of USI engines, parsed and made."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from worker.engine import EngineError, Limits
from worker.score import MATE, MATE_BOUND, MAX_EVAL, MAX_PLY, is_mate
from worker.usi.options import Option
from worker.usi.process import (
    Dialect,
    dialect_of,
    go_line,
    parse_bestmove,
    parse_info,
    parse_nodes,
    parse_option,
    parse_score,
)


def everything(moves: Sequence[str]) -> tuple[str, ...]:
    return tuple(moves)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("cp 34", 34),
        ("cp -3525", -3525),
        ("cp 99999", MAX_EVAL),
        ("cp -99999", -MAX_EVAL),
        ("mate 7", MATE - 7),
        ("mate +7", MATE - 7),
        ("mate -4", -MATE + 4),
        ("mate 0", -MATE),
        ("mate -0", -MATE),
        ("mate 99999", MATE_BOUND + 1),
        ("mate +", MATE_BOUND + 1),
        ("mate -", -MATE_BOUND - 1),
        ("mate", None),
        ("mate soon", None),
        ("cp high", None),
        ("wdl 1", None),
        ("", None),
    ],
)
def test_scores(text: str, score: int | None) -> None:
    assert parse_score(text.split()) == score
    if text.startswith("mate") and score is not None:
        assert is_mate(score)


def test_info_of_gpsusi_and_fairy_stockfish() -> None:
    gps = parse_info("info depth 6 seldepth 11 time 1021 score cp 66 nodes 328112 nps 321139 pv 7g7f 3c3d", everything)
    assert gps is not None
    assert (gps.depth, gps.seldepth, gps.time_ms, gps.score, gps.nodes, gps.multipv) == (6, 11, 1021, 66, 328112, 1)
    fairy = parse_info(
        "info depth 12 seldepth 19 multipv 2 score cp 166 upperbound nodes 83953 nps 278 time 301 pv 7g7f 5a4b",
        everything,
    )
    assert fairy is not None
    assert (fairy.bound.name, fairy.multipv, fairy.time_ms, fairy.pv) == ("UPPER", 2, 301, ("7g7f", "5a4b"))


def test_numbers_that_nobody_reaches() -> None:
    found = parse_info("info depth 2000 seldepth 3000 hashfull 1003 score cp 5 nodes -9 time 1 pv 7g7f", everything)
    assert found is not None
    assert (found.depth, found.seldepth, found.hashfull, found.nodes) == (MAX_PLY, MAX_PLY, 1000, 0)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "bestmove 7g7f",
        "info string score cp 3 pv 7g7f",
        "info currmove 7g7f",
        "info depth 8 score cp 3",
        "info pv 7g7f",
    ],
)
def test_lines_without_score_or_pv_are_passed_over(line: str) -> None:
    assert parse_info(line, everything) is None


def test_node_counts_stand_in_other_lines_too() -> None:
    assert parse_nodes("info time 1561 nodes 587155 nps 375952") == 587155
    assert (parse_nodes("info nodes 99999999999999999999"), parse_nodes("info nodes -9")) == (1 << 62, 0)
    assert parse_nodes("info nodes") is None
    assert parse_nodes("info nodes many") is None
    assert parse_nodes("info string nodes 5") is None


def test_options() -> None:
    skill = parse_option("option name Skill Level type spin default 20 min -20 max 20")
    assert skill == ("Skill Level", Option("spin", least=-20, most=20))
    combo = parse_option("option name Analysis Contempt type combo default Both var Both var Off var Very White")
    assert combo == ("Analysis Contempt", Option("combo", choices=("Both", "Off", "Very White")))
    for line in ("option", "option name X", "option name X type ", "id name option name X type spin"):
        assert parse_option(line) is None


def test_bestmove() -> None:
    assert parse_bestmove("bestmove 7g7f ponder 3c3d") == ("7g7f", "3c3d")
    assert parse_bestmove("bestmove resign") == ("resign", None)
    assert parse_bestmove("bestmove 7g7f ponder") == ("7g7f", None)
    with pytest.raises(EngineError, match="without a move"):
        parse_bestmove("bestmove")


def test_go() -> None:
    every = Dialect()
    assert go_line(Limits(), (), every) == "go infinite"
    assert go_line(Limits(movetime_ms=300, nodes=5), (), every) == "go nodes 5 movetime 300"
    assert go_line(Limits(), ("7g7f",), every) == "go infinite searchmoves 7g7f"
    gps = dialect_of("gpsshogi (smp) vm r3033 wordsize 64 gcc 12.2.0")
    assert go_line(Limits(movetime_ms=0), (), gps) == "go btime 0 wtime 0 byoyomi 1"
    with pytest.raises(EngineError, match="go nodes"):
        go_line(Limits(nodes=1, movetime_ms=5), (), gps)
