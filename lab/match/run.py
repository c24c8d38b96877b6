"""A match: plays the missing games of its folder, several at a time, each in a thread with two persistent engines."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import datetime
from typing import Final

from cluster.machine.side_by_side import side_by_side
from lab.match.folder import MatchFolder
from lab.match.match_engine import MatchEngine, SilentError
from lab.match.openings import OpeningError, made_openings, openings_of
from lab.match.referee import Referee
from lab.match.results import (
    Faults,
    PlayedGame,
    PlayerFigures,
    colour_of_a,
    facts,
    finished,
    games_left,
    pair_of,
    table,
    tally_of,
    words,
)
from lab.match.settings import MatchSettings, Pace, SettingsError
from master.commands.common import Stoppable, exit_code, notice
from master.records.record import GameRecord
from master.ui.progress import Bars
from worker.engine import EngineError
from worker.search.engine import NumbaEngine

_FIRST_SEARCH_MS: Final = 60_000
"""The searcher may still be loading during its first search."""
_TRIES: Final = 2
"""Restarts of a dead engine before the match ends."""


class MatchError(Exception):
    """A match cannot continue; the text gives the reason. Finished games are kept."""


class _EndedError(Exception):
    """The match is over: a running game is dropped."""


def play_match(
    settings: MatchSettings, openings: Sequence[str], numbers: Sequence[int]
) -> Generator[tuple[PlayedGame, GameRecord]]:
    """Play the games ``numbers``; yields each as it ends, with its record.

    Closing the generator ends the match: running games are dropped and all processes ended.

    Args:
        openings: the SFEN of each pair.

    Raises:
        SettingsError: a player does not start, refuses an option, or cannot search at this pace.
        MatchError: a player cannot be restarted, or loses game after game by its own fault.
    """
    pairs = [_PlayerPair(settings, openings) for _ in range(min(settings.concurrency, len(numbers)))]
    faults = Faults()
    try:
        for engine in pairs[0].engines if pairs else ():
            check_contestant(engine, settings.pace)
        with closing(side_by_side(pairs, numbers)) as playing:
            for game, record in playing:
                yield game, record
                guilty = faults.too_many(game)
                if guilty is not None:
                    words = f"{settings.names[guilty]} has lost game after game by its own fault"
                    raise MatchError(f"{words}; the last, game {game.number}: {fault_text(game)}")
    finally:
        for pair in pairs:
            pair.end()


def fault_text(game: PlayedGame) -> str:
    """The fault that lost a game, in words."""
    kind = {"CRASH": "crashed", "ILLEGAL_MOVE": "illegal move", "TIME_UP": "out of time"}[game.end]
    return f"{kind}: {game.comment}" if game.comment else kind


def check_contestant(engine: MatchEngine, pace: Pace) -> None:
    """Start a contestant with its options, and let it search once, so that faults show before the first game.

    Raises:
        SettingsError: it does not start, refuses an option, or cannot search at this pace.
    """
    name = engine.contestant.name
    try:
        engine.start()
        word = "nodes" if pace.nodes is not None else "depth"
        if not pace.timed and not engine.understands(word):
            raise SettingsError(f"player {name} does not understand 'go {word}': give --byoyomi or --time")
        engine.new_game()
        go = "btime 0 wtime 0 byoyomi 200"
        if pace.nodes is not None or pace.depth is not None:
            go = f"nodes {min(pace.nodes, 1000)}" if pace.nodes is not None else "depth 1"
        engine.think("position startpos", f"go {go}", _FIRST_SEARCH_MS)
    except EngineError as error:
        raise SettingsError(f"player {name}: {error}") from error


class _PlayerPair:
    """Two engines that play each other, as a workplace of `cluster.machine.side_by_side`."""

    def __init__(self, settings: MatchSettings, openings: Sequence[str]) -> None:
        self._settings = settings
        self._openings = openings
        self._ended = False
        self.engines = (MatchEngine(settings.players[0]), MatchEngine(settings.players[1]))

    def end(self) -> None:
        """End the processes at once; a running game has no result."""
        self._ended = True
        for engine in self.engines:
            engine.kill()

    def close(self) -> None:
        """End the processes by the protocol's ``quit``."""
        for engine in self.engines:
            engine.close()

    def do(self, number: int) -> tuple[PlayedGame, GameRecord]:
        """Play a game. Raises MatchError: a player cannot be restarted."""
        settings, sfen = self._settings, self._openings[pair_of(number)]
        colour = colour_of_a(number)
        sides = (self.engines[colour], self.engines[1 - colour])
        for engine in sides:
            self._prepare(engine)
        referee = Referee(settings, sfen)
        black, white = sides[0].contestant, sides[1].contestant
        control = settings.pace.control
        record = GameRecord(
            f"game {number}",
            (black.name, white.name),
            sfen,
            (control, control),
            settings.max_moves,
            started=datetime.now(),
            moves=referee.moves,
        )
        figures = (PlayerFigures(), PlayerFigures())
        before = [engine.cpu_ms() for engine in sides]
        while referee.ending is None:
            self._turn(referee, sides[referee.turn], figures[referee.turn])
        ending = record.ending = referee.ending
        record.ended = datetime.now()
        for side in (0, 1):
            figures[side].cpu_ms = max(0, sides[side].cpu_ms() - before[side])
            won = "draw" if ending.winner is None else "win" if ending.winner == side else "lose"
            sides[side].game_over(won)
        points = 0.5 if ending.winner is None else float(ending.winner == colour)
        a, b = figures[colour], figures[1 - colour]
        return PlayedGame(number, points, ending.reason, ending.comment, len(referee.moves), a, b), record

    def _prepare(self, engine: MatchEngine) -> None:
        """Begin a new game with a contestant; restart it if it died."""
        for attempt in range(1, _TRIES + 1):
            try:
                engine.new_game()
                return
            except EngineError as error:
                self._leave_if_ended()
                if attempt == _TRIES:
                    raise MatchError(f"player {engine.contestant.name} cannot be started again: {error}") from error

    def _turn(self, referee: Referee, engine: MatchEngine, figures: PlayerFigures) -> None:
        """One move."""
        allowed_ms = referee.clock.allowed_ms(referee.turn)
        try:
            answer = engine.think(referee.position_line, referee.go_line, allowed_ms)
        except SilentError as error:
            self._leave_if_ended()
            if allowed_ms is None:
                referee.crashed(str(error))
            else:
                referee.silent(allowed_ms)
            return
        except EngineError as error:
            self._leave_if_ended()
            referee.crashed(str(error))
            return
        figures.add(PlayerFigures(1, answer.nodes, answer.depth, answer.elapsed_ms))
        referee.answered(answer)

    def _leave_if_ended(self) -> None:
        """An engine that was ended with the match does not count as lost."""
        if self._ended:
            raise _EndedError


def run(settings: MatchSettings, folder: MatchFolder, as_json: bool) -> int:
    """Play the missing games of a match in a folder that this process holds, and show the result; returns the exit
    code.

    Raises:
        SettingsError: the folder has another match, or a player or the openings cannot be used.
        MatchError: a player cannot go on.
        OSError: a file cannot be read or written.
    """
    notice(folder.claim(settings))
    games, dropped = folder.read()
    notice(dropped)
    whole = True
    try:
        if not finished(settings, tally_of(games)):
            whole = _play(settings, folder, games, _openings(settings, folder))
    except MatchError:
        folder.keep_facts(folder.result, facts(settings, games))
        raise
    found = facts(settings, games)
    folder.keep_facts(folder.result, found)
    print(json.dumps(found, ensure_ascii=False) if as_json else table(settings, found))
    return exit_code(whole, folder.path)


def _play(settings: MatchSettings, folder: MatchFolder, games: list[PlayedGame], openings: Sequence[str]) -> bool:
    """Play the missing games, up to the last one or the test's decision. False: Ctrl-C or SIGTERM ended it.

    ``games`` receives each finished game.
    """
    numbers = list(games_left(settings.games, {game.number for game in games}))
    with Stoppable() as block, closing(play_match(settings, openings, numbers)) as playing, Bars("games") as bars:
        bar = bars.bar("", settings.games, at_most=settings.sprt is not None, hourly=True)
        bar.show(len(games), "starting the players", tell=True)
        for game, record in playing:
            folder.add(game, record)
            games.append(game)
            if game.at_fault is not None:
                bars.note(f"game {game.number}: {settings.names[game.at_fault]} lost: {fault_text(game)}")
            result = tally_of(games)
            bar.show(len(games), words(settings, result), tell=True)
            if finished(settings, result):
                break
    return block.finished


def _openings(settings: MatchSettings, folder: MatchFolder) -> list[str]:
    """An opening for each pair. Missing ones are generated, or read, and stored."""
    wanted = settings.games // 2
    try:
        known = folder.known_openings()
        if len(known) >= wanted:
            return known
        if settings.opening_file is not None:
            source = openings_of(settings.opening_file, settings.seed, wanted)
            if len(source) < wanted and not settings.pace.timed:
                notice(
                    f"{settings.opening_file}: {len(source):,} openings for {wanted:,} pairs of games: without a clock "
                    "the same opening may bring the same games again, and the figures look more certain than they are"
                )
        else:
            plies, margin_cp, best = settings.opening_plies, settings.opening_margin_cp, settings.opening_best
            source = made_openings(wanted, settings.seed, lambda: NumbaEngine(hash_mb=1), plies, margin_cp, best)
    except OpeningError as error:
        raise SettingsError(str(error)) from error
    openings = known + [source[number % len(source)] for number in range(len(known), wanted)]
    folder.keep_openings(openings)
    return openings
