"""The totals of a Ray cluster's tables, and their text in `gougi status --address`."""

from __future__ import annotations

import json
import re
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.api import FleetError
from cluster.drivers import ray_survey
from cluster.drivers.ray_survey import facts, survey
from master.cli import run

NOWHERE = "f" * 56


def node(number: int, alive: bool = True) -> dict[str, Any]:
    resources = {"searcher": 2.0, "memory": 1e9} if alive else {}
    address = f"10.0.0.{number}"
    return {
        "NodeID": f"id-{number}",
        "Alive": alive,
        "NodeManagerAddress": address,
        "NodeManagerHostname": f"host-{number}",
        "Resources": resources,
    }


def supervisor(job: str, where: str = NOWHERE, state: str = "ALIVE", name: str = "SupervisorActor") -> dict[str, Any]:
    return {"ActorClassName": name, "JobID": job, "State": state, "Address": {"NodeID": where}}


def job(number: str, entry: str = "python -m cluster.drivers.ray_process", dead: bool = False) -> dict[str, Any]:
    return {
        "JobID": number,
        "IsDead": dead,
        "Entrypoint": entry,
        "DriverIPAddress": "10.0.0.9",
        "StartTime": (time.time() - 90) * 1000,
    }


NODES = [node(2), node(3, alive=False), node(1)]
ACTORS = [
    supervisor("01", "id-1"),
    supervisor("01", "id-2"),
    supervisor("02", "id-2"),
    supervisor("01", state="PENDING_CREATION"),
    supervisor("02", "id-2", state="PENDING_CREATION"),
    supervisor("01", "id-1", state="DEAD"),
    supervisor("01", "id-1", name="SomebodyElse"),
]
JOBS = [job("01"), job("02"), job("03", entry="python other.py"), job("04", dead=True)]
FREE = {"id-1": {"searcher": 1.0}, "id-2": {}}
SAID = facts(NODES, ACTORS, JOBS, FREE)


def test_machines_places_and_players() -> None:
    first, second, lost = SAID["machines"]
    assert first == {
        "host": "host-1",
        "address": "10.0.0.1",
        "alive": True,
        "places": 2,
        "taken": 1,
        "players": {"01": 1},
    }
    assert (second["taken"], second["players"]) == (2, {"01": 1, "02": 1})
    assert (lost["host"], lost["alive"], lost["taken"]) == ("host-3", False, 0)
    assert [(player["job"], player["nodes"], player["waiting"]) for player in SAID["players"]] == [
        ("01", 2, 1),
        ("02", 1, 1),
    ]


@pytest.fixture
def head() -> Iterator[str]:
    """A port with a listener."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_gougi_status_tells_of_a_fleet_that_others_play_on(
    head: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ray_survey, "survey", lambda _address: SAID)
    assert run(["status", "--address", head]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"Ray at {head}: machines: 2, places for nodes: 4, taken: 3; lost machines: 1\n")
    assert "host-2" in told and "01: 1, 02: 1" in told and "host-3" not in told
    assert re.search(r"player 01 on 10\.0\.0\.9, for \d+ min: nodes: 2, waiting for a place: 1", told)
    assert run(["status", "--address", head, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cluster"] == SAID


def test_an_address_that_does_not_answer_is_one_line(
    head: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuses(address: str) -> None:
        raise FleetError(f"no Ray cluster at {address}: no answer within 20 s")

    monkeypatch.setattr(ray_survey, "survey", refuses)
    assert run(["status", "--address", head]) == 1
    assert capsys.readouterr().err == f"gougi: --address: no Ray cluster at {head}: no answer within 20 s\n"
    assert run(["status", "--address", "127.0.0.1:1"]) == 1
    assert capsys.readouterr().err.startswith("gougi: --address: 127.0.0.1:1: ")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("import time; time.sleep(60)", "no answer within 1 s"),
        ("import sys; sys.exit('RPC error: Unauthenticated: InvalidAuthToken')", "its token is not ours"),
        ("import sys; sys.exit('first\\nFailed to connect to GCS\\n')", "Failed to connect to GCS"),
    ],
)
def test_a_process_that_has_no_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, script: str, says: str) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!{sys.executable}\n{script}\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(FleetError, match=f"no Ray cluster at 10.0.0.1:6379: .*{says}"):
        survey("10.0.0.1:6379", 1.0 if "sleep" in script else 20.0)
