"""Game records for books."""

from __future__ import annotations

from collections.abc import Sequence

from worker.shogi import Position, move_to_csa

LINE = ["7g7f", "3c3d", "2g2f", "8c8d", "2f2e", "8d8e", "6i7h", "4a3b"]


def record(
    moves: Sequence[str] = LINE,
    scores: Sequence[int | None] = (),
    end: str = "%TORYO",
    rates: tuple[float, float] | None = (3567.0, 3011.5),
    summary: str = "'summary:toryo:ABC win:DEF lose",
) -> str:
    """A game as floodgate keeps it."""
    lines = ["V2", "N+ABC", "N-DEF", "PI", "+"]
    if rates is not None:
        lines += [f"'black_rate:ABC+a1b2:{rates[0]}", f"'white_rate:DEF+c3d4:{rates[1]}"]
    position = Position.startpos()
    for number, usi in enumerate(moves):
        lines += [move_to_csa(position.push_usi(usi)), "T1"]
        if number < len(scores) and scores[number] is not None:
            lines.append(f"'** {scores[number]} ")
    return "\n".join([*lines, end, summary, ""])
