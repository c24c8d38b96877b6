"""Services of a command that plays or searches: its log, its metrics, its live page."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from master.commands.common import EndsOn
from worker import VERSION

if TYPE_CHECKING:
    from cluster.metrics.fleet import FleetMetrics
    from master.config import Config, MetricsConfig
    from master.live.feed import Feed
    from master.logs.game_metrics import GameMetrics
    from master.logs.log import About
    from worker.engine import Engine


@contextlib.contextmanager
def logged(settings: Config, warn: Callable[[str], None], tell_line: Callable[[str], None]) -> Iterator[About]:
    """The log of a command that plays or searches. ``warn`` gets messages for the user at once, and ``tell_line`` gets
    the path of the log at the end. It yields an observer of the games, so that each line says which game it belongs
    to."""
    from master.logs.log import About, LogError, open_log
    from master.ui.texts import say

    log, about = settings.log, About()
    opened = open_log(Path(settings.records.folder), console=warn, about=about, **log.options())
    with EndsOn(LogError), opened as path:
        try:
            yield about
        finally:
            tell_line(say("log: {path}", path=path))


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics' listeners for a fleet and a player."""

    fleet: FleetMetrics
    game: GameMetrics
    url: str


@contextlib.contextmanager
def serving(
    config: MetricsConfig, player: str, tell: Callable[[str, dict[str, object]], None]
) -> Iterator[Metrics | None]:
    """Serve metrics until the end of the block; None if the configuration disables them, or no port is free. ``tell``:
    callback with their address (``metrics_served``), or the reason for none (``metrics_not_served``)."""
    if not config.on:
        yield None
        return
    from prometheus_client import CollectorRegistry, ProcessCollector

    from cluster.metrics.fleet import FleetMetrics
    from cluster.metrics.server import PORTS, MetricsServer
    from master.logs.game_metrics import GameMetrics

    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    fleet, game = FleetMetrics(registry), GameMetrics(registry, VERSION, player)
    try:
        server = MetricsServer(registry, config.listen, config.port, PORTS)
    except OSError as error:  # no reason not to play
        tell("metrics_not_served", {"error": str(error)})
        yield None
        return
    tell("metrics_served", {"url": server.url})
    counting = _Counting(game)
    root = logging.getLogger()
    if root.handlers:  # if no log is written, Python itself shows warnings, unless another handler takes them
        root.addHandler(counting)
    try:
        yield Metrics(fleet, game, server.url)
    finally:
        root.removeHandler(counting)
        server.close()


class _Counting(logging.Handler):
    """Counts the log's warnings and errors."""

    def __init__(self, game: GameMetrics) -> None:
        super().__init__(logging.WARNING)
        self._game = game

    def emit(self, record: logging.LogRecord) -> None:
        self._game.message("warning" if record.levelno < logging.ERROR else "error")


@contextlib.asynccontextmanager
async def live_page(
    settings: Config, command: str, ready: Callable[[str], None], warn: Callable[[str], None]
) -> AsyncIterator[Feed | None]:
    """The page for the duration of the block; None if it is switched off.

    Args:
        command: the command in the page's title, ``play`` or ``usi``.
        ready: gets the page's address, which `gougi status` shows too; called from a thread, as ``warn``.
        warn: gets a line with the reason if there is no page.
    """
    place = settings.page.place
    if place is None:
        yield None
        return
    import asyncio

    from cluster.machine import status
    from master.live.feed import Feed, PageSettings
    from master.ui.texts import say

    host, port = place
    token = page_token(settings, host)

    def on_ready(url: str) -> None:
        status.tell(page=url)
        ready(url)

    feed = Feed(
        PageSettings(host, port, token, {"command": command, "version": VERSION}),
        on_ready,
        lambda why: warn(say("no live page: {why}", why=why)),
    )
    feed.start()
    try:
        yield feed
    finally:
        status.tell(page="")
        await asyncio.to_thread(feed.close)


def page_token(settings: Config, host: str) -> str:
    """The token that a browser must present: the environment's, or one for this run if others can reach ``host``."""
    import secrets

    given = settings.page.token
    if given is not None:
        return given.get_secret_value()
    return "" if host in ("localhost", "::1", "127.0.0.1") else secrets.token_urlsafe(24)


def answering_engine(settings: Config) -> Engine:
    """The searcher that answers readers. Raises EngineError."""
    from master.remote.listener import engine_command
    from worker.usi.engine import UsiEngine

    engine = settings.engine
    options = {
        "Threads": str(engine.threads or 1),
        "EvalFile": engine.eval_file,
        "EvalArchitecture": engine.eval_architecture,
        "FV_SCALE": str(engine.fv_scale or ""),
    }
    return UsiEngine(engine_command("--single"), {name: value for name, value in options.items() if value})
