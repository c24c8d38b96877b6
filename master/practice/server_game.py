"""One game on the tournament server: pure, with the time as an argument (milliseconds of any fixed origin).

It behaves as the real server (shogi-server) does in recorded sessions, with two differences, both for a quicker
practice game: a fallen flag is noticed at once (`tick`), not with the next line or after a minute; and a player who
leaves off turn resigns when it would be his turn.
"""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass
from typing import Final

from master.csa import SIGNS
from master.csa.summary import MOVE_PATTERN, GameSummary, PlayedMove, format_summary
from master.records.lines import RecordedMove
from master.records.record import Ending, GameRecord, parse_comment
from worker.clock.timecontrol import TimeControl
from worker.rules import EnteringKingRule
from worker.shogi import MoveError, Position, move_to_usi

MAX_DEFERRED: Final = 16
"""Lines that a player may send off turn; others are dropped."""
_OCCURRENCES_OF_A_DRAW: Final = 4


class Phase(enum.Enum):
    AGREEING = "agreeing"
    PLAYING = "playing"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class StartPosition:
    """The start of a game: an SFEN, and CSA moves already made (charged one second each, as on the server)."""

    sfen: str
    moves: tuple[str, ...] = ()

    def position(self) -> Position:
        """The position after the moves. Raises ValueError if it, or a move, is not legal in a game."""
        if not {"K", "k"} <= set(self.sfen.split(" ")[0]):
            raise ValueError(f"a game needs both kings: {self.sfen}")
        position = Position.from_sfen(self.sfen)
        for move in self.moves:
            position.push_csa(move)
        return position


@dataclass(frozen=True, slots=True)
class GameRules:
    time: TimeControl
    start: StartPosition
    max_moves: int | None = 256
    """The ply at which the game is drawn, including moves of the start position."""
    entering: EnteringKingRule = EnteringKingRule.CSA_27
    """The rule by which a declaration is judged."""
    agree_ms: int = 120_000
    """Time that both sides have to agree."""


@dataclass(frozen=True, slots=True)
class SendToSide:
    colour: int
    line: str


class ServerGame:
    """A game from its offer to its end. Each method gives the lines to send; `phase` says when it is over."""

    def __init__(self, game_id: str, names: tuple[str, str], rules: GameRules, now_ms: float) -> None:
        self.game_id = game_id
        self.names = names
        self.rules = rules
        self.phase = Phase.AGREEING
        self.position = rules.start.position()
        self.turn_began_ms = now_ms
        self.remaining_ms = [rules.time.total_ms, rules.time.total_ms]
        self.record = GameRecord(
            game_id=game_id,
            names=names,
            start_sfen=rules.start.sfen,
            time=(rules.time, rules.time),
            max_moves=rules.max_moves,
        )
        self._offered_ms = now_ms
        self._agreed = [False, False]
        self._gone: list[str] = ["", ""]
        self._deferred: tuple[deque[str], deque[str]] = (deque(), deque())
        self._last_move = ""
        self._reached: list[tuple[int, bool]] = []
        """Each position that a move of this game reached (zobrist key), and whether it gave check. Like the real
        server, it does not count the start position towards a repetition."""
        replay = Position.from_sfen(rules.start.sfen)
        for move in rules.start.moves:
            self.record.moves.append(RecordedMove(move_to_usi(replay.push_csa(move)), 1000))
            self._reached.append((replay.key, replay.in_check()))

    @property
    def turn(self) -> int:
        return self.position.turn

    @property
    def plies(self) -> int:
        """Moves made, including those of the start position."""
        return len(self.record.moves)

    @property
    def deadline_ms(self) -> float | None:
        """The time at which `tick` has an effect."""
        if self.phase is Phase.AGREEING:
            return self._offered_ms + self.rules.agree_ms
        if self.phase is Phase.PLAYING and not self.rules.time.unlimited:
            return self.turn_began_ms + self.rules.time.flag_elapsed_ms(self.remaining_ms[self.turn])
        return None

    def summary(self, colour: int) -> GameSummary:
        """The conditions of the game, as offered to one side."""
        return GameSummary(
            game_id=self.game_id,
            names=self.names,
            my_colour=colour,
            to_move=self.turn,
            time=(self.rules.time, self.rules.time),
            start_sfen=self.rules.start.sfen,
            moves=tuple(PlayedMove(move, 1000) for move in self.rules.start.moves),
            max_moves=self.rules.max_moves,
            declaration="" if self.rules.entering is EnteringKingRule.NONE else "Jishogi 1.1",
        )

    def offer(self) -> list[SendToSide]:
        return [SendToSide(colour, line) for colour in (0, 1) for line in format_summary(self.summary(colour))]

    def tick(self, now_ms: float) -> list[SendToSide]:
        """End the game if time has run out."""
        deadline = self.deadline_ms
        if deadline is None or now_ms < deadline:
            return []
        if self.phase is Phase.AGREEING:
            return self._reject("the Server (timed out)")
        return self._end("TIME_UP", winner=self.turn ^ 1, now_ms=now_ms)

    def receive(self, colour: int, line: str, now_ms: float) -> list[SendToSide]:
        """A line of one side; an empty one is a sign of life, and triggers a look at the clock."""
        if self.phase is Phase.AGREEING:
            return self._agreement(colour, line, now_ms)
        if self.phase is Phase.OVER:
            return []
        said = self.tick(now_ms) if colour == self.turn else []
        if said or not line.strip():
            return said
        if line.startswith("%%"):  # a question to the server, never a move: it does not wait for the turn
            return self._unknown(colour, line)
        if line[0] in SIGNS and line.partition(",")[0] == self._last_move:
            return []
        if colour != self.turn:
            if len(self._deferred[colour]) < MAX_DEFERRED:
                self._deferred[colour].append(line)
            return []
        return self._execute(line, now_ms) + self._next(now_ms)

    def leave(self, colour: int, why: str, now_ms: float) -> list[SendToSide]:
        """One side has logged out or is gone: that loses, on its turn at once."""
        if self.phase is Phase.AGREEING:
            return self._reject(self.names[colour])
        if self.phase is Phase.PLAYING:
            self._gone[colour] = why
            return self._next(now_ms)
        return []

    def interrupt(self) -> list[SendToSide]:
        """The server stops: a running game has no result."""
        if self.phase is not Phase.PLAYING:
            self.phase = Phase.OVER
            return []
        self.phase = Phase.OVER
        self.record.ending = Ending("CHUDAN", comment="the server stopped")
        return self._both("#CHUDAN")

    def _agreement(self, colour: int, line: str, now_ms: float) -> list[SendToSide]:
        word = line.split(" ")[0]
        if word == "REJECT":
            return self._reject(self.names[colour])
        if word != "AGREE":
            return self._unknown(colour, line) if line.strip() else []
        self._agreed[colour] = True
        if not all(self._agreed):
            return []
        self.phase = Phase.PLAYING
        self.turn_began_ms = now_ms
        return self._both(f"START:{self.game_id}")

    def _reject(self, by: str) -> list[SendToSide]:
        self.phase = Phase.OVER
        return self._both(f"REJECT:{self.game_id} by {by}")

    def _next(self, now_ms: float) -> list[SendToSide]:
        """Process the pending input of the side to move: lines sent too early, or a resignation on leaving."""
        said: list[SendToSide] = []
        while self.phase is Phase.PLAYING:
            if self._gone[self.turn]:
                said += self._both("%TORYO")
                said += self._end("RESIGN", winner=self.turn ^ 1, now_ms=now_ms, comment=self._gone[self.turn])
            elif self._deferred[self.turn]:
                said += self._execute(self._deferred[self.turn].popleft(), now_ms)
            else:
                break
        return said

    def _execute(self, line: str, now_ms: float) -> list[SendToSide]:
        loser, winner = self.turn, self.turn ^ 1
        if line.startswith("%TORYO"):
            return self._both("%TORYO") + self._end("RESIGN", winner=winner, now_ms=now_ms)
        if line.startswith("%KACHI"):
            return self._declare(now_ms)
        if line[0] in SIGNS:
            return self._move(line, now_ms)
        if line[0] == "%":
            return self._end("ILLEGAL_MOVE", winner=winner, now_ms=now_ms, comment=line)
        return self._unknown(loser, line)

    def _declare(self, now_ms: float) -> list[SendToSide]:
        units = self._charge(now_ms) // self.rules.time.unit_ms
        said = self._both(f"%KACHI,T{units}") + self._both("%KACHI")
        if self.position.can_declare(self.rules.entering.code):
            return said + self._end("JISHOGI", winner=self.turn, now_ms=now_ms)
        return said + self._end("ILLEGAL_MOVE", winner=self.turn ^ 1, now_ms=now_ms, comment="wrong declaration")

    def _move(self, line: str, now_ms: float) -> list[SendToSide]:
        text, _, rest = line.partition(",")
        mover = self.turn
        try:
            if MOVE_PATTERN.fullmatch(text) is None:
                raise MoveError(f"{text} is no move")
            move = self.position.parse_csa(text)
        except MoveError as error:
            return self._end("ILLEGAL_MOVE", winner=mover ^ 1, now_ms=now_ms, comment=str(error))
        charged = self._charge(now_ms)
        self.remaining_ms[mover] = self.rules.time.after(self.remaining_ms[mover], charged)
        comment = rest.partition(",")[0]
        comment = comment[1:] if comment.startswith("'") else ""
        score, pv = parse_comment(comment)
        self.record.moves.append(
            RecordedMove(move_to_usi(move), charged, score, pv, comment="" if score is not None else comment)
        )
        self.position.push(move)
        self._last_move = text
        self._reached.append((self.position.key, self.position.in_check()))
        self.turn_began_ms = now_ms
        said = self._both(f"{text},T{charged // self.rules.time.unit_ms}")
        return said + self._adjudicate(mover, now_ms)

    def _adjudicate(self, mover: int, now_ms: float) -> list[SendToSide]:
        """End the game if the last move makes a repetition or reaches the move limit."""
        checker = self._repetition(mover)
        if checker is not None:
            if checker in (0, 1):
                return self._end("OUTE_SENNICHITE", winner=checker ^ 1, now_ms=now_ms)
            return self._end("SENNICHITE", winner=None, now_ms=now_ms)
        if self.rules.max_moves is not None and self.plies >= self.rules.max_moves:
            return self._end("MAX_MOVES", winner=None, now_ms=now_ms)
        return []

    def _repetition(self, mover: int) -> int | None:
        """None without a fourth occurrence; otherwise the side that gave check throughout, -1 for neither."""
        key = self._reached[-1][0]
        at = [index for index, (other, _) in enumerate(self._reached) if other == key]
        if len(at) < _OCCURRENCES_OF_A_DRAW:
            return None
        # The moves since the first of the four; every second one is the mover's, including the last.
        checks = [check for _, check in self._reached[at[-_OCCURRENCES_OF_A_DRAW] + 1 :]]
        if all(checks[-1::-2]):
            return mover
        return mover ^ 1 if all(checks[-2::-2]) else -1

    def _charge(self, now_ms: float) -> int:
        return self.rules.time.charge(now_ms - self.turn_began_ms)

    def _end(self, reason: str, *, winner: int | None, now_ms: float, comment: str = "") -> list[SendToSide]:
        self.phase = Phase.OVER
        said: list[SendToSide] = []
        if all(self._gone) != any(self._gone):
            # One side has left: it loses, even if the other one resigns or loses on time meanwhile.
            left = 0 if self._gone[0] else 1
            said += [] if reason == "RESIGN" else self._both("%TORYO")
            reason, winner, comment = "RESIGN", left ^ 1, self._gone[left]
        self.record.ending = Ending(reason, winner, comment)
        said += self._both(f"#{reason}")
        if winner is None:
            return said + self._both("#CENSORED" if reason == "MAX_MOVES" else "#DRAW")
        return [*said, SendToSide(winner, "#WIN"), SendToSide(winner ^ 1, "#LOSE")]

    def _unknown(self, colour: int, line: str) -> list[SendToSide]:
        return [SendToSide(colour, f"##[ERROR] unknown command: {line}")]

    def _both(self, line: str) -> list[SendToSide]:
        return [SendToSide(0, line), SendToSide(1, line)]
