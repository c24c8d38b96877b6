"""The game that a player plays: its board, its moves, its clock and its judge. Pure.

`master.player.player` decides what happens in it. Times are milliseconds of the player's clock.
"""

from __future__ import annotations

from cluster.api import SearchRequest
from master.csa.events import MoveMade
from master.csa.offer import read_offer
from master.csa.position import SIGNS
from master.csa.summary import GameSummary
from master.player.events import Clocks, MoveComment, MovePlayed
from master.player.instructions import PlayerSettings
from master.player.judging import Judge
from worker.careful import careful_move
from worker.clock import Budget, GameClock
from worker.shogi import MoveError, move_to_usi


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
        """The moves that the last search expects from here on, as long as the game follows them."""
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
        """The clocks as observers are told of them."""
        return Clocks((self.clock.left_ms(0, now_ms), self.clock.left_ms(1, now_ms)), self.clock.turn)

    def move(self, made: MoveMade, comment: MoveComment, now_ms: float) -> MovePlayed:
        """Make a move that the server has told, with our ``comment`` on it. Raises MoveError: it is not legal."""
        usi = move_to_usi(self.position.push_csa(made.csa))
        self.moves.append(usi)
        self.expected = self.expected[1:] if self.expected[:1] == (usi,) else ()
        self.clock.moved(made.consumed_ms, now_ms)
        sfen, clocks = self.position.sfen(), self.clocks(now_ms)
        return MovePlayed(
            len(self.moves), made.colour, made.mine, usi, made.csa, made.consumed_ms, sfen, clocks, comment
        )

    def budget(self, now_ms: float, known_ms: float = 0) -> Budget:
        """The time for our move; ``known_ms``: as `GameClock.budget`."""
        return self.clock.budget(now_ms, len(self.moves), self.judge.max_moves, known_ms, self.judge.score)

    def request(self, search_id: int, *more: str) -> SearchRequest:
        """The search of the position now, or of that behind ``more`` moves (USI); without times."""
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
        """Whether the game is over with ``move``, which is about to be made."""
        position = self.position.copy()
        position.push(move)
        return self.judge.ends_with(position, len(self.moves) + 1)

    def book_move(self, usi: str) -> int | None:
        """A book's move, or None where it brings a position back: whether a repetition is wanted a search has to say.

        Raises:
            MoveError: it is not legal (a damaged book).
        """
        position = self.position.copy()
        move = position.push_usi(usi)
        return None if position.occurrences() > 1 else move

    def fallback_move(self, pv: tuple[str, ...]) -> tuple[int, str]:
        """The first move of ``pv``, or one by material alone; and why that one, where ``pv`` begins with none."""
        try:
            if pv:
                return self.position.parse_usi(pv[0]), ""
        except MoveError as error:
            return careful_move(self.position), f"; the reported move is not legal: {error}"
        return careful_move(self.position), ""
