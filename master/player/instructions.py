"""The settings of a player, and its instructions for its driver: the values that `master.player.player` uses."""

from __future__ import annotations

from dataclasses import dataclass, field

from cluster.api import PonderSearch, RetimeSearch, StartSearch, StopSearch
from master.player.events import GameEvent, GameOutcome
from worker.clock import ClockSettings
from worker.rules import EnteringKingRule


@dataclass(frozen=True, slots=True)
class Login:
    name: str
    password: str = field(repr=False)
    """The complete text that the server wants after the name, game name included: ``floodgate-300-10F,trip``."""


@dataclass(frozen=True, slots=True)
class PlayerSettings:
    game: str = ""
    """The name of the game for which we log in. Another game, or one with other times than the name says, is rejected.
    Empty: any game is played."""
    clock: ClockSettings = field(default_factory=ClockSettings)
    guard_ms: int = 100
    """After the hard deadline the player waits this long for the searcher's decision. Taken from the clock's margin."""
    resign_score: int | None = 3000
    """Resign if the score is this bad (centipawns, or a mate) on `resign_moves` own moves in a row; None: never."""
    resign_moves: int = 4
    last_plies: int = 32
    """Number of plies before the move limit (a draw) in which the player does not resign by score."""
    mate_at_limit: bool = False
    """Whether a mate by the last move before the limit wins, as in the WCSC's rules, or is a draw, as on the tournament
    server (`master.player.judging`)."""
    entering: EnteringKingRule = EnteringKingRule.CSA_27
    """The rule of declaration, if the server offers one."""
    draw_black: int = 0
    """The value of a draw for us as black, in centipawns."""
    draw_white: int = 0
    """The same as white."""
    ponder: bool = True
    """Search while the opponent thinks."""
    nodes: int | None = None
    """Node limit of every node's search (reproducible games)."""
    depth: int | None = None
    validate: bool = False
    """Raise if the player makes a transition that its table (`master.player.states`) does not have (tests)."""
    book_ms: int = 0
    """Time that a book has to answer (at most a quarter of the move's time) before the search begins without it. 0:
    there is no book."""


@dataclass(frozen=True, slots=True)
class Send:
    """A line for the server."""

    line: str = field(repr=False)
    shown: str
    """The same for logs, without secrets."""


@dataclass(frozen=True, slots=True)
class PrepareSearcher:
    """A game is about to begin: `Searcher.new_game`, then a `Prepared`. No clock runs meanwhile."""


@dataclass(frozen=True, slots=True)
class AskBook:
    """Our turn: look the position up, then a `BookReplied`. Late answers are ignored."""

    question_id: int
    sfen: str
    moves: tuple[str, ...]
    """USI moves since ``sfen``."""
    soft_ms: int
    """The target time of a search."""


@dataclass(frozen=True, slots=True)
class BookAnswer:
    move: str
    """In USI."""
    source: str
    """The book's name."""
    score: int | None = None
    """Centipawns or a mate (`worker.score`), from the side to move; None if the book has no score."""
    depth: int = 0
    pv: tuple[str, ...] = ()
    """USI moves; ``move`` is the first."""


@dataclass(frozen=True, slots=True)
class Emit:
    event: GameEvent


@dataclass(frozen=True, slots=True)
class Finish:
    """The connection is no longer needed. The last instruction of a player."""

    outcome: GameOutcome


Instruction = Send | PrepareSearcher | AskBook | StartSearch | PonderSearch | RetimeSearch | StopSearch | Emit | Finish
