"""The comments of a KIF record: variations, in the notation that shogi programs read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from master.records.notation import SIDES, line_texts
from worker.shogi import Position

_ENCODING: Final = "cp932"
"""Shift_JIS as Windows has it, which every shogi program expects of ``.kif`` files."""
_WIDE: Final = str.maketrans("¥‾", "￥￣")
"""Signs that Shift_JIS elsewhere has in the places of ``\\`` and ``~``, and Windows only in full width."""
_SIGNS: Final = str.maketrans(dict(zip(SIDES, "▲△", strict=True)))
"""The signs of the sides that Shift_JIS has."""


def kif_bytes(text: str) -> bytes:
    """The content of a ``.kif`` file; a question mark for each character that such a file cannot hold."""
    return text.translate(_WIDE).encode(_ENCODING, "replace")


class Variations:
    """The comments on the moves of a record that grows: each variation is put into words once.

    ``*読み筋=△３四歩 ▲２六歩``, behind one another line of a KIF's ``*``, is ShogiGUI's form.
    """

    def __init__(self, start_sfen: str) -> None:
        self._position = Position.from_sfen(start_sfen)
        self._texts: list[str] = []

    def texts(self, moves: Sequence[tuple[str, tuple[str, ...]]]) -> list[str]:
        """The comment on each move, empty where there is no variation.

        Args:
            moves: the moves of the game (USI) with their variations (CSA moves from the reply on). Those that were
                there in an earlier call are not looked at again.

        Raises:
            MoveError: a move is not legal where it stands.
        """
        for usi, pv in moves[len(self._texts) :]:
            move = self._position.push_usi(usi)
            behind = self._position.copy()
            words = " ".join(line_texts(behind, pv, move & 0x7F, behind.parse_csa)).translate(_SIGNS)
            self._texts.append(f"*読み筋={words}" if words else "")
        return list(self._texts)
