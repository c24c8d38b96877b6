"""The moves of a record in the lines of both formats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from master.records.kif import move_words, numbered
from master.records.notation import SIDES, line_texts
from worker.shogi import Position, move_to_csa
from worker.shogi.pieces import move_to

_SIGNS: Final = str.maketrans(dict(zip(SIDES, "▲△", strict=True)))
"""The signs of the sides that Shift_JIS has."""


@dataclass(frozen=True, slots=True)
class RecordedMove:
    usi: str
    consumed_ms: int | None
    """None: the source of the record does not say."""
    score: int | None = None
    """Centipawns, black's view."""
    pv: tuple[str, ...] = ()
    """CSA moves from the opponent's reply on."""
    nodes: int | None = None
    comment: str = ""
    """Free text, where there is more to say than score and PV."""


class MoveLines:
    """The moves of a record that grows, in lines of both formats: each is put into words once.

    ``**読み筋=△３四歩 ▲２六歩`` in a KIF, after ``**評価値=55``, is ShogiGUI's form of a variation.
    """

    def __init__(self, start_sfen: str) -> None:
        self._position = Position.from_sfen(start_sfen)
        self._before: int | None = None
        self._used_s = [0, 0]
        self._skipped = 0
        self._csa: list[list[str]] = []
        self._kif: list[list[str]] = []

    def skip(self, moves: Sequence[RecordedMove]) -> None:
        """Moves that come first and are not written. Raises MoveError: one is not legal."""
        for move in moves:
            self._used_s[self._position.turn] += (move.consumed_ms or 0) // 1000
            self._before = move_to(self._position.push_usi(move.usi))
        self._skipped = len(moves)

    def csa(self, moves: Sequence[RecordedMove]) -> list[list[str]]:
        """The lines of each move. Those that were there in an earlier call are not looked at again.

        Raises:
            MoveError: a move is not legal where it stands.
        """
        self._add(moves)
        return self._csa[: len(moves)]

    def kif(self, moves: Sequence[RecordedMove]) -> list[list[str]]:
        """As `csa`."""
        self._add(moves)
        return self._kif[: len(moves)]

    def _add(self, moves: Sequence[RecordedMove]) -> None:
        position = self._position
        for move in moves[len(self._kif) :]:
            mover = position.turn
            made = position.push_usi(move.usi)
            seconds = None if move.consumed_ms is None else move.consumed_ms // 1000
            self._used_s[mover] += seconds or 0
            ply = self._skipped + len(self._kif) + 1
            csa = [move_to_csa(made), *csa_time(move.consumed_ms)]
            kif = [numbered(ply, move_words(made, self._before), seconds, self._used_s[mover])]
            self._before = move_to(made)
            if move.score is not None:
                nodes = () if move.nodes is None else (f"#{move.nodes}",)
                csa.append(" ".join(("'**", str(move.score), *move.pv, *nodes)))
                kif.append(f"**評価値={move.score}")
            after = position.copy()
            words = " ".join(line_texts(after, move.pv, self._before, after.parse_csa))
            if words:
                kif.append(f"**読み筋={words.translate(_SIGNS)}")
            self._csa.append(csa + [f"'*{line}" for line in move.comment.splitlines()])
            self._kif.append(kif + [f"*{line}" for line in move.comment.splitlines()])


def csa_time(consumed_ms: int | None) -> Iterator[str]:
    """``T3``, ``T0.250``; nothing if the time is not known."""
    if consumed_ms is not None:
        seconds, rest = divmod(consumed_ms, 1000)
        yield f"T{seconds}" + (f".{rest:03d}" if rest else "")
