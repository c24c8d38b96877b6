"""The practice server without its sockets: logins, pairing and games, pure, with the time as an argument.

``now_ms`` is milliseconds since the Unix epoch that never run backwards: it serves as the clock of the games and as the
date in their names. Each connection is a number chosen by the driver.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from master.csa.login import DEFAULT_GAME, LOGIN_NAME, GameName, split_password
from master.practice.server_game import GameRules, Phase, SendToSide, ServerGame, StartPosition
from worker.rules import EnteringKingRule
from worker.shogi import STARTPOS

LOGIN_MS: Final = 300_000
"""A connection that has not logged in within this time is closed."""
MAX_CONNECTIONS: Final = 256

_NAME: Final = re.compile(LOGIN_NAME)
_DEFAULT: Final = GameName(DEFAULT_GAME, "default", 1500, 0, fischer=False)
_USAGE: Final = "type 'LOGIN name password' (this practice server has no x1 mode)"


@dataclass(frozen=True, slots=True)
class RoomOptions:
    """Settings of the practice server's games."""

    max_moves: int | None = 256
    entering: EnteringKingRule = EnteringKingRule.CSA_27
    starts: Mapping[str, StartPosition] = field(default_factory=dict)
    """Start positions by game name (``test-60-5F``)."""


@dataclass(frozen=True, slots=True)
class SendLine:
    conn: int
    line: str


@dataclass(frozen=True, slots=True)
class CloseConnection:
    conn: int


@dataclass(frozen=True, slots=True)
class RecordChanged:
    """A game has advanced: its record must be written."""

    game: ServerGame


@dataclass(frozen=True, slots=True)
class RoomNote:
    """A note for the log and for viewers."""

    event: str
    fields: dict[str, object]


Effect = SendLine | CloseConnection | RecordChanged | RoomNote


@dataclass(slots=True)
class _Visitor:
    conn: int
    since_ms: float
    name: str = ""
    trip: str = field(default="", repr=False)
    wish: GameName | None = None
    """The game for which it waits; None: none, because the server has refused it."""
    game: ServerGame | None = None
    colour: int = 0


class Room:
    """All connections, and the games that they play. Each method returns the effects to carry out, in order."""

    def __init__(self, options: RoomOptions | None = None) -> None:
        self.options = options or RoomOptions()
        self._visitors: dict[int, _Visitor] = {}
        self._games: dict[str, ServerGame] = {}
        self._recorded: dict[str, int] = {}
        """Plies of each game at the last write of its record."""
        self._blacks: dict[str, int] = {}
        """Number of games with black, by name: if neither side asks, the one with fewer gets black."""
        self._last_stamp = 0

    @property
    def games(self) -> tuple[ServerGame, ...]:
        """The games that are offered or played."""
        return tuple(self._games.values())

    @property
    def deadline_ms(self) -> float | None:
        """The time at which `tick` has an effect."""
        deadlines = [game.deadline_ms for game in self._games.values()]
        deadlines += [visitor.since_ms + LOGIN_MS for visitor in self._visitors.values() if not visitor.name]
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def connect(self, conn: int, now_ms: float) -> list[Effect]:
        if len(self._visitors) >= MAX_CONNECTIONS:
            return [RoomNote("full", {"connections": len(self._visitors)}), CloseConnection(conn)]
        self._visitors[conn] = _Visitor(conn, now_ms)
        return []

    def disconnect(self, conn: int, now_ms: float) -> list[Effect]:
        visitor = self._visitors.pop(conn, None)
        if visitor is None:
            return []
        effects: list[Effect] = [RoomNote("disconnected", {"name": visitor.name})] if visitor.name else []
        if visitor.game is not None:
            said = visitor.game.leave(visitor.colour, "disconnected", now_ms)
            effects += self._after(visitor.game, said, now_ms)
        return effects

    def receive(self, conn: int, line: str, now_ms: float) -> list[Effect]:
        """A line of a client, without its line break."""
        visitor = self._visitors.get(conn)
        if visitor is None:
            return []
        effects: list[Effect] = [] if line else [SendLine(conn, "")]
        if not visitor.name:
            return effects + (self._login(visitor, line, now_ms) if line.strip() else [])
        if line == "LOGOUT":
            return self._logout(visitor, now_ms)
        if visitor.game is not None:
            return effects + self._after(visitor.game, visitor.game.receive(visitor.colour, line, now_ms), now_ms)
        if line.strip():
            effects.append(SendLine(conn, f"##[ERROR] unknown command: {line}"))
        return effects

    def tick(self, now_ms: float) -> list[Effect]:
        effects: list[Effect] = []
        for game in self.games:
            effects += self._after(game, game.tick(now_ms), now_ms)
        for visitor in list(self._visitors.values()):
            if not visitor.name and now_ms >= visitor.since_ms + LOGIN_MS:
                effects += self._drop(visitor)
        return effects

    def close(self, now_ms: float) -> list[Effect]:
        """The server stops: games end without a result, and every connection is closed."""
        effects: list[Effect] = []
        for game in self.games:
            effects += self._after(game, game.interrupt(), now_ms)
        for visitor in list(self._visitors.values()):
            effects += self._drop(visitor)
        return effects

    def _login(self, visitor: _Visitor, line: str, now_ms: float) -> list[Effect]:
        words = line.split(" ")
        refused: list[Effect] = [SendLine(visitor.conn, "LOGIN:incorrect")]
        if words[0] == "LOGIN" and len(words) > 3:
            return [*refused, SendLine(visitor.conn, _USAGE)]
        if words[0] != "LOGIN" or len(words) != 3 or not words[2] or not _NAME.fullmatch(words[1]):
            return refused
        name, password = words[1:]
        wish, trip = split_password(password)
        effects: list[Effect] = []
        known = next((other for other in self._visitors.values() if other.name == name), None)
        if known is not None:
            if known.game is not None or known.trip != trip:
                why = "playing" if known.game is not None else "password"
                return [*refused, RoomNote("login_refused", {"name": name, "why": why})]
            effects += self._drop(known)
        wish = wish or _DEFAULT
        visitor.name, visitor.trip = name, trip
        effects.append(SendLine(visitor.conn, f"LOGIN:{name} OK"))
        effects.append(RoomNote("login", {"name": name, "game": wish.game, "wish": wish.side}))
        why = _refusal(wish)
        if why:
            effects.append(SendLine(visitor.conn, f"##[ERROR] {why}"))
            return [*effects, RoomNote("game_refused", {"name": name, "game": wish.game, "why": why})]
        visitor.wish = wish
        return effects + self._pair(visitor, wish, now_ms)

    def _logout(self, visitor: _Visitor, now_ms: float) -> list[Effect]:
        effects: list[Effect] = [SendLine(visitor.conn, "LOGOUT:completed")]
        game = visitor.game
        if game is not None:
            effects += self._after(game, game.leave(visitor.colour, "logged out", now_ms), now_ms)
        return effects + self._drop(visitor)

    def _drop(self, visitor: _Visitor) -> list[Effect]:
        if self._visitors.pop(visitor.conn, None) is None:
            return []
        return [CloseConnection(visitor.conn)]

    def _pair(self, newcomer: _Visitor, wish: GameName, now_ms: float) -> list[Effect]:
        for other in self._visitors.values():
            if other is newcomer or other.game is not None or other.wish is None or other.wish.game != wish.game:
                continue
            if {other.wish.side, wish.side} not in ({"B"}, {"W"}):
                return self._offer((other, newcomer), (other.wish, wish), now_ms)
        return []

    def _offer(
        self, players: tuple[_Visitor, _Visitor], wishes: tuple[GameName, GameName], now_ms: float
    ) -> list[Effect]:
        first, second = players
        if wishes[0].side == wishes[1].side == "*":
            swap = self._blacks.get(first.name, 0) > self._blacks.get(second.name, 0)
        else:
            swap = wishes[0].side == "W" or wishes[1].side == "B"
        black, white = (second, first) if swap else (first, second)
        self._blacks[black.name] = self._blacks.get(black.name, 0) + 1
        # Game ids hold the time to the second: no two games may begin in the same one.
        self._last_stamp = max(self._last_stamp + 1, int(now_ms // 1000))
        stamp = datetime.fromtimestamp(self._last_stamp).strftime("%Y%m%d%H%M%S")
        game_id = "+".join(("gougi", wishes[0].game, black.name, white.name, stamp))
        game = ServerGame(game_id, (black.name, white.name), self._rules(wishes[0]), now_ms)
        self._games[game_id] = game
        for colour, player in enumerate((black, white)):
            player.game, player.colour = game, colour
        return [
            RoomNote("game_offered", {"game_id": game_id, "black": black.name, "white": white.name}),
            *self._after(game, game.offer(), now_ms),
        ]

    def _rules(self, name: GameName) -> GameRules:
        start = self.options.starts.get(name.game)
        if start is None:
            camp = name.handicap
            start = StartPosition(f"lnsgkgsnl/1r5b1/ppppppppp/9/9/9/{camp} b - 1" if camp else STARTPOS)
        return GameRules(name.time(), start, self.options.max_moves, self.options.entering)

    def _after(self, game: ServerGame, said: list[SendToSide], now_ms: float) -> list[Effect]:
        """Turn a game's output into effects, and clean up when it is over."""
        players = {visitor.colour: visitor for visitor in self._visitors.values() if visitor.game is game}
        effects: list[Effect] = [SendLine(players[say.colour].conn, say.line) for say in said if say.colour in players]
        if game.phase is Phase.OVER and game.game_id in self._games:
            del self._games[game.game_id]
            self._recorded.pop(game.game_id, None)
            effects += self._finish(game, now_ms)
            for player in players.values():
                effects += self._drop(player)
        elif game.phase is Phase.PLAYING and self._recorded.get(game.game_id) != game.plies:
            if game.game_id not in self._recorded:
                game.record.started = datetime.fromtimestamp(now_ms / 1000)
                effects.append(RoomNote("game_started", {"game_id": game.game_id}))
            self._recorded[game.game_id] = game.plies
            effects.append(RecordChanged(game))
        return effects

    def _finish(self, game: ServerGame, now_ms: float) -> list[Effect]:
        ending = game.record.ending
        if ending is None:
            return [RoomNote("game_rejected", {"game_id": game.game_id})]
        game.record.ended = datetime.fromtimestamp(now_ms / 1000)
        winner = None if ending.winner is None else game.names[ending.winner]
        fields: dict[str, object] = {"game_id": game.game_id, "reason": ending.reason, "winner": winner}
        if ending.comment:
            fields["comment"] = ending.comment
        return [RecordChanged(game), RoomNote("game_over", {**fields, "plies": game.plies})]


def _refusal(wish: GameName) -> str:
    """The reason why the tournament server refuses such a request, in its words; empty: it does not."""
    if wish.floodgate and wish.side != "*":
        sign = "+" if wish.side == "B" else "-"
        return f"You are not allowed to specify TEBAN {sign} for the game {wish.game}"
    if wish.handicap and wish.side == "*":
        return "Random turn preference is not allowed for handicapped games"
    return ""
