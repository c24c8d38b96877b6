"""The choice of a node's engine: a value by the node's number."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cluster import engine_spec
from cluster.engine_spec import EngineSpec, FleetSpec, Networks, UsiSpec
from cluster.network.messages import COMMON
from worker.engine import EngineError, Limits, SearchResult
from worker.nnue.beside import write_beside
from worker.nnue.network import default_file
from worker.score import WIN_SCALE
from worker.search.engine import NumbaEngine
from worker.shogi import STARTPOS

USI = UsiSpec(("/usr/games/gpsusi",), (("BookDepth", "0"),))


class TestWhoGetsWhat:
    def test_the_first_node_sees_everything_and_no_two_are_alike(self) -> None:
        fleet = FleetSpec((EngineSpec(hash_mb=8),))
        specs = [fleet.spec_of(number) for number in range(16)]
        assert specs[0] == EngineSpec(hash_mb=8)
        assert len(set(specs)) == 16
        assert all(isinstance(spec, EngineSpec) and spec.hash_mb == 8 for spec in specs)
        assert specs == [fleet.spec_of(number) for number in range(16)]

    def test_kinds_are_dealt_in_turn_and_our_own_counted_apart(self) -> None:
        kinds = (USI, EngineSpec(), EngineSpec(eval_file="b.bin"))
        fleet = FleetSpec(kinds)
        assert [fleet.spec_of(number) for number in range(6)] == [
            USI,
            EngineSpec(),
            EngineSpec(eval_file="b.bin", number=1),
            USI,
            EngineSpec(number=2),
            EngineSpec(eval_file="b.bin", number=3),
        ]

    @pytest.mark.parametrize(
        ("processors", "places", "threads"), [(1, 1, 1), (2, 1, 2), (8, 3, 2), (2, 5, 1), (64, 1, 16), (64, 8, 8)]
    )
    def test_the_nodes_of_a_machine_share_out_its_processors(
        self, processors: int, places: int, threads: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(engine_spec, "processors", lambda: processors)
        fleet = FleetSpec((EngineSpec(threads=0), EngineSpec(threads=3), USI))
        assert [fleet.spec_here(number, places) for number in range(3)] == [
            EngineSpec(threads=threads),
            EngineSpec(threads=3, number=1),
            USI,
        ]

    def test_it_travels(self) -> None:
        fleet = FleetSpec((USI, EngineSpec()))
        assert pickle.loads(pickle.dumps(fleet.build)).__self__ == fleet


class TestScales:
    """A node's scale is that of its kind, or is derived from its network."""

    def test_a_fleet_of_one_engine_is_not_converted(self) -> None:
        fleet = FleetSpec((EngineSpec(fv_scale=32, win_scale=600),))
        assert fleet.scale_of(0) == fleet.scale_of(None) == COMMON

    def test_each_kind_has_its_own(self) -> None:
        """Ours; its raw output divided by half as much; a USI engine with a known scale, and one with an unknown
        one."""
        kinds = (EngineSpec(), EngineSpec(fv_scale=8), replace(USI, win_scale=600.0), USI, EngineSpec(win_scale=500.0))
        fleet = FleetSpec(kinds, fallback=EngineSpec(fv_scale=32))
        scales = [fleet.scale_of(number).win_scale for number in range(5)]
        assert scales == [WIN_SCALE, 2 * WIN_SCALE, 600, WIN_SCALE, 500]
        assert fleet.scale_of(None).win_scale == WIN_SCALE / 2

    def test_a_measured_network_tells_its_own(self, tmp_path: Path) -> None:
        net = tmp_path / "nn.bin"
        net.write_bytes(default_file().read_bytes())
        assert EngineSpec(eval_file=str(net), fv_scale=12).scale().win_scale == WIN_SCALE * 16 / 12
        measured = tmp_path / "measured.bin"
        measured.write_bytes(net.read_bytes())
        write_beside(measured, {"fv_scale": 20, "win_scale": 18_700.0, "reference_cp": 935.0})
        assert EngineSpec(eval_file=str(measured)).scale().win_scale == pytest.approx(WIN_SCALE)
        assert EngineSpec(eval_file=str(measured), fv_scale=10).scale().win_scale == pytest.approx(2 * WIN_SCALE)
        write_beside(net, {"fv_scale": 20})
        assert EngineSpec(eval_file=str(tmp_path)).scale().win_scale == WIN_SCALE, "only the author's FV_SCALE"

    def test_a_missing_network_is_its_nodes_error(self) -> None:
        assert EngineSpec(eval_file="/nowhere/nn.bin").scale() == COMMON

    def test_networks_have_names_of_their_own(self, tmp_path: Path) -> None:
        """Nodes with different networks do not share a tree; the same network with other settings is one engine."""
        nets = [tmp_path / name for name in ("a/nn.bin", "b/nn.bin", "other/a/nn.bin", "c.bin")]
        for net in nets:
            net.parent.mkdir(parents=True, exist_ok=True)
            net.write_bytes(default_file().read_bytes())
        kinds = (EngineSpec(hash_mb=1), EngineSpec(hash_mb=2), *(EngineSpec(1, eval_file=str(net)) for net in nets))
        fleet = FleetSpec(kinds)
        names = [fleet.build(number, 1).name for number in range(7)]
        assert names == ["gougi", "gougi", "gougi, a", "gougi, b", "gougi, a (2)", "gougi, c", "gougi"]
        assert fleet.build(2, 1, net=str(nets[1])).name == "gougi, a", "sent to another path"
        assert FleetSpec((EngineSpec(1, eval_file=str(nets[0])),)).build(0, 1).name == "gougi"


class TestNetworks:
    def test_equal_weights_are_loaded_once(self) -> None:
        networks = Networks()
        plain = networks.of(EngineSpec())
        assert networks.of(EngineSpec(hash_mb=1, number=3)) is plain
        scaled = networks.of(EngineSpec(fv_scale=20))
        assert scaled is not plain
        assert networks.of(EngineSpec(fv_scale=20, number=1)) is scaled

    @pytest.mark.parametrize(
        "spec", [EngineSpec(eval_file="no/such.bin"), EngineSpec(fv_scale=0), EngineSpec(threads=0)]
    )
    def test_engines_that_cannot_be_made(self, spec: EngineSpec) -> None:
        with pytest.raises(EngineError):
            spec.build()


def search(spec: EngineSpec, networks: Networks, limits: Limits) -> SearchResult:
    engine = spec.build(networks)
    engine.set_position(STARTPOS, ["7g7f", "3c3d"])
    found = engine.go(limits)
    assert isinstance(engine, NumbaEngine)
    assert engine.can_split
    engine.close()
    return found


@pytest.mark.usefixtures("warm")
def test_nodes_of_one_net_search_differently_and_each_always_alike() -> None:
    networks = Networks()
    fleet = FleetSpec((EngineSpec(hash_mb=1),))
    specs = [spec for spec in map(fleet.spec_of, range(3)) if isinstance(spec, EngineSpec)]
    limits = Limits(nodes=3000)
    found = [search(spec, networks, limits).lines[0] for spec in specs]
    plain = [(line.depth, line.score, line.pv) for line in found]
    assert len(set(plain)) == 3
    again = [search(spec, networks, limits).lines[0] for spec in specs]
    assert [(line.depth, line.score, line.pv) for line in again] == plain


@pytest.mark.usefixtures("warm")
def test_a_depth_limit_is_searched_to_by_all() -> None:
    networks = Networks()
    found = {search(EngineSpec(hash_mb=1, number=number), networks, Limits(depth=5)).lines for number in range(4)}
    assert {lines[0].depth for lines in found} == {5}


def test_a_usi_engine() -> None:
    script = Path(__file__).parents[1] / "worker" / "usi" / "scripted_usi.py"
    engine = UsiSpec((sys.executable, str(script)), (("USI_Hash", "32"),)).build()
    assert (engine.name, engine.can_split) == ("Scripted 1.0", True)
    engine.close()
    with pytest.raises(EngineError, match="cannot be started"):
        UsiSpec(("/no/such/engine",)).build()
