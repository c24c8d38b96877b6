"""One scale for the scores of a fleet whose engines evaluate differently: equal scores mean equal chances to win. Pure.

A chance to win is 1 / (1 + exp(-score / win_scale)), and each engine has its own ``win_scale``. So chances are compared
by comparing scores in proportion to it. Every message has scores on the scale of our own network (`WIN_SCALE`); the
node converts them, so that its master compares, adds and shows them without a thought of engines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from worker.score import MAX_EVAL, WIN_SCALE, is_mate


@dataclass(frozen=True, slots=True)
class Scale:
    """An engine's scale. Mates are the same on every scale.

    Args:
        win_scale: centipawns of the engine at which the odds of the side ahead are e to 1; above 0.
    """

    win_scale: float = WIN_SCALE

    def common(self, score: int) -> int:
        """An engine's score on the fleet's scale."""
        return score if is_mate(score) else _within(round(score * WIN_SCALE / self.win_scale))

    def own(self, score: int) -> int:
        """A score of the fleet on the engine's scale."""
        return score if is_mate(score) else _within(round(self._exactly(score)))

    def window(self, alpha: int | None, beta: int | None) -> tuple[int | None, int | None]:
        """The narrowest window on the engine's scale that contains that of the fleet; it is never empty."""
        return (
            alpha if alpha is None or is_mate(alpha) else _within(math.floor(self._exactly(alpha))),
            beta if beta is None or is_mate(beta) else _within(math.ceil(self._exactly(beta))),
        )

    def _exactly(self, score: int) -> float:
        return score if self.win_scale == WIN_SCALE else score * self.win_scale / WIN_SCALE


def _within(score: int) -> int:
    return max(-MAX_EVAL, min(MAX_EVAL, score))
