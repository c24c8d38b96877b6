"""The share of games that a side does not lose although its score was very low on several own moves in a row.

The games are teacher games that were played to the end (``gougi selfplay``, 10 % of them). It prints for several scores
how often a side's score was that low, how often it still won or drew, and the points that resigning would cost. With
``--label-share`` the moves in a row are those that have a score.

    python benchmarks/resignation.py runs/games2 [--moves 4] [--scores 1000,2000,3000]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from lab.selfplay.folder import shards_in
from lab.selfplay.shard import PLAYED_OUT, TeacherGame
from worker.score import NO_SCORE


def first_row(scores: np.ndarray, limit: int, moves: int) -> bool:
    """Whether a side's score was ``-limit`` or lower, ``moves`` times in a row."""
    run = 0
    for low in scores <= -limit:
        run = run + 1 if low else 0
        if run == moves:
            return True
    return False


def sides(game: TeacherGame) -> list[tuple[np.ndarray, int]]:
    """Scores and result (1 won, 0 drawn, -1 lost) of the side that moves first, and of the other."""
    white_begins = game.start[0] & 1
    result = -game.result if white_begins else game.result
    first, second = (side[side != NO_SCORE].astype(np.int64) for side in (game.scores[0::2], game.scores[1::2]))
    return [(first, result), (second, -result)]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--moves", type=int, default=4)
    parser.add_argument("--scores", default="500,1000,1500,2000,2500,3000,4000,5000")
    arguments = parser.parse_args()
    limits = [int(word) for word in arguments.scores.split(",")]
    low, won, drawn = (dict.fromkeys(limits, 0) for _ in range(3))
    games = 0
    for shard in shards_in(arguments.folder):
        for game in shard.games():
            if not game.flags & PLAYED_OUT:
                continue
            games += 1
            for scores, result in sides(game):
                for limit in limits:
                    if first_row(scores, limit, arguments.moves):
                        low[limit] += 1
                        won[limit] += result > 0
                        drawn[limit] += result == 0
    print(f"{games} games, {arguments.moves} own moves in a row")
    print(f"{'score':>8}{'times':>8}{'won':>8}{'drawn':>8}{'points':>9}")
    for limit in limits:
        times = max(1, low[limit])
        points = (won[limit] + drawn[limit] / 2) / times
        print(f"{-limit:>8}{low[limit]:>8}{won[limit]:>8}{drawn[limit]:>8}{points:>9.2%}")


if __name__ == "__main__":
    main()
