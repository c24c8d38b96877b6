"""Three other programs read every kind of record that our commands write, and we read theirs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import shogi.KIF

from lab.match.referee import BestMove, Referee
from lab.match.settings import Contestant, MatchSettings, Pace
from master.analysis.files import annotated
from master.analysis.game import parse_games
from master.analysis.report import ReportSettings
from master.practice.server_game import GameRules, ServerGame, StartPosition
from master.records.lines import RecordedMove, kif_bytes
from master.records.record import Ending, GameRecord, RecordFile, Variation
from tests.master.analysis.records import blunder_report
from tests.master.records.foreign import READERS, Read, ask_tsshogi, cshogi, needs_node, start_of
from tests.master.records.games import FISCHER, START, record
from worker.clock.timecontrol import TimeControl
from worker.shogi import HANDICAPS, Position, move_to_usi

STARTS = {
    **HANDICAPS,
    "black's handicap": "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/7R1/LNSGKGSNL b - 1",
    "middle": "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "18 in hand": "lnsgkgsnl/1r5b1/9/9/9/9/9/1B5R1/LNSGKGSNL b 18P 1",
    "11 and 7 in hand": "lnsgkgsnl/1r5b1/9/9/9/9/9/1B5R1/LNSGKGSNL w 11P7p 1",
    "all in hand": "4k4/9/9/9/9/9/9/9/4K4 b 2R2B4G4S4N4L10P8p 1",
    "all promoted": "4k3+b/9/+P+L+N+S5/9/9/9/5+s+n+l+p/9/+R3K4 b RB4G2S2N2L16P 1",
}
Reader = Callable[..., list[Read | None]]


def played(start: str, plies: int, seed: int = 0) -> list[RecordedMove]:
    """A random game, in which pieces are taken, dropped and promoted."""
    chance, position, moves = random.Random(seed), Position.from_sfen(start), []
    for _ in range(plies):
        legal = position.legal_moves()
        if not legal:
            break
        move = chance.choice(legal)
        moves.append(RecordedMove(move_to_usi(move), chance.choice((0, 500, 61_000)), chance.randint(-900, 900)))
        position.push(move)
    return moves


def both(game: GameRecord) -> dict[str, str]:
    """The texts of the files, as they are in them."""
    return {"csa": game.to_csa(), "kif": kif_bytes(game.to_kif()).decode("cp932")}


def expected(game: GameRecord, winner: int | None = None) -> Read:
    word = None if winner is None else "bw"[winner]
    return Read(start_of(game.start_sfen), tuple(move.usi for move in game.moves), word)


def read_all(read: Reader, kind: str, games: Sequence[GameRecord]) -> list[Read | None]:
    found = read(kind, *(both(game)[kind] for game in games))
    assert len(found) == len(games)
    return found


@pytest.mark.parametrize(("name", "read"), READERS)
@pytest.mark.parametrize("kind", ["csa", "kif"])
def test_every_start(name: str, read: Reader, kind: str) -> None:
    games = [record(start_sfen=sfen, moves=played(sfen, 21)) for sfen in STARTS.values()]
    found = read_all(read, kind, games)
    for start, game, one in zip(STARTS, games, found, strict=True):
        if one is not None:
            assert one == expected(game), start
    assert found.count(None) == (7 if (name, kind) == ("cshogi", "kif") else 0)


@pytest.mark.parametrize(("name", "read"), READERS)
@pytest.mark.parametrize("kind", ["csa", "kif"])
def test_long_games(name: str, read: Reader, kind: str) -> None:
    games = [record(moves=played(START, 250, seed)) for seed in range(3)]
    assert read_all(read, kind, games) == [expected(game) for game in games]


ENDINGS = [
    (3, Ending("RESIGN", 0)),
    (2, Ending("RESIGN", 1)),
    (2, Ending("RESIGN", 0)),  # out of turn
    (3, Ending("RESIGN", 1)),
    (3, Ending("TIME_UP", 0)),
    (3, Ending("ILLEGAL_MOVE", 0)),
    (2, Ending("ILLEGAL_ACTION", 0, "said too much")),
    (3, Ending("OUTE_SENNICHITE", 0)),
    (3, Ending("OUTE_SENNICHITE", 1)),
    (3, Ending("JISHOGI", 1)),
    (3, Ending("JISHOGI")),
    (3, Ending("SENNICHITE")),
    (3, Ending("MAX_MOVES")),
    (3, Ending("MAX_MOVES", 0)),
    (3, Ending("CHUDAN", comment="the server stopped")),
    (3, Ending("disconnected")),
    (3, Ending("CRASH", 0, "exit code 1")),
    (3, Ending("MATE", 0)),
    (3, Ending("NO_MATE")),
    (3, Ending("DRAW")),
    (3, Ending("DEFAULT", 0)),
    (3, Ending("DEFAULT", 1)),
    (3, None),
]
NOT_SO = {
    "python-shogi csa": ("%KACHI", "%TSUMI"),
    "python-shogi kif even": ("入玉勝ち",),
    "python-shogi kif 2p": ("入玉勝ち", "反則", "切れ負け", "詰み"),  # it takes it that black begins
    "cshogi csa": ("%TSUMI",),
    "cshogi kif": ("切れ負け", "詰み"),
    # CSA: "+ILLEGAL_ACTION: black's illegal action, white wins"; tsshogi takes the sign for the winner's.
    "tsshogi csa": ("ILLEGAL_ACTION",),
}
"""Ends whose winner a reader does not know, or has wrong, by what the formats say."""


@pytest.mark.parametrize(("name", "read"), READERS)
@pytest.mark.parametrize("kind", ["csa", "kif"])
@pytest.mark.parametrize("start", ["even", "2p"])
def test_every_end(name: str, read: Reader, kind: str, start: str) -> None:
    games = []
    for plies, ending in ENDINGS:
        later = start != "even" and ending is not None and ending.winner is not None  # white begins
        moves = played(HANDICAPS[start], plies + later)
        games.append(record(start_sfen=HANDICAPS[start], moves=moves, ending=ending))
    not_so = [word for key, words in NOT_SO.items() if f"{name} {kind} {start}".startswith(key) for word in words]
    for game, one in zip(games, read_all(read, kind, games), strict=True):
        right = expected(game, None if game.ending is None else game.ending.winner)
        assert one is not None
        assert (one.start, one.moves) == (right.start, right.moves)
        if not any(word in both(game)[kind] for word in not_so):
            assert one.winner == right.winner, game.ending


def server_game() -> GameRecord:
    """As `gougi serve` keeps it: a start with moves, comments of the players, and a side that leaves."""
    rules = GameRules(TimeControl(600_000, 10_000), StartPosition(HANDICAPS["2p"], ("-7162GI",)))
    game = ServerGame("buoy+x-600-10+a+b+1", ("a", "b"), rules, 0.0)
    for colour in (0, 1):
        game.receive(colour, "AGREE", 0.0)
    for at, (colour, line) in enumerate([(0, "+7776FU,'* 30 -3334FU"), (1, "-3334FU,'hello"), (0, "+2726FU")], start=1):
        game.receive(colour, line, 1500.0 * at)
    game.leave(1, "logged out", 7000.0)
    return game.record


def match_game() -> GameRecord:
    """As `gougi match` keeps it."""
    players = Contestant("a", ("a",), {}, "/"), Contestant("b", ("b",), {}, "/")
    settings = MatchSettings(players, Pace(nodes=100), games=2)
    sfen = STARTS["middle"]
    referee = Referee(settings, sfen)
    for move in played(sfen, 5):
        referee.answered(BestMove(move.usi, 123, 50, 1000, 7))
    referee.crashed("exit code 1")
    return GameRecord(
        "game 7", ("a", "b"), sfen, (TimeControl(), TimeControl()), 320, moves=referee.moves, ending=referee.ending
    )


def player_game() -> GameRecord:
    """As `gougi play` keeps it."""
    moves = [
        RecordedMove(move.usi, 2000, 30, nodes=10**9, comment="book: old" * (n % 2))
        for n, move in enumerate(played(START, 8))
    ]
    return record(moves=moves, ending=Ending("RESIGN", 1), time=(FISCHER, TimeControl(byoyomi_ms=30_000)))


def analysed_game() -> GameRecord:
    """As `gougi analyze` annotates it."""
    return annotated(blunder_report(), ReportSettings("Gougi", "50000 nodes a position"))


@pytest.mark.parametrize(("name", "read"), READERS)
@pytest.mark.parametrize("kind", ["csa", "kif"])
def test_every_command(name: str, read: Reader, kind: str) -> None:
    games = [server_game(), match_game(), player_game(), analysed_game()]
    for game, one in zip(games, read_all(read, kind, games), strict=True):
        assert game.moves and game.ending is not None
        assert one in (None, expected(game, game.ending.winner))


def test_files_as_they_lie_there(tmp_path: Path) -> None:
    file = RecordFile(tmp_path, record(names=("高見", "bob"), ending=Ending("RESIGN", 0)))
    file.write(file.record.text())
    path = file.take_name()
    moves = ["7g7f", "3c3d", "2g2f"]
    for found in (shogi.CSA.Parser.parse_file(path), shogi.KIF.Parser.parse_file(path.with_suffix(".kif"))):
        assert (found[0]["names"], found[0]["moves"], found[0]["win"]) == (["高見", "bob"], moves, "b")
    (csa,), kif = cshogi.Parser.parse_file(str(path)), cshogi.KIF.Parser.parse_file(str(path.with_suffix(".kif")))
    for parser in (csa, kif):
        assert [cshogi.move_to_usi(move) for move in parser.moves] == moves
    assert (csa.scores[0], csa.times) == (55, [3, 0, 0])


@needs_node
def test_comments_and_variations_reach_shogihome() -> None:
    moves = [RecordedMove(usi, 1000, comment=f"on {usi}") for usi in ("7g7f", "3c3d", "2g2f", "8c8d")]
    game = record(
        moves=moves,
        ending=Ending("RESIGN", 1, "no more"),
        comment="first words\nand more",
        variations=(
            Variation(4, [RecordedMove("4c4d", 0, comment="aside")], Ending("CHUDAN")),
            Variation(2, [RecordedMove("8c8d", None), RecordedMove("2g2f", None), RecordedMove("8d8e", None)]),
            Variation(3, [RecordedMove("6i7h", None)]),
            Variation(3, [RecordedMove("5i6h", None)]),
            Variation(1, [RecordedMove("2g2f", None)], Ending("RESIGN", 0)),
        ),
    )
    texts = both(game)
    csa, kif = ask_tsshogi(*({"kind": kind, "text": text} for kind, text in texts.items()))
    played_moves = [move.usi for move in moves]
    for found in (csa, kif):
        assert found["moves"] == played_moves
        assert [comment.splitlines()[-1] for comment in found["comments"][1:5]] == [f"on {usi}" for usi in played_moves]
        assert "RESIGN, white wins: no more" in found["comments"][5]
    assert kif["comments"][0].splitlines() == ["first words", "and more"]
    assert csa["comments"][0].splitlines()[-1] == "variations left out, which CSA does not have: 5"
    assert kif["lines"] == [
        {"ply": 4, "moves": ["4c4d"], "end": "interrupt"},
        {"ply": 2, "moves": ["8c8d", "2g2f", "8d8e"], "end": ""},
        {"ply": 3, "moves": ["6i7h"], "end": ""},
        {"ply": 3, "moves": ["5i6h"], "end": ""},
        {"ply": 1, "moves": ["2g2f"], "end": "resign"},
    ]
    marked = [line.split()[1][:4] for line in texts["kif"].splitlines() if line.endswith("+")]
    assert marked == ["７六歩(", "３四歩(", "８四歩(", "２六歩(", "７八金("]


def ours(text: str | bytes, name: str) -> Read:
    (game,) = parse_games(text.encode() if isinstance(text, str) else text, name)
    winner = None if game.winner is None else "bw"[game.winner]
    return Read(start_of(game.start_sfen), tuple(move.usi for move in game.moves), winner)


@pytest.mark.parametrize("kind", ["csa", "kif"])
@pytest.mark.parametrize("start", STARTS)
def test_we_read_our_own(kind: str, start: str) -> None:
    game = record(start_sfen=STARTS[start], moves=played(STARTS[start], 21))
    assert ours(both(game)[kind], f"a.{kind}") == expected(game)


@needs_node
@pytest.mark.parametrize("kind", ["csa", "kif", "ki2"])
def test_we_read_tsshogis_records(kind: str) -> None:
    games = [
        record(start_sfen=sfen, moves=played(sfen, plies, plies)) for sfen in STARTS.values() for plies in (21, 100)
    ]
    answers = ask_tsshogi(*({"kind": "csa", "text": game.to_csa(), "as": kind} for game in games))
    for game, answer in zip(games, answers, strict=True):
        assert ours(answer["text"], f"a.{kind}") == expected(game)


@pytest.mark.parametrize("start", ["even", "2p", "middle", "18 in hand"])
def test_we_read_cshogis_records(tmp_path: Path, start: str) -> None:
    sfen = STARTS[start]
    game = record(start_sfen=sfen, moves=played(sfen, 80, 2), names=("a", "b"))
    board = cshogi.Board(sfen=sfen)
    csa, kif, ki2 = cshogi.CSA.Exporter(str(tmp_path / "a.csa")), cshogi.KIF.Exporter(), cshogi.KI2.Exporter()
    csa.info(board, names=["a", "b"], version="V2.2")
    kif.open(str(tmp_path / "a.kif"))
    kif.header(["a", "b"], handicap=None if start == "even" else board)
    for move in game.moves:
        number = board.push_usi(move.usi)
        csa.move(number, time=1)
        kif.move(number, 1, 1)
    csa.endgame("%CHUDAN")
    for writer in (csa, kif):
        writer.close()
    for name in ("a.csa", "a.kif"):
        assert ours((tmp_path / name).read_bytes(), name) == expected(game)
    if start != "even":
        return
    ki2.open(str(tmp_path / "a.ki2"))
    ki2.header(["a", "b"])
    for move in game.moves:
        ki2.move(ki2.board.move_from_usi(move.usi))
    ki2.close()
    assert ours((tmp_path / "a.ki2").read_bytes(), "a.ki2") == expected(game)


def test_we_read_python_shogis_records() -> None:
    for seed in range(5):
        moves = played(START, 60, seed)
        game = record(moves=moves)
        summary = {"names": ["a", "b"], "sfen": START, "moves": [move.usi for move in moves], "win": "w"}
        assert ours(shogi.KIF.Exporter.kif(summary), "a.kif") == expected(game, 1)
