"""A server's address, login name, game name and password: their meaning, and whether a login with them can succeed.

A game name is ``NAME-TOTAL-BYOYOMI`` or ``NAME-TOTAL-INCREMENTF``, times in whole seconds, with ``-B`` or ``-W`` after
it if a side is requested. Shogi-server silently accepts any other text, and pairs it as `DEFAULT_GAME`.

Source: CSA server protocol 1.2.1, "login", and shogi-server's interpretation of it.
"""

from __future__ import annotations

import difflib
import re
import string
from dataclasses import dataclass
from typing import Final, Self

from worker.clock.timecontrol import TimeControl

DEFAULT_PORT: Final = 4081


@dataclass(frozen=True, slots=True)
class ServerAddress:
    host: str
    port: int = DEFAULT_PORT

    @classmethod
    def parse(cls, text: str) -> Self:
        """``HOST`` or ``HOST:PORT``; an IPv6 address in brackets. Raises ValueError."""
        host, colon, port = text.rpartition(":")
        if not colon or text.endswith("]"):
            host, port = text, str(DEFAULT_PORT)
        bare = ":" in host and not (host.startswith("[") and host.endswith("]"))
        host = host.removeprefix("[").removesuffix("]")
        if not host or bare or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
            raise ValueError(f"{text!r} is not HOST:PORT, such as wdoor.c.u-tokyo.ac.jp:4081")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


LOGIN_NAME: Final = r"[A-Za-z0-9_@.\-]{1,32}"
"""A regular expression for a complete login name; Shogi-server's."""

DEFAULT_GAME: Final = "default-1500-0"
"""The game of a login without a game name: 25 minutes a side."""
HANDICAPS: Final = {
    # By the prefix of the game's name. Black gives the handicap and moves first, as on the tournament server.
    "hclance_": "PPPPPPPPP/1B5R1/1NSGKGSNL",
    "hcbishop_": "PPPPPPPPP/7R1/LNSGKGSNL",
    "hcrook_": "PPPPPPPPP/1B7/LNSGKGSNL",
    "hcrooklance_": "PPPPPPPPP/1B7/1NSGKGSNL",
    "hc2p_": "PPPPPPPPP/9/LNSGKGSNL",
    "hc4p_": "PPPPPPPPP/9/1NSGKGSN1",
    "hc6p_": "PPPPPPPPP/9/2SGKGS2",
    "hc8p_": "PPPPPPPPP/9/3GKG3",
    "hc10p_": "PPPPPPPPP/9/4K4",
}
"""White has all pieces; this is black's camp in SFEN."""
_FLOODGATE: Final = "floodgate"
_USUAL_FLOODGATE: Final = "floodgate-300-10F"
_FLOODGATES: Final = (_USUAL_FLOODGATE, "floodgate-600-10F", "floodgate-900-0", "floodgate-3600-0")
"""Game names that floodgate has paired so far."""
_LONGEST: Final = 32
"""Maximum number of characters of a name before its times."""
_ALIKE: Final = 0.8
"""Two words at least this similar are taken for one word, misspelt."""
_FORM: Final = re.compile(r"(([A-Za-z0-9_@.\-]+)-([0-9]{1,6})-([0-9]{1,6})(F?))(?:-([BbWw]))?")
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_@.\-]")


class GameNameError(ValueError):
    """The game name brings no game, or another one than it says. The text gives the reason and a likely correction."""


@dataclass(frozen=True, slots=True)
class GameName:
    """The parts of a game name. Times in seconds."""

    game: str
    """The name without the side: the server pairs players by this."""
    base: str
    """The part before the times."""
    total_s: int
    extra_s: int
    fischer: bool
    """Whether ``extra_s`` is added with each move; otherwise it is byoyomi."""
    side: str = "*"
    """``B``, ``W``, or ``*`` for either."""

    @property
    def floodgate(self) -> bool:
        """Whether the server pairs it by its timetable."""
        return self.base == _FLOODGATE

    @property
    def handicap(self) -> str:
        """Black's camp, as in `HANDICAPS`; empty: no handicap."""
        return next((camp for prefix, camp in HANDICAPS.items() if self.game.startswith(prefix)), "")

    def time(self) -> TimeControl:
        """The time control of both sides."""
        return TimeControl(
            total_ms=self.total_s * 1000,
            byoyomi_ms=0 if self.fischer else self.extra_s * 1000,
            increment_ms=self.extra_s * 1000 if self.fischer else 0,
        )

    def allows(self, offered: TimeControl) -> bool:
        """Whether ``offered`` agrees with the name.

        A game with a leading zero in its byoyomi (``test-900-060``) never is. Shogi-server counts it in seconds, in
        whole multiples of those 60, but announces a unit of one minute (``StopWatchClock`` in its ``time_clock.rb``). A
        player that believed this would lose on time at the first move.
        """
        mine = self.time()
        times = (offered.total_ms, offered.byoyomi_ms, offered.increment_ms)
        return times == (mine.total_ms, mine.byoyomi_ms, mine.increment_ms)


def parse_game_name(text: str) -> GameName | None:
    """The game that a name stands for; None: it does not have this form, and the server pairs it as `DEFAULT_GAME`."""
    match = _FORM.fullmatch(text)
    if match is None or len(match[2]) > _LONGEST:
        return None
    return GameName(match[1], match[2], int(match[3]), int(match[4]), bool(match[5]), (match[6] or "*").upper())


def split_password(password: str) -> tuple[GameName | None, str]:
    """Split the words after the login name as the server does: into the game (None: `DEFAULT_GAME`) and the trip."""
    name = parse_game_name(password)
    if name is not None:
        return name, ""
    game, comma, trip = password.rstrip(",").partition(",")
    return (parse_game_name(game), trip) if comma else (None, password)


def check_game_name(text: str) -> list[str]:
    """Check a game name before a login with it; returns warnings, none if all is as usual. Raises GameNameError: an
    invalid character, a name that is too long, a misspelling of a floodgate game, or a name that shogi-server never
    pairs."""
    name, floodgate = parse_game_name(text), _floodgate_game(text)
    meant = f"; did you mean {floodgate}?" if floodgate else ""
    if foreign := _FOREIGN.search(text):
        why = f"{foreign[0]!r} has no place in a game name (letters, digits and _ @ . - have)"
        raise GameNameError(f"{text!r}: {why}{meant}")
    if name is None:
        form = _FORM.fullmatch(text)
        if form is not None:
            raise GameNameError(
                f"{text!r}: the part before the times has {len(form[2])} characters; at most {_LONGEST} are allowed"
            )
        why = f"{text!r} is not NAME-TOTAL-BYOYOMI or NAME-TOTAL-INCREMENTF in seconds"
        why += f"; shogi-server pairs it as {DEFAULT_GAME}, 25 minutes a side{meant}"
        if floodgate:
            raise GameNameError(why)
        return [why]
    if floodgate and not name.floodgate:
        raise GameNameError(f"{text!r} is no game of floodgate{meant}")
    if name.floodgate and name.side != "*":
        raise GameNameError(f"{text!r}: nobody chooses a side on floodgate; the name is {name.game}")
    if name.handicap and name.side == "*":
        raise GameNameError(f"{text!r}: a handicapped game needs a side: {text}-B (gives the handicap) or {text}-W")
    if name.floodgate and name.game not in _FLOODGATES:
        return [f"floodgate is not known to pair {name.game}; did you mean {_USUAL_FLOODGATE}?"]
    return []


def _floodgate_game(text: str) -> str:
    """The most similar game of floodgate if the name begins with its word, or nearly; empty: it does not."""
    word = text[: len(text) - len(text.lstrip(string.ascii_letters))]
    if difflib.SequenceMatcher(None, word.lower(), _FLOODGATE).ratio() < _ALIKE:
        return ""
    return difflib.get_close_matches(text, _FLOODGATES, 1, 0)[0]


CSA_PASSWORD: Final = 32
"""Length of a password that the protocol allows. Shogi-server accepts longer ones."""
LONGEST_PASSWORD: Final = 256
"""A longer text is not a password but some other file."""


class LoginError(ValueError):
    """A login with this cannot succeed. The text gives the reason, and holds nothing of the password."""


def check_login(name: str, game: str, password: str | None) -> list[str]:
    """Check the parts of a login; returns warnings, none if all is as usual.

    Args:
        game: the game name; empty if the password alone decides.
        password: the password, or the trip after the game name; None: another function checks it.

    Raises:
        LoginError: the server would refuse the name, the game name or the password, or misread it.
    """
    if not re.fullmatch(LOGIN_NAME, name):
        raise LoginError(f"the login name {name!r} must be 1 to 32 letters, digits or any of _ @ . -")
    if password is not None:
        _check_password(password)
    if not game:
        return [] if password is None else _check_bare_password(password)
    try:
        return [f"game name {warning}" for warning in check_game_name(game)]
    except GameNameError as error:
        raise LoginError(f"game name {error}") from error


def login_password(game: str, password: str) -> str:
    """The words after the name in the login line."""
    return f"{game},{password}" if game else password


def _check_password(password: str) -> None:
    if not password:
        raise LoginError("the password is empty")
    if len(password) > LONGEST_PASSWORD:
        raise LoginError(f"the password has {len(password)} characters: is that the right file?")
    for number, character in enumerate(password, 1):
        if character == " " or not character.isascii() or not character.isprintable():
            kind = "a space" if character == " " else "no printable ASCII character"
            raise LoginError(f"the password cannot be sent: its character {number} is {kind}")
    if password.endswith(","):
        raise LoginError("the password ends in a comma, which the server drops: it would be another password")


def _check_bare_password(password: str) -> list[str]:
    """A password that stands alone after the login name: some users write a game name there."""
    named, trip = split_password(password)
    if named is not None and named.floodgate and not trip:
        raise LoginError("floodgate pairs nobody without a password (trip) after the game name: GAME,TRIP")
    warnings = []
    if named is None and "," in password:
        warnings.append("the password holds a comma: shogi-server takes the text before it for a game name")
    if named is None and len(password) > CSA_PASSWORD:
        warnings.append(f"the password has {len(password)} characters; the CSA protocol allows {CSA_PASSWORD}")
    return warnings
