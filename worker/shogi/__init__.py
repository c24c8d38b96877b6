"""The rules of shogi. `Position` is the interface; compiled functions of other packages take ``Position.record``."""

from worker.shogi.notation import MoveError, move_to_csa, move_to_usi
from worker.shogi.position import Position, Repetition
from worker.shogi.sfen import HANDICAPS, STARTPOS, SfenError

__all__ = [
    "HANDICAPS",
    "STARTPOS",
    "MoveError",
    "Position",
    "Repetition",
    "SfenError",
    "move_to_csa",
    "move_to_usi",
]
