"""df-pn: depth-first proof-number search of AND/OR trees.

A. Nagai, "Df-pn algorithm for searching AND/OR trees and its applications" (PhD thesis, Tokyo 2002), with later
additions: weak proof numbers (T. Ueda, T. Hashimoto, J. Hashimoto, H. Iida, "Weak proof-number search", CG 2008), the
1+ε trick for thresholds (J. Pawlewicz, Ł. Lew, "Improving depth-first pn-search: 1+ε trick", CG 2006), and disproofs by
repetition stored separately by path (after A. Kishimoto, M. Müller, "A general solution to the graph history
interaction problem", AAAI 2004).

A proof never depends on the path: each of its leaves is a mate, and repetition only counts against the attacker. A
disproof may depend on it; then it is stored for that path only, up to the node at which all its loops close; there it
becomes valid everywhere.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from worker.jit import jit
from worker.jit.memory import atomic_ld64
from worker.jit.system import monotonic_ns
from worker.mate.expansion import conclude, evaluate, expand, hand_after, path_after, path_pop, path_push
from worker.mate.state import ABSOLUTE, BY_LIMIT, CHILDREN, INFINITE, MAX_DEPTH, MOST_CHILDREN
from worker.mate.table import FIRST, MAY_LOOP, collect_garbage, shorten, store, store_loop
from worker.shogi.attacks import update_checks
from worker.shogi.makemove import make, unmake

_POLL_NODES: Final = 256

MATED: Final = 0
"""`line_step`: the defender has no move left."""
UNDECIDED: Final = -1
"""`line_step`: the table has lost entries that the proof needs."""


@jit()
def _poll(ms: Any) -> None:
    """Check the stop flag, the clock and the node limit."""
    ms.next_poll = min(ms.nodes + _POLL_NODES, ms.node_limit)
    late = ms.deadline_ns != 0 and monotonic_ns() >= ms.deadline_ns
    if late or ms.nodes >= ms.node_limit or atomic_ld64(ms.stop_flag) != 0:
        ms.stopped = 1


@jit()
def descend(pos: Any, ms: Any, depth: int, child: int) -> None:
    """Make the move of a child of the node at ``depth``."""
    board = ms.c_board[child]
    path = path_after(ms.path_key[depth], board, ms.c_hand[child])
    path_push(ms, depth + 1, board, ms.c_hand[child], path)
    make(pos, ms.c_move[child])
    update_checks(pos)


@jit(whole=True)
def search(pos: Any, ms: Any, depth: int, begin: int, phi_limit: int, delta_limit: int) -> None:
    """Search the current position, ``depth`` plies down the path, until one of its numbers reaches its limit.

    Children go to the stack from ``begin`` on, the result to ``ms.r_*``.
    """
    ms.nodes += 1
    if ms.nodes >= ms.next_poll:
        _poll(ms)
    attacks = pos.side == ms.attacker
    if depth >= MAX_DEPTH or begin + MOST_CHILDREN > CHILDREN:
        ms.r_phi = INFINITE if attacks else np.int64(0)
        ms.r_delta = np.int64(0) if attacks else np.int64(INFINITE)
        ms.r_hand = ms.path_hand[depth]
        ms.r_length = 0
        ms.r_rests = BY_LIMIT
        return
    if ms.used > ms.most_used:
        collect_garbage(ms)
    nodes_before = ms.nodes - 1
    end = expand(pos, ms, depth, begin)
    while True:
        evaluate(ms, begin, end, attacks)
        phi = ms.phi
        delta = ms.delta
        if phi >= phi_limit or delta >= delta_limit or phi == 0 or delta == 0 or ms.stopped != 0:
            break
        best = ms.best
        child_delta = min(phi_limit, ms.second + 1 + (ms.second >> 2))
        child_phi = delta_limit - ms.rest
        descend(pos, ms, depth, best)
        search(pos, ms, depth + 1, end, child_phi, child_delta)
        path_pop(ms, depth + 1)
        unmake(pos)
        ms.c_phi[best] = ms.r_delta
        ms.c_delta[best] = ms.r_phi
        if ms.r_phi == 0 or ms.r_delta == 0:
            ms.c_hand[best] = ms.r_hand
            ms.c_length[best] = ms.r_length
            ms.c_rests[best] = ms.r_rests
    ms.r_phi = phi
    ms.r_delta = delta
    board = ms.path_board[depth]
    hand = ms.path_hand[depth]
    work = ms.nodes - nodes_before
    pn = phi if attacks else delta
    dn = delta if attacks else phi
    if phi != 0 and delta != 0:
        store(ms, board, hand, pn, dn, hand, np.int64(0), depth, work, np.int64(0))
        return
    conclude(pos, ms, depth, begin, end)
    if ms.r_rests >= depth:
        ms.r_rests = ABSOLUTE
        store(ms, board, hand, pn, dn, ms.r_hand, ms.r_length, depth, work, np.int64(0))
    else:
        ms.r_hand = hand
        store_loop(ms, ms.path_key[depth], ms.r_rests)
        store(ms, board, hand, np.int64(FIRST), np.int64(FIRST), hand, np.int64(0), depth, work, np.int64(MAY_LOOP))


@jit()
def line_step(pos: Any, ms: Any, depth: int, end: int) -> Any:
    """Go one move down a proof, along the shortest known mate or the longest known defence. Returns the move.

    The children of the current position, from 0 to ``end``, are evaluated. `MATED`: there are none; `UNDECIDED`: they
    do not prove the mate.
    """
    attacks = pos.side == ms.attacker
    if (ms.phi if attacks else ms.delta) != 0 or depth + 1 >= MAX_DEPTH:
        return np.int64(UNDECIDED)
    best = np.int64(-1)
    for i in range(end):
        if attacks:
            if ms.c_phi[i] == 0 and (best < 0 or ms.c_length[i] < ms.c_length[best]):
                best = np.int64(i)
        elif best < 0 or ms.c_length[i] > ms.c_length[best]:
            best = np.int64(i)
    if best < 0:
        return np.int64(MATED)
    move = ms.c_move[best]
    # The child has the hand that its proof needs; the path gets the actual hand.
    ms.c_hand[best] = hand_after(pos, move, ms.path_hand[depth]) if attacks else ms.path_hand[depth]
    descend(pos, ms, depth, best)
    return move


@jit()
def line_back(pos: Any, ms: Any, depth: int) -> None:
    """Go back up to ``depth``, and store the length of the mate from there according to the table now.

    Lengths are bounds: if a shorter proof was found later, those above it are too large. The result is in ``r_*``.
    """
    path_pop(ms, depth + 1)
    unmake(pos)
    attacks = pos.side == ms.attacker
    end = expand(pos, ms, depth, np.int64(0))
    evaluate(ms, np.int64(0), end, attacks)
    if (ms.phi if attacks else ms.delta) == 0:
        conclude(pos, ms, depth, np.int64(0), end)
        shorten(ms, ms.path_board[depth], ms.r_hand, ms.r_length)
