"""A client's side of the CSA server protocol as a pure state machine: lines in, events out; commands in, lines out.

Usage::

    csa = CsaProtocol()
    send(csa.login("gougi", "floodgate-300-10F,secret"))
    for event in csa.receive(line):     # one line of the server, without its LF
        ...                             # LoginOk, GameOffered -> send(csa.agree()), GameStarted, MoveMade, Ended ...
    send(csa.move("+7776FU", "'* 30 -3334FU"))

`CsaProtocol.receive` never raises: a line that it does not understand becomes `Unexpected`, and the state stays. A
command that would break the protocol (a move off turn, a second move, anything after the end) raises `ProtocolError`
and nothing must be sent: the server queues such lines and executes them later, which loses games.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from typing import Final

from master.csa import SIGNS
from master.csa import events as server
from master.csa.login import LOGIN_NAME
from master.csa.summary import MOVE_PATTERN, GameSummary, SummaryError, parse_summary

MAX_LINE: Final = 4096
"""Longer lines do not belong to this protocol."""
MAX_SUMMARY_LINES: Final = 2000
_NAME: Final = re.compile(LOGIN_NAME)
_MOVE_LINE: Final = re.compile(r"([+-][0-9]{4}[A-Z]{2})(?:,T([0-9]{1,9}(?:\.[0-9]{1,30})?))?(?:,'.*)?")
_SPECIAL_LINE: Final = re.compile(r"(%[A-Z_]+)(?:,T([0-9]{1,9}(?:\.[0-9]{1,30})?))?(?:,'.*)?")
_REJECT_LINE: Final = re.compile(r"REJECT:(.*?)(?: by (.*))?")


class ProtocolError(Exception):
    """The command would break the protocol now; nothing was changed and nothing must be sent."""


class State(enum.Enum):
    """The states of a connection. A game ends in `ENDED`; in the extended mode the next summary may follow there."""

    CONNECTED = "connected"
    LOGGING_IN = "logging in"
    WAITING = "waiting for a game"
    SUMMARY = "reading a game summary"
    OFFERED = "a game is offered"
    AGREED = "waiting for the opponent's agreement"
    PLAYING = "playing"
    ENDED = "the game is over"


@dataclass(slots=True)
class CsaProtocol:
    """One connection's state. Fields are for reading; only `receive` and the commands change them."""

    state: State = State.CONNECTED
    summary: GameSummary | None = None
    """The game that is offered, played or just over."""
    turn: int = 0
    """The side to move, while playing."""
    sent: str | None = None
    """Our move or declaration that the server has not echoed yet: nothing else may be sent until then."""
    reason: str = ""
    """The last ``#`` word that announced an end; it stays if the result after it never came."""
    logged_out: bool = False
    _summary_lines: list[str] = field(default_factory=list)

    @property
    def my_turn(self) -> bool:
        """Whether it is our turn, and no move of ours is under way."""
        return (
            self.state is State.PLAYING
            and self.summary is not None
            and self.turn == self.summary.my_colour
            and self.sent is None
            and not self.logged_out
        )

    # Commands

    def login(self, name: str, password: str, *, extended: bool = False) -> str:
        """``LOGIN``. ``password`` has the server's form: ``<game>-<total>-<byoyomi>,<trip>`` or a single word."""
        if self.state is not State.CONNECTED:
            raise ProtocolError(f"cannot log in: {self.state.value}")
        if not _NAME.fullmatch(name):
            raise ProtocolError(f"the name {name!r} must be 1 to 32 letters, digits or any of _ @ . -")
        if not password or not password.isascii() or not password.isprintable() or " " in password:
            raise ProtocolError("the password must be printable ASCII without spaces, and not empty")
        self.state = State.LOGGING_IN
        return f"LOGIN {name} {password}" + (" x1" if extended else "")

    def agree(self) -> str:
        if self.state is not State.OFFERED or self.summary is None or self.logged_out:
            raise ProtocolError(f"no game to agree to: {self.state.value}")
        self.state = State.AGREED
        return self._answer("AGREE")

    def reject(self) -> str:
        if self.state not in (State.OFFERED, State.AGREED) or self.logged_out:
            raise ProtocolError(f"no game to reject: {self.state.value}")
        return self._answer("REJECT")

    def move(self, csa: str, comment: str = "") -> str:
        """Our move (``+7776FU``). ``comment`` begins with ``'``; the server records it and does not relay it."""
        summary = self._on_turn(f"move {csa}")
        match = MOVE_PATTERN.fullmatch(csa)
        if match is None or SIGNS.index(match[1]) != summary.my_colour:
            raise ProtocolError(f"{csa!r} is no move of ours")
        if comment and (comment[0] != "'" or not comment.isascii() or not comment.isprintable() or "," in comment):
            raise ProtocolError(f"{comment!r} is no comment: it begins with ' and has neither comma nor line break")
        self.sent = csa
        return f"{csa},{comment}" if comment else csa

    def resign(self) -> str:
        self._on_turn("resign")
        self.sent = "%TORYO"
        return self.sent

    def declare(self) -> str:
        """Declare a win (27-point rule). A wrong declaration loses."""
        self._on_turn("declare")
        self.sent = "%KACHI"
        return self.sent

    def logout(self) -> str:
        """``LOGOUT``. During a game this loses: at once on our turn, otherwise after the opponent's move."""
        if self.state in (State.CONNECTED, State.LOGGING_IN) or self.logged_out:
            raise ProtocolError("not logged in")
        self.logged_out = True
        return "LOGOUT"

    def _on_turn(self, what: str) -> GameSummary:
        if self.summary is None or self.state is not State.PLAYING:
            raise ProtocolError(f"cannot {what}: {self.state.value}")
        if self.logged_out:
            raise ProtocolError(f"cannot {what}: logged out")
        if self.turn != self.summary.my_colour:
            raise ProtocolError(f"cannot {what}: it is the opponent's turn")
        if self.sent is not None:
            raise ProtocolError(f"cannot {what}: {self.sent} is already sent")
        return self.summary

    # The server's lines

    def receive(self, line: str) -> list[server.Event]:
        """One line of the server, without its line break."""
        line = line.rstrip("\r\n")
        if len(line) > MAX_LINE:
            return [server.Unexpected(f"{line[:60]}…", f"longer than {MAX_LINE} characters")]
        if not line.strip():
            return [server.KeepAlive()]
        if line.startswith(server.MARK):
            text = line.removeprefix(server.MARK).strip()
            return [
                server.Complaint(
                    text, server.severity_of(text) if self.state is State.WAITING else server.Severity.IGNORABLE
                )
            ]
        if line.startswith("##["):
            return [server.Notice(line)]
        if self.state is State.SUMMARY:
            return self._in_summary(line)
        if line == "LOGOUT:completed":
            return [server.LoggedOut()] if self.logged_out else [server.Unexpected(line, "nobody logged out")]
        if line == "BEGIN Game_Summary":
            return self._begin_summary(line)
        if self.state in (State.CONNECTED, State.LOGGING_IN):
            return self._before_login(line)
        if line.startswith(("START:", "REJECT:")):
            return self._answer_to_offer(line)
        if self.state is State.PLAYING:
            return self._in_game(line)
        return [server.Unexpected(line, f"not understood while {self.state.value}")]

    def _before_login(self, line: str) -> list[server.Event]:
        if line.startswith("type 'LOGIN"):
            return [server.Notice(line)]
        if self.state is State.LOGGING_IN:
            if line.startswith("LOGIN:") and line.endswith(" OK"):
                self.state = State.WAITING
                return [server.LoginOk(line.removeprefix("LOGIN:").removesuffix(" OK"))]
            if line == "LOGIN:incorrect":
                self.state = State.CONNECTED
                return [server.LoginRefused(line)]
        return [server.Unexpected(line, f"not understood while {self.state.value}")]

    def _begin_summary(self, line: str) -> list[server.Event]:
        if self.state not in (State.WAITING, State.ENDED):
            return [server.Unexpected(line, f"a game summary while {self.state.value}")]
        self.state = State.SUMMARY
        self._summary_lines = []
        return []

    def _in_summary(self, line: str) -> list[server.Event]:
        if line != "END Game_Summary":
            self._summary_lines.append(line)
            if len(self._summary_lines) <= MAX_SUMMARY_LINES:
                return []
            error = SummaryError(f"longer than {MAX_SUMMARY_LINES} lines")
        else:
            try:
                summary = parse_summary(self._summary_lines)
            except SummaryError as why:
                error = why
            else:
                self._offer(summary)
                return [server.GameOffered(summary)]
        self._offer(None)
        return [server.BadOffer(str(error))]

    def _offer(self, summary: GameSummary | None) -> None:
        self.state = State.OFFERED
        self.summary = summary
        self.sent = None
        self.reason = ""
        self._summary_lines = []

    def _answer(self, word: str) -> str:
        """``word``, with the game's id as received; without it, as the protocol allows, if it is not plain text."""
        game_id = "" if self.summary is None else self.summary.game_id
        return f"{word} {game_id}" if game_id and game_id.isascii() and game_id.isprintable() else word

    def _answer_to_offer(self, line: str) -> list[server.Event]:
        if self.state not in (State.OFFERED, State.AGREED):
            return [server.Unexpected(line, f"no game is on offer: {self.state.value}")]
        game_id = "" if self.summary is None else self.summary.game_id
        events: list[server.Event] = []
        if line.startswith("START:"):
            if self.state is not State.AGREED or self.summary is None:
                return [server.Unexpected(line, "a start without our agreement")]
            started = line.removeprefix("START:")
            self.state = State.PLAYING
            self.turn = self.summary.to_move
            events.append(server.GameStarted(started))
        else:
            match = _REJECT_LINE.fullmatch(line)
            started, by = (match[1], match[2] or "") if match else ("", "")
            self.state = State.WAITING
            events.append(server.OfferRejected(started, by))
        if started != game_id:
            events.append(server.Unexpected(line, f"the game on offer is {game_id!r}"))
        return events

    def _in_game(self, line: str) -> list[server.Event]:
        if line[0] in SIGNS:
            return self._move_line(line)
        if line[0] == "%":
            match = _SPECIAL_LINE.fullmatch(line)
            if match is not None:
                return [server.SpecialMade(match[1], self._consumed(match[2], self.turn))]
        if line[0] == "#":
            return self._ending_line(line)
        return [server.Unexpected(line, "not understood while playing")]

    def _move_line(self, line: str) -> list[server.Event]:
        match = _MOVE_LINE.fullmatch(line)
        if match is None or self.summary is None:
            return [server.Unexpected(line, "no move that can be read")]
        colour = SIGNS.index(line[0])
        if colour != self.turn:
            return [server.Unexpected(line, "a move out of turn")]
        mine = colour == self.summary.my_colour
        events: list[server.Event] = [server.MoveMade(match[1], colour, mine, self._consumed(match[2], colour))]
        if mine:
            # The server's board is authoritative, not our copy.
            if match[1] != self.sent:
                events.append(server.Unexpected(line, f"we sent {self.sent}"))
            self.sent = None
        self.turn ^= 1
        return events

    def _ending_line(self, line: str) -> list[server.Event]:
        word = line[1:]
        if word in (server.Result.WIN, server.Result.LOSE, server.Result.DRAW, server.Result.CENSORED):
            self.state = State.ENDED
            return [server.Ended(server.Result(word), self.reason)]
        self.reason = word
        if word == "CHUDAN":
            self.state = State.ENDED
            return [server.Ended(server.Result.INTERRUPTED, word)]
        return [] if word in server.REASONS else [server.Unexpected(line, "an unknown ending")]

    def _consumed(self, units: str | None, colour: int) -> int:
        if units is None or self.summary is None:
            return 0
        return round(float(units) * self.summary.time[colour].unit_ms)
