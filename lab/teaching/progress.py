"""The display of ``gougi selfplay``: its progress, and tables of counts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Self

from master.ui.progress import Bars

if TYPE_CHECKING:
    from lab.teaching.terms import Event

_BAR: Final = 40


class ShardsProgress(Bars):
    """The standing on stderr: a bar at a terminal, else a line for each shard.

    Args:
        wanted: games in all.
        known: headers of the shards that are there already.
    """

    def __init__(self, wanted: int, known: Sequence[dict[str, Any]]) -> None:
        super().__init__("games")
        self._wanted = wanted
        self._shards = len(known)
        self._games = sum(header["games"] for header in known)
        self._positions = sum(header["positions"] for header in known)
        self._fresh_games = self._fresh_positions = 0
        self._fresh_cpu_s = 0.0
        self._under_way = Counter[int]()
        """Games of each shard that is being made."""
        self._running_positions = 0
        self._running_cpu_s = 0.0
        self._lost = 0
        self._bar = self.bar("", wanted)
        self._began = time.monotonic()

    def take(self, event: Event) -> None:
        """Something happened."""
        from cluster.drivers.task_pool import Opened
        from lab.teaching.terms import Made, Played, ShardLost

        if isinstance(event, Opened):
            waits = "" if event.nodes else ": waiting for a machine that has room"
            self.note(f"a fleet of {event.nodes} nodes{waits}")
        elif isinstance(event, Played):
            self._under_way[event.number] += event.games
            self._running_positions += event.positions
            self._running_cpu_s += event.cpu_s
        elif isinstance(event, ShardLost):
            self._lost += 1
            self._under_way.pop(event.number, None)
            self.note(f"shard {event.number} is lost: {event.why}; it is made again")
        else:
            self._shards += 1
            self._under_way.pop(event.number, None)
            self._fresh_games += event.games
            self._fresh_positions += event.positions
            self._fresh_cpu_s += event.cpu_s
        self._show(tell=isinstance(event, Made))

    def facts(self) -> dict[str, Any]:
        """The shards made now and before, as plain values."""
        return {
            "shards": self._shards,
            "games": self._games + self._fresh_games,
            "positions": self._positions + self._fresh_positions,
            "made_now": {
                "games": self._fresh_games,
                "positions": self._fresh_positions,
                "cpu_s": round(self._fresh_cpu_s, 3),
                "wall_s": round(time.monotonic() - self._began, 3),
                "positions_per_cpu_s": round(self._rate()),
                "lost_shards": self._lost,
            },
        }

    def summary(self) -> str:
        """The same in a line."""
        facts = self.facts()
        text = f"{facts['shards']} shards, {facts['games']:,} games, {facts['positions']:,} positions"
        return f"{text}; {self._rate():,.0f} positions a CPU second" if self._fresh_games else text

    def _rate(self) -> float:
        """Positions a CPU second."""
        # Of running shards only where none is whole: a shard that is told of twice would count twice.
        if self._fresh_cpu_s:
            return self._fresh_positions / self._fresh_cpu_s
        return self._running_positions / self._running_cpu_s if self._running_cpu_s else 0.0

    def _show(self, *, tell: bool) -> None:
        done = min(self._wanted, self._games + self._fresh_games + self._under_way.total())
        words = f"{self._positions + self._fresh_positions:,} positions kept"
        if self._rate():
            words += f", {self._rate():,.0f} positions a CPU second"
        self._bar.show(done, words, tell=tell)

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._bar.begin(self._games)
        return super().__enter__()


def stats_text(facts: dict[str, Any]) -> str:
    """The counts of ``gougi selfplay stats`` as a table."""
    from lab.selfplay.walk import QUIET_SCORE

    games, length, scale = facts["games"], facts["length"], facts["win_rate_scale"]
    played = {name: count for name, count in facts["ends"].items() if count}
    rows = [
        ("shards", f"{facts['shards']:,}"),
        ("games", f"{games:,}"),
        ("positions", f"{facts['positions']:,} ({facts['bytes_per_position']:.2f} bytes each)"),
        ("kept as quiet", f"{facts['kept']:,} ({facts['kept_share']:.1%})"),
        ("in check", f"{facts['in_check_share']:.1%}"),
        ("best move captures", f"{facts['capture_share']:.1%}"),
        ("best move promotes", f"{facts['promotion_share']:.1%}"),
        (f"score {QUIET_SCORE} and more", f"{facts['decided_share']:.1%}"),
        ("duplicates", f"{facts['duplicate_share']:.2%} of {facts['duplicates_among']:,}"),
        ("black / draw / white", f"{facts['black_wins']:,} / {facts['draws']:,} / {facts['white_wins']:,}"),
        ("ends", ", ".join(f"{name} {count:,} ({count / games:.1%})" for name, count in played.items())),
        ("kings far up at the start", f"{facts['entering_starts']:,} games"),
        ("unusual at the start", f"{facts['unusual_starts']:,} games"),
        ("played to the end", f"{facts['played_out']:,} games"),
        (
            "moves of a game",
            f"{length['mean']:.0f} on average, {length['median']:.0f} median, {length['shortest']} to"
            f" {length['longest']}",
        ),
        ("openings rejected", f"{facts['rejected_openings']:,}"),
        ("nodes of a move", f"{facts['nodes_per_position']:,.0f}"),
        ("win-rate scale", "not to be fitted" if scale is None else f"{scale:,.0f} centipawns"),
    ]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:{width}}  {value}" for name, value in rows]
    most = max((row["positions"] for row in facts["scores"]), default=0) or 1
    lines.append("\nscores, by their size")
    for row in facts["scores"]:
        below = "mate" if row["below"] is None else f"to {row['below']:,}"
        bar = "#" * round(_BAR * row["positions"] / most)
        lines.append(f"{row['from']:>6,} {below:>9}  {row['positions']:>12,}  {bar}".rstrip())
    return "\n".join(lines)
