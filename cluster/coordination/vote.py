"""The answer of the nodes: the vote of a search's groups, or the best lines if several are requested."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from cluster.api import Answer, Ballot
from cluster.coordination.group import Group
from cluster.coordination.settings import Settings
from cluster.coordination.states import Phase
from cluster.split.tree import TreeLine
from cluster.voting import comparable, count
from worker.score import MATE_BOUND


def vote(groups: Sequence[Group], multipv: int, settings: Settings, weight: Callable[[str], float]) -> Answer | None:
    """If there is one group with a dealt tree, its answer counts; otherwise there is a vote. None: there is no answer.

    If more than one line is requested (``multipv``), each node searches the whole root for that many. The answer is
    then the first of the best lines, so the lines are always in order of score with the answer at the head, as in a
    single engine with several threads.

    Args:
        weight: by node id, the weight of a node's vote.
    """
    answer = _counted(groups, settings, weight)
    if multipv > 1 and (lines := _several_lines(groups, multipv, settings)):
        ballots, move = answer.ballots if answer is not None else (), lines[0].pv[0]
        return Answer(move=move, lines=lines, source="vote", ballots=ballots, agreement=_share(ballots, move))
    return answer


def answer_of(line: TreeLine, source: str, ballots: tuple[Ballot, ...] = (), agreement: float = 1.0) -> Answer:
    """``line`` as an answer."""
    return Answer(move=line.pv[0], lines=(line,), source=source, ballots=ballots, agreement=agreement)


def _counted(groups: Sequence[Group], settings: Settings, weight: Callable[[str], float]) -> Answer | None:
    by_engine: dict[str, list[Ballot]] = {}
    for group in groups:
        for voter in group.voters(settings.takeover):
            total = sum(weight(node_id) for node_id in voter.members)
            ballot = Ballot(voter.name, voter.line, voter.nodes, len(voter.members), total)
            by_engine.setdefault(voter.engine, []).append(ballot)
    # Each engine counts depth in its own way.
    slack = settings.ballot_depth_slack
    ballots = [ballot for part in by_engine.values() for ballot in comparable(part, slack)]
    if not ballots:
        return None
    counted = count(ballots)
    alone = len(groups) == 1 and groups[0].phase is Phase.SPLIT
    return answer_of(counted.ballot.line, "split" if alone else "vote", tuple(ballots), counted.agreement)


def _share(ballots: Sequence[Ballot], move: str) -> float:
    """The share of the voting nodes that are for ``move``; 1 if there was no vote."""
    total = sum(ballot.members for ballot in ballots)
    return sum(ballot.members for ballot in ballots if ballot.move == move) / total if total else 1.0


def _several_lines(groups: Sequence[Group], multipv: int, settings: Settings) -> tuple[TreeLine, ...]:
    found: dict[str, list[TreeLine]] = {}
    for group in groups:
        for assignment in group.assignments:
            found.setdefault(assignment.engine, []).extend(assignment.lines.values())
    return tuple(best_lines(found, multipv, settings.ballot_depth_slack))


def best_lines(found: Mapping[str, Iterable[TreeLine]], count: int, depth_slack: int) -> list[TreeLine]:
    """A line for each of the best root moves, ``count`` at most, the highest score first; for each move the deepest
    line of any node.

    The nodes are not dealt over the moves: the best moves are not known beforehand, so every node would have to search
    the others too. With shared tables (`cluster.sharing.table`) the nodes help each other to depth.

    Args:
        found: by engine, the lines of its nodes. If two engines have a line for a move, the better score counts: their
            depths are not comparable.
        count: the number of lines wanted.
        depth_slack: a line at most this many plies shallower than the deepest of its engine counts, as in
            `cluster.voting.comparable`; a known win always counts.
    """
    best: dict[str, TreeLine] = {}
    for lines in found.values():
        for move, line in _by_move(lines, depth_slack).items():
            if move not in best or line.score > best[move].score:
                best[move] = line
    return sorted(best.values(), key=lambda line: (-line.score, -line.depth))[:count]


def _by_move(lines: Iterable[TreeLine], depth_slack: int) -> dict[str, TreeLine]:
    """The deepest line for each first move, of one engine's lines; the best of equally deep ones."""
    best: dict[str, TreeLine] = {}
    for line in sorted(lines, key=lambda line: (line.depth, line.score)):
        best[line.pv[0]] = line
    deepest = max((line.depth for line in best.values()), default=0)
    return {
        move: line for move, line in best.items() if line.depth >= deepest - depth_slack or line.score >= MATE_BOUND
    }
