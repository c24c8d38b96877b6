"""The summary of a game log."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from master.cli import run
from master.game.summary import LogSummary, add


def received(line: str, game: int = 1) -> dict[str, object]:
    return {"event": "input", "game": game, "at_ms": 1.0, "kind": "ServerLine", "line": line, "level": "debug"}


def begin(name: str, game: int = 1) -> dict[str, object]:
    return {"event": "player_begins", "game": game, "name": name, "server": "x:1", "level": "info"}


def offer(game: int, side: str) -> list[dict[str, object]]:
    lines = [f"Game_ID:g{game}", "Name+:anna", "Name-:bert", f"Your_Turn:{side}"]
    return [received(line, game) for line in lines]


DECIDED = {
    "event": "input",
    "game": 1,
    "at_ms": 2.0,
    "kind": "Decision",
    "source": "vote",
    "sent": ["+7776FU"],
    "level": "debug",
}
LOG: list[dict[str, object]] = [
    {"event": "ray_started", "level": "info", "timestamp": "2026-11-21T10:00:00Z"},
    begin("anna"),
    *offer(1, "+"),
    DECIDED,
    received("+7776FU,T70"),
    {"event": "node_lost", "level": "warning", "node": "node-2", "reason": "its process died"},
    received("-3334FU,T5"),
    DECIDED,
    received("%TORYO"),
    received("#RESIGN"),
    received("#WIN"),
    begin("anna", 2),
    *offer(2, "-"),
    received("+7776FU,T9", 2),
    received("-3334FU,T4", 2),
    received("#TIME_UP", 2),
    received("#LOSE", 2),
    begin("anna", 3),
    *offer(3, "-"),
    received("#MAX_MOVES", 3),
    received("#CENSORED", 3),
    begin("anna", 4),
    *offer(4, "-"),
    begin("anna", 5),
    {"event": "ray_lost", "level": "warning", "why": "x", "timestamp": "2026-11-21T10:30:00Z"},
]


def test_the_summary() -> None:
    found = LogSummary()
    add([*map(json.dumps, LOG), "rubbish", "3", "[" * 100_000], found)
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


def test_an_embedded_game_counts_once() -> None:
    """Both players are in one log. Ours began first, even if the other one's first event is earlier."""
    lines = [begin("gougi", 1), begin("single", 2)]
    for number, side, end in ((2, "-", "#LOSE"), (1, "+", "#WIN")):
        lines += [*offer(number, side), received("START:g", number), received("#RESIGN", number), received(end, number)]
    lines = [json.loads(json.dumps(line).replace("Game_ID:g2", "Game_ID:g1")) for line in lines]
    found = LogSummary()
    add(map(json.dumps, lines), found)
    assert [(game.player, game.result) for game in found.games] == [("gougi", "won")]
    add(map(json.dumps, lines), found)  # another log
    assert found.results() == {"won": 2}


def test_games_that_came_to_no_result() -> None:
    found = LogSummary()
    started, lost = received("START:g1"), {**received(""), "kind": "ConnectionLost", "why": "stopped by us"}
    left = {**lost, "kind": "GiveUp"}
    moves = [received("+7776FU,T1"), received("-3334FU,T1")]
    ends: list[list[dict[str, object]]] = [
        [*moves, received("REJECT:g1 by bert"), lost],
        [started, *moves, lost],
        [started, *moves, left, received("LOGOUT:completed"), lost],
        [started, *moves, left, lost],
        [started, *moves, received("#MAX_MOVES"), received("#WIN"), lost],
        [lost],
        [left],
        [started, *moves, received("LOGOUT:completed")],
        [started, *moves],
    ]
    add((json.dumps(line) for end in ends for line in (begin("anna"), *offer(1, "+"), *end)), found)
    assert [game.result for game in found.games] == [
        *("not played", "disconnected", "lost", "lost", "won"),
        *("not played", "not played", "lost", ""),
    ]
    assert [game.moves for game in found.games] == [0, 2, 2, 2, 2, 0, 0, 2, 2]
    assert found.results()["unfinished"] == 1


def test_several_files_and_packed_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps(line) + "\n" for line in LOG]
    name = "gougi-20261121-101500-4711"
    (tmp_path / f"{name}.0001.jsonl.gz").write_bytes(gzip.compress("".join(lines[:9]).encode()))
    (tmp_path / f"{name}.jsonl").write_text("".join(lines[9:]))
    other = tmp_path / "other.jsonl"
    other.write_text("".join(lines[:3]))
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
    assert json.loads(capsys.readouterr().out)["lines"] == 3


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


def test_a_decision_that_came_too_late_was_not_played() -> None:
    found = LogSummary()
    late = {name: value for name, value in DECIDED.items() if name != "sent"}
    add(map(json.dumps, [begin("anna"), *offer(1, "+"), late, DECIDED]), found)
    (game,) = found.games
    assert game.decisions == {"vote": 1}
