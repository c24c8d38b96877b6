"""Self-play games: they end by the rules, and the seed determines everything."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lab.selfplay import teacher as teacher_module
from lab.selfplay.deepen import deepen, list_root_moves
from lab.selfplay.game import _is_over, below
from lab.selfplay.shard import ENTERING, NATURAL, PLAYED_OUT, UNUSUAL, TeacherGame
from lab.selfplay.state import ADJUDICATED, DECLARED, MATE_END, MOVE_LIMIT, PERPETUAL, REPEATED, new_record
from lab.selfplay.teacher import Teacher, entering_start
from lab.selfplay.walk import whole_move
from tests.lab.selfplay.games import games_of, made, tiny, unpacked_position
from worker.nnue import NnueState, default_network
from worker.score import MATE_BOUND
from worker.search.state import NEVER, ThreadState
from worker.search.tt import TranspositionTable
from worker.shogi import Position, Repetition
from worker.shogi.pieces import SQUARES

STARTS = (
    "lns2g1nl/1r2g1kb1/p1ppsp1pp/1p2p1p2/9/1PP5P/PS1PPPPP1/1BG1G2R1/LN2K1SNL b - 21",
    "l5snl/1rgs1k3/n3ppgpp/p1pp2p2/9/PpPP5/1P2PPPPP/LGBS2K2/1N3GSNL b Br 33",
)


def final_position(game: TeacherGame) -> Position:
    """Replay a game, with each move checked by the rules."""
    position = unpacked_position(game.start, game.move_number)
    moves = [int(move) for move in game.moves]
    for move in moves[:-1] if game.end == ADJUDICATED else moves:
        whole = int(whole_move(position.record, move))
        assert position.is_legal(whole)
        position.push(whole)
    return position


def test_every_end_is_one_of_the_rules() -> None:
    ends = set()
    for seed in range(4):
        for game in games_of(made(seed=seed, games=12, entering=0.5, max_moves=150)):
            position = final_position(game)
            mover = 1 if position.turn == 0 else -1
            ends.add(game.end)
            match game.end:
                case int(end) if end == MATE_END:
                    assert position.is_mated() and game.result == -mover
                case int(end) if end == DECLARED:
                    assert position.can_declare() and game.result == mover
                case int(end) if end == MOVE_LIMIT:
                    assert len(game.moves) == 150 and game.result == 0
                case int(end) if end == REPEATED:
                    assert game.result == 0
                case int(end) if end == PERPETUAL:
                    wins = position.repetition() is Repetition.WIN
                    assert position.repetition() in (Repetition.WIN, Repetition.LOSE)
                    assert game.result == (mover if wins else -mover)
                case _:
                    assert game.end == ADJUDICATED and game.result != 0
            assert (len(game.moves) == 150) <= (game.end in (MOVE_LIMIT, ADJUDICATED))
    assert {MATE_END, DECLARED, MOVE_LIMIT} <= ends


@pytest.mark.parametrize("more", [(), ("5a4a",)])
def test_a_side_that_repeats_by_checks_alone_has_lost(more: tuple[str, ...]) -> None:
    """Black's rook gave all the checks, with either side to move."""
    position, sp = Position.from_sfen("4k4/9/9/9/9/9/9/4R4/3K5 w - 1"), new_record()
    position.push_all((*("5a4a", "5h4h", "4a5a", "4h5h") * 3, *more))
    sp.most_moves = 512
    assert _is_over(position.record, ThreadState().record, sp)
    assert (sp.end, sp.result) == (PERPETUAL, -1)


def test_a_repetition_without_checks_is_a_draw() -> None:
    position, sp = Position.startpos(), new_record()
    position.push_all(("2h3h", "8b7b", "3h2h", "7b8b") * 3)
    sp.most_moves = 512
    assert _is_over(position.record, ThreadState().record, sp)
    assert (sp.end, sp.result) == (REPEATED, 0)


def test_a_game_is_adjudicated_by_scores_and_spares_mates() -> None:
    settings = tiny(games=20, entering=0, played_out=0, decided=0.8, decided_plies=4, scale=1000.0)
    limit = settings.score_of(0.8)
    ended = [g for g in games_of(Teacher(default_network(), "net", settings).make_shard(0)) if g.end == ADJUDICATED]
    assert ended
    for game in ended:
        last = game.scores.astype(int)[-4:]
        black = [
            (score if (game.start[0] + len(game.moves) - 4 + i) & 1 == 0 else -score) for i, score in enumerate(last)
        ]
        assert all(game.result * score >= limit for score in black)
        assert abs(last[-1]) < MATE_BOUND
        position = final_position(game)
        assert position.record.ksq[0] % 9 > 4 > position.record.ksq[1] % 9, "no king is beyond the middle"
        assert sum(position.piece_on(sq) != 0 for sq in range(81)) > 24


def test_games_start_at_positions_of_a_file() -> None:
    starts = [Position.startpos().sfen(), *STARTS]
    settings = tiny(games=6, plies_from=0, plies_to=0, entering=0, max_moves=8, starts="these")
    teacher = Teacher(default_network(), "net", settings)
    shard = teacher.make_shard(0, starts=starts)
    boards = {unpacked_position(game.start).sfen().rsplit(" ", 1)[0] for game in games_of(shard)}
    assert boards <= {start.rsplit(" ", 1)[0] for start in starts} and len(boards) > 1
    assert {game.move_number for game in games_of(shard)} <= {1, 21, 33}
    assert teacher.make_shard(0, starts=starts).to_bytes() == shard.to_bytes()


def test_a_loud_position_is_searched_with_fewer_nodes() -> None:
    def searched(moves: tuple[str, ...], loud_nodes: int) -> int:
        position, state, table = Position.startpos(), ThreadState(), TranspositionTable(1)
        net = NnueState(default_network())
        position.push_all(moves)
        th = state.record
        th.tt, th.tt_clusters, th.draw_ply = table.address, table.clusters, NEVER
        list_root_moves(position.record, th)
        deepen(position.record, net.record, th, 3000, loud_nodes, 24_000)
        return int(th.nodes)

    recapture = ("7g7f", "3c3d", "8h2b+")
    assert 100 <= searched(recapture, 100) < 1000 < 3000 <= searched(recapture, 3000)
    assert searched((), 100) == searched((), 3000) >= 3000


def test_positions_at_which_no_game_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teacher_module, "_MOST_REJECTED", 50)
    teacher = Teacher(default_network(), "net", tiny(games=1, plies_from=0, plies_to=0, entering=0, scale=100.0))
    won = "4k4/9/9/9/9/9/9/9/RR2K4 b 2B4G4S4N4L18P 1"
    with pytest.raises(ValueError, match="50 positions in a row"):
        teacher.make_shard(0, starts=[won])


def test_games_that_are_played_out_have_no_other_end() -> None:
    games = games_of(made(played_out=1, decided=0.6, decided_plies=1, games=8))
    assert all(game.flags & PLAYED_OUT and game.end != ADJUDICATED for game in games)
    for decided in (0.6, 0.5):
        ended = games_of(made(played_out=0, decided=decided, decided_plies=1, games=8))
        assert any(game.end == ADJUDICATED for game in ended)


def test_a_shard_is_the_same_bit_for_bit_after_any_other() -> None:
    teacher = Teacher(default_network(), "net", tiny())
    first, second = (teacher.make_shard(number).to_bytes() for number in (0, 1))
    assert made(0).to_bytes() == first
    assert made(1).to_bytes() == second
    assert first != second
    assert made(0, seed=2).payload != made(0).payload


def test_openings_are_even_different_and_as_long_as_asked() -> None:
    shard = made(games=30, plies_from=6, plies_to=8, balance=0.505, nodes=30, entering=0, decided=0.6, max_moves=20)
    games = games_of(shard)
    assert {game.opening_plies for game in games} == {6, 7, 8}
    assert all(game.move_number == game.opening_plies + 1 for game in games)
    assert len({game.start for game in games}) == 30
    assert not any(unpacked_position(game.start).in_check() for game in games)
    assert shard.header["rejected"] > 0
    assert max(abs(int(game.scores[0])) for game in games) < 600


@pytest.mark.timeout(60)
def test_openings_come_twice_if_there_are_no_others() -> None:
    """Thirty moves are legal at the beginning, and some of these positions are not even enough."""
    games = games_of(made(games=40, plies_from=1, plies_to=1, entering=0, nodes=30, max_moves=2))
    assert len(games) == 40
    assert 10 < len({game.start for game in games}) <= 30


def test_kings_that_begin_far_up_are_marked() -> None:
    games = games_of(made(games=10, entering=1, max_moves=10))
    assert all(game.flags & ENTERING and 2 <= game.opening_plies <= 6 for game in games)
    assert not any(game.flags & ENTERING for game in games_of(made(games=10, entering=0, max_moves=10)))


def test_unusual_positions_are_marked_and_reached_by_more_plies() -> None:
    games = games_of(made(games=30, unusual=1, entering=0, decided=0.6, max_moves=10, scale=1000.0))
    assert all(game.flags & UNUSUAL for game in games)
    assert all(8 < game.opening_plies <= 16 + 60 for game in games)
    assert max(game.opening_plies for game in games) > 40
    even = tiny(scale=1000.0).score_of(0.55)
    assert sum(abs(int(game.scores[0])) > even for game in games) > 10, "they need not be even"
    ordinary = games_of(made(games=30, unusual=0, decided=0.6, max_moves=10))
    assert not any(game.flags & UNUSUAL for game in ordinary)


def test_the_generator_is_split_mix_64() -> None:
    sp = new_record()
    limit = 1_000_000
    # The first words of the published generator for seed 0.
    for word in (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F):
        assert int(below(sp, np.uint64(limit))) == word * limit >> 64


@pytest.mark.parametrize(
    ("name", "value"), [("nodes", 0), ("balance", 0.4), ("decided", 1.1), ("plies_from", 17), ("max_moves", 513)]
)
def test_settings_out_of_range_are_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value}"):
        tiny(**{name: value})


def test_they_are_even_whole_and_the_same_for_a_seed() -> None:
    rng = random.Random("seed")
    positions = [entering_start(rng) for _ in range(30)]
    again = random.Random("seed")
    assert [entering_start(again).sfen() for _ in range(30)] == [position.sfen() for position in positions]
    for position in positions:
        black, white = (int(square) for square in position.record.ksq)
        assert white == SQUARES - 1 - black
        assert black % 9 <= 4
        assert position.hand(0) == position.hand(1)
        on_board = sum(position.piece_on(square) != 0 for square in range(SQUARES))
        assert on_board + 2 * sum(position.hand(0)) == 40
        assert not position.in_check() and position.legal_moves()
    assert len({position.key for position in positions}) == 30


def test_natural_openings_are_marked_and_seldom_rejected() -> None:
    """Random moves soon lose the balance; good ones do not."""

    def rejected(natural: float) -> int:
        shard = made(games=20, nodes=200, max_moves=2, entering=0, natural=natural, natural_loss=0.03, scale=1006.0)
        assert all(bool(game.flags & NATURAL) == bool(natural) for game in games_of(shard))
        return int(shard.header["rejected"])

    assert rejected(0.0) > 2 * rejected(1.0)
