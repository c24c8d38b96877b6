"""Searchers, players and books built from the configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.processors import processors
from master.commands.common import CommandError, EndsOn

if TYPE_CHECKING:
    from cluster.drivers.fleet_driver import FleetSearcher
    from cluster.drivers.local_driver import LocalSearcher
    from cluster.engine_spec import EngineSpec, NodeKind
    from master.book.lessons import StudySettings
    from master.book.service import BookService
    from master.commands.services import Metrics
    from master.config import BookConfig, Config, NodeKindConfig
    from master.player.instructions import PlayerSettings
    from worker.book import BookSettings


def open_books(settings: Config) -> BookService:
    """The player's books from the configuration, open; a fault in them ends the command."""
    from master.book.opening import LookAhead, OpeningSettings
    from master.book.service import BookService
    from worker.book import BookError

    book = settings.book
    opening = OpeningSettings(
        files=tuple(map(Path, book.files)),
        choice=choice_settings(book),
        look_ahead=LookAhead(book.look_ahead),
    )
    learn = Path(book.learn) if book.learn else None
    service = BookService(opening, learn, study_settings(book))
    with EndsOn(BookError):
        service.open()
    return service


def study_settings(book: BookConfig) -> StudySettings:
    """Settings of the study after a lost game."""
    from master.book.lessons import StudySettings

    return StudySettings(book.study_bad_score, book.study_moves)


def choice_settings(book: BookConfig) -> BookSettings:
    """YaneuraOu's options from the configuration."""
    from worker.book import BookSettings

    return BookSettings(
        on_the_fly=book.on_the_fly,
        narrow=book.narrow,
        last_ply=book.moves,
        ignore_percent=book.ignore_rate,
        eval_diff=book.eval_diff,
        eval_limits=(book.eval_black_limit, book.eval_white_limit),
        depth_limit=book.depth_limit,
        by_count=book.consider_move_count,
        any_ply=book.ignore_ply,
        flipped=book.flipped,
    )


def learned_path(settings: Config) -> Path:
    """The book that learns; if none is named, the command ends."""
    if not settings.book.learn:
        raise CommandError("no book that learns: give --book FILE, or name one in the configuration ([book] learn)")
    return Path(settings.book.learn)


def make_single(settings: Config) -> LocalSearcher:
    """One searcher in this process, as the configuration describes a node; not open yet."""
    from cluster.drivers.local_driver import LocalSearcher

    return LocalSearcher(_engine(settings, settings.engine.threads or 1).build)


def nodes_asked(settings: Config) -> int:
    """The number of nodes of a fleet of our own: as configured, or one of each kind."""
    return settings.cluster.nodes or max(1, len(settings.cluster.kinds))


def most_nodes(settings: Config) -> int | None:
    """The maximum number of nodes for which this machine has processors, but one of each kind; None: no limit."""
    if settings.cluster.oversubscribe:
        return None
    return max(1, len(settings.cluster.kinds), processors() // (settings.engine.threads or 1))


def make_fleet(settings: Config, metrics: Metrics | None = None) -> FleetSearcher:
    """The fleet that the configuration describes; not open yet. ``metrics``: receives the fleet's events."""

    from cluster.coordination.settings import Mode, Settings, SharingSettings
    from cluster.drivers.fleet_driver import FleetSearcher
    from cluster.engine_spec import FleetSpec

    engine, cluster = _engine(settings, settings.engine.threads), settings.cluster
    kinds = tuple(_kind(engine, kind) for kind in cluster.kinds) or (engine,)
    return FleetSearcher(
        nodes=nodes_asked(settings),
        address=cluster.address or None,
        kinds=FleetSpec(kinds, fallback=replace(engine, hash_mb=16, threads=1)),
        settings=Settings(mode=Mode(cluster.mode), groups=cluster.groups),
        sharing=SharingSettings(cluster.share_depth, cluster.share_bytes_per_s),
        name=settings.csa.name,
        report_port=cluster.report_port,
        advertise=cluster.advertise or None,
        metrics=None if metrics is None else metrics.fleet,
        at_most=most_nodes(settings),
    )


def player_settings(settings: Config) -> PlayerSettings:
    """The player's settings, from the sections [clock], [play] and [book]."""
    from master.player.instructions import PlayerSettings
    from worker.clock import ClockSettings

    clock, play = settings.clock, settings.play
    return PlayerSettings(
        clock=ClockSettings(network_margin_ms=clock.network_margin_ms, most_reserve_ms=clock.most_reserve_ms),
        resign_score=play.resign_score or None,
        resign_moves=play.resign_moves,
        mate_at_limit=play.mate_at_limit,
        entering=play.entering_king,
        draw_black=play.draw_value_black,
        draw_white=play.draw_value_white,
        ponder=play.ponder,
        book_ms=settings.book.answer_ms,
    )


def _engine(settings: Config, threads: int) -> EngineSpec:
    from cluster.engine_spec import EngineSpec

    engine = settings.engine
    return EngineSpec(
        engine.hash_mb, threads, _path(engine.eval_file), engine.fv_scale or None, engine.eval_architecture
    )


def _kind(engine: EngineSpec, kind: NodeKindConfig) -> NodeKind:
    """The engine of a node of that kind; ``engine``: our own searcher with the section [engine]."""

    from cluster.engine_spec import UsiSpec

    if kind.command:
        spec = UsiSpec(kind.command, tuple(kind.options.items()))
        return replace(spec, win_scale=kind.win_scale) if kind.win_scale else spec
    return replace(
        engine,
        hash_mb=kind.hash_mb or engine.hash_mb,
        threads=kind.threads or engine.threads,
        eval_file=engine.eval_file if kind.eval_file is None else _path(kind.eval_file),
        fv_scale=engine.fv_scale if kind.fv_scale is None else kind.fv_scale or None,
        architecture=(engine.architecture if kind.eval_file is None else "")
        if kind.eval_architecture is None
        else kind.eval_architecture,
        win_scale=kind.win_scale or 0.0,
    )


def _path(eval_file: str) -> str | None:
    return str(Path(eval_file).absolute()) if eval_file else None
