"""One game as a pure state machine: the server's lines, search reports and clock ticks in; lines and orders out.

::

    connected ─► LOGIN ─► game summary ─ cannot be played ─► REJECT
                              │
                          PrepareSearcher ─ prepared ─► AGREE ─► START
                                                                   │
       ┌──────────── the opponent's move ◄──── echo of our move ◄──┤
       ▼                                                           │
    our turn ─ `master.player.judging` ─► %TORYO, %KACHI, or wait for     │
       │                           the server at its move limit    │
    AskBook ─ a move of a book ───────────────────────► a move ────┤
       │  none, or none in time                                    │
    StartSearch ─ decision ─────────────────────────────► a move ──┘ ─► StartPonder, until our turn or the game's end
       └─ nothing by the hard deadline, or nothing that is legal ─► the best move known, or one by material alone

Invariants: a line goes out only where `master.csa.protocol` allows it; only legal moves go out; each of our turns ends
by the hard deadline whatever the searcher does; a decision counts only for the search that is running.

Times are milliseconds of any steady clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from cluster.api import Decision, Known, Progress, SearchRequest
from master.clock import GameClock, Watch
from master.csa import events as csa
from master.csa.complaints import Hope, with_advice
from master.csa.offer import UnplayableError, other_game, read_offer
from master.csa.position import SIGNS
from master.csa.protocol import CsaProtocol, State
from master.csa.summary import GameSummary
from master.player.events import (
    Clocks,
    Conclusion,
    GameBegan,
    GameEnded,
    GameEvent,
    GameFound,
    GameOutcome,
    GameRefused,
    LoggedIn,
    Note,
    ThinkingBegan,
    ThinkingEnded,
    ThinkingProgressed,
)
from master.player.instructions import (
    AskBook,
    BookAnswer,
    Emit,
    Finish,
    Instruction,
    Login,
    PlayerSettings,
    PrepareSearcher,
    RetimeSearch,
    Send,
    StartPonder,
    StartSearch,
    StopSearch,
)
from master.player.judging import Judge, Verdict, patience_ms
from master.player.outcomes import left, line_lost, with_result
from master.player.thought import Thought
from master.player.turn import Question, RunningSearch
from worker.careful import careful_move
from worker.shogi import MoveError, Position, move_to_csa, move_to_usi


class Player:
    """One connection to a server and the game that comes of it. Every method gives the instructions to carry out."""

    def __init__(
        self,
        login: Login,
        settings: PlayerSettings | None = None,
        search_ids: Iterator[int] | None = None,
        known: Callable[[SearchRequest], Known | None] | None = None,
    ) -> None:
        """
        Args:
            search_ids: gives rising numbers; players that share a searcher share it too.
            known: what pondering has found out about a position, as `cluster.api.Searcher.known`.
        """
        self.settings = settings or PlayerSettings()
        self.protocol = CsaProtocol()
        self.outcome: GameOutcome | None = None
        self._login = login
        self._search_ids = search_ids if search_ids is not None else iter(range(1, 1 << 62))
        self._known = known or (lambda _request: None)
        self._position: Position | None = None
        self._clock: GameClock | None = None
        self._judge: Judge | None = None
        self._moves: list[str] = []
        self._line: tuple[str, ...] = ()
        """What the last search expects from here on, as long as the game follows it."""
        self._search: RunningSearch | None = None
        self._question: Question | None = None
        self._ponder_id: int | None = None
        """Of the search that runs on the opponent's time."""
        self._thought = Thought()
        self._patience_ms: float | None = None
        """Until then the server may say that the game has ended at its move limit."""
        self._aborting = ""
        self._wrong_game = ""
        """Why the game on offer, which was rejected, is another one than we came for."""
        self._out: list[Instruction] = []

    @property
    def deadline_ms(self) -> float | None:
        """When `tick` has something to do."""
        if self._question is not None:
            return self._question.until_ms
        return self._patience_ms if self._search is None else self._search.deadline_ms

    # Inputs

    def connected(self) -> list[Instruction]:
        line = self.protocol.login(self._login.name, self._login.password)
        self._out.append(Send(line, f"LOGIN {self._login.name} ********"))
        return self._flush()

    def receive(self, line: str, now_ms: float) -> list[Instruction]:
        """A line of the server."""
        for event in self.protocol.receive(line):
            if self.outcome is None:
                self._on_event(event, now_ms)
        return self._flush()

    def prepared(self) -> list[Instruction]:
        """The searcher is ready for a new game (or as ready as it gets)."""
        offered = self.protocol.state is State.OFFERED and self._position is not None
        if self.outcome is None and offered and not self._aborting:
            self._send(self.protocol.agree())
        return self._flush()

    def book_replied(self, question_id: int, answer: BookAnswer | None, now_ms: float) -> list[Instruction]:
        """The book's answer to an `AskBook`; None: it has no move, or failed."""
        if self._question is not None and self._question.question_id == question_id:
            self._question = None
            if answer is None or not self._play_from_book(answer):
                self._think(now_ms)
        return self._flush()

    def progressed(self, progress: Progress) -> list[Instruction]:
        if self._search is not None and progress.search_id == self._search.search_id:
            if progress.pv:
                self._search.pv = progress.pv
            self._retime(self._search, progress)
            self._emit(ThinkingProgressed(progress))
        return self._flush()

    def decided(self, decision: Decision) -> list[Instruction]:
        search = self._search
        if search is None or decision.search_id != search.search_id:
            return []  # late: the turn ended without it
        self._emit(ThinkingEnded(decision))
        self._search = None
        self._act_on(decision, search)
        return self._flush()

    def search_failed(self, search_id: int, why: str) -> list[Instruction]:
        """The searcher could not even begin."""
        search = self._search
        if search is not None and search.search_id == search_id:
            self._search = None
            self._fall_back(search, f"the search failed: {why}")
        return self._flush()

    def tick(self, now_ms: float) -> list[Instruction]:
        """Time has passed: a turn whose deadline is over ends with the best that is known."""
        if self._question is not None and now_ms >= self._question.until_ms:
            self._question = None
            self._emit(Note("book_late", {"waited_ms": self.settings.book_ms}, error=True))
            self._think(now_ms)
        search = self._search
        if search is not None and now_ms >= search.deadline_ms:
            self._stop_search()
            self._fall_back(search, "no decision by the hard deadline")
        elif self._patience_ms is not None and now_ms >= self._patience_ms:
            self._emit(Note("move_limit_passed", {"plies": len(self._moves)}, error=True))
            self._referee().plays_on()
            self._on_turn(now_ms)
        return self._flush()

    def sent(self, now_ms: float) -> None:
        """A line of ours has left."""
        if self._clock is not None and self.protocol.sent is not None:
            self._clock.sent(now_ms)

    def connection_lost(self, why: str) -> list[Instruction]:
        if self.outcome is None:
            aborting = self._aborting
            self._end(left(self.protocol, aborting) if aborting else line_lost(self.protocol, why))
        return self._flush()

    def abort(self, why: str) -> list[Instruction]:
        """Stop. A game that is played is resigned as soon as it is our turn, and the server's last word is waited for;
        `leave` ends the wait. Anything else ends at once."""
        if self.protocol.state is not State.PLAYING or self.protocol.my_turn:
            self._abort(why)
        elif self.outcome is None and not self._aborting:
            self._aborting = why
            self._stop_search()
        return self._flush()

    def leave(self) -> list[Instruction]:
        """The opponent has taken too long for a game that we `abort`: log out. That loses it with his next move."""
        playing = self.outcome is None and self.protocol.state is State.PLAYING
        if playing and self.protocol.sent is None and not self.protocol.logged_out:
            self._send(self.protocol.logout())
        return self._flush()

    # The server's events

    def _on_event(self, event: csa.Event, now_ms: float) -> None:
        match event:
            case csa.LoginOk(name):
                self._emit(LoggedIn(name))
            case csa.LoginRefused(line):
                self._finish(Conclusion.LOGIN_REFUSED, line)
            case csa.GameOffered(summary):
                self._on_offer(summary)
            case csa.BadOffer(why):
                self._refuse(why)
            case csa.OfferRejected(_, by):
                self._finish(Conclusion.NOT_PLAYED, f"rejected by {by}" if by else "rejected")
            case csa.GameStarted():
                self._on_start(now_ms)
            case csa.MoveMade():
                self._on_move(event, now_ms)
            case csa.Ended(result, reason):
                self._finish(Conclusion(result.value), reason)
            case csa.LoggedOut() if self._aborting:
                self._end(left(self.protocol, self._aborting))
            case csa.Complaint(text, hope):
                self._on_complaint(text, hope)
            case csa.Notice(text):
                self._emit(Note("server_notice", {"text": text}))
            case csa.Unexpected(line, why):
                self._emit(Note("unexpected_line", {"line": line, "why": why}, error=True))
            case _:
                pass  # LoggedOut behind our LOGOUT, SpecialMade (its ending follows), KeepAlive

    def _on_offer(self, summary: GameSummary) -> None:
        try:
            self._position, self._moves = read_offer(summary)
        except UnplayableError as error:
            self._refuse(str(error))
            return
        self._wrong_game = other_game(summary, self.settings.game)
        if self._wrong_game:
            self._refuse(self._wrong_game)
            return
        self._emit(GameFound(summary))
        self._out.append(PrepareSearcher())

    def _on_complaint(self, text: str, hope: Hope) -> None:
        """The server refuses something; where that was our wish for a game, none will come however long we wait."""
        self._emit(Note("server_complains", {"text": text}, warning=True))
        if hope is not Hope.THIS_LOGIN:
            conclusion = Conclusion.WRONG_GAME if hope is Hope.NONE else Conclusion.NO_NEW_GAMES
            self._finish(conclusion, f"the server says: {with_advice(text)}")

    def _refuse(self, why: str) -> None:
        self._position = None  # what was offered before, and is being prepared for, is off the table too
        self._emit(GameRefused(why))
        self._send(self.protocol.reject())

    def _on_start(self, now_ms: float) -> None:
        summary, position = self._summary(), self._board()
        self._judge = Judge(self.settings, summary)
        self._clock = GameClock(summary.time, self.settings.clock, turn=summary.to_move, now_ms=now_ms)
        for move in summary.moves:
            self._clock.charge_before_start(SIGNS.index(move.csa[0]), move.consumed_ms)
        self._emit(GameBegan(summary, position.sfen(), self._clocks(now_ms)))
        if self.protocol.my_turn:
            self._on_turn(now_ms)

    def _on_move(self, made: csa.MoveMade, now_ms: float) -> None:
        position = self._board()
        assert self._clock is not None
        if made.mine and self.deadline_ms is not None:
            self._stop_search()  # the server plays a move that we did not send: nothing is asked of us any more
        try:
            move = position.push_csa(made.csa)
        except MoveError as error:
            self._emit(Note("lost_track", {"move": made.csa, "why": str(error)}, error=True))
            self._abort(f"the server's move {made.csa} is not legal here")
            return
        self._moves.append(move_to_usi(move))
        self._line = self._line[1:] if self._line[:1] == (self._moves[-1],) else ()
        self._clock.moved(made.consumed_ms, now_ms)
        thought = self._thought if made.mine else Thought()
        self._emit(thought.played(made, tuple(self._moves), position.sfen(), self._clocks(now_ms)))
        if self.protocol.my_turn and self._aborting:
            self._send(self.protocol.resign())
        elif self.protocol.my_turn:
            self._on_turn(now_ms)

    # Our turn

    def _on_turn(self, now_ms: float) -> None:
        assert self._clock is not None
        self._patience_ms = None
        judgement = self._referee().before_search(self._board(), len(self._moves))
        match judgement.verdict:
            case Verdict.WAIT:
                self._patience_ms = now_ms + patience_ms(self._clock.budget(now_ms).hard_ms)
            case Verdict.RESIGN:
                self._send(self.protocol.resign())
            case Verdict.DECLARE:
                self._send(self.protocol.declare())
            case Verdict.PLAY:
                self._send_move(judgement.move, Thought())
            case _ if self.settings.book_ms:
                self._ask_book(now_ms)
            case _:
                self._think(now_ms)

    def _ask_book(self, now_ms: float) -> None:
        judge = self._referee()
        assert self._clock is not None
        budget = self._clock.budget(now_ms, len(self._moves), judge.max_moves, score=judge.score)
        question_id = next(self._search_ids)
        self._question = Question(question_id, now_ms + min(self.settings.book_ms, budget.soft_ms / 4))
        self._out.append(AskBook(question_id, self._summary().start_sfen, tuple(self._moves), budget.soft_ms))

    def _play_from_book(self, answer: BookAnswer) -> bool:
        """Send the book's move, unless it is not legal (a damaged book), or brings a position back."""
        position = self._board().copy()
        try:
            move = position.push_usi(answer.move)
        except MoveError as error:
            self._emit(Note("book_move_refused", {"book": answer.source, "why": str(error)}, error=True))
            return False
        if position.occurrences() > 1:
            return False  # whether a repetition is wanted the search has to say
        self._emit(Note("book_move", {"book": answer.source, "move": answer.move, "score": answer.score}))
        self._send_move(move, Thought.of_book(answer, self._board(), move))
        return True

    def _think(self, now_ms: float) -> None:
        assert self._clock is not None
        judge = self._referee()
        request = self._request(tuple(self._moves))
        search_id = request.search_id
        known = self._known(request)
        known_ms = 0 if known is None else known.fleet_ms
        budget = self._clock.budget(now_ms, len(self._moves), judge.max_moves, known_ms, judge.score)
        deadline_ms = now_ms + budget.hard_ms + self.settings.guard_ms
        watch = Watch(judge.score, "" if known is None else known.move, known_ms)
        # Where nothing is heard of the search, what is known already is better than any move.
        pv = self._line if known is None else known.lines[0].pv if known.lines else (known.move,)
        self._search = RunningSearch(search_id, deadline_ms, budget.soft_ms, now_ms, watch, pv)
        clocks = self._clocks(now_ms)
        self._emit(ThinkingBegan(search_id, len(self._moves), budget.soft_ms, budget.hard_ms, clocks, known))
        self._out.append(StartSearch(replace(request, soft_ms=budget.soft_ms, hard_ms=budget.hard_ms)))
        self._ponder_id = None  # it is a part of this search now, or over

    def _ponder(self, move: int) -> None:
        """Our ``move`` is out: search on the opponent's time, unless the game is over with it."""
        position = self._board().copy()
        position.push(move)
        if not self.settings.ponder or self._referee().ends_with(position, len(self._moves) + 1):
            return
        request = self._request((*self._moves, move_to_usi(move)))
        self._ponder_id = request.search_id
        self._out.append(StartPonder(request))

    def _request(self, moves: tuple[str, ...]) -> SearchRequest:
        return SearchRequest(
            search_id=next(self._search_ids),
            sfen=self._summary().start_sfen,
            moves=moves,
            nodes=self.settings.nodes,
            depth=self.settings.depth,
            max_moves=self._referee().search_limit,
            draw_black=self.settings.draw_black,
            draw_white=self.settings.draw_white,
        )

    def _retime(self, search: RunningSearch, progress: Progress) -> None:
        """A hard move gets more time, and one that turns out to be easy less."""
        assert self._clock is not None
        move = progress.pv[0] if progress.pv else ""
        outlook = search.watch.see(progress.elapsed_ms, move, progress.score, progress.agreement)
        soft_ms = self._clock.reconsidered(outlook, search.began_ms + progress.elapsed_ms)
        if soft_ms != search.soft_ms:
            search.soft_ms = soft_ms
            self._out.append(RetimeSearch(search.search_id, soft_ms))

    def _act_on(self, decision: Decision, search: RunningSearch) -> None:
        match self._referee().after_search(decision, self._board(), len(self._moves)):
            case Verdict.DECLARE:
                self._send(self.protocol.declare())
            case Verdict.RESIGN:
                self._send(self.protocol.resign())
            case Verdict.DISBELIEVE:
                self._fall_back(search, f"the decision {decision.move} does not hold")
            case _:
                self._play(decision, search)

    def _play(self, decision: Decision, search: RunningSearch) -> None:
        try:
            move = self._board().parse_usi(decision.move)
        except MoveError as error:
            self._fall_back(search, f"the decision is not legal: {error}")
        else:
            self._line = decision.pv
            self._send_move(move, Thought.of(decision, self._board(), move))

    def _fall_back(self, search: RunningSearch, why: str) -> None:
        """Play the best move that was reported, or one by material alone: a turn never ends on the clock."""
        position, move = self._board(), 0
        try:
            if search.pv:
                move = position.parse_usi(search.pv[0])
        except MoveError as error:
            why += f"; the reported move is not legal: {error}"
        move = move or careful_move(position)
        self._emit(Note("fallback_move", {"move": move_to_usi(move), "why": why}, error=True))
        self._send_move(move, Thought())

    def _send_move(self, move: int, thought: Thought) -> None:
        self._thought = thought
        self._send(self.protocol.move(move_to_csa(move), thought.comment))
        self._ponder(move)

    # Common

    def _abort(self, why: str) -> None:
        if self.outcome is not None or self._aborting:
            return
        self._aborting = why
        self._stop_search()
        if self.protocol.my_turn:
            self._send(self.protocol.resign())
            return
        if self.protocol.state not in (State.CONNECTED, State.LOGGING_IN):
            self._send(self.protocol.logout())
        if self.protocol.state is not State.PLAYING:
            self._finish(Conclusion.ABORTED, why)

    def _summary(self) -> GameSummary:
        assert self.protocol.summary is not None
        return self.protocol.summary

    def _board(self) -> Position:
        assert self._position is not None
        return self._position

    def _referee(self) -> Judge:
        assert self._judge is not None
        return self._judge

    def _clocks(self, now_ms: float) -> Clocks:
        assert self._clock is not None
        left = (self._clock.left_ms(0, now_ms), self._clock.left_ms(1, now_ms))
        return Clocks(left, self._clock.turn)

    def _stop_search(self) -> None:
        self._question = None
        self._patience_ms = None
        if self._search is not None:
            self._out.append(StopSearch(self._search.search_id))
            self._search = None
        if self._ponder_id is not None:
            self._out.append(StopSearch(self._ponder_id))
            self._ponder_id = None

    def _send(self, line: str) -> None:
        self._out.append(Send(line, line))

    def _emit(self, event: GameEvent) -> None:
        self._out.append(Emit(event))

    def _flush(self) -> list[Instruction]:
        out, self._out = self._out, []
        return out

    def _finish(self, conclusion: Conclusion, reason: str) -> None:
        self._end(with_result(self.protocol, conclusion, reason))

    def _end(self, outcome: GameOutcome) -> None:
        self._stop_search()
        if self._wrong_game:
            outcome = replace(outcome, conclusion=Conclusion.WRONG_GAME, reason=self._wrong_game)
        if self._clock is not None:
            outcome = replace(outcome, plies=len(self._moves), sfen=self._board().sfen())
        self.outcome = outcome
        if self.protocol.state in (State.ENDED, State.WAITING) and not self.protocol.logged_out:
            self._send(self.protocol.logout())
        self._emit(GameEnded(self.outcome))
        self._out.append(Finish(self.outcome))
