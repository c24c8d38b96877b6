"""Pairs of games as tasks of this machine or of a fleet (`cluster.drivers.task_pool`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cluster.drivers.task_pool import Losses, Opened, run_tasks, run_tasks_here
from lab.tuning.games import PairTerms, play_pair
from lab.tuning.run import PairName, PairResult, TuningRun
from lab.tuning.settings import PlayError


@dataclass(frozen=True, slots=True)
class PairLost:
    """The process that played a pair died; the pair is played again."""

    name: PairName
    why: str


Event = Opened | PairResult | PairLost


class _Pairs:
    """The pairs of a run that are still to be played."""

    def __init__(
        self, run: TuningRun, terms: PairTerms, keep: Callable[[PairResult], None], on_event: Callable[[Event], None]
    ) -> None:
        self._run = run
        self._terms = terms
        self._keep = keep
        self._on_event = on_event
        self._losses = Losses(PlayError)

    def opened(self, nodes: int) -> None:
        self._on_event(Opened(nodes))

    def take(self) -> tuple[PairName, tuple[object, ...]] | None:
        pair = self._run.take_pair()
        return None if pair is None else (pair.name, (self._terms, pair))

    def done(self, result: PairResult) -> None:
        self._keep(result)
        self._run.take(result)
        self._on_event(result)

    def lost(self, name: PairName, why: str) -> None:
        self._losses.add(str(name), why)
        self._run.give_back(name)
        self._on_event(PairLost(name, why))


def play_here(
    processes: int,
    nets: Sequence[bytes],
    terms: PairTerms,
    run: TuningRun,
    keep: Callable[[PairResult], None],
    on_event: Callable[[Event], None],
) -> None:
    """Play what is missing of ``run`` in that many processes of this machine. The rest is as for `play_on_ray`.

    Raises:
        PlayError: a pair cannot be played.
    """
    run_tasks_here(processes, nets, play_pair, _Pairs(run, terms, keep, on_event), PlayError)


async def play_on_ray(
    address: str,
    nets: Sequence[bytes],
    terms: PairTerms,
    run: TuningRun,
    keep: Callable[[PairResult], None],
    on_event: Callable[[Event], None],
) -> None:
    """Play what is missing of ``run`` on a fleet.

    Args:
        address: ``host:port`` or ``auto`` of a Ray cluster that runs.
        nets: the networks' files, in the order of `GameSettings.net_digests`.
        keep: gets each result before the run does.
        on_event: told what happened, after that.

    Raises:
        FleetError: there is no such cluster.
        PlayError: Ray was lost, or a pair cannot be played.
    """
    await run_tasks(address, nets, play_pair, _Pairs(run, terms, keep, on_event), PlayError)
