"""A move by material alone, without a search: the value of its capture, less the value that the opponent can then
capture.

A pure function of the position, which uses only the compiled rules and takes a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from worker.search.exchange import PROMOTION_GAIN, VALUE
from worker.shogi import Position, makemove, move_to_usi
from worker.shogi.attacks import is_attacked

_MOVE_TO = 0x7F


def careful_move(position: Position, only: Sequence[str] = ()) -> int:
    """A legal move: one that mates, else the one with the best exchange. ``position`` is unchanged afterwards.

    Args:
        only: USI moves to choose from; empty: all.

    Raises:
        ValueError: there is no legal move among them.
    """
    best, best_balance = 0, 0
    for move in position.legal_moves():
        if only and move_to_usi(move) not in only:
            continue
        gain = _taken(position, move) + _promoted(move)
        position.push(move)
        try:
            if position.is_mated():
                return move
            balance = gain - _at_risk(position)
        finally:
            position.pop()
        if not best or balance > best_balance:
            best, best_balance = move, balance
    if not best:
        raise ValueError("no legal move to choose from")
    return best


def _at_risk(position: Position) -> int:
    """The most that the side to move can win by one capture, if the capturing piece is lost whenever the square is
    defended."""
    most = 0
    record, defender = position.record, 1 - position.turn
    moves = record["moves"][: makemove.legal_moves(record, 0, 1)]
    captures = moves[record["board"][moves & _MOVE_TO] != 0].tolist()  # hardly any of hundreds of moves
    for move in captures:
        win = _taken(position, move) + _promoted(move)
        if win > most and is_attacked(record, move & _MOVE_TO, defender):
            win -= int(VALUE[move >> 16 & 15])
        most = max(most, win)
    return most


def _taken(position: Position, move: int) -> int:
    piece = position.piece_on(move & _MOVE_TO)
    return int(VALUE[piece & 15]) if piece else 0


def _promoted(move: int) -> int:
    return int(PROMOTION_GAIN[move >> 16 & 15]) if move >> 14 & 1 else 0
