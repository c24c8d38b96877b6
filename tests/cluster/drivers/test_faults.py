"""A fleet that will never be one is told from a node that has a bad moment."""

from __future__ import annotations

from cluster.coordination.events import FALLBACK
from cluster.drivers.fleet import Faults


def test_a_cluster_that_refuses_us() -> None:
    faults = Faults(local=False)
    faults.refused("its token is not ours")
    faults.refused("again")
    assert faults.broken == "its token is not ours"


def test_on_this_machine_one_node_without_an_engine_is_enough() -> None:
    faults = Faults(local=True)
    faults.came_up("node-1")
    faults.failed("node-2", "no such net: x.bin", 2)
    assert faults.broken == "a node cannot start: node-2: no such net: x.bin"


def test_a_node_that_has_lived_may_live_again() -> None:
    faults = Faults(local=True)
    faults.came_up("node-1")
    faults.failed("node-1", "Cannot allocate memory", 1)
    assert not faults.broken


def test_of_a_cluster_all_machines_must_lack_what_is_needed() -> None:
    faults = Faults(local=False)
    faults.came_up(FALLBACK)
    faults.failed("node-1", "no such net: x.bin", None)
    faults.failed("node-1", "no such net: x.bin", 0)
    assert not faults.broken, "the machines may be on their way"
    faults.failed("node-1", "no such net: x.bin", 2)
    assert not faults.broken, "the other one may have it"
    faults.failed("node-2", "no such net: x.bin", 2)
    assert faults.broken == "no node can start: node-2: no such net: x.bin"


def test_one_machine_that_lacks_what_the_others_have_is_no_fault_of_the_fleet() -> None:
    faults = Faults(local=False)
    faults.failed("node-1", "no such net: x.bin", 2)
    faults.came_up("node-2")
    faults.failed("node-3", "no such net: x.bin", 2)
    assert not faults.broken


def test_the_masters_own_engine() -> None:
    faults = Faults(local=False)
    faults.failed(FALLBACK, "no such net: x.bin", 7)
    assert faults.broken == "the fallback cannot start: fallback: no such net: x.bin"
