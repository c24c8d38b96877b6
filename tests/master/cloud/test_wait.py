"""The condition that `gougi fleet up` waits for: nodes that can search; without a master, machines that have joined."""

from __future__ import annotations

from pathlib import Path

import pytest

from master.cloud.cloud import Cloud, CloudMachine
from master.cloud.costs import Ledger, Machine, Prices
from master.cloud.facts import Facts
from master.cloud.operator import NotReady, Operator
from master.cloud.reports import MachineReport, MachineState
from master.cloud.view import FleetStatus, status
from master.config import FleetConfig


class Waiting(Operator):
    """A fleet of one node that is, and stays, in this state."""

    def __init__(self, folder: Path, state: MachineState, head: str = "running") -> None:
        super().__init__(FleetConfig(folder=str(folder)), None)
        self._state = state
        self._head = head

    def cloud(self, region: str | None = None) -> Cloud:
        assert region == "eu-west-1"
        return Quiet(region)

    def status(self, facts: Facts) -> FleetStatus:
        node = CloudMachine(Machine("i-1", "c7i.xlarge", "a", False, 0.0), "running")
        head = CloudMachine(Machine("i-head", "c7i.xlarge", "a", False, 0.0), self._head)
        said = MachineReport("i-1", 100.0, self._state)
        return status("gougi", facts.region, 1, "i-head", [head, node], [said], Ledger(), Prices({}), 100.0)


class Quiet(Cloud):
    def troubles(self, _group: str, _since: object) -> list[str]:
        return []


@pytest.mark.parametrize(
    ("plays", "state", "enough"),
    [
        (True, "ready", True),
        (True, "joined", False),
        (False, "ready", True),
        (False, "joined", True),
        (False, "waiting", False),
    ],
)
def test_what_is_waited_for(tmp_path: Path, plays: bool, state: MachineState, enough: bool) -> None:
    facts = Facts("gougi", "eu-west-1", 1, "g", "i-head", "b", True, "a shell", plays, {})
    operator = Waiting(tmp_path, state)
    if enough:
        assert operator.wait(facts, 0.0, lambda _now, _troubles: None).joined == 1
    else:
        with pytest.raises(NotReady, match=f"i-1: {state}"):
            operator.wait(facts, 0.0, lambda _now, _troubles: None)


def test_nodes_without_a_head_are_not_enough(tmp_path: Path) -> None:
    facts = Facts("gougi", "eu-west-1", 1, "g", "i-head", "b", True, "a shell", True, {})
    with pytest.raises(NotReady, match="the head i-head is stopping"):
        Waiting(tmp_path, "ready", "stopping").wait(facts, 0.0, lambda _now, _troubles: None)


def test_who_waits_hears_that_somebody_wants_another_number(tmp_path: Path) -> None:
    facts = Facts("gougi", "eu-west-1", 1, "g", "i-head", "b", True, "a shell", True, {})
    operator = Waiting(tmp_path, "joined")
    operator.folder.set_nodes(1)
    with pytest.raises(NotReady, match="somebody has asked for 5 nodes meanwhile, not 1; gougi fleet status"):
        operator.wait(facts, 600.0, lambda _now, _troubles: operator.folder.set_nodes(5))
