"""Keeps the record of the running game: an observer of `master.player.events` that writes `master.records.record`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from master.csa.offer import read_offer
from master.csa.summary import GameSummary
from master.player.events import Conclusion, GameBegan, GameEnded, GameEvent, GameFound, GameOutcome, MovePlayed
from master.records.lines import RecordedMove
from master.records.record import Ending, GameRecord, RecordError, RecordFile

log: structlog.stdlib.BoundLogger = structlog.get_logger("records")

FLUSH_S: Final = 5.0
"""Seconds after which a disk that does not answer is given up."""
LATER_S: Final = 0.05
"""Delay before a record is written, unless its game is over: by then the next search has begun."""
_OF_THE_SERVER: Final = (Conclusion.WIN, Conclusion.LOSE, Conclusion.DRAW, Conclusion.CENSORED)


class RecordWriter:
    """Writes records in a thread of its own, in order and with a short delay: neither a slow disk nor the text of a
    long game costs time on the clock, or delays the search of the next move.

    If the disk is too slow, only the latest state of a record is written. A write error is logged once while it
    persists; the game goes on.
    """

    def __init__(self) -> None:
        self._thread = concurrent.futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="records")
        self._waiting: dict[RecordFile, tuple[GameRecord, float]] = {}
        """The latest state of each, and the time at which it is due."""
        self._closing = threading.Event()
        self._writing: RecordFile | None = None
        self._refused = ""
        """The reason why the last write failed."""
        self._lock = threading.Lock()
        self._last: concurrent.futures.Future[None] | None = None

    def save(self, file: RecordFile) -> None:
        """Write the record as it is now, soon."""
        with self._lock:
            due_s = time.monotonic() + (LATER_S if file.record.ending is None else 0.0)
            self._waiting[file] = file.record.snapshot(), due_s
        self._last = self._thread.submit(self._write, file)

    async def close(self) -> None:
        """Wait until everything is written, but at most `FLUSH_S`; the rest is logged and abandoned."""
        self._closing.set()
        if self._last is not None:
            _, late = await asyncio.wait({asyncio.wrap_future(self._last)}, timeout=FLUSH_S)
            if late:
                with self._lock:
                    files = {*self._waiting, self._writing}
                lost = sorted(str(file.path) for file in files if file is not None)
                log.error("record_not_written", error=f"the disk did not answer for {FLUSH_S:.0f} s", files=lost)
        self._thread.shutdown(wait=False)

    def _write(self, file: RecordFile) -> None:
        with self._lock:
            if file not in self._waiting:
                return  # a later state was written already
            _, due_s = self._waiting[file]
        self._closing.wait(max(0.0, due_s - time.monotonic()))
        with self._lock:
            record, _ = self._waiting.pop(file)
            self._writing = file
        refused = ""
        try:
            file.write(record.text())
        except RecordError as error:
            refused = str(error)
            if refused != self._refused:
                log.error("record_not_written", error=refused)
        self._refused, self._writing = refused, None


class Recorder:
    """Writes the record after each move."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer = RecordWriter()
        self._file: RecordFile | None = None
        self._begun = False

    @property
    def path(self) -> Path | None:
        """The record's file, once a game has begun."""
        return self._file.path if self._file is not None and self._begun else None

    async def close(self) -> None:
        """Wait until everything is written."""
        await self._writer.close()

    def __call__(self, event: GameEvent) -> None:
        if isinstance(event, GameFound):
            self._prepare(event.summary)
        if self._file is None:
            return
        record = self._file.record
        match event:
            case GameBegan():
                self._begun = True
                record.started = datetime.now()
            case MovePlayed():
                found = event.comment
                words = f"book: {found.book}" if found.book else ""
                record.moves.append(
                    RecordedMove(event.usi, event.consumed_ms, found.score, found.pv, found.nodes or None, words)
                )
            case GameEnded(outcome) if self._begun:
                record.ended = datetime.now()
                record.ending = _ending(outcome)
            case GameEnded() if self._file.path is not None:
                self._file.path.unlink(missing_ok=True)
                return
            case _:
                return
        self._writer.save(self._file)

    def _prepare(self, summary: GameSummary) -> None:
        """No clock runs yet: time to create the folder and to take a name."""
        _, moves = read_offer(summary)
        record = GameRecord(
            game_id=summary.game_id,
            names=summary.names,
            start_sfen=summary.start_sfen,
            time=summary.time,
            max_moves=summary.max_moves,
            moves=[RecordedMove(usi, move.consumed_ms) for usi, move in zip(moves, summary.moves, strict=True)],
        )
        self._file = RecordFile(self._folder, record)
        try:
            self._file.take_name()
        except RecordError as error:
            log.error("record_not_written", error=str(error))
            self._file = None


def _ending(outcome: GameOutcome) -> Ending:
    if outcome.conclusion in _OF_THE_SERVER:
        return Ending(outcome.reason, outcome.winner, outcome.comment)
    return Ending(outcome.conclusion.lower(), comment=outcome.reason)
