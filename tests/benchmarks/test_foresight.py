"""Which positions are taken out of records, and how evaluations are compared."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from benchmarks.foresight import OPENING, chances, misfit, rows, samples_in, samples_of
from master.analysis.game import GameFileError, parse_games
from worker.nnue import load_network
from worker.shogi import Position, move_to_usi
from worker.shogi.pieces import is_promotion

RECORD = """V3.0
N+one
N-two
PI
+
+7776FU
-3334FU
+2726FU
-8384FU
+2625FU
-8485FU
+6978KI
-4132KI
+2524FU
-2324FU
+2824HI
-8586FU
+8786FU
-8286HI
+2434HI
-2233KA
+5958OU
-5152OU
+3736FU
-8676HI
%TORYO
"""


def test_quiet_positions_are_taken_with_the_result_of_their_side() -> None:
    game = parse_games(RECORD.encode(), "game.csa")[0]
    found = samples_of(game, 100, random.Random(1))
    # From move 9 on something is taken at all moves but these; who did not resign is the winner, white.
    assert [one.ply for one in found] == [9, 12, 16, 17, 18, 19]
    assert found[0].ply == OPENING + 1
    assert [one.points for one in found] == [0.0, 1.0, 1.0, 0.0, 1.0, 0.0]
    assert move_to_usi(found[2].move) == "2b3c" and not any(is_promotion(one.move) for one in found)
    assert not any(Position.from_sfen(one.sfen).in_check() for one in found)
    assert [one.ply for one in samples_of(game, 2, random.Random(1))] == sorted(
        one.ply for one in samples_of(game, 2, random.Random(1))
    )


def test_records_of_a_match(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    with pytest.raises(GameFileError, match="no record of a won game"):
        samples_in([tmp_path], 10)
    for number in range(3):
        (tmp_path / "records" / f"{number}.csa").write_text(RECORD)
    (tmp_path / "records" / "drawn.csa").write_text(RECORD.replace("%TORYO", "%JISHOGI"))
    samples = samples_in([tmp_path], 6)
    assert len(samples) == 6 and len({one.where for one in samples}) == 3


def test_the_best_scale_is_found_and_nothing_is_nearer_than_itself() -> None:
    scores = np.linspace(-2000, 2000, 401)
    away, scale = misfit(scores, chances(scores, 900))
    assert away == pytest.approx(0, abs=1e-4) and scale == pytest.approx(900, rel=0.02)
    assert misfit(scores + 300, chances(scores, 900))[0] > away
    assert misfit(np.zeros(2), np.array([0.0, 1.0]))[0] == pytest.approx(np.log(2), abs=1e-4)


def test_each_network_and_each_search_has_a_row(tmp_path: Path) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "game.csa").write_text(RECORD)
    found = rows({"ours": load_network(None)}, samples_in([tmp_path], 10), [50, 500])
    assert [row.name for row in found] == ["ours", "the first after 50 nodes", "the first after 500 nodes"]
    assert abs(found[-1].away) < 1e-9 < found[0].away
