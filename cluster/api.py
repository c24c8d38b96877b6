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
    """One search by the fleet. The master owns the clock: a decision is due ``hard_ms`` after its `StartSearch`."""

    search_id: int
    """Rises with every request; reports with an older id are discarded."""
    sfen: str
    moves: tuple[str, ...] = ()
    """USI moves since ``sfen``: the game's history, for repetition."""
    soft_ms: int | None = None
    """The time to aim at; None: search until a `StopSearch`."""
    hard_ms: int | None = None
    """The decision is made by then, even if results are missing. None only together with ``soft_ms`` None."""
    nodes: int | None = None
    """Limit on the positions that each node searches (reproducible games, tests, the lab)."""
    depth: int | None = None
    searchmoves: tuple[str, ...] = ()
    """The root moves to choose from; empty: all."""
    multipv: int = 1
    """The number of root moves for which `Answer.lines` has a line. If it is above 1, each node searches several moves
    instead of the best one only: for analysis, not for play."""
    max_moves: int = 0
    """The number of moves, by the position's move number, after which the game is drawn; 0: never."""
    draw_black: int = 0
    """The value of a draw for black if black is to move at the root, in centipawns."""
    draw_white: int = 0
    entering: EnteringKingRule = EnteringKingRule.CSA_27
    """The rule of `worker.rules.DECLARATIONS` by which a king in the enemy's camp wins."""

    def reply_to(self, pondered: SearchRequest) -> str:
        """The opponent's reply that leads from the position of ``pondered`` to this one, if both are to be searched in
        the same way. If that reply was pondered on, this is a ponder hit. Empty: there is no such reply. Times and ids
        are ignored."""
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
    """Begin a search. A search that is still running is decided first, with the results so far. Exactly one
    `SearchListener.on_decision` follows, at the latest at ``hard_ms``."""

    request: SearchRequest


@dataclass(frozen=True, slots=True)
class PonderSearch:
    """Search on the opponent's time, until the next `StartSearch`, `PonderSearch` or a `StopSearch` with its id. A
    search that is still running is decided first. No decision follows; results are passed to
    `SearchListener.on_pondered`."""

    request: SearchRequest
    """The position with the opponent to move, without times, and with the limits that the next request will have. A
    `StartSearch` for the position after a pondered reply is a ponder hit: its search continues from the results so
    far."""
    expected: str = ""
    """A reply that is pondered on in any case, with the same priority as the likeliest one. Empty: none. That is best
    unless another program has to know which reply is expected."""


@dataclass(frozen=True, slots=True)
class RetimeSearch:
    """Change the soft time of the running search; the hard deadline stays. If the new soft time has passed, the
    decision comes as soon as there is an answer. No effect if that search is over or has no soft time."""

    search_id: int
    soft_ms: int
    """From the search's start."""


@dataclass(frozen=True, slots=True)
class StopSearch:
    """Ask for the decision now: it follows at once, or within 100 ms if nothing is known yet. Pondering ends without
    one. No effect if that search is over."""

    search_id: int


SearchOrder = StartSearch | PonderSearch | RetimeSearch | StopSearch


@dataclass(frozen=True, slots=True)
class Ballot:
    """The move that one voter (a node, or a group with its split tree) wants to play."""

    voter: str
    line: TreeLine
    nodes: int = 0
    """Positions searched by all nodes of the voter so far."""
    members: int = 1
    """The number of nodes that searched for it."""
    weight: float = 1.0
    """The sum of these nodes' weights in a vote: 1 for a node of usual speed."""

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
    """The part of the tree that it searches: ``7g7f``, ``others``, ``all``, ``idle``."""
    depth: int
    score: int | None
    nodes: int
    nps: int
    pv: tuple[str, ...] = ()
    seldepth: int = 0
    """From the last report; 0: its engine does not report it."""
    hashfull: int = 0
    """Use of its transposition table in permille, as last reported."""
    speed: float = 1.0
    """Relative to the median of the nodes with the same engine, over its last searches
    (`cluster.coordination.roster`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The move to play in a position, and the lines that support it."""

    move: str = ""
    """A USI move, ``resign`` if no legal move exists, or ``win`` (declaration). Empty: there is none yet."""
    lines: tuple[TreeLine, ...] = ()
    """The best root moves, best first: `SearchRequest.multipv` of them, or fewer if fewer are known. The first is that
    of ``move``. Empty if no search supports it."""
    source: str = ""
    """``split``, ``vote`` or ``forced`` (one legal move, none, a declaration). If no node had an answer:
    ``fallback``; if the fallback had none either: ``none`` (chosen by material alone)."""
    ballots: tuple[Ballot, ...] = ()
    agreement: float = 1.0
    """The share of the vote's weight that is for ``move``, 0 to 1; 1 if there was no vote."""

    @classmethod
    def of(cls, answer: Answer, **more: Any) -> Self:
        """Make an instance of this class with the fields of ``answer`` and ``more``."""
        return cls(**{name: getattr(answer, name) for name in Answer.__slots__}, **more)

    @property
    def score(self) -> int | None:
        """None if no search supports the move."""
        return self.lines[0].score if self.lines else None

    @property
    def depth(self) -> int:
        return self.lines[0].depth if self.lines else 0

    @property
    def pv(self) -> tuple[str, ...]:
        """The variation that begins with ``move``; empty if no search supports it."""
        return self.lines[0].pv if self.lines else ()

    @property
    def is_of_nodes(self) -> bool:
        """Whether it comes from a search by the nodes, rather than from the fallback or from no search."""
        return self.source in ("split", "vote")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Answer):
    """The state of a running search: the move that would be played now."""

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
    """The time that the whole fleet would have taken for the same search: ``pondered_ms`` times the share of the fleet
    that searched."""

    def later(self, ms: int) -> Known:
        """The same result after ``ms`` more of pondering."""
        share = self.fleet_ms / self.pondered_ms if self.pondered_ms else 0.0
        return replace(self, pondered_ms=self.pondered_ms + ms, fleet_ms=self.fleet_ms + int(ms * share))


@dataclass(frozen=True, slots=True)
class Pondered:
    """The state of the running pondering."""

    search_id: int
    replies: Mapping[str, Known]
    """Results by the opponent's reply, for the replies that have one."""

    def known(self, request: SearchRequest, pondered: SearchRequest, later_ms: float) -> Known | None:
        """The result for the position of ``request``, ``later_ms`` after this state was reported; None: there is none.

        Args:
            pondered: the request whose pondering this state describes.
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
    """The part of ``nodes`` that was searched in jobs which contributed nothing to the decision. These jobs do
    contribute: of a presearch, that of the node whose ranking was used; in a split, each one with a line in the tree;
    in a vote, each one whose ballot was counted."""
    pondered_ms: int = 0
    """Time for which this position had been pondered when the search was requested (a ponder hit). It is not in
    ``elapsed_ms``, but the nodes searched in that time are in ``nodes``."""


@dataclass(frozen=True, slots=True)
class SearchListener:
    """Receiver of the progress and the decision of one search, or of one pondering. Called on the driver's event loop;
    must not block."""

    on_progress: Callable[[Progress], None] = field(default=lambda _: None)
    on_decision: Callable[[Decision], None] = field(default=lambda _: None)
    on_pondered: Callable[[Pondered], None] = field(default=lambda _: None)
    """Called with the results of pondering, as soon as there are any and whenever they change."""


SILENT: Final = SearchListener()
"""Ignores everything."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Receiver of a fleet's events, from opening to closing. Called on the driver's event loop; must not block."""

    on_event: Callable[[str, dict[str, object]], None] = field(default=lambda _name, _fields: None)
    """Fleet events for log and viewer: ``node_joined``, ``node_lost``, ``report_refused`` … with their fields."""
    searches: SearchListener = SILENT
    """Called for every search, after the listener that the search was started with."""


class OpenSearcher(Protocol):
    """A searcher that is open: it can begin a search now. Used from one asyncio loop."""

    name: str

    async def new_game(self) -> None:
        """Notify every node that a new game begins."""

    def handle(self, order: SearchOrder, listener: SearchListener = SILENT) -> None:
        """Take an order; returns at once. ``listener`` is called for the search or the pondering that the order begins.

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
        """Start the fleet; returns as soon as one searcher is ready. Raises FleetError with the reason if that
        fails."""

    async def close(self) -> None:
        """End every search and process that `open` started. The listener is not called again."""


class FleetError(Exception):
    """The fleet cannot be opened or used; the text names the missing part and the remedy."""
