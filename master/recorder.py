"""Keeps the record of the game that is being played: an observer of `master.events` that writes `master.records`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import structlog

from master.csa.offer import read_offer
from master.events import Conclusion, GameBegan, GameEnded, GameEvent, GameOutcome, MovePlayed
from master.records import Ending, GameRecord, RecordedMove, RecordError, RecordFile

log: structlog.stdlib.BoundLogger = structlog.get_logger("records")

_OF_THE_SERVER = (Conclusion.WIN, Conclusion.LOSE, Conclusion.DRAW, Conclusion.CENSORED)


class Recorder:
    """Writes the record after each move. A disk that refuses is logged, and the game goes on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: RecordFile | None = None

    @property
    def path(self) -> Path | None:
        """The record's file, once a game has begun."""
        return None if self._file is None else self._file.path

    def __call__(self, event: GameEvent) -> None:
        try:
            match event:
                case GameBegan():
                    self._begin(event)
                case MovePlayed() if self._file is not None:
                    self._file.record.moves.append(
                        RecordedMove(event.usi, event.consumed_ms, event.score, event.pv, event.nodes or None)
                    )
                    self._file.save()
                case GameEnded(outcome) if self._file is not None:
                    self._file.record.ended = datetime.now()
                    self._file.record.ending = _ending(outcome)
                    self._file.save()
        except RecordError as error:
            log.error("record_not_written", error=str(error))

    def _begin(self, began: GameBegan) -> None:
        summary = began.summary
        _, moves = read_offer(summary)
        record = GameRecord(
            game_id=summary.game_id,
            names=summary.names,
            start_sfen=summary.start_sfen,
            time=summary.time,
            max_moves=summary.max_moves,
            started=datetime.now(),
            moves=[RecordedMove(usi, move.consumed_ms) for usi, move in zip(moves, summary.moves, strict=True)],
        )
        self._file = RecordFile(self._folder, record)
        self._file.save()


def _ending(outcome: GameOutcome) -> Ending:
    if outcome.conclusion in _OF_THE_SERVER:
        return Ending(outcome.reason, outcome.winner)
    return Ending(outcome.conclusion.lower(), comment=outcome.reason)
