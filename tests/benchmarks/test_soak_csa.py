"""A short soak of the CSA client, and what it judges by."""

from __future__ import annotations

from pathlib import Path

import pytest
import uvloop

from benchmarks.far_side import Turn, Watch
from benchmarks.soak_csa import read_record, soak, split_turns
from master.records.csa import Ending, GameRecord, RecordedMove, RecordFile
from worker.clock.timecontrol import TimeControl
from worker.shogi import STARTPOS


class Game:
    """A client that plays black, as the far side sees it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.turns: list[Turn] = []
        self.faults: list[str] = []
        self.watch = Watch(lambda: self.now, self.turns, self.faults)
        self.watch.client_says(b"LOGIN anna soak-0-1,word")
        for line in (b"Your_Turn:+", b"To_Move:+", b"START:id"):
            self.watch.server_says(line)

    def after(self, seconds: float, said: bytes) -> None:
        self.now += seconds
        self.watch.client_says(said)


def test_turns_are_timed_from_the_servers_line_to_ours() -> None:
    game = Game()
    game.after(0.5, b"+7776FU,'* 3")
    game.watch.server_says(b"+7776FU,T0")
    game.now += 10
    game.watch.server_says(b"-3334FU,T10")
    game.after(0.25, b"+2726FU")
    assert game.turns == [Turn("anna", "soak-0-1", 0.0, 0.5), Turn("anna", "soak-0-1", 10.5, 10.75)]
    assert game.faults == []


def test_a_line_off_turn_is_a_fault() -> None:
    game = Game()
    game.after(0.5, b"+7776FU")
    game.after(0.1, b"+7776FU")
    assert game.faults == ["anna said +7776FU off turn"]
    game = Game()
    game.watch.server_says(b"#TIME_UP")
    game.after(1.5, b"+7776FU")  # was on its way
    game.after(0.5, b"%TORYO")
    assert game.faults == []
    assert [turn.ended_s - turn.began_s for turn in game.turns] == [1.5]


def test_records_are_judged(tmp_path: Path) -> None:
    moves = [RecordedMove("7g7f", 0), RecordedMove("3c3d", 0)]
    record = GameRecord("id", ("a", "b"), STARTPOS, (TimeControl(), TimeControl()), moves=moves)
    file = RecordFile(tmp_path, record)
    file.write(file.record.text())
    path = file.take_name()
    assert read_record(path, None) == ""
    assert read_record(path, 2).endswith("no ending")
    record.ending = Ending("RESIGN", 1)
    file.write(file.record.text())
    assert read_record(path, 2) == ""
    assert "2 moves, 2 in the KIF, 3 played" in read_record(path, 3)
    kif = path.with_suffix(".kif")
    kif.write_text(kif.read_text("shift_jis").replace("３四歩", "３五歩"), "shift_jis")
    assert str(path) in read_record(path, 2)
    kif.unlink()
    assert str(path) in read_record(path, 2)


def test_where_the_time_of_a_turn_went() -> None:
    turns = [Turn("anna", "soak-0-1", 10.0, 10.9), Turn("bert", "soak-0-1", 10.0, 10.9)]
    # Twice our line was said: once within the turn, once before it.
    spans = {"anna": [(9.0, 9.5), (10.1, 10.6)]}
    (parts,) = split_turns(turns, spans)
    assert (parts.down_ms, parts.own_ms, parts.up_ms) == pytest.approx((100, 500, 300))


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_short_soak(tmp_path: Path) -> None:
    """With times that a busy machine can keep: what is asserted is all else."""
    words = ["--seed=3", "--drop-every=3", "--restart-every=8", "--max-moves=8"]
    result = uvloop.run(soak(4, 2, tmp_path, words, times=("20-2F",)))
    assert result["wrong"] == []
    assert result["games"] >= 4
