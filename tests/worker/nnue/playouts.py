"""Shared parts of the evaluation's tests: the oracle on a `Position`, real games and random play-outs.

rsshogi generates the moves: the project's own generator would take longer to compile than everything here, and again in
the process that tests the portable path.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from rsshogi.core import Board

from worker.nnue import Network, NnueState, evaluate, evaluate_full
from worker.nnue.format import NetworkFile
from worker.nnue.reference import active_rows, attack_inputs, attack_output, forward
from worker.nnue.sfnn import reference as sfnn_reference
from worker.nnue.sfnn.file import SfnnFile
from worker.shogi import Position
from worker.shogi.makemove import make_null, unmake_null
from worker.shogi.notation import parse_usi

STARTS = (
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "8l/1l+R2P3/p2pBG1pp/kps1p4/Nn1P2G2/P1P1P2PP/1PS6/1KSG3+r1/LN2+p3L w Sbgn3p 124",
    "4k4/9/9/9/9/9/9/9/4K4 b RBGSNLPrb3g3s3n3l17p 1",
    "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1",
)
"""The start, a middle game, two endgames with kings in the open and full hands, a handicap."""

GAMES = [
    line.split() for line in (Path(__file__).parents[2] / "fixtures" / "games.usi").read_text("ascii").splitlines()
]
"""Moves of real games in USI, nearly all up to mate: 90 games of fairy-stockfish against itself at 15 to 35 ms a move,
each after 0 to 6 random plies. 12,460 moves."""


def expected(network: NetworkFile | SfnnFile, position: Position) -> int:
    """The numpy reference's output."""
    board, hands, kings = position.record.board, (position.hand(0), position.hand(1)), position.record.ksq
    if isinstance(network, SfnnFile):
        return sfnn_reference.evaluate(network, position.turn, board, hands, kings)
    accumulators = []
    for side in (position.turn, 1 - position.turn):
        rows = active_rows(network.architecture.features, side, board, hands, kings)
        total = network.transformer_weight[rows].sum(axis=0, dtype=np.int64) + network.transformer_bias
        accumulators.append(total.astype(np.int16))
    output = forward(network, *accumulators)
    if network.attack_network is not None and min(kings) >= 0:
        output += attack_output(network.attack_network, attack_inputs(position.turn, board, hands, kings), output)
    return output


def play(position: Position, moves: Sequence[str]) -> Position:
    """Make moves that are known to be legal."""
    for text in moves:
        position.push(parse_usi(text, position.turn, position.piece_on))
    return position


def replay(game: Sequence[str]) -> Iterator[Position]:
    """The positions of a game from the start, each made from the one before."""
    position = Position.startpos()
    yield position
    for move in game:
        yield play(position, [move])


def mirrored(position: Position) -> Position:
    """The same position with the board turned and the colours exchanged."""
    board, turn, hands, number = position.sfen().split()
    turned = "".join(reversed(re.findall(r"\+?[A-Za-z]|\d|/", board))).swapcase()
    swapped = sorted(re.findall(r"\d*[A-Za-z]", hands.swapcase()), key=lambda held: held[-1].islower())
    return Position.from_sfen(f"{turned} {'w' if turn == 'b' else 'b'} {''.join(swapped) or '-'} {number}")


def walk(rng: random.Random, steps: int) -> Iterator[Position]:
    """A walk through a game tree as a search takes it: moves, null moves, lines taken back, siblings.

    Yields the position after each step. If a caller evaluates only some of them, the others' accumulators stay
    uncomputed.
    """
    position = Position.from_sfen(rng.choice(STARTS))
    nulls: list[bool] = []
    for _ in range(steps):
        action = rng.random()
        if action < 0.15 and nulls:
            for _ in range(rng.randint(1, min(12, len(nulls)))):
                if nulls.pop():
                    unmake_null(position.record)
                else:
                    position.pop()
            yield position
            continue
        board = Board(position.sfen())
        if action < 0.22 and not board.is_in_check() and not (nulls and nulls[-1]):
            make_null(position.record)
            nulls.append(True)
        else:
            moves = board.legal_moves()
            if not moves:
                return
            position.push(parse_usi(rng.choice(moves).to_usi(), position.turn, position.piece_on))
            nulls.append(False)
        yield position


STEPS = 60


def compare(
    network: NetworkFile | SfnnFile, *, games: list[list[str]], walks: int, steps: int = STEPS, seed: int = 1
) -> int:
    """Compare incremental, full and reference evaluation on games and play-outs; returns the number of positions.

    Some walks leave out positions, whose accumulators then are not computed.
    """
    arranged = Network(network)
    incremental, full = NnueState(arranged), NnueState(arranged)
    rng = random.Random(seed)
    compared = 0
    lines = [(replay(game), 1.0) for game in games]
    lines += [(walk(rng, steps), eagerness) for eagerness in rng.choices((0.1, 0.5, 1.0), k=walks)]
    for line, eagerness in lines:
        for position in line:
            if rng.random() < eagerness:
                value = evaluate(position.record, incremental.record)
                assert value == evaluate_full(position.record, full.record), position.sfen()
                assert value == expected(network, position), position.sfen()
                compared += 1
    assert incremental.record.updates > 0 or network.architecture.features.attack_classes > 1
    return compared
