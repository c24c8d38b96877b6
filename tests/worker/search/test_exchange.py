"""Static exchanges against a plain recursive reference; checks against making the move."""

from __future__ import annotations

import random

import numpy as np

from benchmarks.playouts import positions
from worker.jit import jit
from worker.search.exchange import PIECE_VALUE, PROMOTION_GAIN, VALUE, exchange_at_least
from worker.shogi import Position
from worker.shogi import tables as geo
from worker.shogi.checks import discoverers, gives_check
from worker.shogi.makemove import legal_moves
from worker.shogi.pieces import DROP_BIT, GOLD, KING, PROMOTE_BIT

CHEAPEST_FIRST = (1, 2, 3, 4, 7, 9, 10, 11, 12, 5, 13, 6, 14, 8)
GOLD_LIKE = (7, 9, 10, 11, 12)


def attackers(board: list[int], target: int, colour: int) -> list[int]:
    """The squares from which ``colour`` attacks ``target``."""
    occupied = geo.bits(sq for sq in range(81) if board[sq])
    found = []
    for sq, piece in enumerate(board):
        if piece and piece >> 4 == colour:
            kind = piece & 15
            slides = [geo.for_colour(way, colour) for way in geo.SLIDES.get(kind, ())]
            reach = geo.step_attacks(sq, kind, colour) | geo.slide(sq, slides, occupied)
            if reach >> target & 1:
                found.append(sq)
    return found


def best_gain(board: list[int], target: int, turn: int) -> int:
    """The gain of the side to move on ``target``; 0 if it does better not to capture."""
    found = attackers(board, target, turn)
    if not found:
        return 0
    # Gold movers are worth the same to the exchange's order: the lowest square of them goes first.
    rank = {
        kind: 4 if kind in GOLD_LIKE else CHEAPEST_FIRST.index(kind) + 10 * (kind not in (1, 2, 3, 4))
        for kind in CHEAPEST_FIRST
    }
    sq = min(found, key=lambda s: (rank[board[s] & 15], s))
    piece = board[sq]
    after = list(board)
    after[sq] = 0
    if piece & 15 == KING:
        return 0 if attackers(after, target, 1 - turn) else int(VALUE[board[target] & 15])
    after[target] = piece
    return max(0, int(VALUE[board[target] & 15]) - best_gain(after, target, 1 - turn))


def reference(position: Position, move: int) -> int:
    """The value of the exchanges that ``move`` begins."""
    board = [position.piece_on(sq) for sq in range(81)]
    target, piece = move & 127, move >> 16
    gain = 0
    if not move & DROP_BIT:
        gain += int(VALUE[board[target] & 15])
        board[move >> 7 & 127] = 0
        if move & PROMOTE_BIT:
            gain += int(PROMOTION_GAIN[piece & 15])
            piece |= 8
    board[target] = piece
    if piece & 15 == KING:
        return gain
    return gain - best_gain(board, target, 1 - position.turn)


def test_exchanges_equal_the_reference() -> None:
    rng = random.Random(11)
    compared = 0
    for position in positions(5, 400):
        moves = position.legal_moves()
        for move in rng.sample(moves, min(4, len(moves))):
            value = reference(position, move)
            for threshold in (value - 1, value, value + 1, 0):
                assert exchange_at_least(position.record, move, threshold) == (value >= threshold), (
                    position.sfen(),
                    move,
                    value,
                    threshold,
                )
            compared += 1
    assert compared > 1000


def test_a_piece_given_away_costs_its_value_once() -> None:
    """The margins of the search are in these units: a gold dropped on a square that a pawn attacks costs a gold."""
    position = Position.from_sfen("4k4/9/4p4/9/9/9/9/9/4K4 b G 1")
    move = position.parse_usi("G*5d")
    gold = PIECE_VALUE[GOLD]
    assert exchange_at_least(position.record, move, -gold)
    assert not exchange_at_least(position.record, move, 1 - gold)


@jit()
def judge_checks(pos, begin, end, flags):  # type: ignore[no-untyped-def]
    """Write to ``flags`` the result of `gives_check` for the moves in ``pos.moves``."""
    hidden = discoverers(pos)
    for i in range(begin, end):
        flags[i] = 1 if gives_check(pos, pos.moves[i], hidden) else 0


def test_gives_check_equals_making_the_move() -> None:
    for position in positions(9, 300):
        end = legal_moves(position.record, 0, 1)
        flags = np.zeros(600, np.int64)
        judge_checks(position.record, 0, end, flags)
        moves = [int(move) for move in position.record.moves[:end]]
        for i, move in enumerate(moves):
            position.push(move)
            assert position.in_check() == bool(flags[i]), (position.sfen(), move)
            position.pop()
