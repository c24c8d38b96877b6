"""The operator's steps, with simulated terraform and AWS: plans and their numbers, a new size, the wait for nodes."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from master.cloud.cloud import Cloud, Machine
from master.cloud.folder import ROOT_MODULE
from master.cloud.kept import Kept, State
from master.cloud.operator import FleetDown, NotReady, Operator, TooMuchChanges, Unknown, _failure
from master.cloud.plan import Facts, FleetLocation
from master.cloud.remains import Remains, Thing
from master.cloud.reports import MachineReport, MachineState
from master.cloud.terraform import TerraformKilled
from master.cloud.view import FleetStatus, status
from master.commands import fleet as command
from master.commands.common import CommandError
from master.commands.fleet_shared import show_plan
from master.config import FleetConfig


class Account(Cloud):
    quotas: dict[bool, int | None] = {}  # noqa: RUF012 - of all instances of a test

    def account(self) -> str:
        return "123456789012"

    def quota(self, *, spot: bool) -> int | None:
        return self.quotas.get(spot)


def change(address: str, *actions: str, **more: object) -> dict[str, object]:
    return {
        "address": f"module.fleet.{address}",
        "type": address.split(".")[0],
        "mode": "managed",
        "change": {"actions": list(actions), **more},
    }


class Planned:
    """The part of terraform that a plan needs."""

    def __init__(self) -> None:
        self.changes = [change("aws_instance.head", "create")]
        self.asked: list[tuple[str, dict[str, int]]] = []
        self.applied: list[str] = []

    def init(self) -> None: ...

    def plan(self, file: str, variables: dict[str, int], *, destroy: bool) -> Any:
        assert not destroy
        self.asked.append((file, variables))
        return {"resource_changes": self.changes}

    def apply(self, file: str, _tell: object) -> None:
        self.applied.append(file)


class Keeps:
    """The kept facts, in memory."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.written: list[Kept] = []
        self.now = State()
        self.made = False

    def read(self) -> Kept:
        return self.kept

    def write(self, kept: Kept) -> None:
        self.kept = kept
        self.written.append(kept)

    def state(self) -> State:
        return self.now

    def backend(self) -> dict[str, Any] | None:
        return {"s3": {"bucket": "mine"}} if self.made else None

    def make(self) -> bool:
        before, self.made = self.made, True
        return not before

    def remove(self) -> None:
        self.made = False

    def free(self, killed: str) -> str:
        return f"{killed} was killed" if killed else ""


class Owner(Operator):
    def __init__(self, folder: Path) -> None:
        (folder / "release.tar").touch()
        variables = {"release_file": str(folder / "release.tar")}
        super().__init__(FleetConfig(folder=str(folder / "state"), region="us-east-1", variables=variables), None)
        self.played = Planned()
        self._terraform = self.played  # type: ignore[assignment]
        self.told: list[str] = []
        self.there: tuple[Thing, ...] = ()
        self.keeper = Keeps()

    def look(self, patience_s: float = 0.0) -> Remains:
        return Remains(self.there, ())

    def cloud(self, region: str | None = None) -> Cloud:
        return Account(region)

    def facts(self) -> Facts:
        return FACTS


FACTS = Facts(FleetLocation("gougi", "eu-west-1", "b", True), 1, "g", "i-head", "a shell", True)


def test_without_a_terminal_to_ask_at_nothing_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    owner = Owner(tmp_path)
    with pytest.raises(CommandError, match="there is no terminal to ask on: --yes"):
        command._change(owner, "up", lambda: pytest.fail("planned"), yes=False, wait_s=0)
    assert not owner.folder.exists


def test_a_number_is_kept_when_its_plan_is_applied(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    with owner.alone("gougi fleet plan", owner.told.append):
        owner.plan(7, tell=owner.told.append)
    assert owner.keeper.kept.nodes is None
    with owner.alone("gougi fleet up", owner.told.append):
        owner.apply(owner.plan(3, tell=owner.told.append), lambda _step: None)
    assert owner.played.applied == [owner.played.asked[-1][0]]
    assert owner.played.asked[-1][1] == {"nodes": 3}
    assert owner.nodes(None, owner.keeper.kept) == owner.keeper.kept.nodes == 3
    assert [bool(kept.at_work) for kept in owner.keeper.written] == [True, False]


def test_another_machine_plans_the_same_fleet(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    owner.keeper.made = True
    owner.keeper.kept = Kept(5, FleetLocation("gougi", "us-east-1", "b", True, "us-east-1c"))
    owner.plan(None, tell=owner.told.append)
    assert owner.played.asked[-1][1] == {"nodes": 5}
    root = json.loads((owner.folder.path / ROOT_MODULE).read_text())
    assert root["module"]["fleet"]["availability_zone"] == "us-east-1c"
    assert root["terraform"]["backend"] == {"s3": {"bucket": "mine"}}


def test_if_the_first_plan_is_refused_the_bucket_for_the_state_goes_again(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    owner.plan(1, tell=owner.told.append)
    assert not owner.keeper.made, "a plan alone makes nothing"
    owner.plan(1, make=True, tell=owner.told.append)
    assert owner.keeper.made
    owner.forget()
    assert not owner.keeper.made
    owner.keeper.made = True
    owner.plan(1, make=True, tell=owner.told.append)
    owner.forget()
    assert owner.keeper.made, "it was there before"


GROUPS = tuple(Thing("SecurityGroups", f"sg-{number}") for number in range(4))


def test_a_fleet_of_which_nothing_is_known_is_named_before_anything_is_planned(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    owner.there = GROUPS
    with pytest.raises(
        Unknown, match=r"AWS has 4 things of a fleet gougi, .* SecurityGroups sg-0, .* gougi fleet down"
    ):
        owner.plan(1, make=True, tell=owner.told.append)
    assert not owner.played.asked and not owner.keeper.made


def test_leftovers_of_a_killed_command_are_in_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    owner = Owner(tmp_path)
    owner.there = (*GROUPS, Thing("instance", "i-1", "running", of="gougi-workers"))
    owner.keeper.now = State(("aws_security_group.a",), frozenset({"sg-0", "gougi-workers"}))
    owner.keeper.kept = Kept(1, at_work="`gougi fleet up` (me@here)")
    planned = owner.plan(None, tell=owner.told.append)
    assert planned.strays == GROUPS[1:]
    show_plan(planned)
    shown = capsys.readouterr().out
    assert "`gougi fleet up` (me@here) was killed" in shown and "- remove   SecurityGroups sg-3" in shown


@pytest.mark.parametrize(
    ("nodes", "warned"),
    [(16, ""), (17, "more than 16 nodes were only simulated"), (257, "more than 256 nodes were never tried")],
)
def test_a_fleet_larger_than_any_that_was_tried_is_warned_of(tmp_path: Path, nodes: int, warned: str) -> None:
    owner = Owner(tmp_path)
    owner.plan(nodes, tell=owner.told.append)
    said = [line for line in owner.told if "simulated" in line or "never tried" in line]
    assert [warned] * bool(warned) == [re.findall("more than .*(?=:)", line)[0] for line in said]


class Killed(Planned):
    def apply(self, file: str, _tell: object) -> None:
        raise TerraformKilled("terraform apply: without a word")


def test_if_terraform_was_killed_a_note_of_it_stays(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    owner._terraform = Killed()  # type: ignore[assignment]
    with owner.alone("gougi fleet up", owner.told.append), pytest.raises(TerraformKilled):
        owner.apply(owner.plan(3, tell=owner.told.append), lambda _step: None)
    assert owner.keeper.kept.at_work.startswith("`gougi fleet up` (")


def test_a_plan_that_was_not_applied_goes_also_of_a_killed_command(tmp_path: Path) -> None:
    owner = Owner(tmp_path)
    plan = owner.folder.path / "fleet.tfplan"
    plan.parent.mkdir()
    plan.touch()
    with owner.alone("gougi fleet up", owner.told.append):
        assert not plan.exists()
        plan.touch()
    assert not plan.exists()


@pytest.mark.parametrize(
    ("quotas", "variables", "warnings"),
    [
        ({False: 20}, {}, []),
        ({False: 19}, {}, ["the fleet needs 20 vCPUs, and the account's quota in us-east-1 is 19: ask for more"]),
        ({False: 5, True: 5}, {"on_demand_nodes": 0}, ["needs 16 vCPUs, and .* is 5: .* > All Standard Spot Instance"]),
        ({}, {}, []),  # these credentials may not ask
        ({False: 1}, {"instance_types": ["c7i.metal-24xl"]}, []),  # its name does not tell the number
    ],
)
def test_a_quota_that_is_too_small_is_said_before_anything_is_made(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    quotas: dict[bool, int],
    variables: dict[str, object],
    warnings: list[str],
) -> None:
    owner = Owner(tmp_path)
    monkeypatch.setattr(Account, "quotas", quotas)
    monkeypatch.setattr(Account, "region", "us-east-1")
    owner._settings.variables.update(variables)
    owner.plan(1, tell=owner.told.append)
    told = [line for line in owner.told if line.startswith("warning: the fleet")]
    assert len(told) == len(warnings) and all(map(re.search, warnings, told))


# A new size


def group(**after: object) -> dict[str, object]:
    before = {"desired_capacity": 2, "max_size": 2, "min_size": 0, "launch_template": [{"version": "1"}]}
    return change("aws_autoscaling_group.workers", "update", before=before, after={**before, **after})


SIZE = group(desired_capacity=5, max_size=5)


@pytest.mark.parametrize(
    "more",
    [
        [],
        [
            change("terraform_data.clock", "delete", "create"),
            change("aws_autoscaling_schedule.stop", "delete", "create"),
        ],
        [change("aws_ec2_instance_state.head", "update", before={"state": "stopped"}, after={"state": "running"})],
        [change("aws_instance.head", "no-op")],
    ],
)
def test_another_number_of_nodes(tmp_path: Path, more: list[dict[str, object]]) -> None:
    owner = Owner(tmp_path)
    owner.played.changes = [SIZE, *more]
    assert "aws_autoscaling_group.workers" in " ".join(owner.plan_size(5, owner.told.append).lines())


@pytest.mark.parametrize(
    "more",
    [
        change("aws_instance.head", "delete", "create"),
        change("aws_instance.head", "update", before={"user_data": "a"}, after={"user_data": "b"}),
        change("aws_launch_template.worker", "update", before={"user_data": "a"}, after={"user_data": "b"}),
        change("terraform_data.image", "delete", "create"),
        change("aws_autoscaling_schedule.stop", "delete"),
        change("aws_s3_object.config", "update", before={"content": "a"}, after={"content": "b"}),
        change("aws_vpc_security_group_ingress_rule.ssh", "create"),
    ],
)
def test_scaling_changes_nothing_else(tmp_path: Path, more: dict[str, object]) -> None:
    """A changed comment in the template once replaced the head in the middle of a game."""
    owner = Owner(tmp_path)
    owner.played.changes = [SIZE, more]
    with pytest.raises(TooMuchChanges, match=rf"would change {more['address']}, .*: gougi fleet up --nodes 5 shows"):
        owner.plan_size(5, owner.told.append)


@pytest.mark.parametrize("after", [{"min_size": 1}, {"launch_template": [{"version": "2"}]}])
def test_scaling_changes_nothing_else_of_the_group(tmp_path: Path, after: dict[str, object]) -> None:
    owner = Owner(tmp_path)
    owner.played.changes = [group(desired_capacity=5, **after)]
    with pytest.raises(TooMuchChanges, match=r"aws_autoscaling_group\.workers"):
        owner.plan_size(5, owner.told.append)


def test_a_fleet_that_is_gone_has_no_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The previous owner of the folder may have ended it."""
    owner = Owner(tmp_path)
    monkeypatch.setattr(Owner, "facts", Operator.facts)
    monkeypatch.setattr(Account, "region", "us-east-1")
    with pytest.raises(FleetDown):
        owner.plan_size(5, owner.told.append)
    assert not owner.played.asked


def test_a_machines_last_report_is_the_reason() -> None:
    said = b"installing\n  no space left on device \n\n"
    assert _failure("fleet/failures/i-1.txt", said) == "i-1 could not boot: no space left on device"
    assert _failure("fleet/failures/i-1.txt", None) == "i-1 could not boot: it said nothing"


# The wait


class Waiting(Operator):
    """A fleet of one node that is, and stays, in this state."""

    def __init__(self, folder: Path, state: MachineState, head: str = "running") -> None:
        super().__init__(FleetConfig(folder=str(folder)), None)
        self._state = state
        self._head = head

    def cloud(self) -> Cloud:
        return Quiet("eu-west-1")

    def status(self, facts: Facts) -> FleetStatus:
        node = Machine("i-1", "c7i.xlarge", "a", False, 0.0, "running")
        head = Machine("i-head", "c7i.xlarge", "a", False, 0.0, self._head)
        said = MachineReport("i-1", 100.0, self._state)
        return status(facts, [head, node], [said], {}, 100.0)


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
    facts = replace(FACTS, plays=plays)
    operator = Waiting(tmp_path, state)
    if enough:
        assert operator.wait(facts, 0.0, lambda _now, _troubles: None).joined == 1
    else:
        with pytest.raises(NotReady, match=f"i-1: {state}"):
            operator.wait(facts, 0.0, lambda _now, _troubles: None)


def test_nodes_without_a_head_are_not_enough(tmp_path: Path) -> None:
    with pytest.raises(NotReady, match="the head i-head is stopping"):
        Waiting(tmp_path, "ready", "stopping").wait(FACTS, 0.0, lambda _now, _troubles: None)
