"""Settings of the fleet's search: plain values with the defaults in one place."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Final

from cluster.split.dealing import Dealing
from cluster.split.redeal import RedealLimits
from cluster.split.tree import TakeoverMargin, check_numbers

_SHARES: Final = frozenset({"root_share", "presearch_share"})
_COUNTS: Final = frozenset({"groups", "presearch_multipv", "refusals", "ponder_replies"})


class Mode(enum.StrEnum):
    """How the nodes of one search divide the work."""

    CONSULT = "consult"
    """All search the same position, and vote. It was ahead of the others in every measurement."""
    SPLIT = "split"
    """Share the root moves. With fewer than two nodes or a small budget all search the same, as in ``CONSULT``."""
    TIERS = "tiers"
    """`Settings.groups` groups share the root moves each, and vote (Gikou's consultation of clusters)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The coordinator's settings. Times in milliseconds.

    Raises (constructor):
        ValueError: a value is out of its range; the text names the setting and the range.
    """

    mode: Mode = Mode.CONSULT
    groups: int = 4
    """Voters in ``TIERS``, their nodes as even as possible; 4 is Gikou's figure. Fewer if there are fewer nodes."""
    takeover: TakeoverMargin = field(default_factory=TakeoverMargin)
    dealing: Dealing = field(default_factory=Dealing)
    redeal: RedealLimits = field(default_factory=RedealLimits)
    root_share: float = 0.75
    """Share of a group's nodes that search the whole root all the time, while the others test its moves: at least one
    node, and at most all but one; 0: none, every node has its own leaf."""
    ballot_depth_slack: int = 4
    """Ballots at most this many plies shallower than the deepest are counted."""

    presearch_share: float = 0.1
    """Part of the soft time, or of the node limit, that the MultiPV presearch takes."""
    presearch_min_ms: int = 30
    presearch_max_ms: int = 300
    """Gikou's figure."""
    presearch_multipv: int = 7
    """Gikou's figure; never more than the split can use."""
    min_split_ms: int = 400
    """Below this soft time the presearch costs more than it gains, so all consult."""
    min_split_nodes: int = 2000
    """The same for a node limit."""
    min_split_depth: int = 4
    """The same for a depth limit."""
    min_redeal_ms: int = 500
    """A node that joins with less than this to go waits for the next search; at a ponder hit it searches the whole
    root."""

    ponder_replies: int = 4
    """The most replies over which nodes are dealt while the opponent thinks."""
    ponder_temperature: float = 60.0
    """Centipawns by which a reply must be worse to be likely e times less."""

    deadline_margin_ms: int = 10
    """The decision leaves this long before the hard deadline: a timer on a busy machine fires late."""
    answer_grace_ms: int = 250
    """Time to wait for silent nodes after the soft time, before using the fallback's answer."""
    stop_grace_ms: int = 100
    """Time that a stop may wait for the first answer if nothing is known yet."""
    resend_ms: int = 400
    """A heartbeat that does not know of a job sent this long ago means that the job was lost."""
    refusals: int = 5
    """The number of illegal reports after which a node gets no more jobs in that search."""
    progress_ms: int = 100
    """The shortest time between two `Progress` of one search."""

    fallback_wait_ms: int = 50
    """Time for the nodes' first line before the fallback begins, while a node runs beside it on the master's own
    machine and so needs the CPU. (The last of eight nodes begins to search after 7 ms; see docs/notebook/overhead.md.)
    If those nodes die later, their lines remain, and the fallback begins at once.
    """
    fallback_nodes: int = 3_000
    """Nodes that the fallback searches (9 to 12 ms) after waiting in vain, before it rests, as long as there is a node
    beside it. 20,000 nodes took 8 % of a core at 300 ms a move, despite its priority, which counts for little if the
    kernel first shares the cores between sessions."""
    validate: bool = False
    """Raise on a transition that is not in the table of a state machine; for tests."""

    def __post_init__(self) -> None:
        check_numbers(self, shares=_SHARES, counts=_COUNTS, positive={"ponder_temperature"})


@dataclass(frozen=True, slots=True)
class SharingSettings:
    """Settings for the table entries and histories that the nodes of a fleet send each other."""

    depth: int = 2
    """They send table entries of at least this depth, or of a greater depth if there are too many; 0: nothing."""
    bytes_per_s: int = 8_000_000
    """Bytes a second that a node may send to all its listeners together, at most an eighth of them for histories; it
    receives the same amount."""
