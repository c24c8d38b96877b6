"""The master's view of the cluster: a request in, progress and one decision out.

A driver (`cluster.drivers.fleet_driver`, `cluster.drivers.local_driver`, the laboratory's virtual one) runs the same
pure coordinator under this interface. Scores are `worker.score` scores from the side to move at the root; moves are USI
text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, Self

from cluster.split.tree import TreeLine
from worker.rules import EnteringKingRule


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search of the fleet. The master owns the clock: at ``hard_ms`` after its `StartSearch` a decision goes
    out."""

    search_id: int
    """Rises with every request; reports that carry an older one are discarded."""
    sfen: str
    moves: tuple[str, ...] = ()
    """USI moves since ``sfen``: the game's history, for repetition."""
    soft_ms: int | None = None
    """The time to aim at; None: search until a `StopSearch`."""
    hard_ms: int | None = None
    """The decision is out by then, whatever is missing. None only together with ``soft_ms`` None."""
    nodes: int | None = None
    """Node limit of every node's search (reproducible games, tests, the lab)."""
    depth: int | None = None
    searchmoves: tuple[str, ...] = ()
    """The root moves to choose from; empty: all."""
    multipv: int = 1
    """The number of root moves for which `Answer.lines` has a line. With more than one the nodes look at several moves
    each instead of the best alone: for analysis, not for play."""
    max_moves: int = 0
    """The number of moves, by the position's move number, after which the game is drawn; 0: never."""
    draw_black: int = 0
    """The value of a draw for black where black is to move at the root, in centipawns."""
    draw_white: int = 0
    entering: EnteringKingRule = EnteringKingRule.CSA_27
    """The rule of `worker.rules.DECLARATIONS` by which a king in the enemy's camp wins."""

    def reply_to(self, pondered: SearchRequest) -> str:
        """The opponent's reply by which this position comes of that of ``pondered``, to be searched in the same way: a
        ponder hit where that reply was pondered on. Empty: it does not. Times and ids do not matter."""
        same = replace(
            pondered,
            search_id=self.search_id,
            moves=self.moves,
            soft_ms=self.soft_ms,
            hard_ms=self.hard_ms,
        )
        if same != self or self.moves[:-1] != pondered.moves or not self.moves:
            return ""
        return self.moves[-1]


@dataclass(frozen=True, slots=True)
class StartSearch:
    """Begin a search. One that still runs is decided first, with what is known. Exactly one
    `SearchListener.on_decision` follows, at the latest at ``hard_ms``."""

    request: SearchRequest


@dataclass(frozen=True, slots=True)
class PonderSearch:
    """Search on the opponent's time, until the next `StartSearch`, `PonderSearch` or a `StopSearch` with its id. A
    search that still runs is decided first. No decision follows, but what is found is told by
    `SearchListener.on_pondered`."""

    request: SearchRequest
    """The position in which the opponent is to move, without times; with the limits that the next request will have. A
    `StartSearch` for the position after a reply that is pondered on is a hit, and goes on from what is known."""
    expected: str = ""
    """A reply that is pondered on in any case, as much as the likeliest; empty: none, which is best where nobody else
    has to be told what is expected."""


@dataclass(frozen=True, slots=True)
class RetimeSearch:
    """Aim at another soft time for the search that runs; the hard deadline stays. One that is over brings the decision
    as soon as there is an answer. No effect where that search is over, or has no soft time."""

    search_id: int
    soft_ms: int
    """From the search's start."""


@dataclass(frozen=True, slots=True)
class StopSearch:
    """Ask for the decision now: it follows at once, or within 100 ms if nothing is known yet. Pondering ends without
    one. No effect where that search is over."""

    search_id: int


SearchOrder = StartSearch | PonderSearch | RetimeSearch | StopSearch


@dataclass(frozen=True, slots=True)
class Ballot:
    """The move that one voter (a node, or a group with its split tree) wants to play."""

    voter: str
    line: TreeLine
    nodes: int = 0
    """Searched by all nodes of the voter so far."""
    members: int = 1
    """The number of nodes that searched for it."""

    @property
    def move(self) -> str:
        return self.line.pv[0]

    @property
    def score(self) -> int:
        return self.line.score

    @property
    def depth(self) -> int:
        return self.line.depth


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node as a viewer sees it."""

    node_id: str
    alive: bool
    job: str
    """The part that it searches, in words: ``7g7f``, ``others``, ``all``, ``idle``."""
    depth: int
    score: int | None
    nodes: int
    nps: int
    pv: tuple[str, ...] = ()
    seldepth: int = 0
    """The last report's; 0: its engine does not tell."""
    hashfull: int = 0
    """Use of its transposition table in permille, as last reported."""
    speed: float = 1.0
    """Relative to the median of the nodes with the same engine, over its last searches
    (`cluster.coordination.roster`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The move to play in a position, and what stands behind it."""

    move: str = ""
    """A USI move, ``resign`` where no legal move exists, or ``win`` (declaration). Empty: there is none yet."""
    lines: tuple[TreeLine, ...] = ()
    """The best root moves, best first: `SearchRequest.multipv` of them, or fewer where fewer are known. The first is
    that of ``move``; there is none where no search stands behind it."""
    source: str = ""
    """``split``, ``vote``, ``playoff`` (a vote, and a split after it) or ``forced`` (one legal move, none, a
    declaration). Where no node had an answer: ``fallback``; without its word ``none`` (by material alone)."""
    ballots: tuple[Ballot, ...] = ()
    agreement: float = 1.0
    """The share of the vote's weight that is for ``move``, 0 to 1; 1 where there was no vote."""

    @classmethod
    def of(cls, answer: Answer, **more: Any) -> Self:
        """Make one of this class with the fields of ``answer`` and ``more``."""
        return cls(**{name: getattr(answer, name) for name in Answer.__slots__}, **more)

    @property
    def score(self) -> int | None:
        """None where no search stands behind the move."""
        return self.lines[0].score if self.lines else None

    @property
    def depth(self) -> int:
        return self.lines[0].depth if self.lines else 0

    @property
    def pv(self) -> tuple[str, ...]:
        """The variation that begins with ``move``; empty where no search stands behind it."""
        return self.lines[0].pv if self.lines else ()

    @property
    def is_of_nodes(self) -> bool:
        """Whether a search of the nodes stands behind it, not of the fallback, and not none."""
        return self.source in ("split", "vote", "playoff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Answer):
    """The state of a running search: what would be played now."""

    search_id: int
    elapsed_ms: int = 0
    nodes: int = 0
    fleet: tuple[NodeView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known(Answer):
    """The result of pondering on one position so far."""

    nodes: int
    pondered_ms: int
    fleet_ms: int
    """The time that the whole fleet would have taken for the same search: ``pondered_ms`` times the share of it that
    searched."""

    def later(self, ms: int) -> Known:
        """The same if it has been pondered for ``ms`` more."""
        share = self.fleet_ms / self.pondered_ms if self.pondered_ms else 0.0
        return replace(self, pondered_ms=self.pondered_ms + ms, fleet_ms=self.fleet_ms + int(ms * share))


@dataclass(frozen=True, slots=True)
class Pondered:
    """The state of the pondering that runs."""

    search_id: int
    replies: Mapping[str, Known]
    """Results by the opponent's reply, for the replies that have one."""

    def known(self, request: SearchRequest, pondered: SearchRequest, later_ms: float) -> Known | None:
        """The result for the position of ``request``, ``later_ms`` after this was told; None: there is none.

        Args:
            pondered: the request for the pondering that this is the state of.
        """
        known = self.replies.get(request.reply_to(pondered))
        return None if known is None else known.later(max(0, int(later_ms)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Answer):
    """The end of a search."""

    search_id: int
    elapsed_ms: int = 0
    nodes: int = 0
    fleet: tuple[NodeView, ...] = ()
    wasted: int = 0
    """The part of ``nodes`` that was searched in jobs that brought nothing to the decision. A presearch counts for the
    one node whose ranking was taken, a job in a split where a line of it entered the tree, a vote where its ballot was
    counted."""
    pondered_ms: int = 0
    """Time for which this position had been pondered when the search was asked for (a ponder hit). It is not in
    ``elapsed_ms``, but the nodes searched in that time are in ``nodes``."""


@dataclass(frozen=True, slots=True)
class SearchListener:
    """Receiver of the progress and the decision of one search, or of one pondering. Called on the driver's event loop;
    must not block."""

    on_progress: Callable[[Progress], None] = field(default=lambda _: None)
    on_decision: Callable[[Decision], None] = field(default=lambda _: None)
    on_pondered: Callable[[Pondered], None] = field(default=lambda _: None)
    """Hears of what pondering has found, as soon as there is anything, and again when it changes."""


SILENT: Final = SearchListener()
"""Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Receiver of a fleet's events, from its opening to its end. Called on the driver's event loop; must not block."""

    on_event: Callable[[str, dict[str, object]], None] = field(default=lambda _name, _fields: None)
    """Fleet events for log and viewer: ``node_joined``, ``node_lost``, ``report_refused`` … with their fields."""
    searches: SearchListener = SILENT
    """Hears of every search, behind the one that it was started with."""


class OpenSearcher(Protocol):
    """Anything that searches for the player and can begin now. Used from one asyncio loop."""

    name: str

    async def new_game(self) -> None:
        """Tell every node that a new game begins."""

    def handle(self, order: SearchOrder, listener: SearchListener = SILENT) -> None:
        """Take an order; returns at once. ``listener`` hears of the search, or the pondering, that it begins.

        Raises (for an order that begins something):
            FleetError: the searcher is not open.
            ValueError: the position, a move or a limit is not valid, or the search id does not rise; nothing changed.
        """

    def start(self, request: SearchRequest, listener: SearchListener = SILENT) -> None:
        self.handle(StartSearch(request), listener)

    def ponder(self, request: SearchRequest, listener: SearchListener = SILENT, expected: str = "") -> None:
        self.handle(PonderSearch(request, expected), listener)

    def retime(self, search_id: int, soft_ms: int) -> None:
        self.handle(RetimeSearch(search_id, soft_ms))

    def stop(self, search_id: int) -> None:
        self.handle(StopSearch(search_id))


class Searcher(OpenSearcher, Protocol):
    """The whole fleet, or one local engine, from its start to its end."""

    async def open(self, listener: Listener) -> None:
        """Start the fleet; returns as soon as one searcher is ready. Raises FleetError with why not."""

    async def close(self) -> None:
        """End every search and process that `open` started. The listener is not called again."""


class FleetError(Exception):
    """The fleet cannot be opened or used; the text says what is missing and what to do."""
