"""The input and output of a game of self-play, as one Record for compiled code."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import from_dtype

from worker.jit.memory import aligned_zeros

LONGEST_GAME: Final = 512
"""Maximum number of moves of a game, without those of its opening."""

# The ways a game ends.
MATE_END: Final = 1
"""The side to move has no legal move."""
ADJUDICATED: Final = 2
DECLARED: Final = 3
REPEATED: Final = 4
"""The same position for the fourth time, without perpetual check: a draw."""
PERPETUAL: Final = 5
"""The same, and one side gave check throughout: it has lost."""
MOVE_LIMIT: Final = 6
"""A draw."""
END_NAMES: Final = {
    MATE_END: "mate",
    ADJUDICATED: "adjudicated",
    DECLARED: "declaration",
    REPEATED: "repetition",
    PERPETUAL: "perpetual check",
    MOVE_LIMIT: "move limit",
}

SP_DTYPE: Final = np.dtype(
    [
        # Settings.
        ("random", np.uint64),  # state of the generator (lab.selfplay.game)
        ("soft_nodes", np.int64),  # no iteration begins after this number of nodes
        ("loud_nodes", np.int64),  # nor after this one in a loud position (lab.selfplay.walk.is_loud)
        ("hard_nodes", np.int64),  # an iteration that reaches it is aborted
        ("opening_nodes", np.int64),  # soft limit of the search that judges an opening
        ("quick_nodes", np.int64),  # soft limit of the searches on the way to an unusual position
        ("decided", np.int64),  # a score from which a position counts as won; 0: never
        ("decided_plies", np.int64),  # this number of such scores in a row ends a game
        ("few_pieces", np.int64),  # with this number on the board or fewer the game goes on
        ("most_moves", np.int64),
        ("natural", np.int64),  # centipawns: how much worse than the best an opening's move may be; 0: any move
        # The game.
        ("count", np.int64),
        ("moves", np.uint16, (LONGEST_GAME,)),  # the low 16 bits of each move
        ("scores", np.int16, (LONGEST_GAME,)),  # from the side to move
        ("result", np.int64),  # 1: black has won, -1: white, 0: a draw
        ("end", np.int64),  # the way it ended, by the numbers above
        # Counted over all games.
        ("nodes", np.int64),  # nodes of the recorded moves
        ("rejected", np.int64),  # rejected openings
    ],
    align=True,
)
SP: Final = from_dtype(SP_DTYPE)
"""The numba type."""


def new_record() -> Any:
    """An empty Record (a ``np.record`` of `SP_DTYPE`)."""
    return aligned_zeros(1, SP_DTYPE).view(np.recarray)[0]
