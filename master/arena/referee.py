"""The referee: plays the games of a match with shogiarena (https://github.com/nyoki-mtl/ShogiArena, MIT).

It schedules the pairs, runs the engines, keeps the clocks, rules repetition (fourth time, perpetual check),
declaration, resignation by score and the move limit, stores every game at once and goes on after an interruption.
docs/match.md says what is done around it, and why.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from master.arena.games import database, forget_failed, played_games, results_of, write_records
from master.arena.settings import MatchFolder, MatchSettings, Player, SettingsError
from worker.arena.statistics import Tally, Verdict, tally
from worker.engine import STARTPOS, EngineError, Limits
from worker.usi_engine import Patience, UsiEngine

REQUIREMENT: Final = "shogiarena>=1.3.2,<1.4"

_ENV: Final = "/usr/bin/env"
_ROUNDS: Final = 3
"""Times that games without a result are played over in one run."""

_FIRST_SEARCH: Final = Patience(stop_s=15.0)
"""A searcher may still be loading itself while it first searches."""

OnGame = Callable[[Tally], None]
"""Told how the match stands, after each game."""


def standing(settings: MatchSettings, folder: MatchFolder) -> tuple[Tally, int]:
    """How the match stands for player A, and how many games have no result (an engine that would not start).

    Raises:
        OSError: the referee's database cannot be read.
    """
    games = played_games(database(folder.referee))
    results = list(results_of(games, settings.players[0].name))
    return tally(results), len(games) - len(results)


def decided(settings: MatchSettings, result: Tally) -> Verdict:
    """What the match's test says; open where it has none."""
    return settings.sprt.verdict(result.pairs) if settings.sprt is not None else Verdict.OPEN


def check_player(player: Player, settings: MatchSettings) -> str:
    """Start a player once, with its options, and let it think shortly; returns the name that it gives itself.

    The referee would find a wrong option after two minutes and count the game as played, and one of its games would
    find that an engine dies on ``go nodes``.

    Raises:
        SettingsError: it does not start, refuses an option, or cannot search at this pace.
    """
    try:
        engine = UsiEngine(player.command, player.options, folder=player.folder, patience=_FIRST_SEARCH)
        try:
            engine.set_position(STARTPOS)
            nodes = settings.pace.nodes
            engine.go(Limits(movetime_ms=200) if nodes is None else Limits(nodes=nodes))
            return engine.name
        finally:
            engine.close()
    except EngineError as error:
        raise SettingsError(f"player {player.name}: {error}") from error


def play(settings: MatchSettings, folder: MatchFolder, on_game: OnGame) -> None:
    """Play what is missing of the match, up to its last game or its test's decision.

    Ctrl-C ends it after what the referee needs to clean up; the games in progress are lost, all others kept.

    Args:
        folder: claimed, its openings written.

    Raises:
        SettingsError: shogiarena is not installed, or refuses the settings.
        OSError: a record cannot be written.
    """
    os.environ.setdefault("SHOGI_ARENA_GRACEFUL_SHUTDOWN_TIMEOUT_SECONDS", "10")
    try:
        from shogiarena import tournament
    except ImportError as error:
        raise SettingsError(f"gougi match needs shogiarena ({error}): pip install '{REQUIREMENT}'") from error
    handler = _log_to(folder)
    try:
        for _ in range(_ROUNDS):
            config = tournament.load_tournament_config(_config(settings, folder), base_dir=folder.path)
            forget_failed(database(folder.referee))
            asyncio.run(_play(tournament, config, settings, folder, on_game))
            result, failed = standing(settings, folder)
            if not failed or result.games + failed < settings.games or decided(settings, result) is not Verdict.OPEN:
                break
    except (ValueError, TypeError) as error:
        raise SettingsError(f"the referee refuses the match: {error}") from error
    finally:
        logging.getLogger("shogiarena").removeHandler(handler)
        handler.close()


async def _play(tournament: Any, config: Any, settings: MatchSettings, folder: MatchFolder, on_game: OnGame) -> None:
    reporter = _Reporter(settings, folder, on_game)
    runner = tournament.build_tournament_runner(
        config,
        storage=tournament.create_run_storage(folder.referee),
        instance_pool=_machine(tournament, settings),
        progress_reporter=reporter,
        is_dashboard_enabled=False,
    )
    reporter.stop = lambda: runner.stop_controller.request_stop(reason="the test is decided")
    await runner.run()
    if reporter.error is not None:
        raise reporter.error


def _machine(tournament: Any, settings: MatchSettings) -> Any:
    """This machine, with room for both engines of each game."""
    pool = tournament.InstancePool()
    local = pool.ensure_local_instance()
    local.config.slots = max(local.config.slots, 2 * settings.concurrency)
    return pool


class _Reporter:
    """Hears of each game from the referee: writes its record, tells how the match stands, ends a decided test."""

    def __init__(self, settings: MatchSettings, folder: MatchFolder, on_game: OnGame) -> None:
        self._settings = settings
        self._folder = folder
        self._on_game = on_game
        self.stop: Callable[[], None] = lambda: None
        self.error: OSError | None = None

    def on_game_start(self, payload: Mapping[str, Any]) -> None:
        """Nothing: a game counts when it is over."""

    def on_game_complete(self, payload: Mapping[str, Any]) -> None:
        """A game is over and stored."""
        try:
            write_records(database(self._folder.referee), self._folder.records, self._folder.path.name)
            result, _ = standing(self._settings, self._folder)
        except OSError as error:
            # An exception here would be one more failed game to the referee: end the match, and tell it then.
            self.error = error
            self.stop()
            return
        self._on_game(result)
        if decided(self._settings, result) is not Verdict.OPEN:
            self.stop()

    def finalize(self, payload: Mapping[str, Any]) -> None:
        """Nothing: the standing is read from the database."""


def _log_to(folder: MatchFolder) -> logging.Handler:
    """Send what the referee logs to a file: on the terminal it would tear the progress bar."""
    handler = logging.FileHandler(folder.log, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("shogiarena")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    return handler


def _config(settings: MatchSettings, folder: MatchFolder) -> dict[str, Any]:
    """The match in shogiarena's words; writes the engine files that it wants."""
    engines = []
    for number, player in enumerate(settings.players):
        file = folder.path / f"engine-{'ab'[number]}.yaml"
        facts = {
            "name": player.name,
            # It follows symbolic links, and a virtual environment's python is one: what it ends at lacks our packages.
            "engine_path": _ENV,
            "engine_args": list(player.command),
            "working_directory": player.folder,
            # Every JSON text is YAML.
            "options": with_folders(dict(player.options)),
        }
        file.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        engines.append({"name": player.name, "engine_path": str(file.resolve())})
    return {
        "experiment_name": folder.path.name or "match",
        "engines": engines,
        "tournament": {
            "scheduler": "round_robin",
            "games_per_pair": settings.games,
            "num_parallel": settings.concurrency,
            "seed": settings.seed,
            "game_order": "pairwise",
        },
        "rules": {
            "time_control": _time_control(settings),
            "initial_positions": {
                "type": "file",
                "source": str(folder.openings.resolve()),
                "source_format": "sfen",
                "selection_policy": "without_replacement",
                "flip_policy": "pair_both",
            },
            "adjudication": {
                "resign_threshold_cp": settings.resign_cp,
                "resign_move_count": settings.resign_moves,
                "resign_two_sided": True,
                "max_plies": settings.max_moves,
                # It would insist on an option that gpsusi, fairy-stockfish and others do not have.
                "sync_max_plies_with_engine": False,
            },
            "repetition_occurrences_to_draw": 4,
        },
        "dashboard": {"enabled": False},
        "system": {"resource_capacity_preflight": "off"},
        "output_dir": str(folder.referee.resolve()),
    }


def with_folders(options: dict[str, str]) -> dict[str, str]:
    """An absolute ``EvalFile`` as ``EvalDir`` and a name, books alike: alone it would arrive as the bare name."""
    for folder_key, file_key in (("EvalDir", "EvalFile"), ("BookDir", "BookFile")):
        file = Path(options.get(file_key, ""))
        if file.is_absolute() and not options.get(folder_key):
            options |= {folder_key: str(file.parent), file_key: file.name}
    return options


def _time_control(settings: MatchSettings) -> dict[str, Any]:
    pace = settings.pace
    if pace.nodes is not None:
        return {"node_limit": pace.nodes}
    control: dict[str, Any] = {"time_ms": pace.main_ms, "expiry_margin_ms": pace.margin_ms}
    if pace.byoyomi_ms:
        control["byoyomi_ms"] = pace.byoyomi_ms
    else:
        control["increment_ms"] = pace.increment_ms
    return control
