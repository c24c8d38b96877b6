"""A node of the mate search: its children, their numbers, and its own numbers and result."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.bits import count, holds, lowest
from worker.mate.state import (
    ABSOLUTE,
    BY_HISTORY,
    HISTORY,
    INFINITE,
    PATH_SLOTS,
    covers,
    fewest,
    hand_of,
    held,
    kind_field,
    most,
    one_of,
)
from worker.mate.table import MAY_LOOP, loop_of, prefetch_chain, probe_child
from worker.shogi import tables
from worker.shogi.attacks import all_squares, between, checkers, in_check, pieces
from worker.shogi.checks import board_checks, discoverers, drop_checks, drop_squares, keep_checks
from worker.shogi.makemove import is_legal, zobrist_board
from worker.shogi.movegen import generate_evasions, zone
from worker.shogi.pieces import BISHOP, DROP_BIT, GOLD, LANCE, PAWN, PROMOTE_BIT, ROOK


@jit()
def forcing_moves(pos: Any, n: int, attacks: bool) -> int:
    """Write the legal moves of a mate search to ``pos.moves`` from ``n`` on and return the end.

    ``attacks``: those that give check (the enemy king must be on the board). Else: the answers to a check, in which the
    side to move must be. Expects `attacks.update_checks`. A promotion comes before the same move without promotion;
    drops are ordered from pawn to gold.
    """
    begin = n
    if in_check(pos):
        n = generate_evasions(pos, n, np.int64(1))
        if attacks:
            n = keep_checks(pos, begin, n, discoverers(pos))
    elif attacks:
        n = drop_checks(pos, board_checks(pos, n, all_squares() & ~pieces(pos, pos.side * 16), discoverers(pos)))
    kept = begin
    for i in range(begin, n):
        move = pos.moves[i]
        if is_legal(pos, move, n):
            pos.moves[kept] = move
            kept += 1
    return kept


_SIDE = tables.ZOBRIST_SIDE
_MIX = np.uint64(0x9E3779B97F4A7C15)
_NOWHERE = -3


@jit()
def path_push(ms: Any, index: int, board: Any, hand: int, path: Any) -> None:
    """Put a position on the path."""
    ms.path_board[index] = board
    ms.path_hand[index] = hand
    ms.path_key[index] = path
    slot = np.int64(board >> np.uint64(32)) & (PATH_SLOTS - 1)
    while ms.path_table[slot] != 0:
        slot = (slot + 1) & (PATH_SLOTS - 1)
    ms.path_table[slot] = index + 1
    ms.path_slot[index] = slot


@jit()
def path_pop(ms: Any, index: int) -> None:
    """Remove the last position from the path."""
    ms.path_table[ms.path_slot[index]] = 0


@jit()
def path_after(path: Any, board: Any, hand: int) -> Any:
    """The key of a path extended by a position. It depends on the order."""
    return ((path ^ board) + np.uint64(hand)) * _MIX ^ (path >> np.uint64(29))


@jit()
def _repeats(ms: Any, board: Any, hand: int) -> Any:
    """The deepest index on the path with this board and at least as large a hand for the attacker; ABSOLUTE: none.

    The attacker has gained nothing since: the shortest mate from there, if any, does not return here.
    """
    found = np.int64(_NOWHERE)
    slot = np.int64(board >> np.uint64(32)) & (PATH_SLOTS - 1)
    while ms.path_table[slot] != 0:
        index = ms.path_table[slot] - 1
        if ms.path_board[index] == board:
            if index >= HISTORY:
                if ms.path_hand[index] == hand:
                    found = max(found, np.int64(BY_HISTORY))
            elif covers(ms.path_hand[index], hand):
                found = max(found, index)
        slot = (slot + 1) & (PATH_SLOTS - 1)
    if found == _NOWHERE:
        return np.int64(ABSOLUTE)
    return found


@jit()
def hand_after(pos: Any, move: int, hand: int) -> Any:
    """The attacker's hand after a move by the attacker."""
    if move & DROP_BIT:
        return hand - one_of((move >> 16) & 15)
    captured = np.int64(pos.board[move & 127])
    if captured != 0:
        return hand + one_of(captured & 7)
    return hand


@jit()
def _chain(pos: Any, ms: Any, begin: int, end: int, attacks: bool) -> None:
    """Delay moves that hardly ever differ from an earlier one: the same move without promotion, and interpositions of
    other pieces on the same square. Each wakes when the one before it has failed."""
    if attacks:
        camp = zone(pos, pos.side)
        for i in range(begin, end):
            move = ms.c_move[i]
            kind = (move >> 16) & 15
            if (move & (DROP_BIT | PROMOTE_BIT)) or kind not in (PAWN, LANCE, BISHOP, ROOK):
                continue
            if holds(camp, move & 127) or holds(camp, (move >> 7) & 127):
                for j in range(begin, i):
                    if ms.c_move[j] == move | PROMOTE_BIT:
                        ms.c_next[j] = i
                        ms.c_waits[i] = 1
                        break
        return
    for i in range(begin, end):
        if ms.c_move[i] & DROP_BIT:
            ms.latest_drop[ms.c_move[i] & 127] = -1
    for i in range(begin, end):
        if ms.c_move[i] & DROP_BIT:
            target = ms.c_move[i] & 127
            before = ms.latest_drop[target]
            if before >= 0:
                ms.c_next[before] = i
                ms.c_waits[i] = 1
            ms.latest_drop[target] = i


@jit()
def expand(pos: Any, ms: Any, depth: int, begin: int) -> Any:
    """Write the children of the current position from ``begin`` on and return the end."""
    attacks = pos.side == ms.attacker
    moves = forcing_moves(pos, np.int64(0), attacks)
    board = ms.path_board[depth] ^ _SIDE
    hand = ms.path_hand[depth]
    path = ms.path_key[depth]
    for m in range(moves):
        move = pos.moves[m]
        i = begin + m
        target = move & 127
        piece = move >> 16
        child = board
        if move & DROP_BIT:
            child ^= zobrist_board(pos, piece, target)
        else:
            captured = np.int64(pos.board[target])
            child ^= zobrist_board(pos, piece, (move >> 7) & 127)
            child ^= zobrist_board(pos, piece | ((move >> 11) & 8), target)
            if captured != 0:
                child ^= zobrist_board(pos, captured, target)
        ms.c_move[i] = move
        ms.c_board[i] = child
        ms.c_hand[i] = hand_after(pos, move, hand) if attacks else hand
        ms.c_length[i] = 0
        ms.c_rests[i] = ABSOLUTE
        ms.c_next[i] = -1
        ms.c_waits[i] = 0
        prefetch_chain(ms, child)
    end = begin + moves
    for i in range(begin, end):
        rests = _repeats(ms, ms.c_board[i], ms.c_hand[i])
        if rests == ABSOLUTE:
            flags = probe_child(ms, i, depth + 1, attacks)
            if flags & MAY_LOOP:
                rests = loop_of(ms, path_after(path, ms.c_board[i], ms.c_hand[i]))
        if rests != ABSOLUTE:
            ms.c_rests[i] = rests
            ms.c_phi[i] = INFINITE if attacks else np.int64(0)
            ms.c_delta[i] = np.int64(0) if attacks else np.int64(INFINITE)
    _chain(pos, ms, begin, end, attacks)
    return end


@jit()
def evaluate(ms: Any, begin: int, end: int, attacks: bool) -> None:
    """From the children: the node's numbers, its best child, the runner-up, and what the others add to ``delta``.

    ``delta`` is the hardest child's number plus one for each other child: weak proof numbers (Ueda et al. 2008). Sums
    count work that several children share once for each child, and explode in long problems. Evasions share less than
    checks, so a quarter of their numbers is added (measured on problems of 15 to 611 plies).
    """
    best = np.int64(-1)
    phi = np.int64(INFINITE)
    second = np.int64(INFINITE)
    hardest = np.int64(0)
    total = np.int64(0)
    alive = np.int64(0)
    for i in range(begin, end):
        if ms.c_phi[i] == 0:
            ms.best = i
            ms.phi = 0
            ms.delta = INFINITE
            return
        if ms.c_waits[i] != 0:
            continue
        if ms.c_delta[i] == 0:
            # Lost for the mover: the child that waited for it is next.
            j = ms.c_next[i]
            if j >= 0:
                ms.c_waits[j] = 0
            continue
        alive += 1
        hardest = max(hardest, ms.c_delta[i])
        if not attacks:
            total += ms.c_delta[i]
        if best < 0 or ms.c_phi[i] < phi or (ms.c_phi[i] == phi and ms.c_delta[i] < ms.c_delta[best]):
            second = phi
            best = np.int64(i)
            phi = ms.c_phi[i]
        else:
            second = min(second, ms.c_phi[i])
    ms.best = best
    ms.phi = phi
    ms.second = second
    if best < 0:
        ms.delta = 0
        return
    ms.rest = alive - 1
    ms.delta = hardest + alive - 1
    if not attacks:
        ms.rest += (total - ms.c_delta[best]) >> 2
        ms.delta += (total - hardest) >> 2
    ms.delta = min(ms.delta, np.int64(INFINITE - 1))


@jit()
def _pool(pos: Any) -> Any:
    """All pieces in hand of both sides: the most that the attacker could hold here."""
    return hand_of(pos, np.int64(0)) + hand_of(pos, np.int64(1))


@jit()
def _proof_by_evasions(pos: Any, ms: Any, depth: int, begin: int, end: int) -> None:
    """The proof hand of a position in which every evasion fails."""
    needed = np.int64(0)
    length = np.int64(0)
    for i in range(begin, end):
        needed = most(needed, ms.c_hand[i])
        length = max(length, ms.c_length[i] + 1)
    checking = checkers(pos)
    if count(checking) == 1 and between(pos, pos.ksq[pos.side], lowest(checking)):
        # The defender cannot interpose a piece that he does not have: the attacker must keep those pieces.
        mine = ms.path_hand[depth]
        for kind in range(PAWN, GOLD + 1):
            if pos.hand[pos.side * 8 + kind] == 0:
                needed = (needed & ~kind_field(kind)) | (mine & kind_field(kind))
    ms.r_hand = needed
    ms.r_length = length


@jit()
def _disproof_by_checks(pos: Any, ms: Any, depth: int, begin: int, end: int) -> None:
    """The disproof hand of a position in which every check fails: the largest hand with which all still fail."""
    mine = ms.path_hand[depth]
    allowed = _pool(pos)
    for kind in range(PAWN, GOLD + 1):
        if held(mine, kind) == 0 and drop_squares(pos, kind):
            allowed &= ~kind_field(kind)
    rests = np.int64(ABSOLUTE)
    for i in range(begin, end):
        move = ms.c_move[i]
        hand = ms.c_hand[i]
        if move & DROP_BIT:
            # The child's hand may be as large as its pool, which lacks the piece on the board: no field overflows.
            hand += one_of((move >> 16) & 15)
        elif pos.board[move & 127] != 0:
            hand -= one_of(np.int64(pos.board[move & 127]) & 7)
        allowed = fewest(allowed, hand)
        rests = min(rests, ms.c_rests[i])
    ms.r_hand = allowed
    ms.r_rests = rests


@jit()
def conclude(pos: Any, ms: Any, depth: int, begin: int, end: int) -> None:
    """The result of a node that its last `evaluate` decided: hand, length, and the basis of a disproof."""
    attacks = pos.side == ms.attacker
    ms.r_length = 0
    ms.r_rests = ABSOLUTE
    if attacks and ms.phi != 0:
        _disproof_by_checks(pos, ms, depth, begin, end)
        return
    if not attacks and ms.phi != 0:
        _proof_by_evasions(pos, ms, depth, begin, end)
        return
    best = ms.best
    if attacks:
        for i in range(begin, end):
            if ms.c_phi[i] == 0 and ms.c_length[i] < ms.c_length[best]:
                best = i
        ms.best = best
        move = ms.c_move[best]
        hand = ms.c_hand[best]
        if move & DROP_BIT:
            hand += one_of((move >> 16) & 15)
        elif pos.board[move & 127] != 0:
            kind = np.int64(pos.board[move & 127]) & 7
            if held(hand, kind) > 0:
                hand -= one_of(kind)
        ms.r_hand = hand
        ms.r_length = ms.c_length[best] + 1
        return
    for i in range(begin, end):
        if ms.c_phi[i] == 0 and ms.c_rests[i] > ms.c_rests[best]:
            best = i
    ms.best = best
    move = ms.c_move[best]
    allowed = _pool(pos)
    if move & DROP_BIT:
        allowed -= one_of((move >> 16) & 15)
    ms.r_hand = fewest(allowed, ms.c_hand[best])
    ms.r_rests = ms.c_rests[best]
