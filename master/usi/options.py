"""The fleet's USI options, by the field's names, and the events and instructions of a front with a fleet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from cluster.api import Decision, Pondered, PonderSearch, Progress, RetimeSearch, SearchRequest, StartSearch, StopSearch
from cluster.coordination.settings import Mode
from worker.rules import DECLARATIONS, EnteringKingRule
from worker.usi import events
from worker.usi.options import MOST_THREADS, PLAY_OPTIONS, Option, OptionValues, engine_options, entering_option


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """The part of the fleet that the GUI's options determine. Another plan means another fleet."""

    nodes: int
    hash_mb: int
    threads: int
    """Search threads of each node; 0: the nodes share the processors."""
    eval_file: str
    """Empty: the network that ships with Gougi."""
    fv_scale: int
    """0: the network's known scale, else 16."""
    architecture: str
    """The short name of the network's shape; empty: read it from the file."""
    mode: str


@dataclass(frozen=True, slots=True)
class FleetEvent:
    name: str
    fields: dict[str, Any]


Event = events.Event | FleetEvent | Progress | Pondered | Decision
Instruction = events.Instruction | StartSearch | PonderSearch | RetimeSearch | StopSearch

MOST_NODES: Final = 1024


def option_table(plan: FleetPlan, *, own_fleet: bool) -> dict[str, Option]:
    """The options; ``plan`` gives the defaults of those that determine the fleet. ``own_fleet``: the nodes are
    processes of this machine; otherwise they are existing machines with a fixed number."""
    nodes = {"Nodes": Option("spin", str(plan.nodes), 1, MOST_NODES)} if own_fleet else {}
    return {
        **nodes,
        **engine_options(plan.hash_mb, plan.eval_file, plan.fv_scale, plan.architecture),
        "Threads": Option("spin", str(plan.threads), 0, MOST_THREADS),
        "Mode": Option("combo", plan.mode, choices=tuple(Mode)),
        "EnteringKingRule": entering_option(DECLARATIONS),
        **PLAY_OPTIONS,
    }


class FleetOptions(OptionValues):
    """The values as they are now.

    ``USI_Hash`` and ``Threads`` are per node, ``NodesLimit`` is for the fleet. ``Threads`` 0: the nodes share the
    processors.
    """

    def __init__(self, plan: FleetPlan, *, own_fleet: bool = True) -> None:
        super().__init__(option_table(plan, own_fleet=own_fleet))
        self._given = plan

    @property
    def plan(self) -> FleetPlan:
        """The plan that the options ask for."""
        return FleetPlan(
            nodes=self.number("Nodes") if "Nodes" in self.table else self._given.nodes,
            hash_mb=self.number("USI_Hash"),
            threads=self.number("Threads"),
            eval_file=self.network,
            fv_scale=self.number("FV_SCALE"),
            architecture=self.text("EvalArchitecture"),
            mode=self.text("Mode"),
        )

    def request(self, search_id: int, sfen: str, moves: tuple[str, ...]) -> SearchRequest:
        """A search of the position with the rules and the number of lines that are set, without limits."""
        return SearchRequest(
            search_id,
            sfen,
            moves,
            multipv=self.number("MultiPV"),
            max_moves=self.number("MaxMovesToDraw"),
            draw_black=self.number("DrawValueBlack"),
            draw_white=self.number("DrawValueWhite"),
            entering=EnteringKingRule(self.text("EnteringKingRule")),
        )
