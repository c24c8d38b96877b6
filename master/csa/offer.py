"""Before a game: whether a server's offer can be played, and the rules loaded in advance."""

from __future__ import annotations

from typing import Final

from master.csa.login import DEFAULT_GAME, parse_game_name
from master.csa.summary import GameSummary
from worker.clock.timecontrol import TimeControl
from worker.shogi import MoveError, Position, SfenError, move_to_csa, move_to_usi

DECLARATIONS: Final = ("", "Jishogi 1.0", "Jishogi 1.1")
"""The known rules of declaration: none, and the 27 points."""


class UnplayableError(ValueError):
    """This player cannot play the offered game; the text gives the reason."""


def read_offer(summary: GameSummary) -> tuple[Position, list[str]]:
    """The position from which the game begins, and the moves (USI) that led to it from ``summary.start_sfen``. Raises
    UnplayableError: the position or a move in it is not legal, a king is missing, a rule is unknown, or the time
    control allows no move."""
    if summary.format not in ("", "Shogi 1.0"):
        raise UnplayableError(f"unknown game: Format:{summary.format}")
    if summary.declaration not in DECLARATIONS:
        raise UnplayableError(f"unknown rule: Declaration:{summary.declaration}")
    time = summary.time[summary.my_colour]
    if not time.unlimited and time.flag_elapsed_ms(time.total_ms) <= 0:
        raise UnplayableError("the time allows no move")
    if not {"K", "k"} <= set(summary.start_sfen.split(" ")[0]):
        raise UnplayableError("a king is missing")
    try:
        position = Position.from_sfen(summary.start_sfen)
        moves = [move_to_usi(position.push_csa(move.csa)) for move in summary.moves]
    except (SfenError, MoveError) as error:
        raise UnplayableError(f"position block: {error}") from error
    if summary.max_moves is not None and len(moves) >= summary.max_moves:
        raise UnplayableError("the move limit is reached before the game begins")
    return position, moves


def other_game(summary: GameSummary, asked: str) -> str:
    """The reason why the offered game is not the one that was requested by name, in words; empty: it is. ``asked``: the
    game name of our login; empty: any game is accepted."""
    if not asked:
        return ""
    name = parse_game_name(asked)
    parts = summary.game_id.split("+")  # shogi-server's: EVENT+GAME+BLACK+WHITE+DATE, and an event may hold a plus
    if len(parts) >= 5 and parts[-4] == DEFAULT_GAME and (name is None or name.game != DEFAULT_GAME):
        return f"asked for the game {asked}, and the server offers {DEFAULT_GAME}"
    if name is None:
        return ""
    for time in summary.time:
        if not name.allows(time):
            return f"the game {asked} is {_in_words(name.time())}, and the server offers {_in_words(time)}"
    return ""


def _in_words(time: TimeControl) -> str:
    """``300 s + 10 s a move``."""
    if time.unlimited:
        return "no time limit"
    parts = (f"{time.total_ms / 1000:g} s", time.byoyomi_ms and f"byoyomi {time.byoyomi_ms / 1000:g} s")
    increment = f" + {time.increment_ms / 1000:g} s a move" if time.increment_ms else ""
    return ", ".join(part for part in parts if part) + increment


def warm_up_rules() -> None:
    """Call every rule function that a game needs, so that its code is loaded (or compiled) before a clock runs.

    It takes a second in a new process, most of a minute if nothing is compiled yet, and no time on later calls.
    """
    position = Position.startpos()
    for usi in ("7g7f", "3c3d", "8h2b+"):
        before = position.copy()
        before.parse_csa(move_to_csa(position.push_usi(usi)))
        position.in_check()
    position.is_mated()
    position.can_declare()
    position.pop()
    position.sfen()
