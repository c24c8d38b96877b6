"""Pondering: while the opponent thinks, the nodes are dealt over the likely replies, and search the positions after
them.

::

    PonderSearch ─ likely replies known ──────────────► a `SearchRun` for each ─ StartSearch for one ─► hit: it goes on
       │                                                       ▲               ─ other StartSearch ───► miss: all stop
       └─ none ─► scouting: the opponent's position, MultiPV ──┘               ─ StopSearch ──────────► all stop

The likelihood of a reply follows from the known lines (`likelihoods`): those of the search that chose our move, as far
as they contain it, or else those of the scouting. Nodes go to replies by highest averages, so that a likelier reply
never has fewer. After the reply is played, all nodes search it anyway, so pondering only adds to that. Therefore each
reply is treated as if the whole fleet were already on it: another one gets a node only if it is more than half as
likely as the first. Each reply's nodes search in groups, like those of any search (`cluster.coordination.group`).

A hit keeps its jobs: nothing is restarted, and results so far count. The nodes of the other replies join it. This is
dlshogi's multi-ponder, with node numbers by likelihood, and with split trees that continue.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from cluster.api import Known, Pondered, SearchRequest
from cluster.coordination.decision import searched_by
from cluster.coordination.jobs import Dispatch
from cluster.coordination.root import Root
from cluster.coordination.roster import Roster, speed_class
from cluster.coordination.search_run import SearchRun
from cluster.coordination.search_state import Search
from cluster.coordination.settings import Mode, Settings
from cluster.coordination.states import SearchState
from cluster.split.dealing import likelihood
from cluster.split.tree import TreeLine
from worker.shogi.position import Replay

_REFRESH_MS: Final = 1000
"""Milliseconds between two publications if only node counts have changed."""


class Pondering:
    """One opponent's turn.

    Args:
        request: the position with the opponent to move, and the limits of our next search.
        root: the root of ``request``; it has legal moves.
        replay: for the replies' roots, see `Root`.
        hints: known lines for the opponent's position.
        expected: a reply that counts as likely as the likeliest, regardless of the lines; empty: none.
    """

    def __init__(
        self,
        request: SearchRequest,
        root: Root,
        settings: Settings,
        roster: Roster,
        dispatch: Dispatch,
        replay: Replay,
        hints: Sequence[TreeLine] = (),
        expected: str = "",
    ) -> None:
        self.request = request
        self.runs: dict[str, SearchRun] = {}
        """Runs by the opponent's reply, the likeliest first; empty while scouting, and if there is nothing to
        search."""
        self._root = root
        self._settings = settings
        self._roster = roster
        self._dispatch = dispatch
        self._replay = replay
        self._hints = tuple(hints)
        self._expected = expected
        self._likely: dict[str, float] = {}
        self._scouts: SearchRun | None = None
        self._scouting_until_ms = 0
        self._dealt = False
        """Whether there were lines to deal by."""
        self._published_ms: int | None = None

    def begin(self, now_ms: int) -> None:
        """Give every node a job, if there is one."""
        if not self._roster:
            return
        if self._hints or self._expected:
            self._deal(self._hints, now_ms)
            if self.runs:
                return
            # The likely replies leave us no choice, so look for less likely ones.
            self._dealt = False
        settings = replace(self._settings, mode=Mode.SPLIT, root_share=0)  # so that every node ranks the replies
        self._scouts = self._new_run(replace(self.request, multipv=1), self._root, settings, now_ms)
        self._scouts.begin(tuple(self._roster), False, now_ms)
        self._scouting_until_ms = now_ms + self._settings.presearch_max_ms

    def end(self, now_ms: int) -> None:
        """Stop all jobs."""
        for run in self.active():
            run.abandon(now_ms)

    def active(self) -> Iterator[SearchRun]:
        """Every current run, including the scouts'."""
        if self._scouts is not None:
            yield self._scouts
        yield from self.runs.values()

    def run_of(self, node_id: str) -> SearchRun | None:
        """The run in which ``node_id`` has, or had, an assignment."""
        return next((run for run in self.active() if node_id in run.search.assignments), None)

    def joined(self, node_id: str, now_ms: int) -> None:
        """A returning node goes to its former run; a new one to the reply with the fewest nodes for its likelihood."""
        run = self.run_of(node_id)
        if run is None and self.runs:
            fleet = len(self._roster)

            def wants(reply: str) -> float:
                return self._likely[reply] / (fleet + len(self.runs[reply].search.usable()))

            run = self.runs[max(self.runs, key=wants)]
        if run is not None:
            run.joined(node_id, now_ms)
        elif self._scouts is not None:
            self._scouts.joined(node_id, now_ms)
        elif not self._dealt:
            self.begin(now_ms)

    def lost(self, node_id: str, now_ms: int) -> None:
        """Remove a dead node from its run; its lines are kept."""
        run = self.run_of(node_id)
        if run is not None:
            run.lost(node_id, now_ms)

    def advance(self, now_ms: int) -> None:
        """Do everything that is due because of the time or the last event."""
        if self._scouts is None:
            for run in self.runs.values():
                run.advance(now_ms)
            self._publish(now_ms)
            return
        search = self._scouts.search
        if search.busy() and now_ms < self._scouting_until_ms:
            return
        found = tuple(search.lines())
        if not found and search.busy():
            return
        self._scouts.abandon(now_ms)
        self._scouts = None
        self._hints = (*self._hints, *found)
        if self._roster:  # otherwise the first node that joins starts it again
            self._deal(self._hints, now_ms)

    def wake_ms(self, now_ms: int) -> int | None:
        """The time at which something is due, later than ``now_ms``; None: never."""
        times = [run.wake_ms(now_ms) for run in self.runs.values()]
        if self._scouts is not None and self._scouting_until_ms > now_ms:
            times.append(self._scouting_until_ms)
        if (due := self._due_ms) is not None:
            times.append(max(due, now_ms + 1))
        return min((time for time in times if time is not None), default=None)

    def _known(self, run: SearchRun, now_ms: int) -> Known | None:
        """The result for the position that ``run`` searches; None: there is none yet."""
        search = run.search
        answer = search.nodes_answer()
        if answer is None:
            return None
        pondered_ms = now_ms - search.started_ms
        fleet_ms = pondered_ms * len(search.usable()) // max(1, len(self._roster))
        return Known.of(
            answer, nodes=sum(searched_by(search, now_ms).values()), pondered_ms=pondered_ms, fleet_ms=fleet_ms
        )

    def hit(self, request: SearchRequest, now_ms: int) -> SearchRun | None:
        """The run for which ``request`` is a hit; every other run ends. The caller passes it its new limits and nodes
        (`SearchRun.hit`).
        """
        found = self.runs.get(request.reply_to(self.request))
        for run in self.active():
            if run is not found:
                run.abandon(now_ms)
        return found

    @property
    def _due_ms(self) -> int | None:
        """The time at which to publish the results; None: not before something changes."""
        dirty = any(run.search.dirty for run in self.runs.values())
        if self._published_ms is None:
            return 0 if dirty else None
        return self._published_ms + (self._settings.progress_ms if dirty else _REFRESH_MS)

    def _publish(self, now_ms: int) -> None:
        if (due := self._due_ms) is None or now_ms < due:
            return
        known: dict[str, Known] = {}
        for reply, run in self.runs.items():
            run.search.dirty = False
            if (found := self._known(run, now_ms)) is not None:
                known[reply] = found
        if known:
            self._published_ms = now_ms
            self._dispatch.out.append(Pondered(self.request.search_id, known))

    def _deal(self, lines: Sequence[TreeLine], now_ms: int) -> None:
        """Deal the nodes to the likeliest replies according to ``lines``, the fastest nodes to the likeliest reply."""
        likely = likelihoods(lines, self._settings.ponder_temperature)
        if self._expected:
            highest = max(likely.values(), default=1.0)
            likely.pop(self._expected, None)
            likely = {self._expected: highest, **likely}  # the first among equals
        self._dealt = bool(likely)
        width = min(self._settings.ponder_replies, len(self._roster), len(self._root.legal))
        roots: dict[str, tuple[SearchRequest, Root]] = {}
        for reply in sorted(likely, key=lambda reply: -likely[reply]):
            request = replace(self.request, moves=(*self.request.moves, reply))
            root = Root(request, self._replay)
            if len(root.legal) > 1 and not root.may_declare:  # otherwise our next search has nothing to search
                roots[reply] = request, root
            if len(roots) == width:
                break
        self._likely = {reply: likely[reply] for reply in roots}
        seats = seats_by_weight(self._likely, len(self._roster), len(self._roster))
        speeds = self._roster.speeds
        nodes = sorted(self._roster, key=lambda node_id: -speed_class(speeds[node_id]))
        dealt: dict[str, list[str]] = {}
        for reply, (request, root) in roots.items():
            if seats[reply]:
                run = self.runs[reply] = self._new_run(request, root, self._settings, now_ms)
                dealt[reply], nodes = nodes[: seats[reply]], nodes[seats[reply] :]
                run.begin(dealt[reply], False, now_ms)
        self._dispatch.log("pondering", search_id=self.request.search_id, replies=dealt)

    def _new_run(self, request: SearchRequest, root: Root, settings: Settings, now_ms: int) -> SearchRun:
        search = Search(request, root, settings, now_ms, None, None, self._roster, SearchState.PONDERED)
        return SearchRun(search, self._dispatch)


def likelihoods(lines: Sequence[TreeLine], temperature: float) -> dict[str, float]:
    """Probability that each first move of ``lines`` is played by the side to move; they add up to 1; empty: no lines.

    A softmax over the scores at ``temperature`` centipawns. Several lines with one move add up: voters that agree are
    more likely to be right.
    """
    best = max((line.score for line in lines), default=0)
    weights: defaultdict[str, float] = defaultdict(float)
    for line in lines:
        weights[line.pv[0]] += likelihood(line.score - best, temperature)
    total = sum(weights.values())
    return {move: weight / total for move, weight in weights.items()}


def seats_by_weight(weights: Mapping[str, float], seats: int, head_start: int = 0) -> dict[str, int]:
    """``seats`` dealt by ``weights`` with highest averages (D'Hondt), as if each name already had ``head_start`` seats.

    Among equal averages the greater weight comes first, because rounding could otherwise give a likelier name fewer
    seats; then the first name.
    """
    dealt = dict.fromkeys(weights, 0)
    for _ in range(seats if weights else 0):
        dealt[max(weights, key=lambda name: (weights[name] / (head_start + dealt[name] + 1), weights[name]))] += 1
    return dealt
