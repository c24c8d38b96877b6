"""The game that a player plays: its board, moves, clock and judge, the answer for which our turn waits, and the values
that go out with a move or at the end. Pure.

`master.player.player` makes the decisions in it. Times are milliseconds of the player's clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from cluster.api import Decision, Known, Progress, SearchRequest
from cluster.split.tree import tells_score
from master.csa import SIGNS
from master.csa.events import MoveMade
from master.csa.offer import read_offer
from master.csa.protocol import CsaProtocol, State
from master.csa.summary import GameSummary
from master.player.events import Clocks, Conclusion, GameOutcome, MoveComment, MovePlayed
from master.player.inputs import PonderFound
from master.player.instructions import BookAnswer, PlayerSettings
from master.player.judging import Judge
from worker.careful import careful_move
from worker.clock import GameClock, Signs, TimeBudget, Watch
from worker.shogi import MoveError, Position, move_to_csa, move_to_usi


@dataclass(slots=True)
class Pondering:
    """The search that runs on the opponent's time."""

    request: SearchRequest
    found: PonderFound | None = None

    def known(self, request: SearchRequest, now_ms: float) -> Known | None:
        """The result for the position of ``request``; None: there is none."""
        found = self.found
        return None if found is None else found.pondered.known(request, self.request, now_ms - found.at_ms)


@dataclass(slots=True)
class RunningSearch:
    """A search for the move to play."""

    search_id: int
    deadline_ms: float
    soft_ms: int
    """The soft time now, from the search's start."""
    hard_ms: int
    began_ms: float
    watch: Watch
    pv: tuple[str, ...]
    """The best line known so far."""

    @classmethod
    def begin(cls, search_id: int, game: ActiveGame, known: Known | None, now_ms: float, guard_ms: int) -> Self:
        """Create the search that begins now; ``known``: the result of pondering, ``guard_ms``: see `PlayerSettings`."""
        # If the search reports nothing, a known move is better than any other.
        move, known_ms, pv = ("", 0, game.expected) if known is None else (known.move, known.fleet_ms, known.pv)
        budget, watch = game.budget(now_ms, known_ms), Watch(game.judge.score, move, known_ms)
        return cls(search_id, now_ms + budget.hard_ms + guard_ms, budget.soft_ms, budget.hard_ms, now_ms, watch, pv)

    def see(self, progress: Progress, clock: GameClock) -> bool:
        """Store ``progress``. Returns whether ``soft_ms`` has changed: a hard move gets more time, and a move that
        turns out to be easy gets less."""
        self.pv = progress.pv or self.pv
        outlook = self.watch.see(Signs(progress.elapsed_ms, progress.move, progress.score, progress.agreement))
        before, self.soft_ms = self.soft_ms, clock.reconsidered(outlook, self.began_ms + progress.elapsed_ms)
        return self.soft_ms != before


@dataclass(frozen=True, slots=True)
class Question:
    """The question to the book on our turn, before any search."""

    question_id: int
    deadline_ms: float
    """The time at which the search begins without it."""
    patience_ms: int
    """The time until then, counted from the question."""


@dataclass(frozen=True, slots=True)
class LimitWait:
    """The server may say that the game has ended at its move limit."""

    deadline_ms: float
    """The time at which we play on."""


Wait = Question | RunningSearch | LimitWait


class ActiveGame:
    """One game, from its offer on.

    Raises (constructor):
        UnplayableError: it cannot be played.
    """

    def __init__(self, settings: PlayerSettings, summary: GameSummary) -> None:
        self.summary = summary
        self.position, self.moves = read_offer(summary)
        """The position now, and the moves (USI) that led to it."""
        self.judge = Judge(settings, summary)
        self.expected: tuple[str, ...] = ()
        """The continuation that the last search expects from here, as long as the game follows it."""
        self._settings = settings
        self._clock: GameClock | None = None

    def begin(self, now_ms: float) -> None:
        """Start the clock."""
        summary = self.summary
        self._clock = GameClock(summary.time, self._settings.clock, turn=summary.to_move, now_ms=now_ms)
        for move in summary.moves:
            self._clock.charge_before_start(SIGNS.index(move.csa[0]), move.consumed_ms)

    @property
    def begun(self) -> bool:
        return self._clock is not None

    @property
    def clock(self) -> GameClock:
        assert self._clock is not None, "the game has not begun"
        return self._clock

    def clocks(self, now_ms: float) -> Clocks:
        """The clocks as observers see them."""
        return Clocks((self.clock.left_ms(0, now_ms), self.clock.left_ms(1, now_ms)), self.clock.turn)

    def move(self, made: MoveMade, comment: MoveComment, now_ms: float) -> MovePlayed:
        """Make a move that the server has sent, with our ``comment`` on it. Raises MoveError: it is not legal."""
        usi = move_to_usi(self.position.push_csa(made.csa))
        self.moves.append(usi)
        self.expected = self.expected[1:] if self.expected[:1] == (usi,) else ()
        self.clock.moved(made.consumed_ms, now_ms)
        sfen, clocks = self.position.sfen(), self.clocks(now_ms)
        return MovePlayed(
            len(self.moves), made.colour, made.mine, usi, made.csa, made.consumed_ms, sfen, clocks, comment
        )

    def budget(self, now_ms: float, known_ms: float = 0) -> TimeBudget:
        """The time for our move; ``known_ms``: as `GameClock.budget`."""
        return self.clock.budget(now_ms, len(self.moves), self.judge.max_moves, known_ms, self.judge.score)

    def request(self, search_id: int, *more: str) -> SearchRequest:
        """The search of the current position, or of the one after ``more`` moves (USI); without times."""
        settings = self._settings
        return SearchRequest(
            search_id=search_id,
            sfen=self.summary.start_sfen,
            moves=(*self.moves, *more),
            nodes=settings.nodes,
            depth=settings.depth,
            max_moves=self.judge.search_limit,
            draw_black=settings.draw_black,
            draw_white=settings.draw_white,
            entering=self.judge.entering,
        )

    def ends_with(self, move: int) -> bool:
        """Whether the game ends with ``move``, which is about to be made."""
        position = self.position.copy()
        position.push(move)
        return self.judge.ends_with(position, len(self.moves) + 1)

    def book_move(self, usi: str) -> int | None:
        """A book's move, or None if it repeats a position: only a search can decide whether a repetition is wanted.
        Raises MoveError: it is not legal (a damaged book)."""
        position = self.position.copy()
        move = position.push_usi(usi)
        return None if position.occurrences() > 1 else move

    def fallback_move(self, pv: tuple[str, ...]) -> tuple[int, str]:
        """The first move of ``pv``, or one by material alone, with the reason if ``pv`` does not begin with a legal
        move."""
        try:
            if pv:
                return self.position.parse_usi(pv[0]), ""
        except MoveError as error:
            return careful_move(self.position), f"; the reported move is not legal: {error}"
        return careful_move(self.position), ""


def with_result(protocol: CsaProtocol, conclusion: Conclusion, reason: str, comment: str = "") -> GameOutcome:
    """The outcome with the server's result, or with ``conclusion`` instead; the player adds the game's own part."""
    summary = protocol.summary
    winner = None
    if summary is not None and conclusion in (Conclusion.WIN, Conclusion.LOSE):
        winner = summary.my_colour ^ (conclusion is Conclusion.LOSE)
    return GameOutcome(conclusion, reason, summary, winner, comment=comment)


def line_lost(protocol: CsaProtocol, why: str) -> GameOutcome:
    """The outcome of a broken connection: the server's result is unknown."""
    return with_result(protocol, Conclusion.DISCONNECTED, f"{why}, {protocol.state.value}{_said(protocol)}")


def left(protocol: CsaProtocol, why: str) -> GameOutcome:
    """We left on our own, and the server says no more. That loses a running game: by our resignation, or with the
    opponent's next move, after which the server resigns for the absent player."""
    if protocol.state is not State.PLAYING or protocol.reason not in ("", "RESIGN"):
        return with_result(protocol, Conclusion.ABORTED, why + _said(protocol))
    how = f"{protocol.sent} was not answered" if protocol.sent else "left on the opponent's turn"
    return with_result(protocol, Conclusion.LOSE, "RESIGN", f"{why}, {how}")


def _said(protocol: CsaProtocol) -> str:
    return f" (the server had said #{protocol.reason})" if protocol.reason else ""


LONGEST_PV: Final = 24
"""Number of moves in a comment, which keeps lines shorter than 256 characters."""


def comment_on(result: Decision | BookAnswer, position: Position, move: int) -> MoveComment:
    """Make the comment of ``move``, which is about to be made in ``position``, from the search or the book that chose
    it. A record has no notation for a bound, so a score that is only a bound is left out."""
    score = result.score if result.score is None or position.turn == 0 else -result.score
    if isinstance(result, Decision) and not all(tells_score(line) for line in result.lines[:1]):
        score = None
    pv = _replies(position, move, result.move, result.pv)
    if isinstance(result, BookAnswer):
        return MoveComment(score, pv, result.depth, book=result.source)
    return MoveComment(score, pv, result.depth, result.nodes)


def _replies(position: Position, move: int, first: str, line: tuple[str, ...]) -> tuple[str, ...]:
    """The moves of ``line`` after ``move``, in CSA; none if ``line`` does not begin with it (``first``, in USI)."""
    replies = line[1 : LONGEST_PV + 1] if line[:1] == (first,) else ()
    board = position.copy()
    board.push(move)
    pv: list[str] = []
    for usi in replies:
        try:
            pv.append(move_to_csa(board.push_usi(usi)))
        except MoveError:
            break
    return tuple(pv)
