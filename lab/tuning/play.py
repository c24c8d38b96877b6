"""Pairs of games, played by processes of this machine or by tasks of a fleet, each with the tuning build.

This module imports nothing compiled: a process gets the tuning build when it plays its first pair.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cluster.drivers.task_pool import Opened, Task, TaskLost, run_tasks
from lab.tuning.state import (
    MAX_MOVES,
    RESIGN_CP,
    RESIGN_MOVES,
    GamePair,
    GameSettings,
    PairResult,
    PlayError,
    TuningRun,
)

if TYPE_CHECKING:
    from worker.search.engine import NumbaEngine

BUILD = "GOUGI_TUNE"
"""The variable that, set before the import of the searcher, selects the tuning build (`worker.jit.options`)."""


@dataclass(frozen=True, slots=True)
class PairTerms:
    """The conditions under which pairs are played. The same for a whole run."""

    games: GameSettings
    names: tuple[str, ...]
    """Names of the values in the vectors."""
    code: str
    """The version of the ordering process's sources (`code_version`)."""


def code_version() -> str:
    """A digest of everything besides the terms that decides a game: the sources, and the parts and values compiled
    in."""
    from lab.match.folder import sources
    from worker.jit.cache import source_digest

    return f"{sources()}-{source_digest()[:8]}"


class PairPlayer:
    """Two searchers for each network, which play pair after pair.

    Args:
        nets: the networks' files, in the order of `GameSettings.net_digests`.
    """

    def __init__(self, nets: Sequence[bytes], terms: PairTerms) -> None:
        from worker.nnue import Network
        from worker.nnue.format import parse_network
        from worker.search.engine import NumbaEngine

        self._terms = terms
        networks = (Network(parse_network(net), fv_scale=terms.games.fv_scale) for net in nets)
        self._engines = [
            (NumbaEngine(terms.games.hash_mb, network=one), NumbaEngine(terms.games.hash_mb, network=one))
            for one in networks
        ]

    def play(self, pair: GamePair) -> PairResult:
        """Play both games. They do not depend on earlier games."""
        began = time.process_time()
        plus, minus = self._engines[pair.network]
        for engine, values in ((plus, pair.plus), (minus, pair.minus)):
            engine.set_parameters(dict(zip(self._terms.names, values, strict=True)))
        first = self._game(pair.opening, (plus, minus))
        second = self._game(pair.opening, (minus, plus))
        points = tuple(0.5 if winner is None else float(winner == plus_colour) for plus_colour, (winner, _, _) in (
            (0, first), (1, second),
        ))  # fmt: skip
        return PairResult(
            pair.iteration,
            (points[0], points[1]),
            first[1] + second[1],
            first[2] + second[2],
            round(time.process_time() - began, 3),
        )

    def _game(self, sfen: str, sides: tuple[NumbaEngine, NumbaEngine]) -> tuple[int | None, int, int]:
        """The winner's colour (None: a draw), the moves made, and the nodes of both sides."""
        from lab.match.game import Adjudicator, Choice, play_game
        from worker.engine import Limits

        limits = Limits(nodes=self._terms.games.nodes)
        nodes = 0
        for engine in sides:
            engine.new_game()

        def think(mover: int, moves: tuple[str, ...]) -> Choice:
            nonlocal nodes
            sides[mover].set_position(sfen, moves)
            result = sides[mover].go(limits)
            nodes += result.nodes
            return Choice(result.bestmove, result.lines[0].score if result.lines else None)

        outcome = play_game(sfen, think, Adjudicator(RESIGN_CP, RESIGN_MOVES), MAX_MOVES)
        return outcome.winner, len(outcome.moves), nodes


_players: dict[tuple[PairTerms, int], PairPlayer] = {}
"""The last one of this process: a process plays many pairs."""


def play_pair(nets: Sequence[bytes], terms: PairTerms, pair: GamePair) -> PairResult:
    """Play a pair in this process; compile first, if this was not yet done on this machine.

    Args:
        nets: the networks' files, in the order of `GameSettings.net_digests`.

    Raises:
        PlayError: this machine has other sources than the ordering one, or this process another build.
    """
    os.environ[BUILD] = "1"
    from worker.jit.options import TUNING
    from worker.warm import warm_up

    if not TUNING:
        raise PlayError(f"this process had the searcher before it was to play: set {BUILD}=1 for it")
    if (own := code_version()) != terms.code:
        raise PlayError(f"{os.uname().nodename} has another version of Gougi ({own}, not {terms.code})")
    key = (terms, os.getpid())
    if key not in _players:
        warm_up()
        _players.clear()
        _players[key] = PairPlayer(nets, terms)
    return _players[key].play(pair)


Event = Opened | PairResult | TaskLost


class _Pairs:
    """The remaining pairs of a run, as a `cluster.drivers.task_pool.TaskSource`."""

    def __init__(self, run: TuningRun, terms: PairTerms) -> None:
        self._run = run
        self._terms = terms

    def take(self) -> Task | None:
        pair = self._run.take_pair()
        return None if pair is None else Task(f"pair {pair.iteration}", (self._terms, pair))

    def give_back(self, task: Task) -> None:
        _, pair = task.arguments
        assert isinstance(pair, GamePair)
        self._run.give_back(pair.iteration)


def play(
    place: int | str,
    nets: Sequence[bytes],
    terms: PairTerms,
    run: TuningRun,
    keep: Callable[[PairResult], None],
    on_event: Callable[[Event], None],
) -> None:
    """Play the missing pairs of ``run``.

    Args:
        place: as for `run_tasks`.
        nets: the networks' files, in the order of `GameSettings.net_digests`.
        keep: receives each result before the run does.
        on_event: callback for each event, after that.

    Raises:
        FleetError: there is no such fleet.
        PlayError: Ray was lost, or a pair cannot be played.
    """

    def heard(event: Event) -> None:
        if isinstance(event, PairResult):
            keep(event)
            run.take(event)
        on_event(event)

    run_tasks(place, nets, play_pair, _Pairs(run, terms), heard, PlayError)
