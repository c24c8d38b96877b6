"""The fleet as the configuration has it. Imports are made where they are used: ``--help`` shall not wait for Ray."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cluster.engine_spec import EngineSpec, NodeKind
    from cluster.ray_driver import RaySearcher
    from master.config import Config, NodeKindConfig


def engine_of(settings: Config) -> EngineSpec:
    """Our own searcher as the section [engine] has it."""
    from cluster.engine_spec import EngineSpec

    engine = settings.engine
    return EngineSpec(engine.hash_mb, engine.threads, _path(engine.eval_file), engine.fv_scale or None)


def _kind(engine: EngineSpec, kind: NodeKindConfig) -> NodeKind:
    """What a node of that kind runs; ``engine``: our own searcher as the section [engine] has it."""
    from cluster.engine_spec import UsiSpec

    if kind.command:
        return UsiSpec(kind.command, tuple(kind.options.items()))
    return replace(
        engine,
        hash_mb=kind.hash_mb or engine.hash_mb,
        threads=kind.threads or engine.threads,
        eval_file=engine.eval_file if kind.eval_file is None else _path(kind.eval_file),
        fv_scale=engine.fv_scale if kind.fv_scale is None else kind.fv_scale or None,
    )


def _path(eval_file: str) -> str | None:
    return str(Path(eval_file).expanduser().absolute()) if eval_file else None


def fleet_of(settings: Config) -> RaySearcher:
    """The fleet that the configuration describes, not yet open."""
    from cluster.consultation import Vote
    from cluster.engine_spec import FleetSpec, Variety
    from cluster.ray_driver import RaySearcher
    from cluster.settings import Mode, Settings

    engine, cluster, voters = engine_of(settings), settings.cluster, settings.voters
    kinds = tuple(_kind(engine, kind) for kind in cluster.kinds) or (engine,)
    variety = Variety(voters.dropout, voters.noise, voters.depths, voters.seed)
    return RaySearcher(
        nodes=cluster.nodes,
        address=cluster.address or None,
        engine=FleetSpec(kinds, variety).build,
        fallback=replace(engine, hash_mb=16, threads=1).build,
        settings=Settings(
            mode=Mode(cluster.mode),
            groups=cluster.groups,
            vote=Vote(cluster.vote),
            share_depth=cluster.share_depth,
            share_bytes_per_s=cluster.share_bytes_per_s,
        ),
        name=settings.csa.name,
        report_port=cluster.report_port,
        advertise=cluster.advertise or None,
    )
