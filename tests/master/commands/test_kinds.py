"""A file of the wrong kind: the command says what it is, and names the commands that take it."""

from __future__ import annotations

from pathlib import Path

import pytest

from master.cli import run
from master.commands.checks import Kind, kind_of
from tests.master.analysis.records import CSA
from worker.nnue.network import default_file

LOG = '{"event": "player_begins", "game": 1, "name": "anna", "server": "x:1", "settings": {}}\n'
FILES = {
    Kind.RECORD: ("game.csa", CSA.encode()),
    Kind.LOG: ("log.jsonl", LOG.encode()),
    Kind.BOOK: ("book.db", b"#YANEURAOU-DB2016 1.00\n"),
    Kind.LEARNED: ("learned.sqlite", b"SQLite format 3\0" + bytes(84)),
    Kind.NET: ("nn.bin", default_file().read_bytes()[:5000]),
    Kind.POSITIONS: ("openings.txt", b"startpos moves 7g7f\n"),
    Kind.CONFIG: ("gougi.toml", b"[engine]\nthreads = 1\n"),
    Kind.PAGE: ("game.html", b"<!doctype html>\n"),
}
TAKE = {
    "analyze": {Kind.RECORD},
    "replay": {Kind.LOG},
    "log": {Kind.LOG},
    "watch": {Kind.LOG, Kind.RECORD},
    "book stats": {Kind.BOOK, Kind.LEARNED},
    "book import --out out.db --from": {Kind.RECORD, Kind.BOOK},
    "book export out.db --book": {Kind.LEARNED, Kind.BOOK},
    "net info": {Kind.NET},
    "net blend --out out.bin --share 0.5 nn.bin": {Kind.NET},
    "bench --net": {Kind.NET},
    "play --net": {Kind.NET},
    "match a b --openings": {Kind.POSITIONS},
    "config --config": {Kind.CONFIG},
    "play --config": {Kind.CONFIG},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.values():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GOUGI_CONFIG", "")
    return tmp_path


def test_kinds_are_told_by_the_content_then_by_the_name(folder: Path) -> None:
    for kind, (name, content) in FILES.items():
        assert kind_of(folder / name) is kind
        if name not in ("game.csa", "gougi.toml"):
            (folder / "other.txt").write_bytes(content)
            assert kind_of(folder / "other.txt") is kind
    (folder / "notes.txt").write_text("nothing of ours\n")
    assert [kind_of(folder / name) for name in ("notes.txt", "missing.csa", "")] == [None, None, None]


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("words", TAKE)
@pytest.mark.usefixtures("folder")
def test_the_right_command_is_named(words: str, kind: Kind, capsys: pytest.CaptureFixture[str]) -> None:
    if kind in TAKE[words]:
        return  # each command's own tests
    assert run([*words.split(), FILES[kind][0]]) == 2
    error = capsys.readouterr().err
    assert f"{FILES[kind][0]}: this is {kind.words}, for {kind.takers}\n" in error
    assert error.count("gougi: ") == 1
