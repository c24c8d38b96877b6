"""The journal in the log, and games played again from it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from pathlib import Path

import pytest
import uvloop

from master.commands.logs import replay
from master.game.journal import LoggedGame, Replay, ReplayError, read, read_log
from master.game.summary import LogSummary
from master.game.summary import read as summarise
from master.logs.files import LogFile
from master.logs.log import open_log
from master.player.instructions import PlayerSettings
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomOptions
from tests.answers import make_known
from tests.master.game.playing import both
from tests.master.logs.written import full_behind
from tests.master.scripted import ScriptedSearcher
from worker.clock import ClockSettings

pytestmark = pytest.mark.timeout(60)

UNHURRIED = PlayerSettings(clock=ClockSettings(network_margin_ms=1200, most_reserve_ms=50), guard_ms=50)


async def play() -> None:
    async with PracticeServer(ServerOptions(port=0, room=RoomOptions(max_moves=8))) as host:
        # One side never decides: the hard deadline makes its moves, with a second to spare on a busy machine. The other
        # one has an expectation for each reply.
        alice = ScriptedSearcher(delay_s=0.02)
        alice.knows = make_known("7g7f", 30, 12, 1000, 200, 100)
        await both(host, alice, ScriptedSearcher(None), "test-0-2", settings=UNHURRIED)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of one game between two players of this process."""
    folder = tmp_path_factory.mktemp("log")
    with open_log(folder, file_level="debug", console_level="error", console=lambda _: None) as path:
        uvloop.run(asyncio.wait_for(play(), 30))
    return path


def test_the_player_says_the_same_lines(log: Path) -> None:
    alice, bob = read_log(log)
    assert {alice.name, bob.name} == {"alice", "bob"}
    assert alice.game_id == bob.game_id != ""
    for game in (alice, bob):
        assert game.settings.guard_ms == 50
        replay = Replay(game)
        steps = list(replay.steps())
        assert replay.difference is None
        assert replay.lines == 7  # LOGIN, AGREE, four moves, LOGOUT
        assert sum(entry.kind == "LineSent" for entry in game.entries) == replay.lines, "the clock gets each line"
        assert [step.at_ms for step in steps] == sorted(step.at_ms for step in steps)
        assert sum(len(step.events) for step in steps) > 8
    knows = next(game for game in (alice, bob) if game.name == "alice")
    assert sum(entry.kind == "PonderFound" for entry in knows.entries) >= 3
    never_decides = next(game for game in (alice, bob) if game.name == "bob")
    assert sum(entry.kind == "Tick" for entry in never_decides.entries) == 4
    assert "secret" not in log.read_text()


def changed(game: LoggedGame, ply: int) -> LoggedGame:
    """The game with another decision in its log."""
    decisions = [entry for entry in game.entries if entry.kind == "Decision"]
    entry = decisions[ply]
    fields = json.loads(json.dumps(entry.fields()))
    fields["move"] = "5i5h"
    game.entries[game.entries.index(entry)] = read(fields)
    return game


def test_the_first_difference_is_told(log: Path) -> None:
    (alice,) = [game for game in read_log(log) if game.name == "alice"]
    replay = Replay(changed(alice, 1))
    for _ in replay.steps():
        pass
    assert replay.difference is not None
    assert replay.difference.kind == "Decision"
    assert replay.difference.said[0].startswith("+5958OU")
    assert not replay.difference.logged[0].startswith("+5958OU")


def test_a_log_that_was_cut_short(log: Path, tmp_path: Path) -> None:
    text = log.read_text()
    cut = tmp_path / "cut.jsonl"
    cut.write_text(text[: int(len(text) * 0.7)])
    games = read_log(cut)
    assert len(games) == 2 and all(game.entries for game in games)
    for game in games:
        replay = Replay(game)
        for _ in replay.steps():
            pass
        assert replay.difference is None


def in_parts(log: Path, folder: Path) -> tuple[Path, list[Path]]:
    """A copy of the log that was cut: its name, and its parts."""
    path = folder / log.name
    file = LogFile(path, 8_000, 0, lambda *_: None)
    for line in log.read_text().splitlines():
        file.emit(logging.LogRecord("", 0, "", 0, line, None, None))
    return path, sorted(folder.glob("*.gz"))


def test_after_a_gap_no_game_goes_on(log: Path, tmp_path: Path) -> None:
    path, parts = in_parts(log, tmp_path)
    parts[1].write_bytes(parts[1].read_bytes()[:-100])
    gaps: list[str] = []
    games = read_log(path, gaps.append)
    assert len(gaps) == 1
    assert str(parts[1]) in gaps[0]
    for game, whole in zip(games, read_log(log), strict=True):
        assert 0 < len(game.entries) < len(whole.entries)
        assert game.entries == whole.entries[: len(game.entries)]


def with_a_gap(log: Path, folder: Path, share: float) -> Path:
    """A copy of the log whose disk was full for 20 lines."""
    lines = log.read_text().splitlines()
    path, at = folder / log.name, int(len(lines) * share)
    file = LogFile(path, 0, 0, lambda *_: None)
    for number, line in enumerate(lines):
        with contextlib.ExitStack() as stack:
            if at <= number < at + 20:
                stack.enter_context(full_behind(path.stat().st_size))
            file.emit(logging.LogRecord("", 0, "", 0, line, None, None))
    return path


@pytest.mark.parametrize("share", [0.4, 0.6, 0.7])
def test_a_disk_that_was_full_for_a_while(
    log: Path, tmp_path: Path, share: float, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_a_gap(log, tmp_path, share)
    gaps: list[str] = []
    for game, whole in zip(read_log(path, gaps.append), read_log(log), strict=True):
        assert game.is_cut and not whole.is_cut
        assert 0 < len(game.entries) < len(whole.entries)
        assert game.entries == whole.entries[: len(game.entries)]
    assert len(gaps) == 1 and "20 lines are missing before line" in gaps[0]
    assert replay(path, check=True) == 0
    told = capsys.readouterr()
    assert told.out.count("as logged, up to the gap in the log") == 2
    assert f"{gaps[0]}; a game that ran then is played up to there" in " ".join(told.err.split())
    summary = LogSummary()
    summarise(path, summary)
    assert summary.gaps == gaps and summary.loud["log_lines_lost"] == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nonsense", "line 1: no line of a log"),
        ('{"event": "player_begins"}', "the log lacks 'settings'"),
        (
            '{"event": "player_begins", "game": 1, "name": "a", "server": "s", "settings": {"guard_ms": "x"}}',
            "guard_ms",
        ),
        ('{"event": "input"}', "the log lacks 'game'"),
    ],
)
def test_what_is_no_log(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(ReplayError, match=says):
        read_log(path)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ('"kind": "Meditated"', "no event of this version's player: Meditated: there is no such event"),
        ('"kind": "ServerLine"', "no event of this version's player: ServerLine: line: "),
        ('"kind": "Decision", "search_id": "x"', "no event of this version's player: Decision: search_id: "),
        ('"x": 1', "no event of this version's player: without a kind"),
        ('"call": "receive", "line": "START:", "now_ms": 1.0', "no event of this version's player: without a kind"),
    ],
)
def test_events_of_another_version(tmp_path: Path, fields: str, says: str) -> None:
    path = tmp_path / "log.jsonl"
    begin = '{"event": "player_begins", "game": 1, "name": "a", "server": "s", "settings": {}}'
    path.write_text(f'{begin}\n{{"event": "input", "game": 1, "at_ms": 1, {fields}}}\n')
    with pytest.raises(ReplayError, match=f"line 2: {says}"):
        read_log(path)
