"""The games of a match as values, and the result so far, in words and as plain values. Pure.

Games are numbered from 1. Games 1 and 2 are the first pair: one opening, A black in the first, white in the second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lab.match.settings import MatchSettings
from lab.match.statistics import Strength, Tally, Verdict, result_facts, strength, tally

_FAULTS: Final = ("CRASH", "ILLEGAL_MOVE", "TIME_UP")
MOST_FAULTS: Final = 4
"""Consecutive games that a player may lose by its own fault before the match ends."""


def pair_of(number: int) -> int:
    """The pair to which a game belongs, from 0."""
    return (number - 1) // 2


def colour_of_a(number: int) -> int:
    """A's colour: 0 black, 1 white."""
    return (number - 1) % 2


def games_left(games: int, played: Collection[int]) -> Iterator[int]:
    """The numbers of the games still to be played, in order."""
    return (number for number in range(1, games + 1) if number not in played)


@dataclass(slots=True)
class PlayerFigures:
    """Figures of one contestant in a game: searched moves, and sums of the reported figures over them."""

    moves: int = 0
    nodes: int = 0
    depth: int = 0
    time_ms: int = 0
    """By the referee's clock."""
    cpu_ms: int = 0
    """CPU time of the process; 0 if the system does not report it."""

    def add(self, other: PlayerFigures) -> None:
        """Add ``other``."""
        for name in ("moves", "nodes", "depth", "time_ms", "cpu_ms"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """A finished game."""

    number: int
    points: float
    """Points of A: 0, 1/2 or 1."""
    end: str
    """As `master.records.record.Ending.reason`."""
    comment: str
    """Further text about the end."""
    plies: int
    """Moves made, without those of the opening."""
    a: PlayerFigures = field(default_factory=PlayerFigures)
    b: PlayerFigures = field(default_factory=PlayerFigures)

    def __post_init__(self) -> None:
        if self.number < 1 or self.points not in (0.0, 0.5, 1.0):
            raise ValueError(f"game {self.number} with {self.points} points")

    @property
    def at_fault(self) -> int | None:
        """The player (0 A, 1 B) that lost by an illegal move, a crash or on time; None: neither."""
        if self.end not in _FAULTS:
            return None
        return 0 if self.points == 0 else 1

    def __str__(self) -> str:
        return f"game {self.number}"


def results_of(games: Sequence[PlayedGame]) -> list[tuple[int, float]]:
    """(pair, points of A) of games, for `lab.match.statistics.tally`."""
    return [(pair_of(game.number), float(game.points)) for game in games]


@dataclass(slots=True)
class Faults:
    """Counts the consecutive games that each player lost by its own fault."""

    _rows: list[int] = field(default_factory=lambda: [0, 0])

    def too_many(self, game: PlayedGame) -> int | None:
        """Count a finished game; returns the player (0 A, 1 B) with `MOST_FAULTS` in a row, or None."""
        for player in (0, 1):
            self._rows[player] = self._rows[player] + 1 if game.at_fault == player else 0
            if self._rows[player] >= MOST_FAULTS:
                return player
        return None


def tally_of(games: Sequence[PlayedGame]) -> Tally:
    """The results of the games so far, for A."""
    return tally(results_of(games))


def decided(settings: MatchSettings, result: Tally) -> Verdict:
    """The verdict of the match's test; open if it has none."""
    return settings.sprt.verdict(result.pairs) if settings.sprt is not None else Verdict.OPEN


def finished(settings: MatchSettings, result: Tally) -> bool:
    """Whether no more games are to be played."""
    return result.games >= settings.games or decided(settings, result) is not Verdict.OPEN


def words(settings: MatchSettings, result: Tally) -> str:
    """The result so far in short: ``+3 =1 -2, Elo +58 (-90 to +240)``."""
    parts = [f"+{result.wins} ={result.draws} -{result.losses}", f"Elo {strength(result)}"]
    if settings.sprt is not None:
        lower, upper = settings.sprt.bounds
        parts.append(f"LLR {settings.sprt.llr(result.pairs):.2f} ({lower:.2f} to {upper:.2f})")
    return ", ".join(parts)


def facts(settings: MatchSettings, games: Sequence[PlayedGame]) -> dict[str, Any]:
    """The match as plain values."""
    result = tally_of(games)
    found: dict[str, Any] = {
        "a": settings.players[0].name,
        "b": settings.players[1].name,
        "pace": str(settings.pace),
        **result_facts(result),
        "endings": _endings(games),
        "faults": {name: sum(game.at_fault == side for game in games) for side, name in enumerate(settings.names)},
        "searching": {
            "a": _searching([game.a for game in games]),
            "b": _searching([game.b for game in games]),
        },
        "finished": finished(settings, result),
    }
    if settings.sprt is not None:
        found["sprt"] = settings.sprt.facts(result.pairs)
    return found


def _endings(games: Sequence[PlayedGame]) -> dict[str, int]:
    """The number of games by their end, the most frequent first."""
    ends = [game.end for game in games]
    return {end: ends.count(end) for end in sorted(set(ends), key=lambda end: (-ends.count(end), end))}


def _searching(figures: Sequence[PlayerFigures]) -> dict[str, float | None]:
    """Figures of a contestant's searches: means per move, and nodes by each of the two clocks. None: unknown."""
    total = PlayerFigures()
    for one in figures:
        total.add(one)

    def share(of: float, by: int) -> float | None:
        return round(of / by, 1) if by and of else None

    return {
        "nodes_a_move": share(total.nodes, total.moves),
        "depth": share(total.depth, total.moves),
        "ms_a_move": share(total.time_ms, total.moves),
        "nps": share(1000 * total.nodes, total.time_ms),
        "nodes_a_cpu_s": share(1000 * total.nodes, total.cpu_ms),
    }


def table(settings: MatchSettings, found: dict[str, Any]) -> str:
    """The table of the output of `facts`."""
    pairs = "  ".join(f"{points}: {n}" for points, n in zip(("0", "½", "1", "1½", "2"), found["pairs"], strict=True))
    measured = Strength.of_facts(found)
    rows = [
        ("A", found["a"]),
        ("B", found["b"]),
        ("pace", found["pace"]),
        ("games", f"{found['games']} of {settings.games}"),
        ("A won, drawn, lost", f"{found['wins']}, {found['draws']}, {found['losses']}"),
        ("pairs by A's points", pairs),
        ("score of A", f"{found['score']:.1%}"),
        ("Elo of A over B", f"{measured.elo:+.0f} (95 %: {measured.low:+.0f} to {measured.high:+.0f})"),
        ("A is stronger", f"{found['los']:.1%} likely"),
        ("endings", ", ".join(f"{end} {count}" for end, count in found["endings"].items()) or "none"),
    ]
    rows += [(f"{side.upper()} searched", _searching_text(found["searching"][side])) for side in "ab"]
    for name, count in found["faults"].items():
        if count:
            rows.append(("own fault", f"{name} lost {count} by a crash, an illegal move or on time"))
    if "sprt" in found:
        test = found["sprt"]
        meaning = {"open": "open", "H0": f"H0: {test['elo0']:+g} Elo", "H1": f"H1: {test['elo1']:+g} Elo"}
        rows.append(
            ("SPRT", f"{meaning[test['verdict']]}, LLR {test['llr']:.2f} in {test['bounds'][0]} to {test['bounds'][1]}")
        )
    return "\n".join(f"{name:<20} {value}" for name, value in rows)


def _searching_text(figures: dict[str, float | None]) -> str:
    words = (
        ("nodes_a_move", "{:,.0f} nodes"),
        ("depth", "depth {:.1f}"),
        ("ms_a_move", "{:.0f} ms a move"),
        ("nodes_a_cpu_s", "{:,.0f} nodes a CPU second"),
    )
    return ", ".join(text.format(figures[key]) for key, text in words if figures[key] is not None) or "no move"
