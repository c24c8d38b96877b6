"""Positions from the tree of a search: those that it had to judge, most of which occur in no game."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lab.jit import jit
from lab.selfplay.state import TREE_PLIES
from lab.selfplay.walk import NO_RESULT, QUIET_SCORE, RECORD, write_record
from worker.jit.memory import ldu64, st64
from worker.search.tt import entry_bound, entry_depth, entry_generation, entry_move, entry_score, probe
from worker.shogi.attacks import in_check
from worker.shogi.makemove import legal_moves, make, unmake
from worker.shogi.pieces import DROP_BIT, PROMOTE_BIT

SEEN: Final = 1 << 20
"""Number of remembered positions, so that none is written twice; a newer one with the same index replaces an older."""
WHOLE: Final = 1 << 16
"""``tree_share`` that means all positions."""


@jit()
def _is_quiet(pos: Any, data: Any) -> Any:
    """As in a game: no check, and a best move (if known) that neither captures nor promotes."""
    if in_check(pos):
        return False
    move = entry_move(pos, data)
    return move == 0 or (move & PROMOTE_BIT == 0 and (move & DROP_BIT != 0 or pos.board[move & 127] == 0))


@jit()
def _is_new(sp: Any, key: Any) -> bool:
    """Whether a position is new; it is then remembered."""
    place = sp.tree_seen + np.int64(key & np.uint64(SEEN - 1)) * 8
    if ldu64(place) == key:
        return False
    st64(place, np.int64(key))
    return True


@jit()
def _is_chosen(sp: Any, key: Any) -> Any:
    """Whether a position belongs to the part that is written: by its key, so that each has only one chance."""
    word = (key ^ sp.tree_salt) * np.uint64(0xFF51AFD7ED558CCD)
    return np.int64(word >> np.uint64(48)) < sp.tree_share


@jit()
def harvest(pos: Any, th: Any, sp: Any, least: int) -> None:
    """Write records of the positions below the root of the search that has just ended.

    The walk goes from the root along the table's entries of this search with at least the depth ``least``. It writes
    the quiet and undecided ones, if their key belongs to the selected part, while there is room (``sp.tree_count``,
    ``sp.tree_room``).
    """
    at, end = sp.tree_at, sp.tree_end
    at[0] = 0
    end[0] = legal_moves(pos, np.int64(0), np.int64(1))
    ply = np.int64(0)
    while ply >= 0:
        if at[ply] >= end[ply]:
            ply -= 1
            if ply >= 0:
                unmake(pos)
            continue
        move = pos.moves[at[ply]]
        at[ply] += 1
        make(pos, move)
        key = pos.key
        data = probe(th, key)
        goes_on: Any = False
        if (
            data != np.uint64(0)
            and entry_bound(data) != 0
            and entry_depth(data) >= least
            and entry_generation(data) == th.tt_generation
            and _is_new(sp, key)
        ):
            score = entry_score(data, np.int64(0))
            if (
                sp.tree_count < sp.tree_room
                and abs(score) < QUIET_SCORE
                and _is_chosen(sp, key)
                and _is_quiet(pos, data)
                and write_record(
                    pos, sp.tree_tables, sp.tree_records + sp.tree_count * RECORD, score, np.int64(NO_RESULT),
                    entry_bound(data), entry_depth(data),
                )
            ):  # fmt: skip
                sp.tree_count += 1
            goes_on = ply + 1 < TREE_PLIES and entry_depth(data) > least
        if not goes_on:
            unmake(pos)
            continue
        first = end[ply]
        ply += 1
        at[ply] = first
        end[ply] = legal_moves(pos, first, np.int64(1))
