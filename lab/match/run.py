"""A match, played: some games at a time, each in a thread with two engines that stay from game to game."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import datetime
from typing import Final

from cluster.machine.side_by_side import side_by_side
from lab.match.contestants import SettingsError
from lab.match.match_engine import MatchEngine, SilentError
from lab.match.referee import Referee
from lab.match.results import Faults, PlayedGame, PlayerFigures, colour_of_a, pair_of
from lab.match.settings import MatchSettings, Pace
from master.records.record import GameRecord
from worker.engine import EngineError

_FIRST_SEARCH_MS: Final = 60_000
"""A searcher may still be loading itself while it first searches."""
_TRIES: Final = 2
"""Starts of a dead engine before the match is ended."""


class MatchError(Exception):
    """A match cannot go on; the text says why. What was played is kept."""


class _EndedError(Exception):
    """The match is over: a game that is still being played is dropped."""


def play_match(
    settings: MatchSettings, openings: Sequence[str], numbers: Sequence[int]
) -> Generator[tuple[PlayedGame, GameRecord]]:
    """Play the games ``numbers``; yields each as it ends, with its record.

    Closing the generator ends the match: games in progress are dropped and all processes ended.

    Args:
        openings: the SFEN of each pair.

    Raises:
        SettingsError: a player does not start, refuses an option, or cannot search at this pace.
        MatchError: a player cannot be started again, or loses game after game by its own fault.
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
    """Start a contestant with its options, and let it search once: its faults are known before the first game.

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
    """Two engines that play with each other, as a workplace of `cluster.machine.side_by_side`."""

    def __init__(self, settings: MatchSettings, openings: Sequence[str]) -> None:
        self._settings = settings
        self._openings = openings
        self._ended = False
        self.engines = (MatchEngine(settings.players[0]), MatchEngine(settings.players[1]))

    def end(self) -> None:
        """End the processes at once; a game in progress has no result."""
        self._ended = True
        for engine in self.engines:
            engine.kill()

    def close(self) -> None:
        """End the processes as the protocol has it."""
        for engine in self.engines:
            engine.close()

    def do(self, number: int) -> tuple[PlayedGame, GameRecord]:
        """Play a game. Raises MatchError: a player cannot be started again."""
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
        """Begin a new game with a contestant; start it again where it died."""
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
        """An engine that was ended with the match is nobody's loss."""
        if self._ended:
            raise _EndedError
