"""The referee of one game: its end, and the time left on the clocks. Pure; the caller brings answers and their
times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lab.match.game import Adjudicator, End, ruled
from lab.match.settings import MatchSettings, Pace
from master.records.lines import RecordedMove
from master.records.record import Ending
from worker.shogi import STARTPOS, MoveError, Position

_COLOURS: Final = ("black", "white")
_ENDS: Final = {
    End.MATE: ("RESIGN", "no legal move"),
    End.DECLARATION: ("JISHOGI", "27 points"),
    End.REPETITION: ("SENNICHITE", ""),
    End.PERPETUAL_CHECK: ("OUTE_SENNICHITE", ""),
    End.MOVE_LIMIT: ("MAX_MOVES", ""),
}
"""The words of a record for the ends by the rules."""


@dataclass(frozen=True, slots=True)
class BestMove:
    """The answer of a contestant: a USI move, ``resign`` or ``win``, and the figures of its last ``info`` line."""

    move: str
    elapsed_ms: int
    """Time from ``go`` to ``bestmove``, by the referee's clock."""
    score: int | None = None
    """From its own side, as in `worker.score`; None: not reported."""
    nodes: int = 0
    depth: int = 0


class Clock:
    """Both sides' remaining times, in milliseconds; without a limit if the pace has none.

    A side may overrun its time by the margin without a penalty, for delays of operating system and pipes.
    """

    def __init__(self, pace: Pace) -> None:
        self._control = pace.control
        self._margin_ms = pace.margin_ms
        self.remaining_ms = [pace.main_ms, pace.main_ms]

    def allowed_ms(self, colour: int) -> int | None:
        """The longest time of a move, margin included; None: no limit."""
        if self._control.unlimited:
            return None
        return self._control.limit_ms(self.remaining_ms[colour]) + self._margin_ms

    def charge(self, colour: int, elapsed_ms: int) -> bool:
        """Subtract the time of a move from the side's time; returns whether it was in time."""
        allowed = self.allowed_ms(colour)
        if allowed is None:
            return True
        self.remaining_ms[colour] = self._control.after(self.remaining_ms[colour], elapsed_ms)
        return elapsed_ms < allowed

    def words(self) -> str:
        """Both times for ``go``. As in CSA, they do not include the increment of the requested move yet."""
        black, white = self.remaining_ms
        control = self._control
        if control.increment_ms:
            return f"btime {black} wtime {white} binc {control.increment_ms} winc {control.increment_ms}"
        return f"btime {black} wtime {white} byoyomi {control.byoyomi_ms}"


class Referee:
    """Rules one game: legality, repetition, declaration, mate, move limit, resignation by score, clock.

    Args:
        sfen: the opening.
    """

    def __init__(self, settings: MatchSettings, sfen: str) -> None:
        self._settings = settings
        self._sfen = sfen
        self._position = Position.from_sfen(sfen)
        self._usi = "position startpos" if sfen == STARTPOS else f"position sfen {sfen}"
        self._adjudicator = Adjudicator(settings.resign_cp, settings.resign_moves)
        self.clock = Clock(settings.pace)
        self.moves: list[RecordedMove] = []
        self.ending: Ending | None = None
        self._rule_position()

    @property
    def turn(self) -> int:
        """The side to move: 0 black, 1 white."""
        return self._position.turn

    @property
    def position_line(self) -> str:
        """The USI line of the position."""
        return self._usi

    @property
    def go_line(self) -> str:
        """The USI line that requests the move."""
        pace = self._settings.pace
        if pace.nodes is not None:
            return f"go nodes {pace.nodes}"
        return f"go depth {pace.depth}" if pace.depth is not None else f"go {self.clock.words()}"

    def answered(self, answer: BestMove) -> None:
        """The side to move has answered."""
        mover = self.turn
        if not self.clock.charge(mover, answer.elapsed_ms):
            self._late(answer.elapsed_ms)
        elif answer.move == "win":
            # A side that may declare is not asked: the referee declares for it.
            self._foul(f"declares a win that the rules do not give in {self._position.sfen()}")
        elif answer.move == "resign":
            self.ending = Ending("RESIGN", 1 - mover)
        else:
            self._move(answer)

    def silent(self, elapsed_ms: int) -> None:
        """The side to move has not answered in time."""
        self.clock.charge(self.turn, elapsed_ms)
        self._late(elapsed_ms)

    def crashed(self, words: str) -> None:
        """The side to move cannot answer any more."""
        self.ending = Ending("CRASH", 1 - self.turn, words)

    def _late(self, elapsed_ms: int) -> None:
        self.ending = Ending("TIME_UP", 1 - self.turn, f"no move in {elapsed_ms / 1000:g} s")

    def _foul(self, words: str) -> None:
        self.ending = Ending("ILLEGAL_MOVE", 1 - self.turn, words)

    def _move(self, answer: BestMove) -> None:
        mover = self.turn
        try:
            self._position.push_usi(answer.move)
        except MoveError as error:
            self._foul(str(error))
            return
        self._usi += f" {answer.move}" if self.moves else f" moves {answer.move}"
        black_view = None if answer.score is None else answer.score if mover == 0 else -answer.score
        nodes = answer.nodes or None
        self.moves.append(RecordedMove(answer.move, answer.elapsed_ms, black_view, nodes=nodes))
        self._rule_position()
        winner = self._adjudicator.winner(mover, answer.score)
        # The losing side resigns on its own turn, as a player would.
        if self.ending is None and winner == mover:
            self.ending = Ending("RESIGN", winner, f"both see {_COLOURS[winner]} far ahead")

    def _rule_position(self) -> None:
        """End the game if the rules end it before the next move."""
        end = ruled(self._position, self._settings.max_moves)
        if end is not None:
            kind, winner = end
            reason, comment = _ENDS[kind]
            self.ending = Ending(reason, winner, comment)
