"""Games out of logs and records: the same state as on the live page."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop

from master.analysis.files import write_game
from master.analysis.report import ReportSettings
from master.game.journal import Replay, read_log
from master.live import sources
from master.live.page import Site
from master.live.server import Hub
from master.live.sources import LogReader, facts_of
from master.live.watching import Watch, _follow, show
from master.logs.files import LINES_LOST, newest_log
from master.logs.log import fleet_listener, open_log
from master.player.events import MovePlayed
from master.practice.server import PracticeServer, ServerOptions
from master.practice.server_room import RoomOptions
from tests.master.analysis.records import blunder_report
from tests.master.game.playing import both
from tests.master.live.told import HEAD, read_whole, shows
from tests.master.scripted import ScriptedSearcher
from worker.score import MATE, MAX_EVAL


async def play() -> None:
    async with PracticeServer(ServerOptions(port=0, room=RoomOptions(max_moves=8))) as host:
        await both(host, ScriptedSearcher(delay_s=0.02), ScriptedSearcher(delay_s=0.02), "test-5-1")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of one game between two players of this process, with one event of a fleet."""
    folder = tmp_path_factory.mktemp("log")
    with open_log(folder, file_level="debug", console_level="error", console=lambda _: None) as path:
        fleet_listener().on_event("node_lost", {"node": "node-1", "reason": "a test"})
        uvloop.run(asyncio.wait_for(play(), 60))
    return path


def played(log: Path) -> list[MovePlayed]:
    """The first player's moves, by another reader of the log."""
    steps = Replay(read_log(log)[0]).steps()
    return [event for step in steps for event in step.events if isinstance(event, MovePlayed)]


def test_the_game_equals_the_log(log: Path) -> None:
    site, moves = read_whole(log), played(log)
    assert len(site.games) == 1, "the second player is the first one's opponent"
    game = site.section("game", "1")
    assert [move["usi"] for move in game["moves"]] == [move.usi for move in moves]
    assert len(moves) == 8
    assert [move["left_ms"] for move in game["moves"]] == [list(move.clocks.left_ms) for move in moves]
    assert [move["score"] for move in game["moves"] if move["mine"]] == [
        move.comment.score for move in moves if move.mine
    ]
    assert game["result"]["reason"] == "MAX_MOVES"
    both_sides = [site.details("1", ply) for ply in range(8)]
    assert all(thoughts and thoughts[ply % 2] and thoughts[ply % 2]["done"] for ply, thoughts in enumerate(both_sides))
    assert site.section("log", None)["entries"][0]["name"] == "node_lost"


def test_a_log_that_grows_is_followed(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_LINES", 7)
    whole = log.read_bytes().splitlines(keepends=True)
    copy = tmp_path / log.name
    copy.write_bytes(b"")
    reader, site = LogReader(copy), Site(HEAD)
    for at in range(0, len(whole), 10):
        with copy.open("ab") as file:
            file.writelines(whole[at : at + 10])
        for _ in range(2):
            shows(reader.poll(), site)
    while reader.more:
        shows(reader.poll(), site)
    assert site.section("game", "1") == read_whole(log).section("game", "1")


def test_connections_that_are_over_are_let_go(log: Path, tmp_path: Path) -> None:
    begun = next(line for line in log.read_text().splitlines() if '"player_begins"' in line)
    copy = tmp_path / log.name
    copy.write_text("".join(f"{json.dumps({**json.loads(begun), 'game': number})}\n" for number in range(5)))
    reader = LogReader(copy)
    reader.poll()
    assert reader.trouble == "" and list(reader._players) == [4]


def test_unreadable_files_are_named_and_left_out(log: Path, tmp_path: Path) -> None:
    lines = log.read_text().splitlines(keepends=True)
    damaged = tmp_path / log.name
    damaged.write_text("".join([*lines[:5], "{nonsense\n", *lines[5:]]))
    reader = LogReader(damaged)
    site = shows(reader.poll())
    assert f"{damaged}, line 6: " in reader.trouble
    assert len(site.section("game", "1")["moves"]) == 8


def test_a_gap_is_told_and_the_game_is_shown_up_to_there(log: Path, tmp_path: Path) -> None:
    lines = log.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if "+7776FU,T" in line or "+2726FU,T" in line) + 1
    mark = json.loads(lines[at]) | {"event": LINES_LOST, "lines": 20, "logger": "log", "level": "error"}
    path = tmp_path / log.name
    path.write_text("".join([*lines[:at], json.dumps(mark) + "\n", *lines[at + 20 :]]))
    reader = LogReader(path)
    site = shows(reader.poll())
    words = f"{path}: 20 lines are missing before line {at + 1}: the disk did not take them"
    assert reader.trouble == f"{words}; a game that ran then is shown up to there"
    assert 0 < len(site.section("game", "1")["moves"]) < 8
    assert [entry["fields"]["text"] for entry in site.section("log", None)["entries"] if entry["name"] == "note"] == [
        reader.trouble
    ]


@pytest.mark.timeout(60)
async def test_a_log_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_bytes(b"\x8e\n")
    warned: asyncio.Queue[str] = asyncio.Queue()
    site = Site(HEAD)
    follower = asyncio.create_task(_follow(Watch(path, []), site, Hub(site), warned.put_nowait))
    try:
        assert await warned.get() == f"{path}: not a text file: byte 0 is not UTF-8"
    finally:
        follower.cancel()


def test_a_folder_shows_its_newest_log_and_the_fleets(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    master = {"name": "gougi", "pid": 7, "began": 50.0, "ray": "running", "address": "", "searching": True, "losses": 1}
    node = {"node": "node-3", "state": "ready", "host": "h", "pid": 8, "engine": "e", "job": "all", "depth": 9}
    lost = {"at": 60.0, "node": "node-3", "why": "w"}
    fleets = [{**master, "nodes": [{**node, "nps": 5000, "lost": 1}], "last_losses": [lost]}]
    monkeypatch.setattr("master.live.watching.masters", lambda: list(fleets))
    records = tmp_path / "records"
    watch, site = Watch(records, []), Site(HEAD)
    for begun in (False, True):
        if begun:
            records.mkdir()
            (records / "gougi-20200101-000000-1.jsonl").write_text("{}\n")
        shows(watch.poll(), site)
        assert not site.games
    fleet = site.section("fleet", None)
    assert [(node["node"], node["host"], node["nps"], node["since"]) for node in fleet["nodes"]] == [
        ("node-3", "h", 5000, 50.0)
    ]
    assert (fleet["losses"], fleet["searching"]) == (1, True)
    (records / log.name).write_bytes(log.read_bytes())
    assert newest_log(records) == records / log.name
    while True:
        shows(watch.poll(), site)
        if not watch.more:
            break
    assert len(site.games) == 1
    fleets.clear()
    shows(watch.poll(), site)
    assert site.section("fleet", None)["nodes"] == [], "no game is running there any more"


def test_a_record(tmp_path: Path) -> None:
    record = tmp_path / "game.csa"
    record.write_text("V2.2\nN+anna\nN-bert\nPI\n+\n+7776FU,T3\n'** 30\n-3334FU,T4\n%TORYO\n", encoding="utf-8")
    game = shows(facts_of(record)).section("game", "1")
    assert game["names"] == ["anna", "bert"]
    assert [(move["usi"], move["colour"], move["ms"], move["score"]) for move in game["moves"]] == [
        ("7g7f", 0, 3000, 30),
        ("3c3d", 1, 4000, None),
    ]
    assert (game["result"]["reason"], game["result"]["winner"]) == ("RESIGN", 1)


def test_an_annotated_record_has_the_analysis_scores_and_its_players(tmp_path: Path) -> None:
    write_game(tmp_path, "game", blunder_report(), ReportSettings("Gougi", "50000 nodes a position"))
    for name in ("game.annotated.csa", "game.annotated.kif"):
        game = shows(facts_of(tmp_path / name)).section("game", "1")
        assert game["names"] == ["anna", "bert & <son>"]
        assert (game["mine"], game["analysed"]) == (None, True), "neither of them is Gougi"
        assert [move["score"] for move in game["moves"]] == [30, 1500, 1500, 1480], "black's view"


@pytest.mark.parametrize(
    ("comment", "score"),
    [
        ("#評価値=-12", -12),
        ("#詰み=先手勝ち:7手", MATE - 7),
        ("#詰み=後手勝ち", -MATE),
        ("#評価値=99999", None),
        ("評価値 ≤ +30", None),
        ("#評価値=70\n'*#読み筋=△３四歩\n'*#評価値=-12", -12),
        ("#詰み=先手勝ち:7手\n'*#読み筋=△３四歩\n'*#評価値=-12", -12),
        ("#詰み=先手勝ち:7手\n'*#評価値=30000", MATE - 7),
    ],
)
def test_the_scores_of_comments(tmp_path: Path, comment: str, score: int | None) -> None:
    record = tmp_path / "game.csa"
    text = f"V3.0\nPI\n+\n+7776FU\n'*{comment}\n-3334FU\n'*#評価値=5\n%TORYO\n"
    record.write_text("'CSA encoding=UTF-8\n" + text, encoding="utf-8")
    assert [fact["score"] for fact in facts_of(record) if fact["fact"] == "move"] == [score, 5]


@pytest.mark.parametrize(("said", "score"), [(MATE - 7, MATE - 7), (15081406, MAX_EVAL), (-488281, -MAX_EVAL)])
def test_a_score_beyond_any_mate_of_ours_is_no_mate(tmp_path: Path, said: int, score: int) -> None:
    record = tmp_path / "game.csa"
    record.write_text(f"V2\nPI\n+\n+7776FU\n'** {said}\n%TORYO\n", encoding="utf-8")
    assert [fact["score"] for fact in facts_of(record) if fact["fact"] == "move"] == [score]


def test_notices_of_a_record_are_in_the_events(tmp_path: Path) -> None:
    record = tmp_path / "game.csa"
    record.write_text("V2.2\nPI\n+\n+7776FU\n-3334FU\n", encoding="utf-8")
    (entry,) = shows(facts_of(record)).section("log", None)["entries"]
    assert "no ending after move 2" in entry["fields"]["text"]


@pytest.mark.parametrize(
    ("ending", "reason", "conclusion", "winner"),
    [
        ("TIME_UP", "TIME_UP", "", 1),
        ("SENNICHITE", "SENNICHITE", "DRAW", None),
        ("KACHI", "JISHOGI", "", 0),
        ("JISHOGI", "IMPASSE", "DRAW", None),
        ("MAX_MOVES", "MAX_MOVES", "DRAW", None),
        ("ILLEGAL_MOVE", "ILLEGAL_MOVE", "", 1),
        ("CHUDAN", "CHUDAN", "", None),
        ("TSUMI", "MATE", "", 1),
    ],
)
def test_the_end_of_a_record_in_the_pages_words(
    tmp_path: Path, ending: str, reason: str, conclusion: str, winner: int | None
) -> None:
    record = tmp_path / "game.csa"
    record.write_text(f"V2.2\nPI\n+\n+7776FU\n-3334FU\n%{ending}\n", encoding="utf-8")
    ended = facts_of(record)[-1]
    assert (ended["reason"], ended["conclusion"], ended["winner"]) == (reason, conclusion, winner)
    script = (Path(sources.__file__).parent / "static" / "main.js").read_text(encoding="utf-8")
    assert f" {reason}: " in script.partition("const REASONS")[2].partition("\n")[0]


@pytest.mark.parametrize(
    "end", [asyncio.Task.cancel, lambda _: os.kill(os.getpid(), signal.SIGINT)], ids=["cancelled", "Ctrl-C"]
)
def test_viewers_are_notified_of_the_end_and_nothing_is_logged(
    end: Callable[[asyncio.Task[None]], object], caplog: pytest.LogCaptureFixture
) -> None:
    """An open browser's stream used to end with a traceback on the terminal."""
    rest: list[bytes] = []

    async def view() -> None:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        page = asyncio.create_task(
            show(Watch(None, []), ("127.0.0.1", 0), "", HEAD, address.set_result, lambda line: pytest.fail(line))
        )
        port = int((await address).rstrip("/").rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        await reader.readuntil(b"event: state")
        end(page)
        try:
            await asyncio.wait({page})
        finally:
            rest.append(await reader.read())
            writer.close()

    with suppress(KeyboardInterrupt):
        asyncio.run(asyncio.wait_for(view(), 30))
    assert b"event: bye" in rest[0]
    assert [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
