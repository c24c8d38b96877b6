"""The truth about a small position: its whole graph of checks and evasions, solved by retrograde iteration.

No numbers, no hand dominance, no table replacement: nothing in common with the solver but the rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.mate.expansion import forcing_moves
from worker.shogi import Position
from worker.shogi.attacks import update_checks
from worker.shogi.makemove import make, unmake

_SLOTS = 1 << 13
_DEEPEST = 1000


@jit()
def _number(keys: Any, numbers: Any, key: Any, known: int) -> int:
    """The node of a key; ``known`` where it is new."""
    slot = np.int64(key >> np.uint64(40)) & (_SLOTS - 1)
    while numbers[slot] >= 0:
        if keys[slot] == key:
            return numbers[slot]
        slot = (slot + 1) & (_SLOTS - 1)
    keys[slot] = key
    numbers[slot] = known
    return known


@jit()
def _graph(pos: Any, cap: int, keys: Any, numbers: Any, sources: Any, targets: Any, counts: Any) -> None:
    """Breadth first. counts: nodes, edges; nodes -1 where ``cap`` or the room for edges is too small."""
    attacker = pos.side
    parents = np.zeros(cap + 1, np.int64)
    by_move = np.zeros(cap + 1, np.int64)
    line = np.zeros(_DEEPEST, np.int64)
    known = 1
    edges = 0
    _number(keys, numbers, pos.key, 0)
    node = 0
    while node < known:
        plies = 0
        at = node
        while at != 0:
            line[plies] = by_move[at]
            at = parents[at]
            plies += 1
        for i in range(plies):
            make(pos, line[plies - 1 - i])
        update_checks(pos)
        n = forcing_moves(pos, np.int64(0), pos.side == attacker)
        for i in range(n):
            move = pos.moves[i]
            make(pos, move)
            number = _number(keys, numbers, pos.key, known)
            unmake(pos)
            sources[edges] = node
            targets[edges] = number
            edges += 1
            if number == known:
                parents[known] = node
                by_move[known] = move
                known += 1
            if known >= cap or edges >= len(sources) or plies >= _DEEPEST - 1:
                counts[0] = -1
                return
        for _ in range(plies):
            unmake(pos)
        node += 1
    counts[0] = known
    counts[1] = edges


@jit()
def _iterate(attacks: Any, sources: Any, targets: Any, edges: int, mates: Any) -> None:
    """Least fixpoint: an attacker's node mates where a child does, a defender's where all do."""
    changed = True
    open_children = np.zeros(len(mates), np.int64)
    while changed:
        changed = False
        open_children[:] = 0
        for i in range(edges):
            if not mates[targets[i]]:
                open_children[sources[i]] += 1
            elif attacks[sources[i]] and not mates[sources[i]]:
                mates[sources[i]] = True
                changed = True
        for node in range(len(mates)):
            if not attacks[node] and not mates[node] and open_children[node] == 0:
                mates[node] = True
                changed = True


def mates(position: Position, cap: int = 2000) -> tuple[bool, int] | None:
    """Whether the side to move mates by checks alone, and the graph's size; None where it exceeds ``cap`` (≤ 4000)."""
    keys = np.zeros(_SLOTS, np.uint64)
    numbers = np.full(_SLOTS, -1, np.int64)
    sources = np.zeros(8 * cap, np.int64)
    targets = np.zeros(8 * cap, np.int64)
    counts = np.zeros(2, np.int64)
    copy = position.copy()
    _graph(copy.record, cap, keys, numbers, sources, targets, counts)
    if counts[0] < 0:
        return None
    total, edges = int(counts[0]), int(counts[1])
    # The side to move is bit 0 of a key.
    attacks = np.zeros(total, np.bool_)
    found = numbers >= 0
    attacks[numbers[found]] = (keys[found] & np.uint64(1)) == np.uint64(position.key & 1)
    result = np.zeros(total, np.bool_)
    _iterate(attacks, sources, targets, edges, result)
    return bool(result[0]), total


@jit()
def mates_within(pos: Any, n: int, plies: int) -> bool:
    """Brute force: whether the side to move mates by checks within ``plies`` (odd). Expects `update_checks`."""
    end = forcing_moves(pos, n, True)
    for i in range(n, end):
        make(pos, pos.moves[i])
        update_checks(pos)
        replies = forcing_moves(pos, end, False)
        mated = True
        if replies > end and plies <= 1:
            mated = False
        for j in range(end, replies):
            if not mated:
                break
            make(pos, pos.moves[j])
            update_checks(pos)
            mated = mates_within(pos, replies, plies - 2)
            unmake(pos)
        unmake(pos)
        if mated:
            return True
    return False
