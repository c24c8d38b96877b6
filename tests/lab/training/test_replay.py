"""Positions out of games, and their rows: compared with the evaluator's own, an oracle in numpy, and the plain walk."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from rsshogi.core import Board

from benchmarks.random_networks import random_network
from lab.selfplay.shard import Shard, ShardError
from lab.selfplay.walk import QUIET_SCORE, whole_move
from lab.training.batches import make_batch
from lab.training.corpus import Replayer, Split
from lab.training.features import TRAINABLE, factors, mirrored_tables, row_tables
from lab.training.net_facts import evaluator_raw
from lab.training.replay import TRAINING, VALIDATION
from tests.lab.selfplay.games import games_of, made, unpacked_position
from worker.nnue import Network, NnueState, evaluate_full, reference
from worker.nnue.architecture import Architecture
from worker.nnue.evaluation import refresh
from worker.nnue.features import FEATURE_SETS, KingRule
from worker.shogi import Position, move_to_usi

ALL = Split(1e-15, every=True)
"""No game for validation, every position."""


def walked(shard: Shard) -> list[tuple[Position, int, int, bool]]:
    """Each position of the games: the position, the score, the result for its side, and whether it is quiet apart from
    the score."""
    found = []
    for game in games_of(shard):
        position = unpacked_position(game.start, game.move_number)
        for short, score in zip(game.moves, game.scores, strict=True):
            move = int(whole_move(position.record, int(short)))
            board = Board(position.sfen())
            captures = not move & 1 << 15 and position.piece_on(move & 127) != 0
            quiet = not (board.is_in_check() or captures or move_to_usi(move).endswith("+"))
            result = game.result if position.turn == 0 else -game.result
            found.append((position.copy(), int(score), result, quiet))
            position.push(move)
    return found


def positions_of(shard: Shard) -> list[Position]:
    """Each position of the games before its move."""
    return [position for position, _, _, _ in walked(shard)]


@pytest.mark.parametrize("name", sorted(TRAINABLE))
def test_rows_are_those_of_the_evaluator_and_of_the_oracle(name: str) -> None:
    shard = made(games=4, entering=0.5)
    positions = positions_of(shard)
    records = Replayer(ALL).records(shard, TRAINING)
    assert len(records) == len(positions) == shard.header["positions"]
    features = FEATURE_SETS[name]
    batch = make_batch(row_tables(features), records, np.arange(len(records)))
    network = Network(random_network(Architecture(features, 128, 8, 8)))
    for i, position in enumerate(positions):
        hands, kings = (position.hand(0), position.hand(1)), [int(sq) for sq in position.record.ksq]
        for rows, side in ((batch.own[i], position.turn), (batch.enemy[i], 1 - position.turn)):
            oracle = reference.active_rows(features, side, position.record.board, hands, kings)
            assert sorted(rows) == sorted(oracle)
            # One that has computed nothing: the next refresh would list only the differences.
            state = NnueState(network)
            refresh(position.record, state.record, side)
            count = 40 if features.king_planes else 38
            listed = np.ctypeslib.as_array(_pointer(int(state.record.rows)), (40,))
            own = (listed - int(state.record.transformer_weight)) // int(state.record.row_bytes)
            # A king is no piece here and has row 0, which holds zeros.
            blocks = own % features.block_rows if not features.king_planes else np.ones(40)
            assert sorted(own[blocks != 0]) == sorted(rows)
            assert count == len(rows)


def _pointer(address: int):  # type: ignore[no-untyped-def]
    import ctypes

    return ctypes.cast(address, ctypes.POINTER(ctypes.c_int64))


@pytest.mark.parametrize("name", sorted(TRAINABLE))
def test_half_of_a_batch_is_shown_as_in_a_mirror(name: str) -> None:
    shard = made(games=4, entering=0.5)
    positions = positions_of(shard)
    records = Replayer(ALL).records(shard, TRAINING)
    features, order = FEATURE_SETS[name], np.arange(len(records))
    tables = row_tables(features)
    plain = make_batch(tables, records, order)
    batch = make_batch(tables, records, order, mirror=mirrored_tables(tables))
    half = len(records) // 2
    assert (batch.own[:half] == plain.own[:half]).all()
    assert (batch.enemy[:half] == plain.enemy[:half]).all()
    assert (batch.scores == plain.scores).all()
    changed = looked_at = 0
    for i in range(half, len(records)):
        position = positions[i]
        board = np.array(position.record.board)[:81].reshape(9, 9)[::-1].reshape(81)
        kings = [(8 - int(sq) // 9) * 9 + int(sq) % 9 for sq in position.record.ksq]
        hands = (position.hand(0), position.hand(1))
        for rows, side in ((batch.own[i], position.turn), (batch.enemy[i], 1 - position.turn)):
            assert sorted(rows) == sorted(reference.active_rows(features, side, board, hands, kings))
        if position.record.ksq[position.turn] // 9 != 4:
            looked_at += 1
            changed += sorted(batch.own[i]) != sorted(plain.own[i])
    # Sets that mirror the board by the king's file show the same rows anyway, unless the king is on the middle file.
    assert looked_at > 10
    assert changed == 0 if features.king_rule is KingRule.MIRRORED else changed > looked_at / 2


def test_squares_relative_to_the_king_are_refused() -> None:
    relative = next(one for name, one in FEATURE_SETS.items() if name not in TRAINABLE)
    with pytest.raises(ValueError, match="HalfRelativeKP"):
        row_tables(relative)


@pytest.mark.parametrize(("every", "decided"), [(False, False), (False, True), (True, False)])
def test_what_is_kept_is_quiet_and_has_the_score_and_the_result_of_its_game(every: bool, decided: bool) -> None:
    shard = made(games=8, entering=0.3)
    records = Replayer(Split(1e-15, every=every, decided=decided)).records(shard, TRAINING)
    kept = [one for one in walked(shard) if every or (one[3] and (decided or abs(one[1]) < QUIET_SCORE))]
    assert 0 < len(kept) <= shard.header["positions"]
    assert records["score"].tolist() == [score for _, score, _, _ in kept]
    assert records["result"].tolist() == [result for _, _, result, _ in kept]
    assert records["turn"].tolist() == [position.turn for position, _, _, _ in kept]
    assert (np.abs(records["score"].astype(int)) >= QUIET_SCORE).any() == (every or decided)


@pytest.mark.parametrize("horizon", [1.0, 8.0])
def test_scores_that_look_ahead_are_mixed_with_those_that_follow(horizon: float) -> None:
    shard, scale = made(games=8, entering=0.3), 700.0
    records = Replayer(Split(1e-15, every=True, horizon=horizon), scale).records(shard, TRAINING)
    expected: list[float] = []
    for game in games_of(shard):
        chances = 1 / (1 + np.exp(-game.scores / scale))
        # The weights of later positions fall like a geometric series; the last one takes the rest.
        length = len(chances)
        for first in range(length):
            later = np.arange(length - first)
            weights = (1 - 1 / (1 + horizon)) ** later / (1 + horizon)
            weights[-1] = 1 - weights[:-1].sum()
            seen = np.where(later % 2 == 0, chances[first:], 1 - chances[first:])
            expected.append(float(weights @ seen))
    mixed = 1 / (1 + np.exp(-records["score"] / scale))
    assert mixed == pytest.approx(expected, abs=0.001)
    plain = Replayer(ALL, scale).records(shard, TRAINING)
    assert (plain["score"] != records["score"]).mean() > 0.5


def test_only_the_searched_score_decides_quietness() -> None:
    shard = made(games=8, entering=0.3)
    kept = [Replayer(Split(1e-15, every=False, horizon=one), 700.0).records(shard, TRAINING) for one in (0.0, 8.0)]
    assert kept[0]["pieces"].tolist() == kept[1]["pieces"].tolist()


@pytest.mark.parametrize("name", ["K+P", "HalfKP(Friend)", "HalfKA_hm1(Friend)"])
def test_records_are_evaluated_as_their_positions(name: str) -> None:
    shard = made(games=4, entering=0.5)
    network = random_network(Architecture(FEATURE_SETS[name], 128, 16, 32), seed=3)
    state = NnueState(Network(network))
    expected = [int(evaluate_full(position.record, state.record)) for position in positions_of(shard)]
    assert evaluator_raw(network, Replayer(ALL).records(shard, TRAINING)).tolist() == expected
    assert len(set(expected)) > len(expected) / 2


def test_games_are_split_whole_and_the_same_wherever_they_stand() -> None:
    shard = made(games=40)
    split = Split(0.3, every=True)
    replayer = Replayer(split)
    lengths = [len(game.moves) for game in games_of(shard)]
    one_by_one = {TRAINING: [], VALIDATION: []}  # type: ignore[var-annotated]
    for game in games_of(shard):
        alone = Shard({**shard.header, "games": 1, "positions": len(game.moves)}, game.to_bytes())
        parts = {part: replayer.records(alone, part) for part in (TRAINING, VALIDATION)}
        counts = {part: len(found) for part, found in parts.items()}
        assert sorted(counts.values()) == [0, len(game.moves)], "a game is in one part, and whole"
        for part, found in parts.items():
            one_by_one[part].append(found)
    for part, found in one_by_one.items():
        assert (np.concatenate(found) == replayer.records(shard, part)).all()
    share = sum(map(len, one_by_one[VALIDATION])) / sum(lengths)
    assert 0.1 < share < 0.6


def test_what_is_broken_is_named() -> None:
    shard = made(games=3)
    replayer = Replayer(ALL)
    first = len(games_of(shard)[0].moves)

    def changed(at: int, data: bytes) -> Shard:
        payload = bytearray(shard.payload)
        payload[at : at + len(data)] = data
        return Shard(shard.header, bytes(payload))

    for broken, words in (
        (Shard(shard.header, shard.payload[:-1]), "game 2: it ends too early"),
        (changed(0, b"\xff" * 32), "game 0: its start is no position"),
        (changed(40, struct.pack("<H", 0x7FFF)), "game 0: move 1 is not legal"),
        (changed(40 + 4 * first + 40 + 2, struct.pack("<H", 0)), "game 1: move 2 is not legal"),
        (Shard({**shard.header, "games": 4}, shard.payload), "its header says otherwise"),
        (Shard({**shard.header, "positions": 5}, shard.payload), "its header says otherwise"),
    ):
        with pytest.raises(ShardError, match=words):
            replayer.records(broken, TRAINING)


def test_factors_group_features_of_one_kind() -> None:
    kinds = factors(FEATURE_SETS["K+P"])
    # Hands 14 and number 0, 18 kinds on the board, two kings.
    assert len(np.unique(kinds)) == kinds.max() + 1 == 1 + 14 + 18 + 2
    half = factors(FEATURE_SETS["HalfKP(Friend)"])
    assert (half[: 2 * 1548] == np.tile(np.arange(1548), 2)).all()
