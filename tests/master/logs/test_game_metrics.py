"""Metrics that are made from a game; the documentation has each of them."""

from __future__ import annotations

import logging
import urllib.request
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from cluster.metrics.catalogue import FLEET, Metric
from master.commands.services import serving
from master.config import MetricsConfig
from master.csa.summary import GameSummary
from master.logs.game_metrics import GAME, GameMetrics
from master.logs.log import open_log
from master.player.events import Clocks, GameBegan, LineMeasured, MoveComment, MovePlayed
from tests.master.command import ROOT
from worker.clock.timecontrol import TimeControl
from worker.shogi import STARTPOS

TIME = TimeControl(60_000, byoyomi_ms=5_000)
SUMMARY = GameSummary("game-1", ("me", "you"), 0, 0, (TIME, TIME), STARTPOS)
MINE = MovePlayed(1, 0, True, "7g7f", "+7776FU", 4_000, STARTPOS, Clocks((56_000, 60_000), 1))
YOURS = MovePlayed(2, 1, False, "3c3d", "-3334FU", 9_000, STARTPOS, Clocks((56_000, 51_000), 0))
TIGHT = MovePlayed(3, 0, True, "2g2f", "+2726FU", 60_500, STARTPOS, Clocks((0, 51_000), 1), MoveComment(book="learned"))


class Game:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = GameMetrics(self.registry, "1.2", "me")

    def tell(self, *events: object) -> None:
        for event in events:
            self.metrics.observe(event)  # type: ignore[arg-type]

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


@pytest.fixture
def game() -> Game:
    return Game()


def test_clock_and_margins(game: Game) -> None:
    game.tell(GameBegan(SUMMARY, STARTPOS, Clocks((60_000, 60_000), 0)), MINE, YOURS, TIGHT, LineMeasured(30.0))
    assert game.value("gougi_game_running") == 1
    assert game.value("gougi_game_moves") == 3
    assert (game.value("gougi_own_moves_total"), game.value("gougi_book_moves_total")) == (2, 1)
    assert game.value("gougi_clock_used_seconds_sum") == pytest.approx(64.5)
    assert game.value("gougi_clock_left_seconds", side="own") == 0
    assert game.value("gougi_clock_left_seconds", side="opponent") == 51
    assert game.value("gougi_flag_margin_seconds") == pytest.approx(0.5), "56 s and byoyomi of 5 s, of which 60.5 went"
    assert game.value("gougi_flag_margin_least_seconds") == pytest.approx(0.5)
    assert game.value("gougi_server_echo_seconds_sum") == pytest.approx(0.03)


def test_the_least_margin_is_the_games(game: Game) -> None:
    began = GameBegan(SUMMARY, STARTPOS, Clocks((60_000, 60_000), 0))
    game.tell(began, MINE, YOURS, TIGHT, began, MINE)
    assert game.value("gougi_flag_margin_least_seconds") == pytest.approx(61.0)


def test_every_metric_of_the_catalogue_is_said(game: Game) -> None:
    game.tell(GameBegan(SUMMARY, STARTPOS, Clocks((60_000, 60_000), 0)))
    names = {sample.name for family in game.registry.collect() for sample in family.samples}
    assert {one.name for one in GAME} <= names | {name.removesuffix("_count") for name in names}


LISTS = {"games": GAME, "fleet": FLEET}
"""The lists of docs/how-to/metrics.md, in their order."""


def rows(metrics: tuple[Metric, ...]) -> str:
    """The metrics as the rows of a Markdown table: name with its labels, kind, unit, meaning."""
    return "".join(f"| `{_labelled(one)}` | {one.kind} | {_unit(one)} | {one.meaning} |\n" for one in metrics)


def _unit(metric: Metric) -> str:
    """The unit of the metric, by its name."""
    name = metric.name.removesuffix("_total")
    for ending, words in (
        ("_seconds", "seconds"), ("_bytes", "bytes"), ("_ratio", "0 to 1"), ("_centipawns", "centipawns"),
        ("_nps", "nodes/s"), ("_depth", "plies"), ("_nodes", "nodes"),
    ):  # fmt: skip
        if name.endswith(ending):
            return words
    return "count" if metric.name.endswith("_total") else ""


def _labelled(metric: Metric) -> str:
    return metric.name + ("{" + ", ".join(metric.labels) + "}" if metric.labels else "")


@pytest.mark.parametrize("which", LISTS)
def test_the_document_has_them_all(which: str) -> None:
    text = (ROOT / "docs" / "how-to" / "metrics.md").read_text(encoding="utf-8")
    assert "\n|---|---|---|---|\n" + rows(LISTS[which]) + "\n" in text + "\n", (
        f"the rows should be:\n{rows(LISTS[which])}"
    )


class Told:
    """The listener for the address of the metrics."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def __call__(self, name: str, fields: dict[str, object]) -> None:
        self.events.append((name, fields))


def test_it_is_served_and_warnings_are_counted(tmp_path: Path) -> None:
    told, heard = Told(), list[str]()
    with (
        open_log(tmp_path, file_level="info", console_level="warning", console=heard.append),
        serving(MetricsConfig(port=0), "me", told) as metrics,
    ):
        assert metrics is not None
        assert told.events == [("metrics_served", {"url": metrics.url})]
        logging.getLogger("test").warning("strange")
        with urllib.request.urlopen(metrics.url, timeout=30) as answer:
            text = answer.read().decode()
    assert heard == ["warning: strange"]
    assert 'gougi_log_messages_total{level="warning"} 1.0' in text
    assert "process_cpu_seconds_total" in text
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(metrics.url, timeout=30)


def test_off_and_without_a_port() -> None:
    told = Told()
    with serving(MetricsConfig(on=False), "me", told) as metrics:
        assert metrics is None
    assert told.events == []
    with serving(MetricsConfig(listen="203.0.113.1"), "me", told) as metrics:
        assert metrics is None, "an address of the documents, and none of this machine"
    [(name, fields)] = told.events
    assert name == "metrics_not_served" and str(fields["error"]).startswith("[Errno 99] no metrics at 203.0.113.1:")
