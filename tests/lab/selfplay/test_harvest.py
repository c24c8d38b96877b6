"""Positions of a search's tree: quiet ones with an entry in its table, each of them once, the same for the same
seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lab.selfplay.shard import NATURAL, Shard
from lab.selfplay.teacher import Teacher
from lab.selfplay.walk import NO_RESULT, QUIET_SCORE
from lab.training.net_facts import evaluator_raw
from tests.lab.selfplay.games import games_of, tiny
from worker.nnue import Network, default_network
from worker.nnue.format import read_network
from worker.nnue.network import default_file
from worker.search.tt import EXACT, LOWER, UPPER


def grown(number: int = 0, network: Network | None = None, **changes: Any) -> tuple[Shard, npt.NDArray[np.void]]:
    """A shard, and the positions of its trees."""
    settings = tiny(**{"nodes": 200, "tree_depth": 2, "games": 3, "max_moves": 40, **changes})
    parts: list[npt.NDArray[np.void]] = []
    shard = Teacher(network or default_network(), "net", settings).make_shard(number, on_tree=parts.append)
    assert len(parts) == settings.games
    return shard, np.concatenate(parts)


def test_positions_of_trees_are_quiet_judged_and_different() -> None:
    shard, records = grown(tree_share=1.0, max_moves=320)
    assert len(records) > 2 * shard.header["positions"]
    assert len(np.unique(records["pieces"], axis=0)) > 0.99 * len(records)
    assert set(records["bound"]) == {EXACT, LOWER, UPPER}
    assert records["depth"].min() == 2 and records["depth"].max() > 3
    assert (records["result"] == NO_RESULT).all()
    assert np.abs(records["score"]).max() < QUIET_SCORE
    # Search and evaluation agree about most quiet positions: the piece numbers are right.
    static = evaluator_raw(read_network(default_file()), records) / 16
    for bound in (EXACT, LOWER, UPPER):
        those = records["bound"] == bound
        assert np.corrcoef(static[those], records["score"][those])[0, 1] > 0.6


def test_the_same_seed_gives_the_same_positions_and_the_games_do_not_change() -> None:
    shard, records = grown()
    again, others = grown()
    assert shard.to_bytes() == again.to_bytes() and records.tobytes() == others.tobytes()
    assert grown(1)[1].tobytes() != records.tobytes()
    assert grown(tree_depth=3)[0].payload == shard.payload
    assert (grown(tree_depth=3)[1]["depth"] >= 3).all()


def test_a_share_of_the_positions_is_chosen_by_themselves() -> None:
    """Half of them; and a smaller share is a subset of a larger one."""
    whole, half, few = (grown(tree_share=share)[1] for share in (1.0, 0.5, 0.1))
    assert 0.4 < len(half) / len(whole) < 0.6
    assert 0.05 < len(few) / len(whole) < 0.2
    assert {one.tobytes() for one in few} <= {one.tobytes() for one in half} <= {one.tobytes() for one in whole}


def test_positions_of_a_game_share_its_side_of_a_split() -> None:
    shard, records = grown(games=6)
    assert len(np.unique(records["part"])) == len(games_of(shard))


def test_natural_openings_are_marked_and_seldom_rejected() -> None:
    """Random moves soon lose the balance; good ones do not."""

    def rejected(natural: float) -> int:
        settings = tiny(games=20, nodes=200, max_moves=2, entering=0, natural=natural, natural_loss=0.03, scale=1006.0)
        shard = Teacher(default_network(), "net", settings).make_shard(0)
        assert all(bool(game.flags & NATURAL) == bool(natural) for game in games_of(shard))
        return int(shard.header["rejected"])

    assert rejected(0.0) > 2 * rejected(1.0)
