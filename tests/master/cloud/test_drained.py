"""A worker that has drained is let go; one that has not, or is not known, waits for the group's hook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber

from master.cloud.agreed import HOOK
from master.cloud.archive import FolderArchive
from master.cloud.aws import AwsError
from master.cloud.cloud import Cloud
from master.cloud.drained import Drained
from master.cloud.reports import MachineReport, MachineState

ROOT = Path(__file__).parents[3]
GROUP = "gougi-workers"


class Group:
    """An auto-scaling group as botocore's own model of the API has it."""

    def __init__(self, stub: Stubber) -> None:
        self._stub = stub

    def has(self, **instances: str) -> None:
        """The next answer: instance to lifecycle state; ``_`` stands for ``-``."""
        described = [
            {
                "InstanceId": name.replace("_", "-"),
                "AvailabilityZone": "a",
                "LifecycleState": state,
                "HealthStatus": "Healthy",
                "ProtectedFromScaleIn": False,
            }
            for name, state in instances.items()
        ]
        group: dict[str, Any] = {
            "AutoScalingGroupName": GROUP,
            "MinSize": 0,
            "MaxSize": 3,
            "DesiredCapacity": 1,
            "DefaultCooldown": 300,
            "AvailabilityZones": ["a"],
            "HealthCheckType": "EC2",
            "CreatedTime": 0,
            "Instances": described,
        }
        answer = {"AutoScalingGroups": [group]}
        self._stub.add_response("describe_auto_scaling_groups", answer, {"AutoScalingGroupNames": [GROUP]})

    def lets_go(self, instance: str, error: str = "") -> None:
        asked = {
            "AutoScalingGroupName": GROUP,
            "LifecycleHookName": HOOK,
            "InstanceId": instance,
            "LifecycleActionResult": "CONTINUE",
        }
        if error:
            self._stub.add_client_error("complete_lifecycle_action", error, expected_params=asked)
            return
        self._stub.add_response("complete_lifecycle_action", {}, asked)

    def refuses(self) -> None:
        self._stub.add_client_error("describe_auto_scaling_groups", "AccessDenied")

    def was_asked_all(self) -> None:
        self._stub.assert_no_pending_responses()


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Cloud:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    return Cloud("us-east-1")


@pytest.fixture
def group(cloud: Cloud) -> Iterator[Group]:
    with Stubber(cloud.service("autoscaling")) as stub:
        yield Group(stub)


class Told:
    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def __call__(self, name: str, fields: dict[str, object]) -> None:
        self.events.append((name, fields))


def says(archive: FolderArchive, machine: str, state: MachineState) -> None:
    report = MachineReport(machine, 0.0, state)
    archive.put(report.key, report.encode())


def test_who_has_drained_is_let_go_once(tmp_path: Path, cloud: Cloud, group: Group) -> None:
    told, archive = Told(), FolderArchive(tmp_path)
    drained = Drained(cloud, archive, GROUP, told)
    says(archive, "i-1", "leaving")
    says(archive, "i-2", "ready")
    group.has(i_1="Terminating:Wait", i_2="InService", i_3="Terminating:Wait")
    drained.step(0.0)
    assert told.events == []
    says(archive, "i-1", "released")
    says(archive, "i-2", "released")  # of itself, but nothing holds it
    group.has(i_1="Terminating:Wait", i_2="InService", i_3="Terminating:Wait")
    group.lets_go("i-1")
    drained.step(5.0)
    group.has(i_1="Terminating:Wait", i_3="Terminating:Wait")  # AWS takes a moment
    drained.step(10.0)
    group.was_asked_all()
    assert told.events == [("machine_let_go", {"machine": "i-1"})]


def test_a_dead_worker_or_one_without_a_readable_report_waits_for_the_hook(
    tmp_path: Path, cloud: Cloud, group: Group
) -> None:
    told, archive = Told(), FolderArchive(tmp_path)
    archive.put("fleet/machines/i-2.json", b"rubbish")
    group.has(i_1="Terminating:Wait", i_2="Terminating:Wait")
    Drained(cloud, archive, GROUP, told).step(0.0)
    group.was_asked_all()
    assert told.events == []


def test_a_refusal_is_told_and_left_alone_for_a_minute(tmp_path: Path, cloud: Cloud, group: Group) -> None:
    told, archive = Told(), FolderArchive(tmp_path)
    drained = Drained(cloud, archive, GROUP, told)
    group.refuses()
    for now in (0.0, 5.0, 59.0):
        drained.step(now)
    assert [name for name, _ in told.events] == ["machines_not_let_go"]
    group.has()
    drained.step(60.0)
    group.was_asked_all()


def test_a_hook_that_ran_out_meanwhile_is_not_completed_again(tmp_path: Path, cloud: Cloud, group: Group) -> None:
    told, archive = Told(), FolderArchive(tmp_path)
    drained = Drained(cloud, archive, GROUP, told)
    says(archive, "i-1", "released")
    for now in (0.0, 5.0):
        group.has(i_1="Terminating:Wait")
        if now == 0.0:
            group.lets_go("i-1", error="ValidationError")
        drained.step(now)
    group.was_asked_all()
    assert [name for name, _ in told.events] == ["machine_went_before"]


def two_released(folder: Path, cloud: Cloud, group: Group) -> tuple[Drained, Told]:
    """Two machines that wait for the word, and have said that they are drained."""
    told, archive = Told(), FolderArchive(folder)
    for machine in ("i-1", "i-2"):
        says(archive, machine, "released")
    group.has(i_1="Terminating:Wait", i_2="Terminating:Wait")
    return Drained(cloud, archive, GROUP, told), told


def test_one_that_cannot_be_let_go_holds_up_no_other_and_is_tried_again(
    tmp_path: Path, cloud: Cloud, group: Group
) -> None:
    drained, told = two_released(tmp_path, cloud, group)
    group.lets_go("i-1", error="Throttling")
    group.lets_go("i-2")
    drained.step(0.0)
    assert [(name, fields["machine"]) for name, fields in told.events] == [
        ("machine_not_let_go", "i-1"),
        ("machine_let_go", "i-2"),
    ]
    group.has(i_1="Terminating:Wait", i_2="Terminating:Wait")
    group.lets_go("i-1")
    drained.step(5.0)
    group.was_asked_all()
    assert told.events[2:] == [("machine_let_go", {"machine": "i-1"})]


def test_where_letting_go_is_not_allowed_nothing_is_tried_for_a_minute(
    tmp_path: Path, cloud: Cloud, group: Group
) -> None:
    drained, told = two_released(tmp_path, cloud, group)
    group.lets_go("i-1", error="AccessDenied")
    for now in (0.0, 5.0, 59.0):
        drained.step(now)
    group.was_asked_all()
    assert [name for name, _ in told.events] == ["machines_not_let_go"]
    group.has()
    drained.step(60.0)
    group.was_asked_all()


class Unheard(Cloud):
    """The second call and all after it get no answer."""

    def __init__(self) -> None:
        super().__init__("us-east-1")
        self.asked: list[str] = []

    def held(self, group: str) -> list[str]:
        return ["i-1", "i-2"]

    def let_go(self, group: str, hook: str, instance: str) -> None:
        self.asked.append(instance)
        raise AwsError("EC2 cannot be reached")


def test_where_nobody_answers_the_copies_do_not_wait_for_each_machine(tmp_path: Path) -> None:
    told, archive, cloud = Told(), FolderArchive(tmp_path), Unheard()
    drained = Drained(cloud, archive, GROUP, told)
    for machine in ("i-1", "i-2"):
        says(archive, machine, "released")
    drained.step(0.0)
    assert cloud.asked == ["i-1"]
    drained.step(5.0)
    assert cloud.asked == ["i-1", "i-1"]
