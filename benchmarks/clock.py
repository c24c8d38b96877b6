"""The clock's results over thousands of simulated games: flag falls, and the share of the time used.

    python -m benchmarks.clock [--games 300] [--seed 1] [--json]

Virtual time; the server's arithmetic is `worker.clock.timecontrol`. Only one side of a game is simulated: the link
delays every move in both directions, the searcher is late by some milliseconds and sometimes misses the player's
deadline, and a simulated search reports its best move, score and vote. There are four kinds of games, also with
simulated lengths: even ones (90 to 256 plies, most near 130), ones that are lost (from ply 40 to 100 on the score falls
for 12 to 35 own moves, to -5000; we resign after four moves at that score), won ones (the same for the other side), and
stuck ones, which are lost but do not end: at -3500 they last for 30 to 80 more own moves.

**Used** is the time that the server charged. **Usable** adds the time that it could have charged if our line had left
at the hard limit: in the last turn of the game, and in each turn that wasted byoyomi (no main time was left after it).
So unused main time counts against us however short the game was. Margins before the flag do not count; the table lists
them separately.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from benchmarks.figures import Figures, machine
from master.player.instructions import PlayerSettings
from worker.clock import ClockSettings, GameClock, Signs, Watch
from worker.clock.plan import most_moves
from worker.clock.timecontrol import TimeControl

SETTINGS = ClockSettings()
GUARD_MS = PlayerSettings().guard_ms
KINDS = ("even", "lost", "won", "stuck")

CONTROLS = {
    "WCSC 15m+5F": TimeControl(total_ms=900_000, increment_ms=5_000),
    "floodgate 5m+10F": TimeControl(total_ms=300_000, increment_ms=10_000),
    "10s+1F": TimeControl(total_ms=10_000, increment_ms=1_000),
    "5s+1F": TimeControl(total_ms=5_000, increment_ms=1_000),
    "60s, byoyomi 10s": TimeControl(total_ms=60_000, byoyomi_ms=10_000),
    "10m, byoyomi 10s": TimeControl(total_ms=600_000, byoyomi_ms=10_000),
    "byoyomi 10s": TimeControl(byoyomi_ms=10_000),
    "byoyomi 1s": TimeControl(byoyomi_ms=1_000),
    "sudden death 2m": TimeControl(total_ms=120_000),
    "sudden death 15m": TimeControl(total_ms=900_000),
    "25m, least 1s": TimeControl(total_ms=1_500_000, least_ms=1_000),
    "5m+3F, rounded up": TimeControl(total_ms=300_000, increment_ms=3_000, roundup=True),
    "15m, rounded up": TimeControl(total_ms=900_000, roundup=True),
    "sudden death 5m, in ms": TimeControl(total_ms=300_000, unit_ms=1),
    "60s+1F, in ms": TimeControl(total_ms=60_000, increment_ms=1_000, unit_ms=1),
    "byoyomi 2s, in ms": TimeControl(byoyomi_ms=2_000, unit_ms=1),
    "30m, byoyomi 60s, in min": TimeControl(total_ms=1_800_000, byoyomi_ms=60_000, unit_ms=60_000),
    "5m+5F, delay 3s": TimeControl(total_ms=300_000, increment_ms=5_000, delay_ms=3_000),
    "5m, delay 5s, not kept": TimeControl(total_ms=300_000, delay_ms=5_000),
}
DELAY_KEPT = frozenset({"5m+5F, delay 3s"})
"""Controls with a delay that the server respects."""


@dataclass(frozen=True, slots=True)
class Link:
    """Delay of a network link, one way: some milliseconds, and a heavy tail (a Pareto law) up to a worst case."""

    least_ms: float
    tail_ms: float
    worst_ms: float
    shape: float = 1.5

    def way_ms(self, rng: random.Random) -> float:
        return min(self.worst_ms, self.least_ms + self.tail_ms * (rng.paretovariate(self.shape) - 1.0))


LINKS = {
    "local": Link(0.1, 0.2, 20),
    "near": Link(8, 4, 120),
    "far": Link(60, 15, 145),
}
"""Links for which the initial margin is enough, even if a turn has no more than a second."""
BAD_LINKS = {
    "farther": Link(200, 20, 350),
    "slow": Link(350, 20, 450),
    "jittery": Link(30, 120, 600, shape=1.2),
    "rough": Link(60, 60, 900, shape=1.2),
    "seldom": Link(60, 1.5, 800, shape=0.75),
}
"""Links that are worse than the initial margin: the clock has to detect that before the main time is gone. With byoyomi
only, it may lose a turn before it can: then the operator has to raise the margin."""


@lru_cache
def dear_ms(control: TimeControl, link: Link) -> float:
    """The mean main time (ms) that an instant move costs and no increment returns."""

    def cost(delay_ms: float) -> int:
        charged = control.charge(delay_ms + SETTINGS.least_ms)
        return 0 if charged < control.byoyomi_ms + control.increment_ms else max(0, charged - control.increment_ms)

    rng = random.Random(1)
    return statistics.fmean(cost(link.way_ms(rng) + link.way_ms(rng)) for _ in range(2000))


@dataclass(slots=True)
class Played:
    """One game's figures, in milliseconds."""

    flag_fell: bool = False
    used_ms: int = 0
    usable_ms: int = 0
    held_ms: float = 0.0
    """The part of the usable time that was not used."""
    moves: int = 0
    usual_ms: list[float] = field(default_factory=list)
    """The margin by which each move was timed."""
    hard_ms: list[float] = field(default_factory=list)
    """The reserve that the hard limit kept in front of the flag, move by move."""


def scores(kind: str, rng: random.Random) -> tuple[list[int], int]:
    """Our score before each of our moves, and how many we make."""
    length = int(rng.triangular(90, 256, 130)) // 2
    if kind == "even":
        score, path = 0.0, []
        for _ in range(length):
            score = 0.95 * score + rng.gauss(0, 40)
            path.append(int(score))
        return path, length
    turn, fall = rng.randint(20, 50), rng.randint(12, 35)
    sign = 1 if kind == "won" else -1
    path = [int(rng.gauss(0, 60)) for _ in range(turn)]
    path += [sign * int(5000 * ((number + 1) / fall) ** 2) for number in range(fall)]
    if kind == "stuck":
        path = [max(score, -3500) for score in path] + [-3500] * rng.randint(30, 80)
    else:
        path += [sign * 5200] * 3
    return path, len(path)


def think(
    clock: GameClock, soft_ms: int, hard_ms: int, now_ms: float, watch: Watch, score: int, rng: random.Random
) -> float:
    """The milliseconds from ``now_ms`` until the searcher is done: the search follows the soft time, which may
    change."""
    if rng.random() < 0.01:
        return hard_ms + GUARD_MS  # no answer: the player sends its best move so far
    settles = rng.random() ** 2  # the share of the time after which the best move stays
    agreement = rng.choice((1.0, 1.0, 1.0, rng.uniform(0.4, 1.0)))
    elapsed, step = 0.0, max(20.0, hard_ms / 8)
    number = 0
    while elapsed < soft_ms:
        elapsed = min(elapsed + step, soft_ms)
        if elapsed < settles * hard_ms / 2 and rng.random() < 0.4:
            number += 1
        signs = Signs(elapsed, f"move {number}", score, agreement)
        soft_ms = clock.reconsidered(watch.see(signs), now_ms + elapsed)
    return min(elapsed + rng.expovariate(1 / 8), hard_ms + GUARD_MS)


def play(
    control: TimeControl,
    link: Link,
    kind: str,
    rng: random.Random,
    *,
    max_moves: int | None = None,
    delay_kept: bool = False,
    ponder: bool = False,
    spend: Callable[..., float] = think,
) -> Played:
    """Our side of one game, as black; the opponent's times differ from ours, and do not matter."""
    clock = GameClock((control, replace(control, total_ms=control.total_ms // 2 + 1000)), SETTINGS)
    played = Played()
    path, moves = scores(kind, rng)
    if max_moves is not None:
        moves = min(moves, (max_moves + 1) // 2)
    remaining, now, last_score = control.total_ms, 0.0, None
    for number in range(moves):
        down, up, echo = (link.way_ms(rng) for _ in range(3))
        began = now  # we have read the opponent's move; the server sent it `down` before
        known_ms = rng.uniform(0, 20_000) if ponder and rng.random() < 0.5 else 0.0
        budget = clock.budget(now, 2 * number, max_moves, known_ms, last_score)
        falls = control.flag_elapsed_ms(remaining)
        latest = clock.latest_ms()
        watch = Watch(last_score, "move 0" if known_ms else "", known_ms)
        thought = spend(clock, budget.soft_ms, budget.hard_ms, now, watch, path[number], rng)
        now = began + thought
        clock.sent(now)
        elapsed, at_most = down + thought + up, down + max(latest, thought) + up
        if delay_kept:
            elapsed, at_most = (max(0.0, time - control.delay_ms) for time in (elapsed, at_most))
        charged = control.charge(elapsed)
        played.moves += 1
        played.usual_ms.append(clock.delays.usual_ms)
        played.hard_ms.append(falls - latest)
        if control.flag_falls(remaining, charged):
            played.flag_fell = True
            return played
        remaining = control.after(remaining, charged)
        played.used_ms += charged
        played.usable_ms += charged
        last = number == moves - 1
        if last or (remaining == 0 and control.byoyomi_ms):
            left = max(0, min(control.charge(at_most), falls) - charged)
            played.usable_ms += left
            played.held_ms += min(left, dear_ms(control, link) * (most_moves(2 * number, max_moves) - 1))
        now += up + echo
        clock.moved(charged, now)
        now += rng.expovariate(1 / 5000)
        clock.moved(0, now)
        assert clock.remaining_ms[0] == remaining
        last_score = path[number]
    return played


def measure(name: str, links: list[Link], number_of_games: int, seed: int) -> dict[str, float]:
    """Play games of each kind under a control, over these links in turn, and return the table's row."""
    row: dict[str, float] = {"games": 0, "flag falls": 0}
    usual, hard = Figures(), Figures()
    for kind in KINDS:
        rng = random.Random(f"{seed} {name} {kind}")
        games = [
            play(
                CONTROLS[name],
                links[number % len(links)],
                kind,
                rng,
                max_moves=(None, 256, 320)[number // len(links) % 3],
                delay_kept=name in DELAY_KEPT,
                ponder=rng.random() < 0.5,
            )
            for number in range(number_of_games)
        ]
        row["games"] += len(games)
        row["flag falls"] += sum(game.flag_fell for game in games)
        usable = sum(game.usable_ms for game in games)
        used, held = (sum(game.used_ms for game in games), sum(game.held_ms for game in games))
        row[f"{kind}: of all"] = round(100 * used / usable, 1) if usable else 100.0
        row[f"{kind}: of free"] = round(100 * used / (usable - held), 1) if usable > held else 100.0
        shares = sorted(game.used_ms / game.usable_ms if game.usable_ms else 1.0 for game in games)
        row[f"{kind}: worst tenth"] = round(100 * shares[len(shares) // 10], 1)
        for game in games:
            usual.samples += game.usual_ms
            hard.samples += game.hard_ms
    row["margin p50"], row["margin p99"] = round(usual.percentile(50)), round(usual.percentile(99))
    row["hard p50"], row["hard p99"] = round(hard.percentile(50)), round(hard.percentile(99))
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--games", type=int, default=300, help="games of each kind, for each control, over good and over bad links"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {}
    for name in CONTROLS:
        for label, links in (("", LINKS), (", bad links", BAD_LINKS)):
            rows[name + label] = measure(name, list(links.values()), options.games, options.seed)
    if options.json:
        print(json.dumps({"machine": machine(), "controls": rows}, indent=2))
    else:
        _show(rows)


def _show(rows: dict[str, dict[str, float]]) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(Column(no_wrap=True), *next(iter(rows.values())), title="used: % of the usable time; margins in ms")
    for name, row in rows.items():
        table.add_row(name, *(f"{value:g}" for value in row.values()))
    Console(width=220).print(table)


if __name__ == "__main__":
    main()
