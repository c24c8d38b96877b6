"""What every node of the tree does: look at the clock, see whether the game is over, make a move, keep the line."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.clock import monotonic_ns
from worker.jit.handover import hand_over
from worker.jit.memory import atomic_ld64
from worker.score import MATE, MAX_EVAL, NO_SCORE
from worker.search.history import slot_of
from worker.search.state import OFFSET, PV_ROW
from worker.search.tt import prefetch_entry
from worker.shogi.declaration import wins_by
from worker.shogi.makemove import make, perpetual_check, repetition_distance

POLL_NODES: Final = 1024
"""Nodes between two looks at the stop flag and the clock: about a millisecond."""
REPETITION_WINDOW: Final = 24
"""Plies back in which the tree looks for a repetition."""
REPETITION_WIN: Final = MAX_EVAL
"""A win by the opponent's perpetual check: above every evaluation, below every mate."""


@jit()
def poll(th: Any) -> None:
    """Look at the node limit, the stop flag and the clock; set ``stopped`` where one of them says so."""
    if th.nodes >= th.pause_at:
        hand_over(th.pause_done, th.pause_go)
    if th.nodes >= th.node_limit or atomic_ld64(th.stop_flag) != 0:
        th.stopped = 1
    elif th.deadline_ns != 0 and monotonic_ns() >= th.deadline_ns:
        th.stopped = 1
    th.next_poll = min(th.nodes + POLL_NODES, th.node_limit, th.pause_at)


@jit()
def fourth_time(pos: Any, distance: int) -> Any:
    """Plies back to the third time before this one that the position stood, 0 where it stood less often.

    ``distance``: to the last time.
    """
    times = np.int64(1)
    at = pos.ply - distance - 2
    while at >= 0:
        if pos.st_key[at] == pos.key:
            times += 1
            if times == 3:
                return pos.ply - at
        at -= 2
    return np.int64(0)


@jit()
def game_end_score(pos: Any, th: Any, ply: int) -> Any:
    """The score where the rules end the game here without a mate, `NO_SCORE` otherwise.

    The move limit comes first (it draws a mate too), then a position that stood before in the tree, or for the fourth
    time in the game, then a declaration. A position of the game that comes back for the second time is no draw yet: the
    other side may still turn away from it.

    Expects `update_checks`.
    """
    if pos.ply >= th.draw_ply:
        return th.draw_value[pos.side]
    distance = repetition_distance(pos, max(np.int64(0), pos.ply - REPETITION_WINDOW))
    if distance >= ply:
        distance = fourth_time(pos, distance)
    if distance == 0:
        if wins_by(pos, th.entering_rule):
            return np.int64(MATE - 1) - ply
        return np.int64(NO_SCORE)
    checker = perpetual_check(pos, distance)
    if checker > 0:
        return np.int64(-REPETITION_WIN) + ply
    if checker < 0:
        return np.int64(REPETITION_WIN) - ply
    return th.draw_value[pos.side]


@jit()
def update_pv(th: Any, ply: int, move: int) -> None:
    """The line from ``ply``: ``move``, then the child's line."""
    row = ply * PV_ROW
    child = (ply + 1) * PV_ROW
    length = th.pv_length[ply + 1]
    th.pv[row] = move
    for i in range(length):
        th.pv[row + 1 + i] = th.pv[child + i]
    th.pv_length[ply] = length + 1


@jit()
def do_move(pos: Any, th: Any, ply: int, move: int) -> None:
    """Make a move of the tree."""
    th.nodes += 1
    th.slot[OFFSET + ply] = slot_of(move)
    make(pos, move)
    prefetch_entry(th, pos.key)
