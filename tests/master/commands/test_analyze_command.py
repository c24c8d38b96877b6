"""``gougi analyze`` for a user, with a searcher with prepared answers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from cluster.api import Listener
from master.commands import analyze as command
from master.commands.common import CommandError
from tests.master.analysis.records import CSA
from tests.master.scripted import ScriptedSearcher, first_legal
from worker.shogi import Position


@pytest.fixture
def searcher(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedSearcher:
    """It replaces the fleet; the working folder is a new one with two records."""
    found = ScriptedSearcher()
    monkeypatch.setattr(command, "_searcher", lambda *_: found)
    monkeypatch.setattr(command, "compile_searcher", lambda: None)
    monkeypatch.chdir(tmp_path)
    Path("one.csa").write_text(CSA)
    Path("two#.csa").write_text(CSA.replace("anna", "carl"))
    return found


def run(*arguments: str) -> object:
    app = typer.Typer()
    app.command()(command.analyze)
    return app(args=list(arguments), standalone_mode=False)


def test_one_game(searcher: ScriptedSearcher, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("one.csa") == 0
    assert sorted(path.name for path in Path("analysis").iterdir()) == [
        "one.annotated.csa", "one.annotated.kif", "one.html", "positions.db",
    ]  # fmt: skip
    out = capsys.readouterr().out
    assert "☗７六歩" in out and "bert & <son>" in out and "report: analysis/one.html" in out
    assert len(searcher.requests) == 5
    assert {request.nodes for request in searcher.requests} == {50_000}


def test_bad_moves_and_better_ones_are_searched_again(
    searcher: ScriptedSearcher, capsys: pytest.CaptureFixture[str]
) -> None:
    def throws_away(position: Position) -> tuple[str, int | None]:
        """White's second move loses: before it the position is even, after it black is far ahead."""
        return first_legal(position)[0], 1500 if position.move_number == 3 else 0

    searcher.choose = throws_away
    assert run("one.csa", "--json") == 0
    again = [len(request.moves) for request in searcher.requests if request.nodes == 250_000]
    told = json.loads(capsys.readouterr().out)
    moves = told["games"][0]["moves"]
    assert moves[1]["quality"] == "mistake" and moves[1]["sureness"] == "sure"
    assert set(again) >= {1, 2} and again == sorted(again, reverse=True)
    assert "5 times as many for reported moves" in told["effort"]
    assert "No strength: it was measured with a total of 50000 nodes a position, not with 100." in told["no_strength"]
    searcher.requests.clear()
    assert run("one.csa", "--json") == 0
    assert searcher.requests == [], "both searches are kept"
    assert run("one.csa", "--json", "--again", "1", "--out", "once") == 0
    assert len(searcher.requests) == 5


def test_several_games_rate_players_over_all(searcher: ScriptedSearcher, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("one.csa", "two#.csa", "--out", "both", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [(player["name"], player["games"]) for player in told["players"]] == [
        ("bert & <son>", 2), ("anna", 1), ("carl", 1),
    ]  # fmt: skip
    assert '"page":"two%23.html"' in Path("both/index.html").read_text()
    assert len(searcher.requests) == 5, "both files hold the same game"


def test_a_bad_record_among_good_ones_is_told_and_left_out(
    searcher: ScriptedSearcher, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.csa").write_text(CSA.replace("-3334FU", "-3335FU"))
    assert run("bad.csa", "one.csa") == 1
    assert "bad.csa, line 10: move 2 is not legal" in capsys.readouterr().err
    assert Path("analysis/one.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.csa",), "none.csa: no such file"),
        (("one.csa", "--from", "9"), "no move from 9"),
        (("one.csa", "--seconds", "1", "--nodes-per-move", "1000"), "not both"),
        (("one.csa", "--net", "none.bin"), r"eval_file \(--net\): none.bin: no such file"),
        (("one.csa", "--nodes", "-1"), "nodes"),
        (("one.csa", "--problems", "one.csa/p.json"), "--problems"),
        (("one.csa", "--problems", "."), "a folder, not a file"),
    ],
)
def test_errors_have_exit_code_2(searcher: ScriptedSearcher, arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(CommandError, match=words) as error:
        run(*arguments)
    assert error.value.code == 2
    assert not Path("analysis").exists()


@pytest.fixture
def signals_restored() -> Iterator[None]:
    """An interrupted command ignores further signals, because its process is about to end. This process continues."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals_restored")
def test_ctrl_c_keeps_finished_searches(searcher: ScriptedSearcher, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(position: Position) -> tuple[str, int | None]:
        if position.move_number == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return first_legal(position)

    searcher.choose = interrupted
    assert run("one.csa") == 130
    assert "the same command continues" in capsys.readouterr().err
    with contextlib.closing(sqlite3.connect("analysis/positions.db")) as base:
        ((kept,),) = base.execute("SELECT count(*) FROM positions")
    assert kept in (2, 3)
    searcher.choose = first_legal
    searcher.requests.clear()
    assert run("one.csa") == 0
    assert len(searcher.requests) == 5 - kept


class Cluster(ScriptedSearcher):
    """A running cluster that offers so many nodes."""

    capacity = 16

    async def open(self, listener: Listener) -> None:
        await super().open(listener)
        listener.on_event("ray_started", {"capacity": self.capacity})


def test_what_two_clusters_or_versions_have_found_is_kept_apart(
    monkeypatch: pytest.MonkeyPatch, searcher: ScriptedSearcher, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = Cluster()
    monkeypatch.setattr(command, "check_fleet", lambda *_, **__: None)
    monkeypatch.setattr(command, "_searcher", lambda *_: cluster)
    effort = []
    for cluster.capacity, again in ((16, 5), (4, 5), (16, 0)):
        cluster.requests.clear()
        assert run("one.csa", "--address", "head:6379", "--json") == 0
        assert len(cluster.requests) == again
        effort.append(json.loads(capsys.readouterr().out)["effort"])
    assert [text.rpartition(" on each of ")[2] for text in effort] == ["16 nodes", "4 nodes", "16 nodes"]
    monkeypatch.setattr("master.analysis.run.VERSION", "99.0")
    assert run("one.csa", "--address", "head:6379", "--json") == 0
    assert len(cluster.requests) == 5
    assert json.loads(capsys.readouterr().out)["engine"].startswith("Gougi 99.0 with")


@pytest.mark.parametrize(
    ("files", "stems"),
    [
        (("a/g.csa", "b/g.csa", "g.2.csa"), {"g", "g.2", "g.2.2"}),
        (("g.2.csa", "a/g.csa", "b/g.csa"), {"g.2", "g", "g.3"}),
        (("index.csa", "g.csa"), {"index.2", "g", "index"}),
    ],
)
def test_no_games_files_overwrite_those_of_another(
    searcher: ScriptedSearcher, files: tuple[str, ...], stems: set[str]
) -> None:
    for file in map(Path, files):
        file.parent.mkdir(exist_ok=True)
        file.write_text(CSA)
    assert run(*files, "--out", "out") == 0
    assert {path.name.removesuffix(".html") for path in Path("out").glob("*.html")} == stems | {"index"}
