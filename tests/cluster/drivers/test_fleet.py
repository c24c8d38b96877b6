"""The fleet's members: joins, losses, returns."""

from __future__ import annotations

from msgspec import structs

from cluster.coordination.events import FALLBACK, NodeJoined, NodeLost
from cluster.drivers.fleet import Faults, Fleet
from cluster.network.messages import Begun, Hello


def hello(node_id: str = "n1", incarnation: str = "a") -> Hello:
    return Hello(node_id, incarnation, "host", 1, "engine")


def looking(fleet: Fleet, until: int, step: int = 100) -> list[object]:
    """Looks for silent nodes as a driver does."""
    changes: list[object] = []
    for now in range(step, until + 1, step):
        changes += fleet.expire(now)
    return changes


def test_a_node_joins_with_its_hello() -> None:
    fleet = Fleet()
    assert fleet.heard("n1/a", 0) == []
    assert fleet.said_hello(hello(), 0) == [NodeJoined("n1", "engine")]
    assert fleet.said_hello(hello(), 10) == []
    assert fleet.live == ("n1",)
    assert fleet.peer("n1") == "n1/a"
    assert fleet.peer("n2") is None


def test_a_node_on_the_masters_machine_joins_as_one_beside_it() -> None:
    fleet = Fleet(timeout_ms=900, host="here")
    assert fleet.said_hello(hello(), 0) == [NodeJoined("n1", "engine")]
    beside = NodeJoined("n2", "engine", beside_master=True)
    assert fleet.said_hello(structs.replace(hello("n2"), host="here"), 0) == [beside]
    looking(fleet, 900)
    assert fleet.heard("n2/a", 1000) == [beside]


def test_silence_is_a_loss_and_a_word_the_way_back() -> None:
    fleet = Fleet(timeout_ms=900)
    fleet.said_hello(hello(), 0)
    assert looking(fleet, 800) == []
    assert fleet.expire(900) == [NodeLost("n1", "not heard of for 900 ms")]
    assert fleet.expire(1000) == []
    assert fleet.peer("n1") is None
    assert fleet.heard("n1/a", 5000) == [NodeJoined("n1", "engine")]
    assert fleet.heard("n1/a", 5100) == []


def test_the_next_look_is_when_the_first_node_would_be_lost() -> None:
    fleet = Fleet(timeout_ms=800)
    assert fleet.next_look_ms(0) == 200
    fleet.said_hello(hello(), 0)
    fleet.said_hello(hello("n2"), 300)
    assert [fleet.next_look_ms(now) for now in (300, 600, 650, 799, 900)] == [200, 200, 150, 1, 1]
    looking(fleet, 800)
    assert fleet.live == ("n2",)
    assert fleet.next_look_ms(1000) == 100, "a lost node is not checked again"


def test_an_old_incarnation_that_comes_back_takes_no_slot() -> None:
    """It was cut off while its engine was made. The node started on another machine; then the old greeting arrives."""
    fleet = Fleet()
    assert fleet.began(Begun("n1", "a")) == []
    assert fleet.began(Begun("n1", "b")) == []
    assert fleet.said_hello(hello("n1", "b"), 0) == [NodeJoined("n1", "engine")]
    assert fleet.began(Begun("n1", "a")) == []
    assert fleet.said_hello(hello("n1", "a"), 10) == []
    assert fleet.peer("n1") == "n1/b"
    assert fleet.is_superseded("n1/a")
    assert not fleet.is_superseded("n1/b")


def test_a_master_that_slept_blames_no_one() -> None:
    fleet = Fleet(timeout_ms=900)
    fleet.said_hello(hello(), 0)
    looking(fleet, 500)
    assert fleet.expire(5000) == []
    assert fleet.expire(5001) == [], "its messages are still being read"
    fleet.heard("n1/a", 5100)
    assert fleet.expire(5200) == []


def test_a_node_that_died_while_the_master_slept_is_lost_soon() -> None:
    fleet = Fleet(timeout_ms=900)
    fleet.said_hello(hello(), 0)
    looking(fleet, 500)
    assert fleet.expire(5000) == []
    assert fleet.next_look_ms(5000) == 225
    assert [at for at in range(5100, 5700, 100) if fleet.expire(at)] == [5500]


def test_a_dead_node_comes_back_only_as_a_new_incarnation() -> None:
    fleet = Fleet()
    fleet.said_hello(hello(), 0)
    assert fleet.gone("n1/a", "killed") == [NodeLost("n1", "killed")]
    assert fleet.gone("n1/a", "killed") == []
    assert fleet.heard("n1/a", 10) == []
    assert fleet.said_hello(hello(incarnation="b"), 20) == [NodeJoined("n1", "engine")]
    assert fleet.gone("n1/a", "late news") == []
    assert fleet.heard("n1/a", 30) == []
    assert fleet.peer("n1") == "n1/b"


def test_a_new_incarnation_ends_the_old_one() -> None:
    fleet = Fleet()
    fleet.said_hello(hello(), 0)
    changes = fleet.said_hello(hello(incarnation="b"), 20)
    assert changes == [NodeLost("n1", "its process began anew"), NodeJoined("n1", "engine")]


def test_a_node_that_left_is_not_taken_back_by_its_heartbeats() -> None:
    fleet = Fleet()
    fleet.said_hello(hello(), 0)
    fleet.said_hello(hello("n2"), 0)
    assert fleet.gone("n1/a", "leaves: spot notice") == [NodeLost("n1", "leaves: spot notice")]
    assert fleet.heard("n1/a", 10) == []
    assert fleet.live == ("n2",)
    assert fleet.peer("n1") is None


def test_a_new_process_says_that_the_one_before_is_dead() -> None:
    fleet = Fleet()
    fleet.said_hello(hello(), 0)
    assert fleet.began(Begun("n1", "a")) == []
    assert fleet.began(Begun("n2", "a", "its process died")) == []
    assert fleet.began(Begun("n1", "b", "its process died")) == [NodeLost("n1", "its process died")]
    assert fleet.began(Begun("n1", "b", "its process died")) == []
    assert fleet.heard("n1/a", 10) == []
    assert fleet.said_hello(hello(incarnation="b"), 20) == [NodeJoined("n1", "engine")]
    assert fleet.is_superseded("n1/a")
    assert not fleet.is_superseded("n1/b")


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


def test_a_need_of_a_cluster_is_missing_only_if_all_machines_lack_it() -> None:
    faults = Faults(local=False)
    faults.came_up(FALLBACK)
    faults.failed("node-1", "no such net: x.bin", None)
    faults.failed("node-1", "no such net: x.bin", 0)
    assert not faults.broken, "the machines may be on their way"
    faults.failed("node-1", "no such net: x.bin", 2)
    assert not faults.broken, "the other one may have it"
    faults.failed("node-2", "no such net: x.bin", 2)
    assert faults.broken == "no node can start: node-2: no such net: x.bin"


def test_a_need_that_one_machine_lacks_is_no_fault_of_the_fleet() -> None:
    faults = Faults(local=False)
    faults.failed("node-1", "no such net: x.bin", 2)
    faults.came_up("node-2")
    faults.failed("node-3", "no such net: x.bin", 2)
    assert not faults.broken


def test_the_masters_own_engine() -> None:
    faults = Faults(local=False)
    faults.failed(FALLBACK, "no such net: x.bin", 7)
    assert faults.broken == "the fallback cannot start: fallback: no such net: x.bin"
