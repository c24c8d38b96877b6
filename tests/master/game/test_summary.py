"""The summary of a game log."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from master.cli import run
from master.csa.summary import format_summary
from master.game.journal import Entry
from master.game.summary import LogSummary, read
from master.player.inputs import Connected, ConnectionLost, GiveUp, Input, Prepared, ServerLine
from master.player.instructions import PlayerSettings
from tests.answers import make_decision
from tests.master.player.table import BLACK

Lines = list[dict[str, object]]


def begin(name: str, number: int = 1) -> Lines:
    settings = asdict(PlayerSettings(ponder=False))
    return [
        {
            "event": "player_begins",
            "game": number,
            "name": name,
            "server": "x:1",
            "settings": settings,
            "level": "info",
        }
    ]


def inputs(*received: Input | str, number: int = 1) -> Lines:
    """A text is a line of the server."""
    events = [ServerLine(event) if isinstance(event, str) else event for event in received]
    return [
        {"event": "input", "game": number, "level": "debug", **Entry(float(at), event).fields()}
        for at, event in enumerate(events)
    ]


def offer(number: int = 1, side: str = "+", game: int = 0) -> Lines:
    """The offer of a game between anna and bert, up to our consent."""
    summary = replace(BLACK, game_id=f"g{game or number}", names=("anna", "bert"), my_colour="+-".index(side))
    return inputs(Connected(), "LOGIN:anna OK", *format_summary(summary), Prepared(), number=number)


VOTED = inputs(make_decision(1, "7g7f", source="vote"))
LOG: Lines = [
    {"event": "ray_started", "level": "info", "timestamp": "2026-11-21T10:00:00Z"},
    *begin("anna"),
    *offer(),
    *inputs("START:g1"),
    *VOTED,
    *inputs("+7776FU,T70"),
    {"event": "node_lost", "level": "warning", "node": "node-2", "reason": "its process died"},
    *inputs("-3334FU,T5", make_decision(2, "2g2f", source="vote"), "%TORYO", "#RESIGN", "#WIN"),
    *begin("anna", 2),
    *offer(2, "-"),
    *inputs("START:g2", "+7776FU,T9", "-3334FU,T4", "#TIME_UP", "#LOSE", number=2),
    *begin("anna", 3),
    *offer(3, "-"),
    *inputs("START:g3", "#MAX_MOVES", "#CENSORED", number=3),
    *begin("anna", 4),
    *offer(4, "-"),
    *begin("anna", 5),
    {"event": "ray_lost", "level": "warning", "why": "x", "timestamp": "2026-11-21T10:30:00Z"},
]


def write(path: Path, lines: Iterable[dict[str, object]], *more: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in (*map(json.dumps, lines), *more)))
    return path


def test_the_summary(tmp_path: Path) -> None:
    found = LogSummary()
    read(write(tmp_path / "log", LOG, "rubbish", "3", "[" * 100_000), found)
    facts = found.facts()
    assert facts["results"] == {"won": 1, "lost": 1, "drawn": 1, "unfinished": 1}, "the fifth was offered no game"
    first, second, *_ = facts["games"]
    assert (first["opponent"], first["own_s"], first["other_s"], first["moves"]) == ("bert", 70, 5, 2)
    assert (first["reason"], first["decisions"]) == ("RESIGN", {"vote": 2})
    assert (second["side"], second["opponent"], second["own_s"]) == ("white", "anna", 4)
    assert facts["node_losses"] == {"node-2": 1} and facts["loss_reasons"] == {"its process died": 1}
    assert facts["ray_losses"] == 1 and facts["damaged"] == 3
    assert facts["warnings"] == {"node_lost": 1, "ray_lost": 1}
    assert (facts["began"], facts["ended"]) == ("2026-11-21T10:00:00Z", "2026-11-21T10:30:00Z")


def test_an_embedded_game_counts_once(tmp_path: Path) -> None:
    """Both players are in one log. Ours began first, even if the other one's first event is earlier."""
    lines = [*begin("gougi", 1), *begin("single", 2)]
    for number, side, end in ((2, "-", "#LOSE"), (1, "+", "#WIN")):
        lines += [*offer(number, side, game=1), *inputs("START:g1", "#RESIGN", end, number=number)]
    found = LogSummary()
    log = write(tmp_path / "log", lines)
    read(log, found)
    assert [(game.player, game.result) for game in found.games] == [("gougi", "won")]
    read(log, found)  # another log
    assert found.results() == {"won": 2}


def test_games_that_came_to_no_result(tmp_path: Path) -> None:
    lost, left = ConnectionLost("stopped by us"), GiveUp("stopped by us")
    moves = ("START:g1", "+7776FU,T1", "-3334FU,T1")
    ends: list[tuple[Input | str, ...]] = [
        ("REJECT:g1 by bert", lost),
        (*moves, lost),
        (*moves[:2], left, "LOGOUT:completed", lost),
        (*moves[:2], left, lost),
        (*moves, "#MAX_MOVES", "#WIN", lost),
        (lost,),
        (left,),
        moves,
    ]
    found = LogSummary()
    read(write(tmp_path / "log", [line for end in ends for line in (*begin("anna"), *offer(), *inputs(*end))]), found)
    assert [game.result for game in found.games] == [
        *("not played", "disconnected", "lost", "lost", "won"),
        *("not played", "not played", ""),
    ]
    assert [game.moves for game in found.games] == [0, 2, 1, 1, 2, 0, 0, 2]
    assert found.results()["unfinished"] == 1


def test_after_a_damaged_line_no_game_goes_on(tmp_path: Path) -> None:
    lines = [*begin("anna"), *offer(), *inputs("START:g1", "+7776FU,T1")]
    unknown: dict[str, object] = {"event": "input", "game": 1, "at_ms": 1.0, "kind": "Meditated"}
    found = LogSummary()
    read(write(tmp_path / "log", [*lines, unknown, *inputs("-3334FU,T1", "%TORYO", "#RESIGN", "#WIN"), *LOG]), found)
    assert found.damaged == 1
    assert [(game.result, game.moves) for game in found.games[:2]] == [("", 1), ("won", 2)]


def test_several_files_and_packed_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps(line) + "\n" for line in LOG]
    cut = lines.index(json.dumps(begin("anna", 2)[0]) + "\n")
    name = "gougi-20261121-101500-4711"
    (tmp_path / f"{name}.0001.jsonl.gz").write_bytes(gzip.compress("".join(lines[:cut]).encode()))
    (tmp_path / f"{name}.jsonl").write_text("".join(lines[cut:]))
    other = tmp_path / "other.jsonl"
    offered = 2 + len(offer())
    other.write_text("".join(lines[:offered]))
    assert run(["log", str(tmp_path / f"{name}.jsonl"), str(other)]) == 0
    told = capsys.readouterr().out
    assert "games: 5: 1 won, 1 lost, 1 drawn, 2 unfinished" in told
    assert "time used: 1:14" in told and "nodes lost: 1 (node-2 1)" in told and "1 times: its process died" in told
    assert "Ray lost: 1" in told and "vote 2" in told
    # Each of the log's files stands for the whole log, for example after a shell has expanded them all.
    again = tmp_path / "up" / ".." / f"{name}.jsonl"
    (tmp_path / "up").mkdir()
    assert run(["log", *map(str, (tmp_path / f"{name}.0001.jsonl.gz", tmp_path / f"{name}.jsonl", other, again))]) == 0
    assert capsys.readouterr().out == told
    assert run(["log", str(other), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lines"] == offered


def test_what_is_no_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content, words in (
        ("a.jsonl", b"rubbish\n", "no line of a log"),
        ("b.jsonl", b"\xff\xfe\n", "not a text file"),
    ):
        (tmp_path / name).write_bytes(content)
        assert run(["log", str(tmp_path / name)]) == 2
        assert words in capsys.readouterr().err
    assert run(["log", str(tmp_path)]) == 2
    assert run(["log", str(tmp_path / "gone")]) == 2
    assert "gone: no such file" in capsys.readouterr().err


def test_a_decision_that_came_too_late_was_not_played(tmp_path: Path) -> None:
    found = LogSummary()
    read(write(tmp_path / "log", [*begin("anna"), *offer(), *inputs("START:g1"), *VOTED, *VOTED]), found)
    (game,) = found.games
    assert game.decisions == {"vote": 1}
