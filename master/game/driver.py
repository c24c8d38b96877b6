"""Plays games on a CSA server: carries out the instructions of `master.player.player` on the running asyncio loop
(preferably uvloop).

Usage::

    await searcher.open(Listener())
    outcome = await play_game(ServerAddress("127.0.0.1", 4081), Login("gougi", "test-60-5F,secret"), searcher)

Nothing waits between a line of the server and its answer: not for the cluster (which calls back), and not for the disk
(the record is written after the lines are sent).
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

import structlog

from cluster import api
from master.csa.client import CsaConnection, CsaConnectionError
from master.csa.login import ServerAddress
from master.csa.offer import warm_up_rules
from master.csa.protocol import CsaProtocol, ProtocolError, State
from master.game.journal import LOGGER, Journal
from master.game.recorder import Recorder
from master.player import inputs, instructions
from master.player.events import Conclusion, GameEnded, GameEvent, GameOutcome, GameRefused, LineMeasured, Note
from master.player.player import Player

log: structlog.stdlib.BoundLogger = structlog.get_logger(LOGGER)

ABORT_S: Final = 1.0
"""Seconds to wait for the server's last line after we gave up a game, and again after we logged out."""

LOGIN_S: Final = 60.0
"""Seconds to wait for the answer to a login: a server may accept a connection and then hang."""

Observer = Callable[[GameEvent], None]
"""Called on the event loop; must not block. Its exceptions are logged and otherwise ignored."""


def tell_all(observers: Sequence[Observer], event: GameEvent) -> None:
    """Pass an event to the observers. If one fails, the others still get it."""
    for observer in observers:
        try:
            observer(event)
        except Exception:
            log.exception("observer_failed")


_IDS_OF_A_GAME: Final = 100_000
"""More than the number of searches, pondering and book questions of any game."""
_search_ids = itertools.count(1)
_ids_lock: Final = threading.Lock()
_numbers = itertools.count(1)
"""Numbers of this process's players, in the log."""


def next_search_id() -> int:
    """An id for a search between the games of this process. Searchers outlive a game and need rising ids."""
    with _ids_lock:
        return next(_search_ids)


def next_game_ids() -> int:
    """The first id of a game's searches; its others follow, and later searches have higher ones."""
    global _search_ids
    with _ids_lock:
        first = (next(_search_ids) // _IDS_OF_A_GAME + 1) * _IDS_OF_A_GAME
        _search_ids = itertools.count(first + _IDS_OF_A_GAME)
    return first + 1


class PlayersBook(Protocol):
    """The books of a player, as a game sees them (`master.book.service`). Neither method blocks."""

    def ask(self, question: instructions.AskBook, reply: Callable[[instructions.BookAnswer | None], None]) -> None:
        """Look a position up. ``reply`` is called once, on the running loop, however late."""

    def observe(self, event: GameEvent) -> None:
        """Receive every event of the game."""


class LoginRefusedError(Exception):
    """The server refuses the login. The text names the server and the login name, never the password."""


class WrongGameError(Exception):
    """The login brings no game, or another one than it names: the user must change it. The text describes the server's
    reaction; ``offered``: it offered a game, which was rejected."""

    def __init__(self, text: str, offered: bool) -> None:
        super().__init__(text)
        self.offered = offered


class ShownOutError(CsaConnectionError):
    """The server closed the connection while the logged-in player waited for a game."""


@dataclass(frozen=True, slots=True)
class GameSettings:
    player: instructions.PlayerSettings = field(default_factory=instructions.PlayerSettings)
    record_folder: Path | None = None
    """The folder for the game's record; None: no record."""
    prepare_timeout_s: float = 60.0
    """Seconds the searcher has to get ready before the player agrees to the game (the server gives up after 120 s)."""
    book: PlayersBook | None = None
    """Consulted on each turn before the searcher, if ``player.book_ms`` gives it time."""


async def play_game(
    address: ServerAddress,
    login: instructions.Login,
    searcher: api.OpenSearcher,
    settings: GameSettings | None = None,
    observers: Sequence[Observer] = (),
) -> GameOutcome:
    """Log in, play one game, log out.

    If cancelled, it resigns (or logs out), waits up to a second for the server's last line, saves the record and stops
    the search; only then it raises. Observers get the outcome in any case.

    Args:
        searcher: open, and used by nobody else meanwhile.

    Raises:
        LoginRefusedError: wrong name or password, or the name is already playing.
        WrongGameError: the game name or the side brings no game, or brought another one, which was rejected.
        CsaConnectionError: the server cannot be reached, begins no games for now, or closed the connection before a
            game began (`ShownOutError` if it did so while we waited for a game).
    """
    try:
        CsaProtocol().login(login.name, login.password)
    except ProtocolError as error:
        raise LoginRefusedError(str(error)) from None
    game = _Game(login, searcher, settings or GameSettings(), observers)
    outcome = await game.run(address)
    if outcome.conclusion is Conclusion.LOGIN_REFUSED:
        raise LoginRefusedError(
            f"{address} refuses the login of {login.name!r}: wrong name or password, or this name is playing already"
        )
    if outcome.conclusion is Conclusion.WRONG_GAME:
        raise WrongGameError(f"{address}: {outcome.reason}", offered=outcome.summary is not None)
    if outcome.conclusion is Conclusion.NO_NEW_GAMES:
        raise CsaConnectionError(f"{address}: {outcome.reason}")
    if outcome.conclusion is Conclusion.DISCONNECTED and not outcome.played:
        raise (ShownOutError if game.shown_out else CsaConnectionError)(outcome.reason)
    return outcome


class _Game:
    """The driver of one `Player`."""

    def __init__(
        self,
        login: instructions.Login,
        searcher: api.OpenSearcher,
        settings: GameSettings,
        observers: Sequence[Observer],
    ) -> None:
        player = settings.player if settings.book is not None else replace(settings.player, book_ms=0)
        self._journal = Journal(next(_numbers))
        self._player = Player(login, player)
        self._name = login.name
        self._searcher = searcher
        self._settings = settings
        self._observers = observers
        self._recorder = None if settings.record_folder is None else Recorder(settings.record_folder)
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[GameOutcome] = self._loop.create_future()
        self._connection: CsaConnection | None = None
        self._hears = api.SearchListener(self._do, self._do, self._on_pondered)
        self._found: inputs.PonderFound | None = None
        """The last result of pondering, until the player has received it."""
        self._batches: deque[list[instructions.Instruction]] = deque()
        self._carrying_out = False
        self._timer: asyncio.TimerHandle | None = None
        self._preparation: asyncio.Task[None] | None = None

    @property
    def shown_out(self) -> bool:
        """Whether the server closed the connection while we waited for a game."""
        by_peer = self._connection is not None and self._connection.closed_by_peer
        return by_peer and self._player.protocol.state is State.WAITING

    async def run(self, address: ServerAddress) -> GameOutcome:
        await asyncio.to_thread(warm_up_rules)
        login_timer: asyncio.TimerHandle | None = None
        try:
            self._connection = await CsaConnection.open(
                address.host,
                address.port,
                on_line=self._on_line,
                on_lost=self._on_lost,
                on_echo=lambda ms: self._tell(LineMeasured(ms)),
            )
            self._journal.begin(self._name, str(address), self._player.settings)
            self._do(inputs.Connected())
            login_timer = self._loop.call_later(LOGIN_S, self._on_login_timer)
            try:
                return await asyncio.shield(self._done)
            except asyncio.CancelledError:
                await self._give_up()
                raise
        finally:
            for timer in (self._timer, login_timer):
                if timer is not None:
                    timer.cancel()
            if self._preparation is not None:
                self._preparation.cancel()
            try:
                if self._connection is not None:
                    await self._connection.close()
            finally:
                if self._recorder is not None:
                    await self._recorder.close()

    async def _give_up(self) -> None:
        """Cancelled: leave the game cleanly, or after `ABORT_S` stop waiting. May be called twice, in any order."""
        self._do(inputs.GiveUp("stopped by us"))
        try:
            await asyncio.wait({self._done}, timeout=ABORT_S)
            self._do(inputs.Leave())
            await asyncio.wait({self._done}, timeout=ABORT_S)
        finally:
            self._do(inputs.ConnectionLost("stopped by us"))
            if self._done.done() and not self._done.cancelled():
                self._done.exception()  # marked as retrieved: it was logged, or the cancellation reports it

    # Events. Each of these may be called at any time, also while an instruction is being carried out.

    def _on_line(self, line: str) -> None:
        found, self._found = self._found, None
        # Both at once: instructions are carried out before the journal of both is written, since a search may have to
        # begin.
        self._do(*([] if found is None else [found]), inputs.ServerLine(line))

    def _on_lost(self, why: str) -> None:
        self._do(inputs.ConnectionLost(why))

    def _on_pondered(self, pondered: api.Pondered) -> None:
        """Kept until a line may make it relevant: it comes ten times a second, and would fill the journal."""
        self._found = inputs.PonderFound(pondered, self._now_ms())

    def _on_timer(self) -> None:
        self._timer = None
        self._do(inputs.Tick())

    def _on_login_timer(self) -> None:
        if self._player.protocol.state is State.LOGGING_IN:
            self._do(inputs.ConnectionLost(f"no answer to the login within {LOGIN_S:.0f} s"))

    def _now_ms(self) -> float:
        return round(self._loop.time() * 1000, 3)  # as in the log

    def _do(self, *events: inputs.Input) -> None:
        """Give the player events and carry out its instructions, one event after another."""
        if self._done.done():
            return
        try:
            for event in events:
                self._batches.append(self._journal.give(self._player, event, self._now_ms()))
            if self._carrying_out:
                return
            self._carrying_out = True
            try:
                while self._batches:
                    self._carry_out(self._batches.popleft())
            finally:
                self._carrying_out = False
            self._set_timer()
            self._journal.write()
        except Exception as error:
            # A bug of ours: the caller that waits for the game must get it, instead of waiting for ever.
            log.exception("game_failed")
            self._journal.write()
            if not self._done.done():
                self._done.set_exception(error)

    def _carry_out(self, batch: list[instructions.Instruction]) -> None:
        # Lines and searches first: a viewer or the disk must not cost time on the clock.
        for instruction in batch:
            match instruction:
                case instructions.Send(line):
                    assert self._connection is not None
                    self._connection.send(line)
                    self._journal.give(self._player, inputs.LineSent(), self._now_ms())
                case instructions.AskBook():
                    self._ask_book(instruction)
                case api.StartSearch() | api.PonderSearch() | api.RetimeSearch() | api.StopSearch():
                    self._order(instruction)
                case instructions.PrepareSearcher():
                    self._preparation = self._loop.create_task(self._prepare())
        for instruction in batch:
            match instruction:
                case instructions.Emit(event):
                    self._tell(event)
                case instructions.Finish(outcome) if not self._done.done():
                    self._done.set_result(self._with_record(outcome))

    def _ask_book(self, question: instructions.AskBook) -> None:
        def reply(answer: instructions.BookAnswer | None) -> None:
            self._do(inputs.BookReplied(question.question_id, answer))

        book = self._settings.book
        assert book is not None
        try:
            book.ask(question, reply)
        except Exception:
            log.exception("book_not_asked")
            reply(None)

    def _order(self, order: api.SearchOrder) -> None:
        """Give the searcher an order. The player only needs to know if a search could not begin."""
        try:
            self._searcher.handle(order, self._hears)
        except Exception as error:
            log.exception("order_failed", order=type(order).__name__)
            if isinstance(order, api.StartSearch):
                self._do(inputs.SearchFailed(order.request.search_id, str(error)))

    async def _prepare(self) -> None:
        try:
            async with asyncio.timeout(self._settings.prepare_timeout_s):
                await self._searcher.new_game()
        except Exception:
            log.exception("searcher_not_prepared")
        self._do(inputs.Prepared(next_game_ids()))

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self._player.deadline_ms
        if deadline is not None and not self._done.done():
            self._timer = self._loop.call_at(deadline / 1000, self._on_timer)

    def _tell(self, event: GameEvent) -> None:
        if self._recorder is not None:
            try:
                self._recorder(event)
            except Exception:
                log.exception("not_recorded")
        if isinstance(event, GameEnded):
            event = GameEnded(self._with_record(event.outcome))
        if isinstance(event, Note):
            tell = log.error if event.error else log.warning if event.warning else log.info
            tell(event.event, **event.fields)
        elif isinstance(event, GameRefused):
            log.error("game_refused", why=event.why)
        book = self._settings.book
        tell_all(self._observers if book is None else (book.observe, *self._observers), event)

    def _with_record(self, outcome: GameOutcome) -> GameOutcome:
        return outcome if self._recorder is None else replace(outcome, record_path=self._recorder.path)
