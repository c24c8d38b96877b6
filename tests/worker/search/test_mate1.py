"""Mate in one: every claimed mate is mate (rsshogi says so), and it sees most mates that come from near."""

from __future__ import annotations

import numpy as np
from rsshogi.core import Board

from benchmarks.playouts import positions
from worker.search.mate1 import mate_in_one
from worker.shogi import Position, move_to_usi
from worker.shogi.attacks import update_checks


def found_mate(position: Position) -> str | None:
    """The mate that is found, with the position unchanged."""
    record = position.record
    before = position.sfen()
    update_checks(record)
    move = int(mate_in_one(record, np.int64(0)))
    assert position.sfen() == before
    return move_to_usi(move) if move else None


def mates(sfen: str) -> set[str]:
    """All mates in one, by rsshogi."""
    board = Board(sfen)
    found = set()
    for move in board.legal_moves():
        board.apply_move(move)
        if board.is_in_check() and not board.legal_moves():
            found.add(move.to_usi())
        board.undo_move(move)
    return found


def test_every_claim_is_mate_and_most_mates_are_claimed() -> None:
    there = seen = 0
    for position in positions(11, 2500):
        if position.in_check():
            continue
        claimed = found_mate(position)
        truth = mates(position.sfen())
        assert claimed is None or claimed in truth, position.sfen()
        there += bool(truth)
        seen += claimed is not None
    assert there > 50
    # It does not see mates from afar (a rook on an open rank) and discovered ones.
    assert seen > 0.8 * there, (seen, there)


def test_no_pawn_is_dropped_to_mate() -> None:
    assert found_mate(Position.from_sfen("7nk/9/7GG/9/9/9/9/9/4K4 b P 1")) != "P*1b"
    assert found_mate(Position.from_sfen("7nk/9/7GG/9/9/9/9/9/4K4 b G 1")) == "G*1b"


def test_a_pinned_piece_does_not_defend() -> None:
    """The gold beside the king shields it from the bishop."""
    sfen = "ln3k1n1/4g2sl/p2BSs2p/3p1p3/1p7/P4K3/1P1P1P2P/1+r2G4/L1r1G1bNL b G5Psn3p 1"
    assert mates(sfen) == {"G*4b"}
    assert found_mate(Position.from_sfen(sfen)) == "G*4b"


def test_a_slider_does_not_defend_through_its_king() -> None:
    """The rook on the other side of the king would attack the square if the king were gone."""
    sfen = "1G6l/6s1k/p6p1/2p3N2/3PpR3/P1P4Pb/4P1P2/L2+p1K3/9 w BSN4Pr3g2sn2l3p 1"
    assert mates(sfen) == {"R*4i"}
    assert found_mate(Position.from_sfen(sfen)) == "R*4i"


def test_a_pinned_piece_does_not_mate() -> None:
    """The gold that would mate shields its own king in the second position."""
    assert found_mate(Position.from_sfen("6rk1/9/6G2/9/9/9/9/1B7/4K4 b - 1")) == "3c2b"
    assert found_mate(Position.from_sfen("6rk1/9/6G2/9/9/9/9/1B7/6K2 b - 1")) is None
