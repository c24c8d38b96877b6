"""The fleet's status, put together."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest

from cluster.machine.presence import NodePresence, NodeState
from master.cloud.cloud import Machine
from master.cloud.display import status_table
from master.cloud.plan import Facts, FleetLocation
from master.cloud.reports import SILENT_S, MachineReport, ReportError, decode, report
from master.cloud.view import FleetStatus, status
from master.ui.console import Console

NOW = 100_000.0
PRICES = {"c7i.xlarge": 0.2, "c7i.4xlarge": 0.8}
FACTS = Facts(FleetLocation("gougi", "us-east-1", "b", True), 3, "g", "i-head", "a shell", True)
HEAD = Machine("i-head", "c7i.xlarge", "a", False, NOW - 7200, "running")


def node(number: int, state: str = "running", kind: str = "c7i.4xlarge") -> Machine:
    return Machine(f"i-{number}", kind, "a", True, NOW - 3600, state)


def said(number: int, state: str = "ready", ago_s: float = 5, **fields: object) -> MachineReport:
    return MachineReport(f"i-{number}", NOW - ago_s, state, ("node-1",), 900_000, **fields)  # type: ignore[arg-type]


def of(machines: list[Machine], reports: list[MachineReport]) -> FleetStatus:
    return status(FACTS, machines, reports, PRICES, NOW)


def test_each_machine_is_as_it_says_itself_once_it_runs() -> None:
    now = of(
        [HEAD, node(1), node(2, "pending"), node(3), node(4), node(5), node(6, "shutting-down"), node(7)],
        [
            said(1),
            said(3, ago_s=SILENT_S + 1),
            said(4, "leaving", why="spot interruption (terminate)"),
            said(6),
            MachineReport("i-7", NOW, "joined"),
            said(99),
        ],
    )
    states = {row.machine: (row.role, row.state) for row in now.rows}
    assert states == {
        "i-head": ("head", "running"),
        "i-1": ("node", "ready"),
        "i-2": ("node", "pending"),
        "i-3": ("node", "silent"),
        "i-4": ("node", "leaving"),
        "i-5": ("node", "starting"),
        "i-6": ("node", "shutting-down"),
        "i-7": ("node", "joined"),
    }
    assert (now.ready, now.joined) == (1, 2)
    assert now.nps == 900_000 * 2
    assert {row.machine: row.note for row in now.rows}["i-4"] == "spot interruption (terminate)"


@pytest.mark.parametrize(
    ("machines", "head", "runs", "told"),
    [
        ([HEAD], "running", True, ""),
        ([replace(HEAD, state="pending")], "pending", True, ""),
        ([], "gone", False, "the head is gone: nobody plays; gougi fleet up makes another"),
        ([replace(HEAD, state="stopped")], "stopped", False, "the head is stopped: nobody plays; gougi fleet up"),
    ],
)
def test_a_head_that_does_not_run_is_told(machines: list[Machine], head: str, runs: bool, told: str) -> None:
    now = of([*machines, *map(node, (1, 2, 3))], [said(number) for number in (1, 2, 3)])
    assert (now.head, now.head_runs, now.ready) == (head, runs, 3)
    screen = StringIO()
    Console(file=screen, width=160).print(status_table(now))
    text = screen.getvalue()
    assert told in text
    assert ("nobody plays" in text, "no head, 3 of 3 nodes ready" in text) == (not runs, not runs)


def test_what_runs_costs_its_list_price_and_an_unknown_price_is_said() -> None:
    now = of([HEAD, node(1), node(2, "stopped"), node(3, kind="x9.large")], [])
    assert now.usd_per_hour == pytest.approx(1.0)
    assert now.unpriced == ("x9.large",)


def test_the_table_says_it_all() -> None:
    now = of([HEAD, node(1), node(2, kind="x9.large")], [said(1, at_risk=True)])
    screen = StringIO()
    Console(file=screen, width=160).print(status_table(now))
    for words in (
        "may be taken away soon",
        "1 of 3 nodes ready, 900,000 nodes/s; 1.00 US dollars an hour at list prices",
        "the price is not known: x9.large",
    ):
        assert words in screen.getvalue()


# A machine's own report


def test_a_machines_report() -> None:
    serving = NodePresence(1, 1, "node-1", 500_000)
    away = NodePresence(2, 1, "node-2", 400_000, NodeState.DISMISSED)
    ready = report("i-1", (serving, away), 5.0, at_risk=True, why="", released=False, joined=True)
    assert (ready.state, ready.nps, ready.nodes, ready.at_risk) == ("ready", 500_000, ("node-1", "node-2"), True)
    for joined, state in ((False, "waiting"), (True, "joined")):
        said = report("i-1", (), 5.0, at_risk=False, why="", released=False, joined=joined)
        assert (said.state, decode(said.encode())) == (state, said)
    assert report("i-1", (serving,), 5.0, at_risk=False, why="spot", released=False, joined=True).state == "leaving"
    assert report("i-1", (away,), 5.0, at_risk=False, why="spot", released=True, joined=True).state == "released"
    assert decode(ready.encode()) == ready


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"state": "asleep"}', b'{"state": "ready", "machine": "i"}'])
def test_bytes_that_are_no_report(data: bytes) -> None:
    with pytest.raises(ReportError):
        decode(data)


def test_boots_that_failed_and_a_group_that_is_held_are_told() -> None:
    out = StringIO()
    now = replace(of([HEAD], []), failures=("i-1 could not boot: no space left on device",), held=True)
    Console(file=out, width=160).print(status_table(now))
    assert "i-1 could not boot: no space left on device" in out.getvalue()
    assert "three machines in a row could not boot, and no more are started; gougi fleet up" in out.getvalue()
