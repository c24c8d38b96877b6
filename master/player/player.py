"""One game as a pure state machine: the server's lines, search reports and clock ticks in; lines and orders out.

`Player.handle` takes events (`master.player.inputs`) and returns instructions (`master.player.instructions`). The
states and the transitions between them are in `master.player.states`::

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

Invariants: a line is sent only if `master.csa.protocol` allows it; only legal moves are sent; each of our turns ends
by the hard deadline, even if the searcher fails; a decision counts only for the running search. Times are milliseconds
of any steady clock.
"""

from __future__ import annotations

from dataclasses import replace

from cluster.api import Decision, PonderSearch, Progress, RetimeSearch, StartSearch, StopSearch
from master.csa import events as csa
from master.csa.events import Severity, with_advice
from master.csa.offer import UnplayableError, other_game
from master.csa.protocol import CsaProtocol, State
from master.csa.summary import GameSummary
from master.player import events, inputs, instructions
from master.player.game import (
    ActiveGame,
    LimitWait,
    Pondering,
    Question,
    RunningSearch,
    Wait,
    comment_on,
    left,
    line_lost,
    with_result,
)
from master.player.judging import Verdict, patience_ms
from master.player.states import TRANSITIONS, PlayerState
from worker.shogi import MoveError, move_to_csa, move_to_usi
from worker.states import States


class Player:
    """One connection to a server and the game played on it. Only `handle` changes it."""

    def __init__(self, login: instructions.Login, settings: instructions.PlayerSettings | None = None) -> None:
        self.settings = settings or instructions.PlayerSettings()
        self.protocol = CsaProtocol()
        self.outcome: events.GameOutcome | None = None
        self._states = States(TRANSITIONS, PlayerState.START, strict=self.settings.validate)
        self._now_ms = 0.0
        """The time of the current event."""
        self._login = login
        self._next_id = 1
        self._offered: ActiveGame | None = None
        """The game on offer, then the game being played."""
        self._wait: Wait | None = None
        """The answer for which our turn waits."""
        self._pondering: Pondering | None = None
        self._comment = events.MoveComment()
        self._aborting = ""
        self._wrong_game = ""
        """The reason why the rejected offer is not the game that we logged in for."""
        self._out: list[instructions.Instruction] = []

    @property
    def deadline_ms(self) -> float | None:
        """The time at which a `Tick` has an effect; None: only another event can change anything."""
        return None if self._wait is None else self._wait.deadline_ms

    def handle(self, event: inputs.Input, now_ms: float) -> list[instructions.Instruction]:
        """Take an event that happened at ``now_ms`` (any steady clock); return the instructions, in order."""
        self._now_ms = now_ms
        match event:
            case inputs.Connected():
                self._to(PlayerState.LOGIN)
                line = self.protocol.login(self._login.name, self._login.password)
                self._out.append(instructions.Send(line, f"LOGIN {self._login.name} ********"))
            case inputs.ServerLine(line):
                for said in self.protocol.receive(line):
                    if self.outcome is None:
                        self._on_event(said)
            case inputs.Prepared(first_id):
                self._on_prepared(first_id)
            case inputs.BookReplied(question_id, answer):
                self._on_book(question_id, answer)
            case inputs.PonderFound(pondered):
                if self._pondering is not None and pondered.search_id == self._pondering.request.search_id:
                    self._pondering.found = event
            case Progress():
                self._on_progress(event)
            case Decision():
                if (search := self._search_of(event.search_id)) is not None:  # else late: the turn ended without it
                    self._emit(event)
                    self._act_on(event, search)
            case inputs.SearchFailed(search_id, why):
                if (search := self._search_of(search_id)) is not None:
                    self._fall_back(search, f"the search failed: {why}")
            case inputs.Tick():
                self._on_tick()
            case inputs.LineSent():
                if self.protocol.sent is not None:
                    self._game.clock.sent(now_ms)
            case inputs.ConnectionLost(why):
                if self.outcome is None:
                    aborting = self._aborting
                    self._end(left(self.protocol, aborting) if aborting else line_lost(self.protocol, why))
            case inputs.GiveUp(why):
                self._give_up(why)
            case inputs.Leave():
                playing = self.outcome is None and self.protocol.state is State.PLAYING
                if playing and self.protocol.sent is None and not self.protocol.logged_out:
                    self._send(self.protocol.logout())
        out, self._out = self._out, []
        return out

    def _on_prepared(self, first_id: int) -> None:
        offered = self.protocol.state is State.OFFERED and self._offered is not None
        if self.outcome is None and offered and not self._aborting:
            self._next_id = first_id
            self._to(PlayerState.AGREED)
            self._send(self.protocol.agree())

    def _on_book(self, question_id: int, answer: instructions.BookAnswer | None) -> None:
        if isinstance(self._wait, Question) and self._wait.question_id == question_id:
            self._wait = None
            if answer is None or not self._play_from_book(answer):
                self._think()

    def _on_progress(self, progress: Progress) -> None:
        if (search := self._search_of(progress.search_id)) is not None:
            if search.see(progress, self._game.clock):
                self._out.append(RetimeSearch(search.search_id, search.soft_ms))
            self._emit(progress)

    def _on_tick(self) -> None:
        """Time has passed: a turn past its deadline ends with the best known move."""
        wait = self._wait
        if wait is None or self._now_ms < wait.deadline_ms:
            return
        match wait:
            case Question():
                self._wait = None
                self._emit(events.Note("book_late", {"waited_ms": wait.patience_ms}, error=True))
                self._think()
            case RunningSearch():
                self._stop_search()
                self._fall_back(wait, "no decision by the hard deadline")
            case LimitWait():
                self._emit(events.Note("move_limit_passed", {"plies": len(self._game.moves)}, error=True))
                self._game.judge.plays_on()
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
                self._emit(events.LoggedIn(name))
            case csa.LoginRefused(line):
                self._finish(events.Conclusion.LOGIN_REFUSED, line)
            case csa.GameOffered(summary):
                self._on_offer(summary)
            case csa.BadOffer(why):
                self._refuse(why)
            case csa.OfferRejected(_, by):
                self._finish(events.Conclusion.NOT_PLAYED, f"rejected by {by}" if by else "rejected")
            case csa.GameStarted():
                self._on_start()
            case csa.MoveMade():
                self._on_move(event)
            case csa.Ended(result, reason):
                self._finish(events.Conclusion(result.value), reason)
            case csa.LoggedOut() if self._aborting:
                self._end(left(self.protocol, self._aborting))
            case csa.Complaint(text, severity):
                self._on_complaint(text, severity)
            case csa.Notice(text):
                self._emit(events.Note("server_notice", {"text": text}))
            case csa.Unexpected(line, why):
                self._emit(events.Note("unexpected_line", {"line": line, "why": why}, error=True))
            case _:
                pass  # LoggedOut after our LOGOUT, SpecialMade (its ending follows), KeepAlive

    def _on_offer(self, summary: GameSummary) -> None:
        try:
            self._offered = ActiveGame(self.settings, summary)
        except UnplayableError as error:
            self._refuse(str(error))
            return
        self._wrong_game = other_game(summary, self.settings.game)
        if self._wrong_game:
            self._refuse(self._wrong_game)
            return
        self._to(PlayerState.PREPARING)
        self._emit(events.GameFound(summary))
        self._out.append(instructions.PrepareSearcher())

    def _on_complaint(self, text: str, severity: Severity) -> None:
        """The server refuses something. If that was our request for a game, none will come however long we wait."""
        self._emit(events.Note("server_complains", {"text": text}, warning=True))
        if severity is not Severity.IGNORABLE:
            conclusion = (
                events.Conclusion.WRONG_GAME if severity is Severity.PERMANENT else events.Conclusion.NO_NEW_GAMES
            )
            self._finish(conclusion, f"the server says: {with_advice(text)}")

    def _refuse(self, why: str) -> None:
        self._to(PlayerState.LOBBY)
        self._offered = None  # this also cancels an earlier offer that is being prepared
        self._emit(events.GameRefused(why))
        self._send(self.protocol.reject())

    def _on_start(self) -> None:
        game = self._game
        game.begin(self._now_ms)
        self._emit(events.GameBegan(game.summary, game.position.sfen(), game.clocks(self._now_ms)))
        if self.protocol.my_turn:
            self._on_turn()
        else:
            self._to(PlayerState.THEIR_TURN)

    def _on_move(self, made: csa.MoveMade) -> None:
        if made.mine and self._wait is not None:
            self._stop_search()  # the server plays a move that we did not send: our turn is over
        try:
            played = self._game.move(made, self._comment if made.mine else events.MoveComment(), self._now_ms)
        except MoveError as error:
            self._emit(events.Note("lost_track", {"move": made.csa, "why": str(error)}, error=True))
            self._abort(f"the server's move {made.csa} is not legal here")
            return
        self._emit(played)
        if self._aborting:
            if self.protocol.my_turn:
                self._send(self.protocol.resign())
        elif self.protocol.my_turn:
            self._on_turn()
        else:
            self._to(PlayerState.THEIR_TURN)

    # Our turn

    def _on_turn(self) -> None:
        game, self._wait = self._game, None
        judgement = game.judge.before_search(game.position, len(game.moves))
        match judgement.verdict:
            case Verdict.WAIT:
                self._to(PlayerState.AT_LIMIT)
                self._wait = LimitWait(self._now_ms + patience_ms(game.clock.budget(self._now_ms).hard_ms))
            case Verdict.RESIGN:
                self._answer(self.protocol.resign())
            case Verdict.DECLARE:
                self._answer(self.protocol.declare())
            case Verdict.PLAY:
                self._send_move(judgement.move, events.MoveComment())
            case _ if self.settings.book_ms:
                self._ask_book()
            case _:
                self._think()

    def _ask_book(self) -> None:
        game, question_id = self._game, self._new_id()
        budget = game.budget(self._now_ms)
        self._to(PlayerState.BOOK)
        patience_ms = min(self.settings.book_ms, budget.soft_ms // 4)
        self._wait = Question(question_id, self._now_ms + patience_ms, patience_ms)
        self._out.append(instructions.AskBook(question_id, game.summary.start_sfen, tuple(game.moves), budget.soft_ms))

    def _play_from_book(self, answer: instructions.BookAnswer) -> bool:
        """Send the book's move, if it can be played."""
        try:
            move = self._game.book_move(answer.move)
        except MoveError as error:
            self._emit(events.Note("book_move_refused", {"book": answer.source, "why": str(error)}, error=True))
            return False
        if move is None:
            return False
        self._emit(events.Note("book_move", {"book": answer.source, "move": answer.move, "score": answer.score}))
        self._send_move(move, comment_on(answer, self._game.position, move))
        return True

    def _think(self) -> None:
        game, search_id = self._game, self._new_id()
        request = game.request(search_id)
        known = None if self._pondering is None else self._pondering.known(request, self._now_ms)
        self._pondering = None  # it is part of this search now, or over
        self._to(PlayerState.SEARCHING)
        guard_ms = min(self.settings.guard_ms, self.settings.clock.network_margin_ms)  # taken from that margin
        self._wait = search = RunningSearch.begin(search_id, game, known, self._now_ms, guard_ms)
        clocks = game.clocks(self._now_ms)
        self._emit(events.ThinkingBegan(search_id, len(game.moves), search.soft_ms, search.hard_ms, clocks, known))
        self._out.append(StartSearch(replace(request, soft_ms=search.soft_ms, hard_ms=search.hard_ms)))

    def _ponder(self, move: int) -> None:
        """Our ``move`` is sent: search on the opponent's time, unless the move ends the game."""
        if not self.settings.ponder or self._game.ends_with(move):
            return
        self._pondering = Pondering(self._game.request(self._new_id(), move_to_usi(move)))
        self._out.append(PonderSearch(self._pondering.request))

    def _search_of(self, search_id: int) -> RunningSearch | None:
        search = self._wait
        return search if isinstance(search, RunningSearch) and search.search_id == search_id else None

    def _act_on(self, decision: Decision, search: RunningSearch) -> None:
        game = self._game
        match game.judge.after_search(decision, game.position, len(game.moves)):
            case Verdict.DECLARE:
                self._answer(self.protocol.declare())
            case Verdict.RESIGN:
                self._answer(self.protocol.resign())
            case Verdict.DISBELIEVE:
                self._fall_back(search, f"the decision {decision.move} does not hold")
            case _:
                try:
                    move = game.position.parse_usi(decision.move)
                except MoveError as error:
                    self._fall_back(search, f"the decision is not legal: {error}")
                    return
                game.expected = decision.pv
                self._send_move(move, comment_on(decision, game.position, move))

    def _fall_back(self, search: RunningSearch, why: str) -> None:
        """Play the best reported move, or one by material alone: a turn must never run out of time."""
        move, more = self._game.fallback_move(search.pv)
        self._emit(events.Note("fallback_move", {"move": move_to_usi(move), "why": why + more}, error=True))
        self._send_move(move, events.MoveComment())

    def _send_move(self, move: int, comment: events.MoveComment) -> None:
        self._comment = comment
        self._answer(self.protocol.move(move_to_csa(move), comment.text))
        self._ponder(move)

    def _answer(self, line: str) -> None:
        """End our turn with ``line``."""
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
            self._finish(events.Conclusion.ABORTED, why)

    @property
    def _game(self) -> ActiveGame:
        assert self._offered is not None
        return self._offered

    def _stop_search(self) -> None:
        wait, self._wait = self._wait, None
        if isinstance(wait, RunningSearch):
            self._out.append(StopSearch(wait.search_id))
        if self._pondering is not None:
            self._out.append(StopSearch(self._pondering.request.search_id))
            self._pondering = None

    def _send(self, line: str) -> None:
        self._out.append(instructions.Send(line, line))

    def _emit(self, event: events.GameEvent) -> None:
        self._out.append(instructions.Emit(event))

    def _finish(self, conclusion: events.Conclusion, reason: str) -> None:
        self._end(with_result(self.protocol, conclusion, reason))

    def _end(self, outcome: events.GameOutcome) -> None:
        self._stop_search()
        if self._wrong_game:
            outcome = replace(outcome, conclusion=events.Conclusion.WRONG_GAME, reason=self._wrong_game)
        if self._offered is not None and self._offered.begun:
            outcome = replace(outcome, plies=len(self._game.moves), sfen=self._game.position.sfen())
        self.outcome = outcome
        self._to(PlayerState.OVER)
        if self.protocol.state in (State.ENDED, State.WAITING) and not self.protocol.logged_out:
            self._send(self.protocol.logout())
        self._emit(events.GameEnded(self.outcome))
        self._out.append(instructions.Finish(self.outcome))
