"""Positions to solve: classical compositions, and random ones around a king."""

from __future__ import annotations

import random
from collections.abc import Iterator

from worker.shogi import Position, SfenError

CLASSICAL = {
    "old problem, 3": (3, "3sks3/9/4S4/9/9/B8/9/9/9 b S2rb4g4n4l18p 1"),
    "Shogi Geppo 1927, 5": (5, "7nl/7k1/9/6S1p/9/9/9/9/9 b GS2r2b3g2s3n3l17p 1"),
    "Matsuyoi 1, 7": (7, "6Gnl/6Sk1/6sp1/9/8P/9/9/9/9 b GS2r2b2gs3n3l16p 1"),
    "Matsuyoi 31, 9": (9, "2B6/2p6/+Rpkp5/9/3G5/9/9/9/L8 b Prb3g4s4n3l14p 1"),
    "Shogi Komoku 4-6, 19": (19, "4r4/3rkB3/4B4/9/9/9/9/9/9 b G3g4s4n4l18p 1"),
    "Shogi Geppo 1943, 19": (19, "2kn5/9/2Gp5/9/2N6/9/pS7/9/9 b LP2r2b3g3s2n3l15p 1"),
    "Zuko 98, 31": (31, "8k/9/9/9/9/9/9/9/9 b R2GSr2b2g3s4n4l18p 1"),
}
"""Name: plies of the published solution, SFEN. Published solutions omit interpositions that only delay."""

KOTOBUKI = "g3p3+r/3lPG3/1s4ppp/1l1B4P/L2b1kPl1/3+p3+R+p/3+p2+s1S/+NP+p1gS3/1g+p2P3 b 4P3n 1"
"""Ito Kanju, Shogi Zuko 100 (1755): 611 plies."""
KEMURI = "k1+P4n1/2L+P2sL1/r4+P+P1P/+BpP+Pl1+Rg1/NP1S+PP+p1g/2L+p1g+P1+P/Ps1G1+P1N1/1sN1P4/B8 b - 1"
"""Zuko 99: all pieces go up in smoke, 117 plies."""

_KINGS = (*[(0, 0)] * 2, *[(8, 0)] * 2, (1, 0), (7, 0), (1, 1), (7, 2), (4, 0), (8, 8))


def _random_setup(rng: random.Random) -> str:
    board: dict[tuple[int, int], str] = {}
    king = rng.choice(_KINGS)
    board[king] = "k"

    def put(letter: str, reach: int) -> None:
        for _ in range(20):
            at = king[0] + rng.randint(-reach, reach), king[1] + rng.randint(1 - reach, reach)
            if 0 <= at[0] < 9 and 0 <= at[1] < 9 and at not in board:
                board[at] = letter
                return

    for _ in range(rng.randrange(3, 9)):
        put(rng.choice("ppplnsgbr"), 2)
    for _ in range(rng.randrange(1, 6)):
        letter = rng.choice("PPLNSGBR")
        put(f"+{letter}" if letter != "G" and rng.random() < 0.25 else letter, 3)
    if rng.random() < 0.2:
        put("K", 8)
    held = [rng.choice("PPLNSG") for _ in range(rng.randrange(4))]
    held = [letter if rng.random() < 0.9 else letter.lower() for letter in held]
    hand = "".join(f"{held.count(x)}{x}" if held.count(x) > 1 else x for x in "RBGSNLPrbgsnlp" if x in held)
    ranks = []
    for rank in range(9):
        text = ""
        for file in range(9):
            letter = board.get((file, rank), "1")
            if letter == "1" and text and text[-1].isdigit():
                text = f"{text[:-1]}{int(text[-1]) + 1}"
            else:
                text += letter
        ranks.append(text)
    return f"{'/'.join(ranks)} b {hand or '-'} 1"


def random_positions(seed: int) -> Iterator[Position]:
    """Legal positions without end: few pieces around a white king, black (mostly without a king) to move."""
    rng = random.Random(seed)
    while True:
        try:
            yield Position.from_sfen(_random_setup(rng))
        except SfenError:
            continue
