"""Metrics that are made from a fleet's events and a node's messages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs
from prometheus_client import CollectorRegistry

from cluster.api import Listener, NodeView, SearchListener
from cluster.coordination.events import FALLBACK
from cluster.metrics.catalogue import FLEET
from cluster.metrics.fleet import FleetMetrics, why_dealt
from cluster.network.messages import Heartbeat, Job, Report, Shared
from tests.answers import make_decision, make_progress
from worker.engine import Bound

VIEW = NodeView("node-1", True, "all", 11, 40, 5000, 1000, hashfull=250)
FLEET_VIEW = (VIEW, replace(VIEW, node_id="node-2", nps=500), replace(VIEW, node_id="node-3", alive=False),
              replace(VIEW, node_id=FALLBACK, nps=7))  # fmt: skip
PROGRESS = make_progress(7, 300, 12, -35, ("7g7f",), 9000, FLEET_VIEW, 0.75)
DECISION = make_decision(7, "7g7f", -20, 13, ("7g7f",), 9500, 400, "vote", fleet=FLEET_VIEW, wasted=100, agreement=0.5)
REPORT = Report("node-1", 7, 21, 12, 15, 100, Bound.EXACT, 800, 400, 90, ("7g7f",))
SHARED = Shared("node-1", 1000, 2, 4000, 200, 5, 3000, 150, 40, 30, 90, 1, 0)


class Fleet:
    """The metrics of a fleet with a manual clock."""

    def __init__(self) -> None:
        self.now = 100.0
        self.registry = CollectorRegistry()
        self.metrics = FleetMetrics(self.registry, lambda: self.now)
        self.heard: list[object] = []
        searches = SearchListener(self.heard.append, self.heard.append, self.heard.append)
        own = Listener(lambda name, _: self.heard.append(name), searches)
        self.listener = self.metrics.watching(own, lambda: {"node-1": 0.25, FALLBACK: 9.0})

    def tell(self, name: str, **fields: object) -> None:
        self.listener.on_event(name, fields)

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def test_nodes_that_come_and_go(fleet: Fleet) -> None:
    for node in ("node-1", "node-2", FALLBACK):
        fleet.tell("node_starting", node=node)
    assert fleet.value("gougi_nodes", state="starting") == 2
    fleet.tell("node_ready", node="node-1")
    fleet.tell("node_joined", node="node-1")
    assert fleet.value("gougi_node_losses_total", node="node-1") == 0
    fleet.tell("node_lost", node="node-1", reason="its process died")
    assert fleet.value("gougi_nodes", state="lost") == 1
    assert fleet.value("gougi_node_losses_total", node="node-1") == 1
    assert fleet.value("gougi_node_heartbeat_age_seconds", node="node-1") == 0.25
    assert fleet.value("gougi_node_heartbeat_age_seconds", node=FALLBACK) is None


def test_a_node_that_leaves_is_not_missed(fleet: Fleet) -> None:
    fleet.tell("node_joined", node="node-1")
    fleet.tell("node_leaves", node="node-1", why="its machine ends")
    fleet.tell("node_lost", node="node-1", reason="leaves: its machine ends")
    assert [fleet.value("gougi_nodes", state=state) for state in ("ready", "lost")] == [0, 0]
    assert fleet.value("gougi_node_losses_total", node="node-1") == 0
    fleet.tell("node_joined", node="node-1")
    fleet.tell("node_lost", node="node-1", reason="its process died")
    assert fleet.value("gougi_nodes", state="lost") == 1
    assert fleet.value("gougi_node_losses_total", node="node-1") == 1


def test_the_running_search_and_the_last_one(fleet: Fleet) -> None:
    assert fleet.value("gougi_search_score_centipawns") is None
    fleet.listener.searches.on_progress(PROGRESS)
    assert fleet.value("gougi_searching") == 1
    assert (fleet.value("gougi_nps"), fleet.value("gougi_search_depth")) == (1500, 12)
    assert (fleet.value("gougi_search_score_centipawns"), fleet.value("gougi_agreement_ratio")) == (-35, 0.75)
    assert fleet.value("gougi_node_nps", node="node-2") == 500
    assert fleet.value("gougi_node_hashfull_ratio", node="node-1") == 0.25
    assert fleet.value("gougi_node_depth", node="node-3") is None, "lost"
    fleet.listener.searches.on_decision(DECISION)
    assert fleet.value("gougi_searching") == 0
    assert fleet.value("gougi_agreement_ratio") == 0.5
    assert fleet.value("gougi_decisions_total", source="vote") == 1
    assert fleet.value("gougi_searched_nodes_total") == 9500
    assert fleet.value("gougi_wasted_nodes_total") == 100
    assert fleet.value("gougi_search_seconds_sum") == pytest.approx(0.4)
    fleet.listener.searches.on_decision(replace(DECISION, source="forced", elapsed_ms=0))
    assert fleet.value("gougi_search_seconds_count") == 1, "the only move takes no search"


def test_from_a_job_to_its_first_report(fleet: Fleet) -> None:
    fleet.metrics.sent("node-1", Job(7, 21, "startpos"))
    fleet.now += 0.03
    fleet.metrics.heard(Heartbeat("node-1", "a", 21, False))
    fleet.metrics.heard(REPORT)
    fleet.now += 1
    fleet.metrics.heard(structs.replace(REPORT, depth=13))
    assert fleet.value("gougi_node_answer_seconds_count") == 1
    assert fleet.value("gougi_node_answer_seconds_sum") == pytest.approx(0.03)


def test_jobs_without_an_answer_do_not_pile_up(fleet: Fleet) -> None:
    for number in range(10_000):
        fleet.metrics.sent("node-1", Job(7, number, "startpos"))
    fleet.metrics.heard(structs.replace(REPORT, job_id=1))
    assert fleet.value("gougi_node_answer_seconds_count") == 0
    fleet.metrics.heard(structs.replace(REPORT, job_id=9_999))
    assert fleet.value("gougi_node_answer_seconds_count") == 1


def test_tables_and_pondering_and_ray(fleet: Fleet) -> None:
    fleet.metrics.heard(SHARED)
    assert fleet.value("gougi_shared_bytes_total") == 4000
    for what, count in {"sent": 200, "received": 150, "used": 90, "dropped": 5}.items():
        assert fleet.value("gougi_shared_entries_total", what=what) == count
    assert fleet.value("gougi_ray_up") is None, "a fleet of one machine has no Ray that could be gone"
    for name in ("ponder_hit", "ponder_hit", "ponder_miss", "ray_starting"):
        fleet.tell(name)
    assert fleet.value("gougi_ray_up") == 0
    fleet.tell("ray_started")
    assert (fleet.value("gougi_ponder_hits_total"), fleet.value("gougi_ponder_misses_total")) == (2, 1)
    assert fleet.value("gougi_ray_up") == 1
    fleet.metrics.closed()
    assert fleet.value("gougi_ray_up") == 0


def test_why_a_tree_is_dealt_again(fleet: Fleet) -> None:
    whys = {
        "presearch": None,
        "node-3 lost": "node lost",
        "node-3 joined": "node joined",
        "node-3 failed": "node failed",
        "ponder hit": "ponder hit",
        "7g7f is preferred": "preferred",
        "7g7f 2g2f in contention": "contention",
        "the job of others is over": "leaf over",
        "the window of 7g7f is lost": "leaf over",
        "7g7f is decided": "leaf over",
        "7g7f is due": "leaf over",
        "a reason that is new": "other",
    }
    for words, why in whys.items():
        assert why_dealt(words) == why
        fleet.tell("dealt", why=words, search_id=7)
    assert fleet.value("gougi_redeals_total", why="leaf over") == 4
    assert fleet.value("gougi_redeals_total", why="other") == 1


def test_every_metric_of_the_catalogue_is_said(fleet: Fleet) -> None:
    fleet.tell("ray_starting")
    fleet.tell("node_joined", node="node-1")
    fleet.listener.searches.on_progress(PROGRESS)
    names = {sample.name for family in fleet.registry.collect() for sample in family.samples}
    assert {one.name for one in FLEET} <= names | {name.removesuffix("_count") for name in names}
