"""The services of a fleet's machines: the one on the head, and the watch on a worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import Stubber

from cluster.node.departure import InstanceMetadata
from master.cloud import reports
from master.cloud.agreed import HOOK, JOINED
from master.cloud.bucket import Bucket
from master.cloud.cloud import Cloud
from master.cloud.keep import Workers, idle_reason, keep
from master.cloud.node_watch import NodeWatch
from master.cloud.reports import MachineReport, MachineState
from tests.cluster.metadata_service import serving
from tests.waiting import wait_for

GROUP = "gougi-workers"
HOUR = 3600.0
BEGAN = 10_000.0


class Told:
    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def __call__(self, name: str, fields: dict[str, object]) -> None:
        self.events.append((name, fields))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]


class Memory(Bucket):
    """A bucket in this process's memory."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def put(self, key: str, data: bytes) -> None:
        self.objects[key] = data

    def get(self, key: str) -> bytes | None:
        return self.objects.get(key)

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self.objects if key.startswith(prefix))

    def report(self, machine: str, state: MachineState) -> None:
        self.put(reports.key(machine), MachineReport(machine, 0.0, state).encode())


# Idle


@pytest.mark.parametrize(
    ("now", "last_move", "ends"),
    [
        (BEGAN + 1.9 * HOUR, None, False),
        (BEGAN + 2.0 * HOUR, None, True),
        (BEGAN + 3.0 * HOUR, BEGAN + 1.5 * HOUR, False),
        (BEGAN + 3.5 * HOUR, BEGAN + 1.5 * HOUR, True),
        (BEGAN + 1.0 * HOUR, BEGAN - 9.0 * HOUR, False),  # a record of another run
    ],
)
def test_idle(now: float, last_move: float | None, ends: bool) -> None:
    assert bool(idle_reason(2.0, now, BEGAN, last_move)) is ends
    assert idle_reason(0.0, now, BEGAN, last_move) == ""


@pytest.mark.usefixtures("group")
def test_it_ends_when_it_is_time_and_when_it_is_told_to(tmp_path: Path, workers: Workers, group: Group) -> None:
    (tmp_path / "game.csa").touch()
    os.utime(tmp_path / "game.csa", (1, 1))
    told, stop = Told(), threading.Event()
    group.has()
    assert keep(tmp_path, 1e-9, workers, told, stop).startswith("idle: no move for ")
    assert told.names == ["fleet_ends"]
    stop.set()
    assert keep(tmp_path, 1e-9, workers, told, stop) == ""


# Workers that have drained


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

    def lets_go(self, instance: str, error: str = "", hook: str = HOOK) -> None:
        asked = {
            "AutoScalingGroupName": GROUP,
            "LifecycleHookName": hook,
            "InstanceId": instance,
            "LifecycleActionResult": "CONTINUE",
        }
        if error:
            self._stub.add_client_error("complete_lifecycle_action", error, expected_params=asked)
            return
        self._stub.add_response("complete_lifecycle_action", {}, asked)

    def gives_up(self, instance: str) -> None:
        asked = {"InstanceId": instance, "HealthStatus": "Unhealthy"}
        self._stub.add_response("set_instance_health", {}, asked)

    def is_held(self) -> None:
        asked = {"AutoScalingGroupName": GROUP, "ScalingProcesses": ["Launch"]}
        self._stub.add_response("suspend_processes", {}, asked)

    def refuses(self) -> None:
        self._stub.add_client_error("describe_auto_scaling_groups", "AccessDenied")

    def was_asked_all(self) -> None:
        self._stub.assert_no_pending_responses()


@pytest.fixture
def group(cloud: Cloud) -> Iterator[Group]:
    with Stubber(cloud.service("autoscaling")) as stub:
        yield Group(stub)


@pytest.fixture
def cloud(login: None) -> Cloud:
    return Cloud("us-east-1")


@pytest.fixture
def bucket() -> Memory:
    return Memory()


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def workers(cloud: Cloud, bucket: Memory, told: Told) -> Workers:
    return Workers(cloud, bucket, GROUP, told)


def test_a_drained_worker_is_released_once(workers: Workers, bucket: Memory, told: Told, group: Group) -> None:
    bucket.report("i-1", "leaving")
    bucket.report("i-2", "ready")
    bucket.put(reports.key("i-4"), b"rubbish")
    group.has(i_1="Terminating:Wait", i_2="InService", i_3="Terminating:Wait", i_4="Terminating:Wait")
    workers.step(100.0)
    assert told.events == []
    bucket.report("i-1", "released")
    bucket.report("i-2", "released")  # by itself, but nothing holds it
    group.has(i_1="Terminating:Wait", i_2="InService", i_3="Terminating:Wait")
    group.lets_go("i-1")
    workers.step(100.0)
    group.has(i_1="Terminating:Wait", i_3="Terminating:Wait")  # AWS takes a moment
    workers.step(100.0)
    group.was_asked_all()
    assert told.events == [("machine_let_go", {"machine": "i-1"})]


def test_a_group_that_cannot_be_seen_is_told_once(workers: Workers, told: Told, group: Group) -> None:
    for _ in range(3):
        group.refuses()
        workers.step(100.0)
    assert told.names == ["group_not_kept"]
    group.was_asked_all()


def test_a_hook_that_ran_out_meanwhile_is_not_completed_again(
    workers: Workers, bucket: Memory, told: Told, group: Group
) -> None:
    bucket.report("i-1", "released")
    group.has(i_1="Terminating:Wait")
    group.lets_go("i-1", error="ValidationError")
    workers.step(100.0)
    group.has(i_1="Terminating:Wait")
    workers.step(100.0)
    group.was_asked_all()
    assert told.events == []


def test_one_that_cannot_be_let_go_holds_up_no_other_and_is_tried_again(
    workers: Workers, bucket: Memory, told: Told, group: Group
) -> None:
    for machine in ("i-1", "i-2"):
        bucket.report(machine, "released")
    group.has(i_1="Terminating:Wait", i_2="Terminating:Wait")
    group.lets_go("i-1", error="Throttling")
    group.lets_go("i-2")
    workers.step(100.0)
    assert [(name, fields["machine"]) for name, fields in told.events] == [
        ("group_not_kept", "i-1"),
        ("machine_let_go", "i-2"),
    ]
    group.has(i_1="Terminating:Wait", i_2="Terminating:Wait")
    group.lets_go("i-1")
    workers.step(100.0)
    group.was_asked_all()
    assert told.events[2:] == [("machine_let_go", {"machine": "i-1"})]


def test_a_new_machine_counts_when_it_has_joined(workers: Workers, bucket: Memory, told: Told, group: Group) -> None:
    bucket.report("i-1", "waiting")
    bucket.report("i-2", "joined")
    group.has(i_1="Pending:Wait", i_2="Pending:Wait", i_3="Pending")
    group.lets_go("i-2", hook=JOINED)
    workers.step(100.0)
    bucket.report("i-1", "ready")
    group.has(i_1="Pending:Wait", i_2="InService")
    group.lets_go("i-1", hook=JOINED)
    workers.step(105.0)
    group.was_asked_all()
    assert told.events == [("machine_counts", {"machine": "i-2"}), ("machine_counts", {"machine": "i-1"})]


def test_a_machine_that_is_silent_is_given_up_once(workers: Workers, bucket: Memory, told: Told, group: Group) -> None:
    bucket.report("i-1", "ready")
    for now, silent in ((reports.SILENT_S, False), (reports.SILENT_S + 60, True), (reports.SILENT_S + 120, False)):
        group.has(i_1="InService", i_2="InService")
        if silent:
            group.gives_up("i-1")
        workers.step(now)
    group.was_asked_all()
    assert told.names == ["machine_given_up"]


def test_after_three_failed_boots_in_a_row_the_group_is_held(
    workers: Workers, bucket: Memory, told: Told, group: Group
) -> None:
    def looks(now: float, *failed: str, held: bool = False, **instances: str) -> None:
        for name in failed:
            bucket.put(f"{reports.FAILURES}{name}.txt", b"")
        group.has(**instances)
        if held:
            group.is_held()
        workers.step(now)

    looks(0, "i-1")  # of a run before
    looks(40, "i-2", "i-3")
    bucket.report("i-4", "joined")
    group.has(i_4="Pending:Wait")
    group.lets_go("i-4", hook=JOINED)
    workers.step(45)
    looks(80, "i-5")
    looks(120, "i-6", "i-7")
    assert told.names == ["machine_counts"]
    looks(160, "i-8", held=True)
    looks(200)
    group.was_asked_all()
    assert told.events[-1] == ("group_held", {"failed": ["i-6.txt", "i-7.txt", "i-8.txt"]})


# A machine


NODE = """
import signal, sys, time
from cluster.machine.presence import NodeState, Presence
presence = Presence.enter("node-7", 500000)
signal.signal(signal.SIGTERM, lambda *_: presence.now(NodeState.DISMISSED))
print("here", flush=True)
time.sleep(60)
"""
"""A node process as its machine sees it: asked to leave, it is dismissed."""


def test_a_machine_that_is_taken_away_sends_its_nodes_away_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOUGI_RUN_DIR", str(tmp_path / "run"))
    told, bucket = Told(), Memory()
    with (
        serving() as service,
        subprocess.Popen([sys.executable, "-c", NODE], stdout=subprocess.PIPE, text=True) as node,
    ):
        assert node.stdout is not None
        assert node.stdout.readline() == "here\n"
        service.values["instance-id"] = "i-7"
        watch = NodeWatch(InstanceMetadata(service.endpoint), tmp_path / "run", told, bucket, poll_s=0.05)
        results: list[str] = []
        thread = threading.Thread(target=lambda: results.append(watch.run(threading.Event())))
        thread.start()
        wait_for(lambda: bucket.keys(reports.PREFIX) != [])
        raw = bucket.get("fleet/machines/i-7.json")
        assert raw is not None
        said = reports.decode(raw)
        assert (said.state, said.nodes, said.nps) == ("ready", ("node-7",), 500_000)
        service.values["spot/instance-action"] = json.dumps({"action": "terminate", "time": "2099-01-01T00:00:00Z"})
        thread.join(20)
        assert results == ["spot interruption (terminate)"]
        node.send_signal(signal.SIGKILL)
    assert told.names == ["machine_leaves", "machine_released"]
    raw = bucket.get("fleet/machines/i-7.json")
    assert raw is not None
    assert reports.decode(raw).state == "released"


def test_a_machine_without_a_node_says_that_it_has_joined(tmp_path: Path) -> None:
    bucket, stop = Memory(), threading.Event()
    with serving() as service:
        service.values["instance-id"] = "i-7"
        watch = NodeWatch(
            InstanceMetadata(service.endpoint), tmp_path, Told(), bucket, poll_s=0.01, joined=(tmp_path / "ray").exists
        )
        thread = threading.Thread(target=watch.run, args=(stop,))
        thread.start()
        for state in ("waiting", "joined"):
            wait_for(lambda state=state: f'"{state}"'.encode() in (bucket.get("fleet/machines/i-7.json") or b""))
            (tmp_path / "ray").touch()
        stop.set()
        thread.join(5)


def test_metadata_that_does_not_answer_is_said_once_and_stops_nothing(tmp_path: Path) -> None:
    with serving() as service:
        endpoint = service.endpoint
    told, stop = Told(), threading.Event()
    watch = NodeWatch(InstanceMetadata(endpoint, timeout_s=0.2), tmp_path, told, poll_s=0.01)
    thread = threading.Thread(target=watch.run, args=(stop,))
    thread.start()
    time.sleep(0.3)
    stop.set()
    thread.join(5)
    assert told.names == ["metadata_failed"]
