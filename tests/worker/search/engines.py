"""An engine that several files use, in its state at the start of a game."""

from __future__ import annotations

from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS

MATE_IN_3 = "g2g1k3/2s4+R1/4p4/1p1p4+S/2p1BPP2/P5p2/1PPPP2NP/2S1K2PL/LN1GGS1N1 b 4P 72"
"""Met in random games, with the plies of the shortest mate."""


def fresh(engine: NumbaEngine, sfen: str = STARTPOS, moves: tuple[str, ...] = ()) -> NumbaEngine:
    """The engine with an empty table, at a position."""
    engine.new_game()
    engine.set_position(sfen, moves)
    return engine
