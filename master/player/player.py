"""One game as a pure state machine: the server's lines, search reports and clock ticks in; lines and orders out.

`Player.handle` takes what happens (`master.player.inputs`) and gives what is to be done
(`master.player.instructions`). Its states and the ways between them are in `master.player.states`::

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
    StartSearch ─ decision ─────────────────────────────► a move ──┘ ─► PonderSearch, until our turn or the game's end
       └─ nothing by the hard deadline, or nothing that is legal ─► the best move known, or one by material alone

Invariants: a line goes out only where `master.csa.protocol` allows it; only legal moves go out; each of our turns ends
by the hard deadline whatever the searcher does; a decision counts only for the search that is running.

Times are milliseconds of any steady clock.
"""

from __future__ import annotations

from dataclasses import replace

from cluster.api import Decision, Known, PonderSearch, Progress, RetimeSearch, SearchRequest, StartSearch, StopSearch
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
from master.player.inputs import (
    BookReplied,
    Connected,
    ConnectionLost,
    Decided,
    GiveUp,
    Input,
    Leave,
    LineSent,
    PonderFound,
    Prepared,
    Progressed,
    SearchFailed,
    ServerLine,
    Tick,
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
    Send,
)
from master.player.judging import Judge, Verdict, patience_ms
from master.player.move_comment import MoveComment
from master.player.outcomes import left, line_lost, with_result
from master.player.states import TRANSITIONS, PlayerState
from master.player.turn import Patience, Question, RunningSearch, Wait
from worker.careful import careful_move
from worker.clock import GameClock, Signs, Watch
from worker.shogi import MoveError, Position, move_to_csa, move_to_usi
from worker.states import States, Transition


class Player:
    """One connection to a server and the game that comes of it. `handle` is the only thing that changes it."""

    def __init__(self, login: Login, settings: PlayerSettings | None = None) -> None:
        self.settings = settings or PlayerSettings()
        self.protocol = CsaProtocol()
        self.outcome: GameOutcome | None = None
        self._states = States(TRANSITIONS, PlayerState.START, strict=self.settings.validate)
        self._now_ms = 0.0
        """The time of the event that is handled."""
        self._login = login
        self._next_id = 1
        self._position: Position | None = None
        self._clock: GameClock | None = None
        self._judge: Judge | None = None
        self._moves: list[str] = []
        self._line: tuple[str, ...] = ()
        """The moves that the last search expects from here on, as long as the game follows them."""
        self._wait: Wait | None = None
        """The answer for which our turn waits."""
        self._pondering: SearchRequest | None = None
        """The search that runs on the opponent's time."""
        self._found: PonderFound | None = None
        """The results of that search."""
        self._comment = MoveComment()
        self._aborting = ""
        self._wrong_game = ""
        """The reason why the game on offer, which was rejected, is another one than we came for."""
        self._out: list[Instruction] = []

    @property
    def state(self) -> PlayerState:
        return self._states.now

    @property
    def deadline_ms(self) -> float | None:
        """The time at which a `Tick` has something to do; None: only another event can change anything."""
        return None if self._wait is None else self._wait.deadline_ms

    def story(self) -> tuple[Transition[PlayerState], ...]:
        """The transitions that led to its present state."""
        return self._states.story()

    def handle(self, event: Input, now_ms: float) -> list[Instruction]:
        """Take an event that happened at ``now_ms`` (any steady clock) and say what is to be done, in this order."""
        self._now_ms = now_ms
        match event:
            case Connected():
                self._to(PlayerState.LOGIN)
                line = self.protocol.login(self._login.name, self._login.password)
                self._out.append(Send(line, f"LOGIN {self._login.name} ********"))
            case ServerLine(line):
                for said in self.protocol.receive(line):
                    if self.outcome is None:
                        self._on_event(said)
            case Prepared(first_id):
                self._on_prepared(first_id)
            case BookReplied(question_id, answer):
                self._on_book(question_id, answer)
            case PonderFound(pondered):
                if self._pondering is not None and pondered.search_id == self._pondering.search_id:
                    self._found = event
            case Progressed(progress):
                self._on_progress(progress)
            case Decided(decision):
                if (search := self._search_of(decision.search_id)) is not None:  # else late: the turn ended without it
                    self._emit(ThinkingEnded(decision))
                    self._act_on(decision, search)
            case SearchFailed(search_id, why):
                if (search := self._search_of(search_id)) is not None:
                    self._fall_back(search, f"the search failed: {why}")
            case Tick():
                self._on_tick()
            case LineSent():
                if self._clock is not None and self.protocol.sent is not None:
                    self._clock.sent(now_ms)
            case ConnectionLost(why):
                if self.outcome is None:
                    aborting = self._aborting
                    self._end(left(self.protocol, aborting) if aborting else line_lost(self.protocol, why))
            case GiveUp(why):
                self._give_up(why)
            case Leave():
                playing = self.outcome is None and self.protocol.state is State.PLAYING
                if playing and self.protocol.sent is None and not self.protocol.logged_out:
                    self._send(self.protocol.logout())
        out, self._out = self._out, []
        return out

    def _on_prepared(self, first_id: int) -> None:
        offered = self.protocol.state is State.OFFERED and self._position is not None
        if self.outcome is None and offered and not self._aborting:
            self._next_id = first_id
            self._to(PlayerState.AGREED)
            self._send(self.protocol.agree())

    def _on_book(self, question_id: int, answer: BookAnswer | None) -> None:
        if isinstance(self._wait, Question) and self._wait.question_id == question_id:
            self._wait = None
            if answer is None or not self._play_from_book(answer):
                self._think()

    def _on_progress(self, progress: Progress) -> None:
        if (search := self._search_of(progress.search_id)) is not None:
            if progress.pv:
                search.pv = progress.pv
            self._retime(search, progress)
            self._emit(ThinkingProgressed(progress))

    def _on_tick(self) -> None:
        """Time has passed: a turn whose deadline is over ends with the best that is known."""
        wait = self._wait
        if wait is None or self._now_ms < wait.deadline_ms:
            return
        match wait:
            case Question():
                self._wait = None
                self._emit(Note("book_late", {"waited_ms": self.settings.book_ms}, error=True))
                self._think()
            case RunningSearch():
                self._stop_search()
                self._fall_back(wait, "no decision by the hard deadline")
            case Patience():
                self._emit(Note("move_limit_passed", {"plies": len(self._moves)}, error=True))
                self._referee().plays_on()
                self._on_turn()

    def _give_up(self, why: str) -> None:
        if self.protocol.state is not State.PLAYING or self.protocol.my_turn:
            self._abort(why)
        elif self.outcome is None and not self._aborting:
            self._aborting = why
            self._stop_search()
            self._to(PlayerState.LEAVING)

    # The server's events

    def _on_event(self, event: csa.Event) -> None:
        match event:
            case csa.LoginOk(name):
                self._to(PlayerState.LOBBY)
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
                self._on_start()
            case csa.MoveMade():
                self._on_move(event)
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
        self._to(PlayerState.PREPARING)
        self._emit(GameFound(summary))
        self._out.append(PrepareSearcher())

    def _on_complaint(self, text: str, hope: Hope) -> None:
        """The server refuses something; where that was our wish for a game, none will come however long we wait."""
        self._emit(Note("server_complains", {"text": text}, warning=True))
        if hope is not Hope.THIS_LOGIN:
            conclusion = Conclusion.WRONG_GAME if hope is Hope.NONE else Conclusion.NO_NEW_GAMES
            self._finish(conclusion, f"the server says: {with_advice(text)}")

    def _refuse(self, why: str) -> None:
        self._to(PlayerState.LOBBY)
        self._position = None  # what was offered before, and is being prepared for, is off the table too
        self._emit(GameRefused(why))
        self._send(self.protocol.reject())

    def _on_start(self) -> None:
        summary, position = self._summary(), self._board()
        self._judge = Judge(self.settings, summary)
        self._clock = GameClock(summary.time, self.settings.clock, turn=summary.to_move, now_ms=self._now_ms)
        for move in summary.moves:
            self._clock.charge_before_start(SIGNS.index(move.csa[0]), move.consumed_ms)
        self._emit(GameBegan(summary, position.sfen(), self._clocks()))
        if self.protocol.my_turn:
            self._on_turn()
        else:
            self._to(PlayerState.THEIR_TURN)

    def _on_move(self, made: csa.MoveMade) -> None:
        position = self._board()
        assert self._clock is not None
        if made.mine and self._wait is not None:
            self._stop_search()  # the server plays a move that we did not send: nothing is asked of us any more
        try:
            move = position.push_csa(made.csa)
        except MoveError as error:
            self._emit(Note("lost_track", {"move": made.csa, "why": str(error)}, error=True))
            self._abort(f"the server's move {made.csa} is not legal here")
            return
        self._moves.append(move_to_usi(move))
        self._line = self._line[1:] if self._line[:1] == (self._moves[-1],) else ()
        self._clock.moved(made.consumed_ms, self._now_ms)
        comment = self._comment if made.mine else MoveComment()
        self._emit(comment.played(made, tuple(self._moves), position.sfen(), self._clocks()))
        if self._aborting:
            if self.protocol.my_turn:
                self._send(self.protocol.resign())
        elif self.protocol.my_turn:
            self._on_turn()
        else:
            self._to(PlayerState.THEIR_TURN)

    # Our turn

    def _on_turn(self) -> None:
        assert self._clock is not None
        self._wait = None
        judgement = self._referee().before_search(self._board(), len(self._moves))
        match judgement.verdict:
            case Verdict.WAIT:
                self._to(PlayerState.AT_LIMIT)
                self._wait = Patience(self._now_ms + patience_ms(self._clock.budget(self._now_ms).hard_ms))
            case Verdict.RESIGN:
                self._answer(self.protocol.resign())
            case Verdict.DECLARE:
                self._answer(self.protocol.declare())
            case Verdict.PLAY:
                self._send_move(judgement.move, MoveComment())
            case _ if self.settings.book_ms:
                self._ask_book()
            case _:
                self._think()

    def _ask_book(self) -> None:
        judge = self._referee()
        assert self._clock is not None
        budget = self._clock.budget(self._now_ms, len(self._moves), judge.max_moves, score=judge.score)
        question_id = self._new_id()
        self._to(PlayerState.BOOK)
        self._wait = Question(question_id, self._now_ms + min(self.settings.book_ms, budget.soft_ms / 4))
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
        self._send_move(move, MoveComment.of_book(answer, self._board(), move))
        return True

    def _think(self) -> None:
        assert self._clock is not None
        judge = self._referee()
        request = self._request(tuple(self._moves))
        search_id = request.search_id
        known = self._known_of(request)
        known_ms = 0 if known is None else known.fleet_ms
        budget = self._clock.budget(self._now_ms, len(self._moves), judge.max_moves, known_ms, judge.score)
        deadline_ms = self._now_ms + budget.hard_ms + self.settings.guard_ms
        watch = Watch(judge.score, "" if known is None else known.move, known_ms)
        # Where nothing is heard of the search, what is known already is better than any move.
        pv = self._line if known is None else known.lines[0].pv if known.lines else (known.move,)
        self._to(PlayerState.SEARCHING)
        self._wait = RunningSearch(search_id, deadline_ms, budget.soft_ms, self._now_ms, watch, pv)
        clocks = self._clocks()
        self._emit(ThinkingBegan(search_id, len(self._moves), budget.soft_ms, budget.hard_ms, clocks, known))
        self._out.append(StartSearch(replace(request, soft_ms=budget.soft_ms, hard_ms=budget.hard_ms)))
        self._pondering = self._found = None  # it is a part of this search now, or over

    def _known_of(self, request: SearchRequest) -> Known | None:
        """The result of pondering on the position of ``request``."""
        if self._pondering is None or self._found is None:
            return None
        known = self._found.pondered.replies.get(request.reply_to(self._pondering))
        return None if known is None else known.later(max(0, int(self._now_ms - self._found.at_ms)))

    def _ponder(self, move: int) -> None:
        """Our ``move`` is out: search on the opponent's time, unless the game is over with it."""
        position = self._board().copy()
        position.push(move)
        if not self.settings.ponder or self._referee().ends_with(position, len(self._moves) + 1):
            return
        self._pondering, self._found = self._request((*self._moves, move_to_usi(move))), None
        self._out.append(PonderSearch(self._pondering))

    def _request(self, moves: tuple[str, ...]) -> SearchRequest:
        return SearchRequest(
            search_id=self._new_id(),
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
        outlook = search.watch.see(Signs(progress.elapsed_ms, move, progress.score, progress.agreement))
        soft_ms = self._clock.reconsidered(outlook, search.began_ms + progress.elapsed_ms)
        if soft_ms != search.soft_ms:
            search.soft_ms = soft_ms
            self._out.append(RetimeSearch(search.search_id, soft_ms))

    def _search_of(self, search_id: int) -> RunningSearch | None:
        """The running search, if that is its id."""
        search = self._wait
        return search if isinstance(search, RunningSearch) and search.search_id == search_id else None

    def _act_on(self, decision: Decision, search: RunningSearch) -> None:
        match self._referee().after_search(decision, self._board(), len(self._moves)):
            case Verdict.DECLARE:
                self._answer(self.protocol.declare())
            case Verdict.RESIGN:
                self._answer(self.protocol.resign())
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
            self._send_move(move, MoveComment.of(decision, self._board(), move))

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
        self._send_move(move, MoveComment())

    def _send_move(self, move: int, comment: MoveComment) -> None:
        self._comment = comment
        self._answer(self.protocol.move(move_to_csa(move), comment.text))
        self._ponder(move)

    def _answer(self, line: str) -> None:
        """Our turn ends with ``line``."""
        self._wait = None
        self._to(PlayerState.ANSWERED)
        self._send(line)

    # Common

    def _to(self, state: PlayerState) -> None:
        self._states.to(state, self._now_ms)

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _abort(self, why: str) -> None:
        if self.outcome is not None or self._aborting:
            return
        self._aborting = why
        self._stop_search()
        self._to(PlayerState.LEAVING)
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

    def _clocks(self) -> Clocks:
        assert self._clock is not None
        left = (self._clock.left_ms(0, self._now_ms), self._clock.left_ms(1, self._now_ms))
        return Clocks(left, self._clock.turn)

    def _stop_search(self) -> None:
        wait, self._wait = self._wait, None
        if isinstance(wait, RunningSearch):
            self._out.append(StopSearch(wait.search_id))
        if self._pondering is not None:
            self._out.append(StopSearch(self._pondering.search_id))
            self._pondering = self._found = None

    def _send(self, line: str) -> None:
        self._out.append(Send(line, line))

    def _emit(self, event: GameEvent) -> None:
        self._out.append(Emit(event))

    def _finish(self, conclusion: Conclusion, reason: str) -> None:
        self._end(with_result(self.protocol, conclusion, reason))

    def _end(self, outcome: GameOutcome) -> None:
        self._stop_search()
        if self._wrong_game:
            outcome = replace(outcome, conclusion=Conclusion.WRONG_GAME, reason=self._wrong_game)
        if self._clock is not None:
            outcome = replace(outcome, plies=len(self._moves), sfen=self._board().sfen())
        self.outcome = outcome
        self._to(PlayerState.OVER)
        if self.protocol.state in (State.ENDED, State.WAITING) and not self.protocol.logged_out:
            self._send(self.protocol.logout())
        self._emit(GameEnded(self.outcome))
        self._out.append(Finish(self.outcome))
