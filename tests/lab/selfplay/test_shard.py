"""A shard's file: damage is reported with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.selfplay.shard import Shard, ShardError, parse_shard, read_shard
from lab.training.corpus import Replayer, Split
from lab.training.replay import TRAINING
from tests.lab.selfplay.games import games_of, made

SAMPLE = Path(__file__).parents[2] / "fixtures" / "teacher_games"


@pytest.fixture(scope="module")
def shard() -> Shard:
    return made(games=3)


def test_it_comes_back_as_it_was(shard: Shard) -> None:
    again = parse_shard(shard.to_bytes())
    assert again.to_bytes() == shard.to_bytes()
    assert [game.to_bytes() for game in games_of(again)] == [game.to_bytes() for game in games_of(shard)]
    assert len(shard.payload) == 40 * 3 + 4 * shard.header["positions"]


@pytest.mark.parametrize("damage", ["short", "flipped", "longer", "empty", "header", "magic"])
def test_damage_is_found_and_named(shard: Shard, damage: str, tmp_path: Path) -> None:
    data = bytearray(shard.to_bytes())
    match damage:
        case "short":
            del data[-1]
        case "flipped":
            data[-7] ^= 1
        case "longer":
            data += b"\0"
        case "empty":
            data.clear()
        case "header":
            data[12] = 0
        case _:
            data[0] ^= 1
    path = tmp_path / "shard-000000.games"
    path.write_bytes(data)
    with pytest.raises(ShardError, match=str(path)):
        read_shard(path)


def test_a_sample_of_the_teacher_games_is_read_whole() -> None:
    """Generation 11's games: old shards must stay readable, and a reader's first try needs no self-play."""
    shard = read_shard(SAMPLE / "shard-000000.games")
    assert len(games_of(shard)) == 60
    assert 3000 < len(Replayer(Split(1e-15)).records(shard, TRAINING)) < 4000
    assert {game.result for game in games_of(shard)} >= {-1, 1}


def test_another_number_of_games_is_refused(shard: Shard) -> None:
    with pytest.raises(ShardError, match="its header says otherwise"):
        games_of(Shard({**shard.header, "games": 4}, shard.payload))
