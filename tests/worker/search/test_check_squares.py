"""The checks that a node notes, against making every move."""

from __future__ import annotations

import numpy as np

from benchmarks.playouts import positions
from worker.search.node import checks_by, note_checks
from worker.search.state import ThreadState
from worker.shogi.attacks import update_unchecked
from worker.shogi.state import POS_DTYPE


def test_every_check_is_known_before_the_move() -> None:
    th = ThreadState().record
    checking = plain = 0
    for ply, position in enumerate(positions(11, 400)):
        note_checks(position.record, th, ply % 100)
        for move in position.legal_moves():
            known = bool(checks_by(position.record, th, ply % 100, move))
            position.push(move)
            assert position.in_check() == known, (position.sfen(), move)
            position.pop()
            checking, plain = checking + known, plain + (not known)
    assert checking > 500 and plain > 5000


def test_without_a_check_the_stacks_are_the_same() -> None:
    stacks = [name for name in POS_DTYPE.names or () if name.startswith("st_")]
    seen = 0
    for position in positions(12, 200):
        if not position.in_check():
            expected = {name: np.array(position.record[name]) for name in stacks}
            ply = int(position.record.ply)
            for name in ("st_checkers", "st_pinned", "st_run"):
                position.record[name][2 * ply : 2 * ply + 2] = 77
            update_unchecked(position.record)
            assert all((position.record[name] == expected[name]).all() for name in stacks)
            seen += 1
    assert seen > 100
