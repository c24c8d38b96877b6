"""The keeper of a fleet's head: copies that survive a crash, a ledger, an end. And the watch over a machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from cluster.node.departure import InstanceMetadata
from master.cloud import costs, reports
from master.cloud import keep as module
from master.cloud.archive import Archive, ArchiveError, FolderArchive
from master.cloud.aws import AwsError
from master.cloud.cloud import Cloud, CloudMachine
from master.cloud.costs import Machine
from master.cloud.ending import EndRule
from master.cloud.keep import Copies, LedgerKeeper, _look, keep
from master.cloud.node_watch import NodeWatch
from master.cloud.prices import prices
from master.cloud.spending import PATIENCE, Spending
from tests.cluster.metadata_service import serving

LATER = time.time() + 1e6
"""Whenever a test of this file comes, its files have long been left in peace."""


class Told:
    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def __call__(self, name: str, fields: dict[str, object]) -> None:
        self.events.append((name, fields))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]


class Broken(FolderArchive):
    """An archive that refuses so many times."""

    def __init__(self, folder: Path, times: int) -> None:
        super().__init__(folder)
        self.times = times

    def put(self, key: str, data: bytes) -> None:
        if self.times:
            self.times -= 1
            raise ArchiveError("the bucket is on fire")
        super().put(key, data)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "game.csa").write_text("V3.0")
    (folder / "gougi-1.jsonl").write_text("{}")
    (folder / ".half.csa.tmp").write_text("half")
    return folder


def test_records_and_logs_are_copied_once(records: Path, tmp_path: Path) -> None:
    told, archive = Told(), FolderArchive(tmp_path / "archive")
    copies = Copies(records, archive, told)
    assert copies.step(LATER)
    assert archive.keys("") == ["logs/gougi-1.jsonl", "records/game.csa"]
    assert copies.step(LATER + 1000)
    assert told.names == ["file_archived"] * 2


def test_after_a_crash_only_what_is_new_is_copied(records: Path, tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path / "archive")
    Copies(records, archive, Told()).step(LATER)
    (records / "next.csa").write_text("V3.0")
    told = Told()
    Copies(records, archive, told).step(LATER)
    assert told.events == [("file_archived", {"file": "next.csa", "bytes": 4})]


def test_an_archive_that_fails_is_tried_again(records: Path, tmp_path: Path) -> None:
    told, archive = Told(), Broken(tmp_path / "archive", 2)
    copies = Copies(records, archive, told)
    assert not copies.step(LATER)
    assert copies.step(LATER + 1)  # not yet: nothing is due
    assert not copies.step(LATER + 6)
    assert copies.step(LATER + 60)
    assert told.names == ["file_not_archived"] * 2 + ["file_archived"] * 2
    assert archive.get("records/game.csa") == b"V3.0"


def test_a_file_that_is_too_large_is_told_once_and_holds_up_no_other(records: Path, tmp_path: Path) -> None:
    (records / "huge.jsonl").touch()
    os.truncate(records / "huge.jsonl", 1 << 30)
    told, archive = Told(), FolderArchive(tmp_path / "archive")
    copies = Copies(records, archive, told)
    for now in (LATER, LATER + 1000):
        copies.step(now)
    assert told.names == ["file_too_large", "file_archived", "file_archived"]
    assert told.events[0][1]["file"] == "huge.jsonl"


def test_it_ends_when_it_is_time_and_makes_the_last_copies(records: Path, tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path / "archive")
    told = Told()
    os.utime(records / "game.csa", (1, 1))
    why = keep(Copies(records, archive, told), None, "", EndRule(idle_hours=1e-9), told, threading.Event(), 0.05)
    assert why.startswith("idle")
    assert "logs/gougi-1.jsonl" in archive.keys("")  # though it was written just now
    stop = threading.Event()
    stop.set()
    (records / "last.csa").write_text("V3.0")
    assert keep(Copies(records, archive, told), None, "", EndRule(), told, stop) == ""
    assert archive.get("records/last.csa") == b"V3.0"


def test_a_last_copy_that_fails_is_tried_again_and_holds_up_no_other(
    records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LAST_PAUSE_S", 0.01)
    told, archive, stop = Told(), Broken(tmp_path / "archive", 1), threading.Event()
    stop.set()
    assert keep(Copies(records, archive, told), None, "", EndRule(), told, stop) == ""
    assert told.names == ["file_not_archived", "file_archived", "file_archived"]


def test_last_copies_end_in_time(records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LAST_COPIES_S", 0.3)
    monkeypatch.setattr(module, "LAST_PAUSE_S", 0.1)
    told, stop = Told(), threading.Event()
    stop.set()
    keep(Copies(records, Broken(tmp_path / "archive", 1 << 30), told), None, "", EndRule(), told, stop)
    assert told.names[-1] == "not_all_archived"
    assert len(told.names) >= 5, "each of the two files, more than once"


class OneMachine(Cloud):
    """A cloud with a head alone, launched an hour ago."""

    def __init__(self, now: float, kind: str = "c7i.xlarge") -> None:
        super().__init__(None)
        self.there = True
        self._launched = now - 3600
        self._type = kind

    def machines(self, fleet: str) -> list[CloudMachine]:
        assert fleet == "gougi"
        head = CloudMachine(Machine("i-head", self._type, "a", False, self._launched), "running")
        return [head] if self.there else []

    def on_demand_prices(self, types: Iterable[str], region: str) -> dict[str, float]:
        raise AwsError("AWS's price list: no")


def test_the_ledger_goes_on_after_a_crash_and_the_cap_ends_the_fleet(tmp_path: Path) -> None:
    now = 1_000_000.0
    archive: Archive = FolderArchive(tmp_path)
    given = {"c7i.xlarge": 2.0}
    keeper = LedgerKeeper(OneMachine(now), archive, "gougi", "us-east-1", given)
    first = keeper.look(now, "i-head")
    assert (first.usd, first.run_usd) == pytest.approx((2.0, 2.0))
    keeper.save()
    again = LedgerKeeper(OneMachine(now), archive, "gougi", "us-east-1", given)
    assert again.look(now + 3600, "i-head").usd == pytest.approx(4.0)
    told = Told()
    rule = EndRule(price_cap_usd=3.0)
    keeper = LedgerKeeper(OneMachine(time.time()), archive, "gougi", "us-east-1", {"c7i.xlarge": 4.0})
    copies = Copies(tmp_path / "records", archive, told)
    assert keep(copies, keeper, "i-head", rule, told, threading.Event()).startswith("price cap: 4.0")
    raw = archive.get(costs.KEY)
    assert raw is not None
    assert costs.decode(raw).ended.startswith("price cap")


def test_a_ledger_that_cannot_be_read_is_not_written_over(tmp_path: Path) -> None:
    archive = FolderArchive(tmp_path)
    archive.put(costs.KEY, b"rubbish")
    with pytest.raises(ArchiveError, match="no ledger"):
        LedgerKeeper(OneMachine(0.0), archive, "gougi", "us-east-1", {}).look(1.0, "i-head")
    assert archive.get(costs.KEY) == b"rubbish"


def test_an_answer_without_the_head_begins_no_run(tmp_path: Path) -> None:
    cloud = OneMachine(10_000.0)
    keeper = LedgerKeeper(cloud, FolderArchive(tmp_path), "gougi", "us-east-1", {"c7i.xlarge": 2.0})
    with pytest.raises(AwsError, match="the head i-other is not among"):
        keeper.look(10_000.0, "i-other")
    before = keeper.look(10_000.0, "i-head")
    cloud.there = False
    without = keeper.look(10_060.0, "i-head")
    assert (without.run_began, without.run_usd) == (before.run_began, before.run_usd)
    cloud.there = True
    assert keeper.look(13_600.0, "i-head").run_usd == pytest.approx(before.run_usd + 2.0)


class Blind(OneMachine):
    """A cloud that refuses after so many looks."""

    def __init__(self, now: float, looks: int) -> None:
        super().__init__(now)
        self.looks = looks

    def machines(self, fleet: str) -> list[CloudMachine]:
        self.looks -= 1
        if self.looks < 0:
            raise AwsError("EC2: no")
        return super().machines(fleet)


def test_a_run_that_cannot_be_looked_at_is_counted_by_the_hour(tmp_path: Path) -> None:
    told, spending = Told(), Spending(rate=7.0, at=0.0)
    keeper = LedgerKeeper(Blind(3600.0, 1), FolderArchive(tmp_path), "gougi", "us-east-1", {"c7i.xlarge": 2.0})
    assert _look(keeper, "i-head", spending, 3600.0, told) == 0.0
    assert spending.usd_by(7200.0) == pytest.approx(2.0)
    for _ in range(PATIENCE):
        assert _look(keeper, "i-head", spending, 7200.0, told) is None
    assert spending.usd_by(7200.0) == pytest.approx(4.0)
    assert told.names == ["machines_not_counted"] * PATIENCE
    never = Spending(rate=7.0, at=0.0, failed=PATIENCE)
    assert never.usd_by(3600.0) == pytest.approx(7.0)


def test_a_ledger_that_cannot_be_written_still_counts(tmp_path: Path) -> None:
    told, spending = Told(), Spending(0.0, 0.0)
    keeper = LedgerKeeper(OneMachine(3600.0), Broken(tmp_path, 9), "gougi", "us-east-1", {"c7i.xlarge": 2.0})
    _look(keeper, "i-head", spending, 3600.0, told)
    assert spending.usd_by(3600.0) == pytest.approx(2.0)
    assert told.names == ["ledger_not_kept"]


def test_a_machine_without_a_price_counts_for_the_cap_and_is_told_once(tmp_path: Path) -> None:
    told, spending = Told(), Spending(0.0, 0.0)
    keeper = LedgerKeeper(OneMachine(3600.0, "x9.4xlarge"), FolderArchive(tmp_path), "gougi", "us-east-1", {})
    for now in (3600.0, 3660.0):
        _look(keeper, "i-head", spending, now, told)
    assert told.events == [("price_unknown", {"types": ["x9.4xlarge"]})]
    dearest = prices(["c7a.4xlarge"], "ap-northeast-1").on_demand["c7a.4xlarge"]
    assert spending.usd_by(3660.0) == pytest.approx(dearest * 3660 / 3600)
    raw = FolderArchive(tmp_path).get(costs.KEY)
    assert raw is not None
    assert costs.decode(raw).usd == 0.0


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
    told, archive = Told(), FolderArchive(tmp_path / "archive")
    with (
        serving() as service,
        subprocess.Popen([sys.executable, "-c", NODE], stdout=subprocess.PIPE, text=True) as node,
    ):
        assert node.stdout is not None
        assert node.stdout.readline() == "here\n"
        service.values["instance-id"] = "i-7"
        watch = NodeWatch(InstanceMetadata(service.endpoint), tmp_path / "run", told, archive, poll_s=0.05)
        results: list[str] = []
        thread = threading.Thread(target=lambda: results.append(watch.run(threading.Event())))
        thread.start()
        _until(lambda: archive.keys(reports.PREFIX) != [])
        raw = archive.get("fleet/machines/i-7.json")
        assert raw is not None
        said = reports.decode(raw)
        assert (said.state, said.nodes, said.nps) == ("ready", ("node-7",), 500_000)
        service.values["spot/instance-action"] = json.dumps({"action": "terminate", "time": "2099-01-01T00:00:00Z"})
        thread.join(20)
        assert results == ["spot interruption (terminate)"]
        node.send_signal(signal.SIGKILL)
    assert told.names == ["machine_leaves", "machine_released"]
    raw = archive.get("fleet/machines/i-7.json")
    assert raw is not None
    assert reports.decode(raw).state == "released"


def test_a_machine_without_a_node_says_that_it_has_joined(tmp_path: Path) -> None:
    archive, stop = FolderArchive(tmp_path / "archive"), threading.Event()
    with serving() as service:
        service.values["instance-id"] = "i-7"
        watch = NodeWatch(
            InstanceMetadata(service.endpoint), tmp_path, Told(), archive, poll_s=0.01, joined=(tmp_path / "ray").exists
        )
        thread = threading.Thread(target=watch.run, args=(stop,))
        thread.start()
        for state in ("waiting", "joined"):
            _until(lambda state=state: f'"{state}"'.encode() in (archive.get("fleet/machines/i-7.json") or b""))
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


def _until(condition: object, timeout_s: float = 20.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
