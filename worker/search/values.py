"""Piece values for ordering and exchanges, in centipawns. The evaluation proper is the network's.

The values are Apery's and YaneuraOu's (published). A piece counts once, not for its loss and again for the other side's
gain: it is the unit that margins of exchanges are given in.
"""

from __future__ import annotations

from typing import Final

import numpy as np

PIECE_VALUE: Final = (0, 90, 315, 405, 495, 855, 990, 540, 15000, 540, 540, 540, 540, 945, 1395, 0)
"""By piece type."""

VALUE: Final = np.array(PIECE_VALUE, np.int64)
"""int64[16], by piece type: what its capture gains."""

PROMOTION_GAIN: Final = np.array(
    [PIECE_VALUE[kind + 8] - PIECE_VALUE[kind] if 1 <= kind <= 6 else 0 for kind in range(16)], np.int64
)
"""int64[16], by unpromoted type: what promoting adds."""
