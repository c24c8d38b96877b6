"""A process whose disk does not answer: it reports the loss, and ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROCESS = """
import asyncio, sys
from pathlib import Path

import gougi.__main__ as script
import master.book.service as book, master.cli as cli, master.logs.log as log, master.game.recorder as recorder

folder, fifo = Path(sys.argv[1]), sys.argv[2]
book.CLOSE_S = recorder.FLUSH_S = log.CLOSE_S = 0.1


def hang(*_):
    open(fifo, "w")  # nobody reads it


class Record:
    path = folder / "game.csa"
    write, ending = hang, None
    text = lambda self: "a game"
    snapshot = lambda self: self


Record.record = Record()


async def play():
    records, books = recorder.RecordWriter(), book.BookService(learn=folder / "learned.sqlite")
    books.open()
    books._submit(hang, "a search")
    records.save(Record())
    await records.close()
    await books.close()


def run(words=None):
    options = {"file_level": "info", "console_level": "error", "console": lambda line: print(line)}
    with log.open_log(folder / "log", **options):
        asyncio.run(play())
    log.LogFile.emit = hang
    with log.open_log(folder / "dead", **options):
        log.structlog.get_logger("game").info("one")
        log.structlog.get_logger("game").info("two")
    return 7


cli.run = run
script.main()
"""


@pytest.mark.timeout(60)
@pytest.mark.slow
def test_it_reports_the_loss_and_ends(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    command = [sys.executable, "-c", PROCESS, str(tmp_path), str(fifo)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert ended.returncode == 7, ended.stderr
    (log,) = (tmp_path / "log").glob("*.jsonl")
    told = {entry["event"]: entry for entry in map(json.loads, log.read_text().splitlines())}
    assert told["record_not_written"]["files"] == [str(tmp_path / "game.csa")]
    assert told["book_not_written"]["lost"] == ["a search"]
    assert "the disk did not answer" in told["book_not_written"]["error"]
    assert "log_not_written lines=" in ended.stdout.splitlines()[-1]
