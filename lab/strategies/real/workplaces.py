"""``gougi lab --real``: where it plays, and on which cores."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from master.commands.common import CommandError, notice

if TYPE_CHECKING:
    from cluster.engine_spec import EngineSpec
    from lab.strategies.real.cores import Seating
    from lab.strategies.real.games import RealWorkplace
    from lab.strategies.schedule import Plan
    from lab.strategies.settings import LabSettings


@dataclass(frozen=True, slots=True)
class RealMachine:
    """This machine, and who plays on which of its cores."""

    seating: Seating
    about: dict[str, Any]
    """`lab.strategies.real.machine.about`, when the command began."""

    def workplaces(self, settings: LabSettings, engine: EngineSpec) -> list[RealWorkplace]:
        """A workplace for each slot, after what speaks against this machine now."""
        from lab.strategies.real.games import RealWorkplace
        from lab.strategies.real.machine import warnings
        from lab.strategies.real.report import crowded

        for words in (crowded(self.seating), *warnings(self.seating.cores)):
            notice(words)
        return [RealWorkplace(settings, engine, self.seating, slot, notice) for slot in range(self.seating.slots)]


def real_machine(
    plan: Plan,
    against: str,
    concurrency: int,
    real: bool,
    ms: int | None,
    cores: str,
    oversubscribe: bool,
    budget: int | None,
) -> RealMachine | None:
    """The machine for a laboratory in real time; None where it is a virtual one.

    Raises:
        CommandError: the options do not go together.
        LabError: the cores are not there, or too few.
    """
    from lab.strategies.real.cores import Seating, parse_cores
    from lab.strategies.real.machine import about
    from lab.strategies.settings import Opponent

    if not real:
        for name, given in (("--ms", ms), ("--cores", cores), ("--oversubscribe", oversubscribe)):
            if given:
                raise CommandError(f"{name} is for real time: give --real too")
        return None
    if ms is None:
        raise CommandError("--real needs the time of a move: --ms N, such as --ms 300")
    if budget is not None:
        raise CommandError(f"--budget {budget} is for virtual time: with --real the pace is --ms {ms}")
    own = parse_cores(cores, os.sched_getaffinity(0))
    return RealMachine(Seating(own, concurrency, plan.points, Opponent.parse(against), oversubscribe), about(own))
