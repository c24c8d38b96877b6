"""Games in virtual time over several processes: each has an `Arena` of its own, for compiled engines share no process.

Nothing of a game depends on the process or on the games before it, so the records are the same whatever the number of
processes; only the order in which they come is not.
"""

from __future__ import annotations

from functools import partial

from cluster.machine.side_by_side import ProcessWorkplace
from lab.strategies.engines import MakeEngine
from lab.strategies.games import Arena
from lab.strategies.records import GameRecord
from lab.strategies.schedule import Game
from lab.strategies.settings import LabError, LabSettings

Task = tuple[Game, str]
"""A game and the SFEN of its opening."""


def virtual_workplaces(
    settings: LabSettings, make_engine: MakeEngine, count: int
) -> list[ProcessWorkplace[Task, GameRecord]]:
    """Processes that play, as workplaces of `cluster.machine.side_by_side`. A game that cannot be played: LabError."""

    def refused(task: Task, error: Exception) -> LabError:
        return LabError(f"{task[0]}: {error}")

    return [ProcessWorkplace(partial(_play, Arena(settings, make_engine)), refused) for _ in range(count)]


def _play(arena: Arena, _tell: object, task: Task) -> GameRecord:
    return arena.play(*task)
