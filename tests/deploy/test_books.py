"""The learned book on its way to the bucket and back: real SQLite, a folder as the bucket."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.deploy.machine import facts_at, script_at, stand_in

SYSTEMD = Path(__file__).resolve().parents[2] / "deploy" / "systemd"

# `aws s3 cp` and `aws s3 sync`, as the scripts use them. A sync copies files that are missing or differ in size.
# Upwards it also copies files that are newer here, and downwards those that are older in the bucket
# (awscli/customizations/s3/syncstrategy/base.py) or, with --exact-timestamps, of another time.
AWS = """
import fnmatch, os, pathlib, shutil, sys
words, at = sys.argv[1:], pathlib.Path(__file__).parents[1]
source, target = (pathlib.Path(w.replace("s3:/", str(at))) for w in words[2:4])
rules = [(word == "--include", words[n + 1]) for n, word in enumerate(words) if word in ("--exclude", "--include")]
down = words[2].startswith("s3:")
if (at / "down").exists():
    (at / "down").unlink()
    sys.exit(1)
if words[1] == "cp":
    target.parent.mkdir(parents=True, exist_ok=True)
    if "--recursive" in words:
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)
    sys.exit()
for path in (path for path in source.rglob("*") if path.is_file()):
    name = str(path.relative_to(source))
    goal, stat = target / name, path.stat()
    taken = [keep for keep, pattern in rules if fnmatch.fnmatch(name, pattern)]
    if taken and not taken[-1]:
        continue
    there = goal.stat() if goal.exists() else None
    if there is not None and stat.st_size == there.st_size:
        exact = "--exact-timestamps" in words and stat.st_mtime != there.st_mtime
        if not (exact or (stat.st_mtime < there.st_mtime if down else stat.st_mtime > there.st_mtime)):
            continue
    goal.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, goal)
    if down:
        os.utime(goal, (stat.st_mtime,) * 2)
    print(name, file=open(at / "copied", "a"))
"""

# A master that learns, and ends cleanly or not.
LEARN = """
import os, sqlite3, sys
book = sqlite3.connect(sys.argv[1])
book.execute("PRAGMA journal_mode = WAL")
book.execute("CREATE TABLE IF NOT EXISTS thoughts (n INTEGER)")
for n in range(int(sys.argv[2])):
    with book:
        book.execute("INSERT INTO thoughts VALUES (?)", (n,))
if sys.argv[3] == "crash":
    os._exit(1)
book.close()
"""


class Head:
    """The head's disk, and the bucket."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.books, self.bucket = folder / "state" / "books", folder / "bucket" / "fleet-1"
        self.books.mkdir(parents=True)
        (self.bucket / "books").mkdir(parents=True)
        (self.bucket / "config").mkdir()
        for name in ("gougi.toml", "master.env"):
            (self.bucket / "config" / name).touch()
        facts_at(folder, FLEET_ROLE="head", FLEET_REGION="r", FLEET_BUCKET="bucket", FLEET_NAME="fleet-1")
        script_at(folder, "lib.sh", STATE=folder / "state", VENV=folder)
        script_at(folder, "copy_books.py")
        stand_in(folder, "aws", AWS, sys.executable)
        stand_in(folder, "chown", "")
        (folder / "bin" / "python").symlink_to(sys.executable)

    def learn(self, rows: int, end: str) -> None:
        subprocess.run([sys.executable, "-c", LEARN, self.books / "own.db", str(rows), end], check=end != "crash")

    def end(self) -> subprocess.CompletedProcess[str]:
        """Run the scripts after the master's end; returns the first one that fails, else the last."""
        copied, kept = self.run("keep-books.sh"), self.run("keep-records.sh")
        return kept if copied.returncode == 0 else copied

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        return subprocess.run(
            [script_at(self.folder, script)], env=env, capture_output=True, text=True, check=False, timeout=60
        )

    def rows(self) -> int:
        with closing(sqlite3.connect(self.books / "own.db")) as book:
            (rows,) = book.execute("SELECT count(*) FROM thoughts").fetchone()
            assert book.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            return int(rows)


@pytest.fixture
def head(tmp_path: Path) -> Head:
    return Head(tmp_path)


def _kept(head: Head) -> set[str]:
    return {str(path.relative_to(head.bucket / "books")) for path in (head.bucket / "books").rglob("*")}


def test_a_book_survives_a_crash_an_orderly_end_and_the_loss_of_the_disk(head: Head) -> None:
    head.learn(10, "crash")
    assert (head.books / "own.db-wal").exists()
    assert head.end().returncode == 0
    assert _kept(head) == {"own.db"}, "a log in the bucket would be replayed over a later state of its book"
    head.learn(5, "in order")
    assert head.end().returncode == 0
    for path in head.books.iterdir():
        path.unlink()
    assert head.run("fetch-files.sh").returncode == 0
    assert head.rows() == 15


def test_the_timer_keeps_the_book_of_a_player_that_goes_on(head: Head) -> None:
    units = ["gougi-books.service", "gougi-records.service"]
    second = (SYSTEMD / units[1]).read_text(encoding="utf-8").splitlines()
    assert {f"Wants={units[0]}", f"After={units[0]}"} <= set(second)
    head.learn(10, "crash")  # so there is a log, as while a player goes on
    for rows in (11, 12):
        os.utime(head.books / "own.db", (1_000_000, 1_000_000))
        with closing(sqlite3.connect(head.books / "own.db", isolation_level=None)) as book:
            book.execute("INSERT INTO thoughts VALUES (0)")
            for unit in units:
                (script,) = re.findall(r"^ExecStart=.*/(\S+)$", (SYSTEMD / unit).read_text(encoding="utf-8"), re.M)
                assert head.run(script).returncode == 0
        with closing(sqlite3.connect(head.bucket / "books" / "own.db")) as kept:
            assert kept.execute("SELECT count(*) FROM thoughts").fetchone() == (rows,)


def test_a_log_that_is_in_the_bucket_stays_there(head: Head) -> None:
    (head.bucket / "books" / "own.db-wal").write_text("an old log")
    (head.bucket / "books" / "deep").mkdir()
    (head.bucket / "books" / "deep" / "other.db-shm").touch()
    assert head.run("fetch-files.sh").returncode == 0
    assert list(head.books.rglob("*")) == []


def test_a_book_that_is_here_is_not_written_over_and_a_new_one_comes(head: Head) -> None:
    (head.books / "a[1].db").write_text("here")
    for name in ("own.db", "a[1].db", "standard.db"):
        (head.bucket / "books" / name).write_text("from the bucket, and of another size")
    head.learn(3, "crash")  # and its upload failed
    assert head.run("fetch-files.sh").returncode == 0
    assert head.rows() == 3
    assert (head.books / "a[1].db").read_text() == "here"
    assert (head.books / "standard.db").exists()


def test_a_changed_book_is_uploaded_again_and_a_failed_upload_is_repeated(head: Head) -> None:
    (head.books / "standard.db").write_text("#YANEURAOU-DB2016 1.00\n")
    head.learn(3, "in order")
    (head.folder / "down").touch()
    for code in (1, 0, 0):
        assert head.end().returncode == code
    assert sorted((head.folder / "copied").read_text().split()) == ["own.db", "standard.db"]


def test_a_damaged_book_is_named_and_holds_up_no_other(head: Head) -> None:
    head.learn(3, "in order")
    (head.books / "bad.db").write_bytes(b"SQLite format 3\0 and nothing more that would be a book")
    ran = head.end()
    assert ran.returncode == 1
    assert f"{head.books / 'bad.db'}: " in ran.stderr
    assert _kept(head) == {"own.db"}


def test_a_worker_gets_no_books(head: Head) -> None:
    (head.bucket / "books" / "own.db").write_text("a book")
    facts_at(head.folder, FLEET_ROLE="node", FLEET_REGION="r", FLEET_BUCKET="bucket", FLEET_NAME="fleet-1")
    assert head.run("fetch-files.sh").returncode == 0
    assert list(head.books.iterdir()) == []


def test_a_newer_network_of_the_same_size_comes(head: Head) -> None:
    here, there = head.folder / "state" / "nets" / "my.bin", head.bucket / "nets" / "my.bin"
    there.parent.mkdir()
    there.write_text("old")
    os.utime(there, (1_000_000, 1_000_000))
    assert head.run("fetch-files.sh").returncode == 0
    assert here.read_text() == "old"
    there.write_text("new")
    for _ in range(2):
        assert head.run("fetch-files.sh").returncode == 0
        assert here.read_text() == "new"
    assert (head.folder / "copied").read_text().split().count("my.bin") == 2, "an unchanged one stays"


def test_a_partial_download_is_no_book(head: Head) -> None:
    for name in ("own.db.1a2B3c4D", "own.db.20261126"):
        (head.books / name).write_text("half of it, or an old one")
    assert head.run("fetch-files.sh").returncode == 0
    assert [path.name for path in head.books.iterdir()] == ["own.db.20261126"]


def test_the_end_of_the_last_game_and_of_its_log_go_to_the_bucket(head: Head) -> None:
    records = head.folder / "state" / "records"
    records.mkdir()
    for name in ("game.csa", "gougi-20261126-101500-7.jsonl", "other.txt"):
        (records / name).write_text(name)
    head.learn(3, "in order")
    assert head.end().returncode == 0
    found = {str(path.relative_to(head.bucket)) for path in head.bucket.rglob("*") if path.is_file()}
    assert {"records/game.csa", "logs/gougi-20261126-101500-7.jsonl", "books/own.db"} <= found
    assert (head.folder / "copied").read_text().split()[0] == "game.csa", "books may take all the time that there is"
    assert not any("other.txt" in name for name in found)
