"""JKF: presets and custom positions, endings, and malformed input."""

from __future__ import annotations

import json
from typing import Any

import pytest

from master.analysis.game import GameFileError, RecordedGame, parse_games

FIRST = {"move": {"from": {"x": 7, "y": 7}, "to": {"x": 7, "y": 6}, "piece": "FU"}, "time": {"now": {"m": 1, "s": 2}}}
SECOND = {"move": {"color": 1, "from": {"x": 5, "y": 1}, "to": {"x": 5, "y": 2}, "piece": "OU"}, "comments": ["so"]}
EMPTY: list[list[dict[str, Any]]] = [[{} for _ in range(9)] for _ in range(9)]


def read(moves: list[Any], initial: Any = None) -> RecordedGame:
    text = json.dumps({"header": {"先手": "A", "棋戦": "cup"}, "initial": initial, "moves": [{}, *moves]})
    (game,) = parse_games(text.encode(), "x.jkf")
    return game


def test_a_game() -> None:
    game = read([FIRST, SECOND, {"special": "TORYO"}])
    assert [(move.usi, move.ms) for move in game.moves] == [("7g7f", 62_000), ("5a5b", None)]
    assert (game.names[0], game.event, game.ending, game.winner) == ("A", "cup", "RESIGN", 1)
    assert game.moves[1].comments == ["so"]


@pytest.mark.parametrize(("word", "winner"), [("+ILLEGAL_ACTION", 1), ("-ILLEGAL_ACTION", 0)])
def test_an_illegal_action_loses(word: str, winner: int) -> None:
    game = read([FIRST, SECOND, {"special": word}])
    assert (game.ending, game.winner) == ("WIN_BY_ILLEGAL_MOVE", winner)


@pytest.mark.parametrize(("preset", "board"), [("7_L", "2sgkg3"), ("7_R", "3gkgs2"), ("5_L", "1nsgkgs2")])
def test_presets(preset: str, board: str) -> None:
    game = read([SECOND, FIRST], {"preset": preset})
    assert game.start_sfen == f"{board}/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


def own(**more: Any) -> dict[str, Any]:
    board = [[dict(cell) for cell in file] for file in EMPTY]
    board[4][0], board[4][8] = {"color": 1, "kind": "OU"}, {"color": 0, "kind": "OU"}
    return {"preset": "OTHER", "data": {"color": 0, "board": board, "hands": [{"FU": 18, "KI": 0}, {}], **more}}


def test_a_position_of_its_own() -> None:
    game = read([{"move": {"to": {"x": 5, "y": 5}, "piece": "FU"}}], own())
    assert game.start_sfen == "4k4/9/9/9/9/9/9/9/4K4 b 18P 1"
    assert game.moves[0].usi == "P*5e"


@pytest.mark.parametrize(
    ("moves", "initial", "words"),
    [
        ([FIRST], {"preset": "9"}, "preset '9' is unknown"),
        ([FIRST], {"preset": "OTHER"}, "needs its data"),
        ([FIRST], own(board=EMPTY[:8]), "not nine files of nine squares"),
        ([FIRST], own(hands=[{"TO": 1}, {}]), "1 TO in hand"),
        ([FIRST], own(hands=[{"HI": 3}, {}]), "hands: 3R is impossible"),
        ([FIRST], own(color=2), "2 is no side"),
        ([SECOND, FIRST], None, "move 1 is not legal: it is the other side's turn"),
        ([FIRST, {"special": "TORYO"}, SECOND], None, "move 2: it stands after the end"),
        ([{"move": {"from": {"x": 0, "y": 7}, "to": {"x": 7, "y": 6}, "piece": "FU"}}], None, "07 is no square"),
        ([{"move": {"same": True, "piece": "FU"}}], None, "no move before it"),
        ([{"move": {"piece": "FU"}}], None, "no JKF record"),
        ([{"move": {**FIRST["move"], "from": {"x": float("inf"), "y": 7}}}], None, "no JKF record"),
    ],
)
def test_what_cannot_be_read(moves: list[Any], initial: Any, words: str) -> None:
    with pytest.raises(GameFileError, match=words):
        read(moves, initial)


def test_an_illegal_end_and_forks() -> None:
    illegal = {"move": {"from": {"x": 8, "y": 8}, "to": {"x": 9, "y": 9}, "piece": "KA"}}
    game = read(
        [FIRST, {**SECOND, "forks": [[{"move": {**FIRST["move"], "color": 0}}]]}, illegal, {"special": "ILLEGAL_MOVE"}]
    )
    assert (len(game.moves), game.ending, game.winner) == (2, "LOSE_BY_ILLEGAL_MOVE", 1)
    assert game.notice.split("\n") == [
        "x.jkf: a variation at move 2 cannot be read to its end: move 2 is not legal: it is the other side's turn",
        "x.jkf: move 3 is not legal; it was left out, and the record ends there",
    ]


def test_forks_stay_in_the_record() -> None:
    fork = [{"move": {"from": {"x": 8, "y": 3}, "to": {"x": 8, "y": 4}, "piece": "FU"}}]
    reading = read([FIRST, {**SECOND, "forks": [fork]}, {"special": "TORYO"}]).reading
    assert reading is not None
    assert [[move.usi for move in line.moves] for line in reading.moves[1].beside] == [["8c8d"]]
