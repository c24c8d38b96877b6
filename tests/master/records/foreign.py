"""Other programs' readers of records, each with the same answer: start, moves, winner.

python-shogi and cshogi are libraries; tsshogi (ShogiHome's) runs under node. If one of them cannot read a feature in
any file, a comment at the exception says so.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import shogi
import shogi.CSA
import shogi.KIF

from worker.shogi import Position

cshogi = pytest.importorskip("cshogi", reason="cshogi is not built for this machine")
for module in ("CSA", "KIF", "KI2"):
    pytest.importorskip(f"cshogi.{module}")

HERE = Path(__file__).parent
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed: apt install nodejs")


@dataclass(frozen=True)
class Read:
    start: str
    """Board, side to move and hands of the SFEN."""
    moves: tuple[str, ...]
    winner: str | None = None
    """``b``, ``w``; None for nobody."""


def start_of(sfen: str) -> str:
    """An SFEN as ours is written, without the move number."""
    return " ".join(Position.from_sfen(sfen).sfen().split()[:3])


def python_shogi(kind: str, text: str) -> Read:
    (found,) = shogi.CSA.Parser.parse_str(text) if kind == "csa" else shogi.KIF.Parser.parse_str(text)
    board, turn, *rest = found["sfen"].split()
    if kind == "kif" and "手合割" not in text and len(found["moves"]) % 2:
        turn = {"b": "w", "w": "b"}[turn]  # it gives the diagram the side that is to move after the last move
    winner = {"b": "b", "w": "w"}.get(found["win"])
    return Read(start_of(" ".join((board, turn, *rest))), tuple(found["moves"]), winner)


def _csa_sfen(pieces: Sequence[Any], hands: Sequence[dict[int, int]], turn: str, _: int) -> str:
    """python-shogi's own reads two and more pieces in hand, and writes their number without the piece."""
    board = shogi.Board("9/9/9/9/9/9/9/9/9 b - 1")
    for square, piece in enumerate(pieces):
        if piece is not None:
            board.set_piece_at(square, shogi.Piece(*piece))
    for colour, hand in enumerate(hands):
        for kind, number in hand.items():
            board.add_piece_into_hand(kind, colour, number)
    board.turn = "+-".index(turn)
    return str(board.sfen())


shogi.CSA.Exporter.sfen = staticmethod(_csa_sfen)


def cshogi_reads(kind: str, text: str) -> Read | None:
    if kind == "kif":
        if "手合割" not in text:
            return None  # it passes over diagrams
        found = cshogi.KIF.Parser.parse_str(text)
    else:
        (found,) = cshogi.Parser.parse_str(text)
    winner = {cshogi.BLACK_WIN: "b", cshogi.WHITE_WIN: "w"}.get(found.win)
    return Read(start_of(found.sfen), tuple(cshogi.move_to_usi(move) for move in found.moves), winner)


def ask_tsshogi(*orders: dict[str, str]) -> list[dict[str, Any]]:
    """Answers of ``foreign.mjs``; an order has ``kind``, ``text`` and, to be written again, ``as``."""
    done = subprocess.run(
        ["node", HERE / "foreign.mjs"], input=json.dumps(orders).encode(), capture_output=True, check=True, timeout=60
    )
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    for answer in answers:
        assert "error" not in answer, answer["error"]
    return answers


_LOST, _WON = ("resign", "timeout", "mate", "foulLose", "loseByDefault"), ("foulWin", "enteringOfKing", "winByDefault")
"""Game ends by their meaning for the side to move."""


def tsshogi(kind: str, *texts: str) -> list[Read]:
    reads = []
    for found in ask_tsshogi(*({"kind": kind, "text": text} for text in texts)):
        start = start_of(found["start"])
        turn = (start.split()[1] == "w") ^ (len(found["moves"]) & 1)
        winner = "bw"[turn] if found["end"] in _WON else "wb"[turn] if found["end"] in _LOST else None
        reads.append(Read(start, tuple(found["moves"]), winner))
    return reads


def one_by_one(read: Callable[[str, str], Read | None]) -> Callable[..., list[Read | None]]:
    return lambda kind, *texts: [read(kind, text) for text in texts]


READERS = [
    pytest.param("python-shogi", one_by_one(python_shogi), id="python-shogi"),
    pytest.param("cshogi", one_by_one(cshogi_reads), id="cshogi"),
    pytest.param("tsshogi", tsshogi, id="tsshogi", marks=needs_node),
]
"""Each takes the kind of the records and any number of texts; None: the reader does not read such a record at all."""
