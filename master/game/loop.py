"""Game after game on a CSA server, as on floodgate: log in, play, and repeat, also after a lost connection."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from cluster.api import OpenSearcher
from master.csa.client import CsaConnectionError
from master.csa.login import ServerAddress
from master.game.driver import GameSettings, LoginRefusedError, Observer, ShownOutError, WrongGameError, play_game
from master.player.events import GameEvent, GameFound, GameOutcome, LoggedIn
from master.player.instructions import Login

_DOUBLINGS: Final = 64
"""Larger powers overflow; any delay is at its maximum by then."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays between attempts after failures in a row. Random, so that many clients do not come back at the same
    instant."""

    first_s: float = 1.0
    """Upper limit of the first delay."""
    factor: float = 2.0
    most_s: float = 120.0
    attempts: int | None = 30
    """Consecutive failures after which to give up: with these delays within 50 minutes. None: never."""

    def delay_s(self, failures: int, rng: random.Random) -> float | None:
        """The delay after ``failures`` (1, 2 …) consecutive failures; None: give up."""
        if self.attempts is not None and failures >= self.attempts:
            return None
        longest = min(self.most_s, self.first_s * self.factor ** min(failures - 1, _DOUBLINGS))
        return rng.uniform(longest / 2, longest)


# A login with the same name and password silently ends the wait of the one before it. Two players who both return
# after each such end would go on for ever. With `Backoff`'s delays the rounds below take some minutes, and the player
# who gives up leaves the name to the other one.
SUSPECTED: Final = 3
"""Times in a row that the server closed our waiting connection, from which a rival is suspected."""
CERTAIN: Final = 8
SHORT_S: Final = 300.0
"""Seconds of waiting after which the end of a login no longer counts as caused by a returning rival."""


def times_shown_out(times: int, waited_s: float) -> int:
    """The times in a row after one more, ``waited_s`` after the login, while we waited for a game."""
    return times + 1 if waited_s < SHORT_S else 0


log: structlog.stdlib.BoundLogger = structlog.get_logger("game.loop")


STEADY_S: Final = 60.0
"""A connection that lasted this long after its login does not count as a failure in a row."""
REFUSED_S: Final = 20 * 60.0
"""Seconds for which a name that was never accepted is tried: a game left over from a crash may last this long."""


class NameTakenError(Exception):
    """Another player logs in with the same name and password; the text says how that was noticed."""


@dataclass(slots=True)
class _Progress:
    """An observer that remembers the progress of a connection."""

    now: Callable[[], float]
    """Seconds of any steady clock."""
    been_in: bool = False
    """A login has succeeded."""
    in_since: float | None = None
    """The time of this connection's login."""
    begun: bool = False
    """A game has been found on this connection."""

    @property
    def waited_s(self) -> float:
        """Seconds since this connection's login."""
        return 0.0 if self.in_since is None else self.now() - self.in_since

    def next(self) -> None:
        """A new connection begins."""
        self.in_since, self.begun = None, False

    @property
    def steady(self) -> bool:
        return self.waited_s >= STEADY_S

    def __call__(self, event: GameEvent) -> None:
        if isinstance(event, LoggedIn):
            self.been_in, self.in_since = True, self.now()
        self.begun = self.begun or isinstance(event, GameFound)


@dataclass(frozen=True, slots=True)
class Series:
    """Game after game: players, server, settings and number of games."""

    address: ServerAddress
    login: Login
    searcher: OpenSearcher
    """Open, and used by nobody else while a game runs."""
    settings: GameSettings = field(default_factory=GameSettings)
    observers: Sequence[Observer] = ()
    """Receive every event of the games."""
    count: int | None = None
    """Games to play; None: no end."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """If set, a running game is played to its end, and no other one begins."""
    backoff: Backoff = field(default_factory=Backoff)
    """The delays between attempts."""


async def play_games(series: Series) -> list[GameOutcome]:
    """Play game after game, as on floodgate: log in, play, and again.

    A server that cannot be reached, a broken connection and an offer without a game are retried with growing random
    delays. So is a refused login if more than one game is wanted; if none has succeeded so far, only for `REFUSED_S`:
    after a broken connection, or a crash of ours, the name may still be playing. A connection that lasted a minute
    resets the count of failures: on floodgate one waits for half an hour. A bug of ours that ends a game does not end
    the others.

    Returns:
        The outcomes of the games that were begun.

    Raises:
        LoginRefusedError: the first login is refused repeatedly, or later ones again and again.
        WrongGameError: our login brings no game, or another one than it names.
        NameTakenError: another player logs in with our name and password, and each ends the other's wait.
        CsaConnectionError: the server cannot be reached, or no game begins, again and again.
    """
    address, login, count, stop = series.address, series.login, series.count, series.stop
    rng = random.Random()
    outcomes: list[GameOutcome] = []
    progress = _Progress(asyncio.get_running_loop().time)
    shown_out = 0
    failures = 0
    give_up_s = progress.now() + (0 if count == 1 else REFUSED_S)
    while not stop.is_set() and (count is None or len(outcomes) < count):
        progress.next()
        failure: Exception | None = None
        game = asyncio.create_task(
            play_game(address, login, series.searcher, series.settings, [progress, *series.observers])
        )
        try:
            outcome = await _unless_stopped(game, stop, progress)
        except LoginRefusedError as error:
            if not progress.been_in and progress.now() >= give_up_s:
                raise
            failure = error
        except ShownOutError as error:
            shown_out = times_shown_out(shown_out, progress.waited_s)
            _look_for_rival(shown_out, address, login)
            failure = error
        except CsaConnectionError as error:
            shown_out = 0
            failure = error
        except WrongGameError:
            raise
        except Exception as error:  # a bug of ours; it is in the log (`master.game.driver`)
            failure = CsaConnectionError(f"{address}: the game failed: {type(error).__name__}: {error}")
        else:
            shown_out = 0
            if outcome is None:
                break
            if outcome.played:
                outcomes.append(outcome)
            else:
                failure = CsaConnectionError(f"{address}: no game: {outcome.reason}")
        failures = 0 if failure is None or progress.steady else failures
        if failure is not None:
            failures += 1
            delay_s = series.backoff.delay_s(failures, rng)
            if delay_s is None:
                raise failure
            log.warning("trying_again", why=str(failure), failures=failures, delay_s=round(delay_s, 1))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), delay_s)
    return outcomes


def _look_for_rival(times: int, address: ServerAddress, login: Login) -> None:
    """Warn once that another player uses our name; raises `NameTakenError` if that will not end by itself."""
    seems = f"{address} closed the connection {times} times in a row while {login.name!r} waited for a game"
    cause = "it seems that another player logs in with this name and password"
    if times >= CERTAIN:
        raise NameTakenError(f"{seems}: {cause}; end it, or take another name")
    if times == SUSPECTED:
        log.warning("name_taken", why=f"{seems}: {cause}")


async def _unless_stopped(
    game: asyncio.Task[GameOutcome], stop: asyncio.Event, progress: _Progress
) -> GameOutcome | None:
    """The game's outcome; None if ``stop`` is set before it has begun: it is then cancelled."""
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({game, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not game.done() and not progress.begun:
            game.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await game
            return None
        return await game
    finally:
        stopped.cancel()
        if not game.done():
            game.cancel()
            with contextlib.suppress(asyncio.CancelledError, LoginRefusedError, WrongGameError, CsaConnectionError):
                await game
