"""The bench: fixed positions to fixed depths with one thread. Its signature shows whether the search has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from worker.engine import Limits
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS

POSITIONS: Final = (
    STARTPOS,
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "ln1g4l/1ks1gr3/1ppp1s1p1/p3ppp1p/1P5P1/P1P1P1P1P/1S1PSP3/1KG1G2R1/LN5NL b Bbn 1",
    "l4S2l/4g1gs1/5p1p1/pr2N1pkp/4Gn3/PP3PPPP/2GPP4/1K7/L3r+s2L w BS2N5Pb 1",
    "6n1l/2+S1k4/2lp4p/1np1B2b1/3PP4/1N1S3rP/1P2+pPP+p1/1p1G5/3KG2r1 b GSN2L4Pgs2p 1",
)
"""The start position, and middle-game and endgame positions common in shogi benchmarks."""
DEFAULT_DEPTH: Final = 12
HASH_MB: Final = 64


@dataclass(frozen=True, slots=True)
class BenchResult:
    """``nodes`` by position, the total time in ms, and a hash of the node counts."""

    nodes: tuple[int, ...]
    time_ms: int

    @property
    def total(self) -> int:
        return sum(self.nodes)

    @property
    def nps(self) -> int:
        return self.total * 1000 // max(1, self.time_ms)

    @property
    def signature(self) -> str:
        return hashlib.sha256(",".join(map(str, self.nodes)).encode()).hexdigest()[:16]


def run_bench(
    depth: int = DEFAULT_DEPTH,
    eval_file: str | None = None,
    on_position: Callable[[int, int], None] | None = None,
    architecture: str = "",
) -> BenchResult:
    """Search each of `POSITIONS` to ``depth`` plies with one thread and a fresh table.

    Args:
        eval_file: a network file; None: the packaged one.
        on_position: called with (number, nodes) after each position.
        architecture: the network's shape, if the file does not say.
    """
    engine = NumbaEngine(hash_mb=HASH_MB, threads=1, eval_file=eval_file, architecture=architecture)
    counts: list[int] = []
    spent = 0
    for number, sfen in enumerate(POSITIONS):
        engine.new_game()
        engine.set_position(sfen)
        result = engine.go(Limits(depth=depth))
        counts.append(result.nodes)
        spent += result.time_ms
        if on_position is not None:
            on_position(number, result.nodes)
    engine.close()
    return BenchResult(tuple(counts), spent)
