"""Position: the interface of the rules. Compiled functions take its ``record``; everything else goes through its
methods."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from worker.jit.memory import fields_of
from worker.score import MAX_PLY
from worker.shogi import declaration, makemove, notation, sfen
from worker.shogi.attacks import in_check, is_attacked, update_checks
from worker.shogi.notation import MoveError, usi_code
from worker.shogi.pieces import BLACK, KING, SQUARES
from worker.shogi.sfen import STARTPOS, SfenError
from worker.shogi.state import MAX_HISTORY, POS_DTYPE, STACK, new_memory
from worker.shogi.tables import ZOBRIST_BOARD_VALUES, ZOBRIST_HAND_VALUES, ZOBRIST_SIDE

_FORGET = 256
_OCCURRENCES_OF_A_DRAW = 4

_STACKS = {name: POS_DTYPE[name].shape[0] // STACK for name in POS_DTYPE.names or () if name.startswith("st_")}
"""Fields by ply, with the number of entries per ply."""
_PLAIN_FIELDS = tuple(name for name in POS_DTYPE.names or () if name not in _STACKS and name != "moves")


class Repetition(enum.Enum):
    """The result of a fourth occurrence, for the side to move."""

    NONE = "none"
    DRAW = "draw"
    WIN = "win"
    LOSE = "lose"


class Position:
    """A position with its history.

    Moves are ints (`worker.shogi.pieces`). `push` trusts its caller; `push_usi` and `push_csa` check everything.

    Attributes:
        memory: the Record, in an array of one (`worker.shogi.state.POS_DTYPE`).
        record: the same for compiled code (``np.record``).
    """

    def __init__(self, setup: sfen.Setup) -> None:
        self._take_memory()
        self._first_number = setup.move_number
        self._forgotten = 0
        self._fill(setup)

    def _take_memory(self) -> None:
        self.memory = new_memory()
        self.record: Any = self.memory.view(np.recarray)[0]
        self._fields = fields_of(self.memory)

    @classmethod
    def startpos(cls) -> Position:
        return cls.from_sfen(STARTPOS)

    @classmethod
    def from_sfen(cls, text: str) -> Position:
        """Read an SFEN (or ``startpos``). Raises `SfenError`, which names the error and its place."""
        setup = sfen.parse(text)
        position = cls(setup)
        if position._can_take_king():
            raise SfenError("the side to move could take the king")
        return position

    def _fill(self, setup: sfen.Setup) -> None:
        record, fields, board = self.record, self._fields, self._fields.board
        key = 0
        for sq, piece in enumerate(setup.board):
            if piece:
                board[sq] = piece
                makemove.toggle_piece(record, piece, sq)
                key ^= int(ZOBRIST_BOARD_VALUES[piece, sq])
                if piece & 15 == KING:
                    fields.ksq[piece >> 4] = sq
        fields.side[0] = setup.turn
        if setup.turn != BLACK:
            key ^= int(ZOBRIST_SIDE)
        fields.board_key[0] = fields.st_board[0] = key
        for colour, hand in enumerate(setup.hands):
            for kind, number in enumerate(hand):
                fields.hand[colour * 8 + kind] = number
                key ^= int(ZOBRIST_HAND_VALUES[colour, kind, number])
        fields.key[0] = fields.st_key[0] = key
        update_checks(record)

    def _can_take_king(self) -> bool:
        king = int(self._fields.ksq[1 - self.turn])
        return king >= 0 and bool(is_attacked(self.record, king, self.turn))

    @property
    def turn(self) -> int:
        """The side to move: 0 black, 1 white."""
        return int(self._fields.side[0])

    @property
    def plies(self) -> int:
        """Moves since the position was set, as far as they are kept."""
        return int(self._fields.ply[0])

    @property
    def move_number(self) -> int:
        """The number of the move to be made, continuing the SFEN's."""
        return self._first_number + self._forgotten + self.plies

    @property
    def key(self) -> int:
        """The zobrist key of board, hands and side."""
        return int(self._fields.key[0])

    @property
    def history(self) -> list[int]:
        """The moves made since the position was set (in a very long game only the last ones)."""
        moves: list[int] = self._fields.st_move[: self.plies].tolist()
        return moves

    def piece_on(self, sq: int) -> int:
        """The piece on a square, 0 if it is empty."""
        return int(self._fields.board[sq])

    def hand(self, colour: int) -> tuple[int, ...]:
        """Pieces in hand by type, 8 counts (index 0 unused)."""
        return tuple(self._fields.hand[colour * 8 : colour * 8 + 8].tolist())

    def sfen(self) -> str:
        """The canonical SFEN with move number."""
        board = tuple(self._fields.board[:SQUARES].tolist())
        hands = (self.hand(0), self.hand(1))
        return sfen.write(sfen.Setup(board, hands, self.turn, self.move_number))

    def copy(self) -> Position:
        """An independent copy, history included."""
        twin = object.__new__(Position)
        twin._take_memory()
        twin.become(self)
        return twin

    def become(self, other: Position) -> None:
        """Become a copy of another position, history included, in this one's memory: its ``record`` keeps its
        address."""
        mine, others = vars(self._fields), vars(other._fields)
        used = other.plies + 1
        for name in _PLAIN_FIELDS:
            mine[name][:] = others[name]
        for name, width in _STACKS.items():
            mine[name][: used * width] = others[name][: used * width]
        self._first_number = other._first_number
        self._forgotten = other._forgotten

    def legal_moves(self, *, every: bool = True) -> list[int]:
        """Every legal move; those that decline a useful promotion only with ``every``."""
        end = makemove.legal_moves(self.record, 0, int(every))
        moves: list[int] = self._fields.moves[:end].tolist()
        return moves

    def is_legal(self, move: int) -> bool:
        """Whether any int is a legal move here."""
        return 0 < move < 1 << 21 and bool(makemove.check_move(self.record, move))

    def push(self, move: int) -> None:
        """Make a move that is known to be legal."""
        if self.plies >= MAX_HISTORY:
            self._forget()
        makemove.make(self.record, move)
        update_checks(self.record)

    def pop(self) -> int:
        """Take back the last move and return it. Raises IndexError if there is none."""
        ply = self.plies
        if ply == 0:
            raise IndexError("no move to take back")
        makemove.unmake(self.record)
        return int(self._fields.st_move[ply - 1])

    def _forget(self) -> None:
        ply = self.plies
        for name, width in _STACKS.items():
            stack = vars(self._fields)[name]
            stack[: (ply + 1 - _FORGET) * width] = stack[_FORGET * width : (ply + 1) * width].copy()
        self._fields.ply[0] = ply - _FORGET
        self._forgotten += _FORGET

    def parse_usi(self, text: str) -> int:
        """A legal move from USI text. Raises `MoveError`."""
        return self._checked(notation.parse_usi(text, self.turn, self.piece_on), text)

    def parse_csa(self, text: str) -> int:
        """A legal move from CSA text (without its time). Raises `MoveError`."""
        return self._checked(notation.parse_csa(text, self.piece_on), text)

    def _checked(self, move: int, text: str) -> int:
        if not self.is_legal(move):
            raise MoveError(f"{text} is not legal in {self.sfen()}")
        return move

    def push_usi(self, text: str) -> int:
        """Make a move given in USI. Raises `MoveError`; then the position is unchanged."""
        move = self.parse_usi(text)
        self.push(move)
        return move

    def push_csa(self, text: str) -> int:
        """Make a move given in CSA. Raises `MoveError`; then the position is unchanged."""
        move = self.parse_csa(text)
        self.push(move)
        return move

    def push_all(self, moves: Sequence[str], first: int = 1) -> None:
        """Make several USI moves. If one is illegal, raises `MoveError` and takes back those already made, as far as
        they are kept.

        Args:
            first: the number of the first move, for messages.
        """
        done = 0
        try:
            for text in moves:
                self.push_usi(text)
                done += 1
        except MoveError as error:
            for _ in range(min(done, self.plies)):
                self.pop()
            raise MoveError(f"move {first + done}: {error}") from None

    def legal_length(self, moves: Sequence[str]) -> int:
        """Count the USI moves at the beginning of ``moves`` that are legal, one after the other.

        A word that is not a move ends the count. Moves for which the position has no room (`MAX_PLY`, and the rest of
        its history) are not counted.
        """
        if self.plies >= MAX_HISTORY:
            self._forget()
        codes = [usi_code(text) for text in moves[: MAX_HISTORY + MAX_PLY - self.plies]]
        return int(makemove.legal_length(self.record, np.array(codes, np.int64), len(codes)))

    def in_check(self) -> bool:
        """Whether the side to move is in check."""
        return bool(in_check(self.record))

    def is_mated(self) -> bool:
        """Whether the side to move has no legal move: a loss in shogi, check or not."""
        return bool(makemove.legal_moves(self.record, 0, 1) == 0)

    def occurrences(self) -> int:
        """The number of times this position has occurred in the history, including now."""
        return len(self._earlier()) + 1

    def _earlier(self) -> Any:
        return np.flatnonzero(self._fields.st_key[: self.plies] == self._fields.key[0])

    def repetition(self) -> Repetition:
        """NONE until the position occurs for the fourth time; then DRAW, or a loss for the side that gave check
        throughout."""
        earlier = self._earlier()
        if len(earlier) < _OCCURRENCES_OF_A_DRAW - 1:
            return Repetition.NONE
        distance = self.plies - int(earlier[1 - _OCCURRENCES_OF_A_DRAW])
        checker = makemove.perpetual_check(self.record, distance)
        return {1: Repetition.LOSE, -1: Repetition.WIN, 0: Repetition.DRAW}[int(checker)]

    def can_declare(self, rule: int = declaration.CSA_27) -> bool:
        """Whether the side to move may declare a win by a rule of `worker.shogi.declaration`; by default the CSA's 27
        points."""
        return rule != declaration.TRY_RULE and bool(declaration.wins_by(self.record, rule))

    def perft(self, depth: int) -> int:
        """Number of legal move sequences of ``depth`` plies (0: one)."""
        return int(makemove.perft(self.record, depth, 0, 1)) if depth > 0 else 1

    def __repr__(self) -> str:
        return f"Position({self.sfen()!r})"


_MOST_TAKEN_BACK = 64
"""Plies: a position does not keep the oldest moves of a very long game, so take-backs are limited."""


class Replay:
    """Positions given as a start and the moves since, one after the other: only moves that differ from the last are
    replayed.

    A USI ``position`` line repeats the whole game with each move. Late in a game its replay, with every move read and
    checked, takes 10 ms and more.
    """

    def __init__(self) -> None:
        self._sfen = ""
        self._moves: tuple[str, ...] = ()
        self._last: Position | None = None

    def position(self, sfen: str, moves: Sequence[str]) -> Position:
        """The position after ``moves`` (USI) from ``sfen``. The caller owns it.

        Raises:
            SfenError, MoveError: the message names the error; the next call is not affected.
        """
        last, self._last = self._last, None  # after an error there is no position to continue from
        common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._moves, moves, strict=False)))
        taken_back = len(self._moves) - common
        if last is not None and sfen == self._sfen and taken_back <= _MOST_TAKEN_BACK:
            position = last
            for _ in range(taken_back):
                position.pop()
            self._moves = self._moves[:common]
        else:
            position, common = Position.from_sfen(sfen), 0
        position.push_all(moves[common:], first=common + 1)
        self._sfen, self._moves, self._last = sfen, tuple(moves), position
        return position.copy()
