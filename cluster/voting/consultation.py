"""Voting: several voters' ballots become one. Which voter is right is unknown; which moves they agree on is not.

Gougi (合議) after Obata, Sugiyama, Hoki and Ito: "Consultation Algorithm for Computer Shogi: Move Decisions by
Majority" and "Optimistic Selection Rule Better Than Majority Voting System" (both 2010). The other rules are those of
programs that were played with. A new rule is a member of `Vote` and a function of that name in `cluster.voting.rules`.

**The contract of every rule** (``tests/cluster/voting/test_contract.py`` asks it of every member of `Vote`):

- *Pure.* It takes one ballot or more, and gives back one of them. Nothing but the ballots decides; to add the same
  voters again in the same order gives the same outcome.
- *Members.* A ballot of several nodes (a group that shares out a tree) has ``members`` of them. ``majority`` and
  ``mate_first`` count one vote for each; the others weigh by score, depth or nodes, which a group's line has already.
- *Mated ballots.* A ballot that knows of a win beats every one that does not, and of two wins the shorter counts
  (``mate_first``: a win counts as known if the search behind it was as deep as the mate is long). A ballot that sees
  its side mated weighs nothing while another ballot is open, except for ``majority``, which counts voters and not
  scores. If all see themselves mated, the longest defence is played, by ``majority`` that of most voters.
- *Ties.* They go to the highest score, then to the greatest depth, then to the ballot that comes first. The order of
  the ballots, which is that of the nodes, decides nothing else.
- *Agreement.* The chosen move's share of the weight: above 0, and 1 if all are for the same move.
- *Lost voters.* A node that is lost keeps its ballot: what it found stays true. It is counted as long as it is not more
  than ``ballot_depth_slack`` plies behind the deepest (`comparable`), so that in a long search it drops out by itself.
  Without any ballot there is no vote: the caller asks the fallback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from cluster.api import Ballot
from cluster.voting import Vote, rules
from cluster.voting.rules import Count, is_win

_RULES: Final[Mapping[Vote, Callable[[Sequence[Ballot]], Count]]] = {vote: getattr(rules, vote.value) for vote in Vote}


def comparable(ballots: Sequence[Ballot], depth_slack: int) -> list[Ballot]:
    """The ballots that may be counted together: known wins, and those at most ``depth_slack`` plies behind the deepest.

    A voter that came late into the search has a shallow and noisy score; it must not outbid the others with that.
    """
    deepest = max((ballot.depth for ballot in ballots), default=0)
    return [ballot for ballot in ballots if ballot.depth >= deepest - depth_slack or is_win(ballot)]


def count(ballots: Sequence[Ballot], vote: Vote) -> Count:
    """Count the ballots. Ties that are left (score, then depth) go to the first ballot, so that the outcome depends on
    nothing else.

    Raises:
        ValueError: no ballots.
    """
    if not ballots:
        raise ValueError("no ballots to count")
    return _RULES[vote](ballots)
