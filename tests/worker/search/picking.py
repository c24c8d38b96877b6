"""The moves of one list, as the picker gives them at the root."""

from __future__ import annotations

from worker.search.correction import note_keys
from worker.search.node import note_checks
from worker.search.picker import next_move, start_picker
from worker.search.state import OFFSET, ThreadState, begin_search
from worker.shogi import Position
from worker.shogi.attacks import update_checks


def picked(position: Position, state: ThreadState, kind: int, table_move: int) -> list[int]:
    th = state.record
    begin_search(state.record)
    th.list_end[OFFSET - 1] = 0
    update_checks(position.record)
    note_keys(position.record, th, 0)
    note_checks(position.record, th, 0)
    start_picker(position.record, th, 0, kind, table_move)
    moves = []
    while move := int(next_move(position.record, th, 0, 8, 0)):
        moves.append(move)
        assert len(moves) < 700
    return moves
