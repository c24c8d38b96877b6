"""Lines about a search for the GUI: ``info`` lines of the whole fleet, and the nodes' votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Final

from cluster.api import Ballot, Decision, Known, NodeView, Progress
from cluster.split.tree import TreeLine
from master.ui.texts import error_words, later, say
from worker.usi.words import score_words

_REFRESH_MS: Final = 1000
"""The longest interval after which a line is repeated for its nodes and time, if nothing else in it has changed."""

_WITHOUT_NODES: Final = {
    "fallback": later("no node had an answer: this move is from the master's own search"),
    "none": later("no node had an answer: this is a legal move, by material alone"),
}
"""The meaning of the move, by `cluster.api.Decision.source`."""

_STARTING: Final = {
    "compiling": later("compiling: {stage}"),
    "ray_starting": later("connecting to Ray at {address}"),
    "ray_started": later("Ray runs"),
    "node_starting": later("starting {node}"),
}
_FLEET: Final = {
    "node_joined": later("{node} searches; nodes: {live}"),
    "node_lost": later("{node} is lost: {reason}; nodes: {live}"),
    "node_starves": later("{node} has {percent} % of a core: others want the same {cores}"),
    "nodes_left_out": later("nodes: {nodes}, not {asked}: this machine has no processors for more"),
    "node_failed": later("{node} does not start: {why}"),
    "fleet_broken": later("error: only the master's own engine plays: {why}"),
    "fallback_failed": later("the master's own engine does not start: {why}"),
    "ray_lost": later("Ray is lost: {why}"),
    "ray_failed": later("Ray does not start: {why}"),
    "job_failed": later("{node} cannot search {job}: {error}"),
}
"""The fleet's events that a GUI sees, by name. The first ones appear only while the fleet opens."""


@dataclass(slots=True)
class Reporter:
    """One search's lines, at most every ``interval_ms``, without repetitions."""

    interval_ms: int
    _shown: tuple[TreeLine, ...] = ()
    _shown_ms: float = -(2.0**40)

    def progress(self, progress: Progress, now_ms: float) -> list[str]:
        """The lines for the state of a running search, if they are due."""
        if not self._due(progress.lines, now_ms):
            return []
        return info_lines(progress.lines, progress.nodes, progress.elapsed_ms, progress.fleet)

    def known(self, known: Known, now_ms: float) -> list[str]:
        """The same while pondering."""
        if not self._due(known.lines, now_ms):
            return []
        return info_lines(known.lines, known.nodes, known.pondered_ms)

    def decision(self, decision: Decision) -> list[str]:
        """The last lines of a search, in any case, and its vote."""
        lines = info_lines(decision.lines, decision.nodes, decision.elapsed_ms, decision.fleet)
        if decision.source in _WITHOUT_NODES:
            lines.append(f"info string {say(_WITHOUT_NODES[decision.source])}")
        vote = vote_line(decision.ballots)
        return [*lines, vote] if vote else lines

    def _due(self, lines: tuple[TreeLine, ...], now_ms: float) -> bool:
        since = now_ms - self._shown_ms
        if not lines or since < self.interval_ms or (lines == self._shown and since < _REFRESH_MS):
            return False
        self._shown, self._shown_ms = lines, now_ms
        return True


def info_lines(lines: Sequence[TreeLine], nodes: int, time_ms: int, fleet: Sequence[NodeView] = ()) -> list[str]:
    """An ``info`` line for each root move, the best first. ``nodes`` and ``nps`` are those of the whole fleet."""
    nps = sum(view.nps for view in fleet if view.alive) or nodes * 1000 // max(1, time_ms)
    used = [view.hashfull for view in fleet if view.alive and view.hashfull]
    hashfull = f" hashfull {sum(used) // len(used)}" if used else ""
    return [
        f"info depth {line.depth}{_seldepth(line, fleet)} multipv {number} score {score_words(line.score, line.bound)} "
        f"nodes {nodes} nps {nps}{hashfull} time {time_ms} pv {' '.join(line.pv)}"
        for number, line in enumerate(lines, start=1)
    ]


def vote_line(ballots: Sequence[Ballot]) -> str:
    """``info string vote 7g7f 3/4 2g2f 1/4``: the number of nodes for each move; empty if there was no vote."""
    votes: Counter[str] = Counter()
    for ballot in ballots:
        votes[ballot.move] += ballot.members
    if len(ballots) < 2:
        return ""
    total = votes.total()
    return "info string vote " + " ".join(f"{move} {count}/{total}" for move, count in votes.most_common())


def event_line(name: str, fields: Mapping[str, object], opening: bool) -> str:
    """One of the fleet's events in the user's language; empty if the GUI does not need it. ``opening``: the fleet is
    being opened."""
    message = _FLEET.get(name) or (_STARTING.get(name) if opening else None)
    if message is None:
        return ""
    lines = {name: str(fields.get(name, "")).splitlines() for _, name, _, _ in Formatter().parse(message) if name}
    words = {name: found[0] if found else "" for name, found in lines.items()}
    return f"info string {say(message, **words)}"


def error_line(why: str) -> str:
    return f"info string {say('error: {why}', why=error_words(' '.join(why.split())))}"


def _seldepth(line: TreeLine, fleet: Sequence[NodeView]) -> str:
    """The ``seldepth`` of an ``info`` line, from the nodes that chose its move; empty if they do not report one."""
    deepest = max((view.seldepth for view in fleet if view.pv[:1] == line.pv[:1]), default=0)
    return f" seldepth {max(deepest, line.depth)}" if deepest else ""
