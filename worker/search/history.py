"""What ordering learns: butterfly, capture and continuation histories, killers. Updated with gravity."""

from __future__ import annotations

from typing import Any

import numpy as np

from worker.jit import jit
from worker.jit.memory import ld16, st16
from worker.search.parts import part
from worker.search.state import H_BUTTERFLY, H_CAPTURE, H_CONTINUATION, HISTORY_LIMIT, OFFSET, SLOTS
from worker.shogi.pieces import DROP_BIT

_CONTINUATION = part("continuation_history")
MAX_BONUS = 1600


@jit()
def slot_of(move: int) -> Any:
    """The slot of a move: the piece as it stands after the move, on its target."""
    return ((move >> 16) | ((move >> 11) & 8)) * 81 + (move & 127)


@jit()
def butterfly_address(th: Any, move: int) -> Any:
    origin = (move >> 7) & 127
    if move & DROP_BIT:
        origin += 81
    return th.histories + H_BUTTERFLY + (((move >> 20) * 96 + origin) * 81 + (move & 127)) * 2


@jit()
def capture_address(th: Any, move: int, captured: int) -> Any:
    return th.histories + H_CAPTURE + (slot_of(move) * 16 + (captured & 15)) * 2


@jit()
def continuation_row(th: Any, ply: int, back: int) -> Any:
    """The address of the row of the move made ``back`` plies before search ply ``ply``."""
    return th.histories + H_CONTINUATION + th.slot[OFFSET + ply - back] * (SLOTS * 2)


@jit()
def quiet_history(th: Any, ply: int, move: int) -> Any:
    """How well a quiet move has done: its own history and those after the last moves (int64)."""
    slot = slot_of(move) * 2
    total = 2 * ld16(butterfly_address(th, move))
    if not _CONTINUATION:
        return 3 * total
    total += 2 * ld16(continuation_row(th, ply, np.int64(1)) + slot)
    total += ld16(continuation_row(th, ply, np.int64(2)) + slot)
    return total + ld16(continuation_row(th, ply, np.int64(4)) + slot)


@jit()
def learn(address: int, bonus: int) -> None:
    """Move an int16 towards ± `HISTORY_LIMIT` by ``bonus``, the less the nearer it is."""
    value = ld16(address)
    st16(address, value + bonus - value * abs(bonus) // HISTORY_LIMIT)


@jit()
def learn_quiet(th: Any, ply: int, move: int, bonus: int) -> None:
    learn(butterfly_address(th, move), bonus)
    if not _CONTINUATION:
        return
    slot = slot_of(move) * 2
    learn(continuation_row(th, ply, np.int64(1)) + slot, bonus)
    learn(continuation_row(th, ply, np.int64(2)) + slot, bonus)
    learn(continuation_row(th, ply, np.int64(4)) + slot, bonus // 2)


@jit()
def bonus_of(depth: int) -> Any:
    """The bonus of a cut-off at ``depth``."""
    return min(MAX_BONUS, 140 * depth - 60)


@jit()
def add_killer(th: Any, ply: int, move: int) -> None:
    at = 2 * (OFFSET + ply)
    if th.killers[at] != move:
        th.killers[at + 1] = th.killers[at]
        th.killers[at] = move
