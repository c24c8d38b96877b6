"""Elo by generation as an SVG. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from master.learning.ledger import Kind, Ledger
from master.learning.page import elo_text
from worker.svg import COLOURS, document, elo_span, elo_ticks, line, spot, text

_WIDTH, _HEIGHT = 640, 420
"""Size of the picture without the legend."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 50, 60
_LEGEND: Final = 230
_LEAST_SPAN: Final = 100.0
_GATE: Final = "its teacher (gate)"


def plot(ledger: Ledger) -> str:
    """The SVG: a line for each opponent, 95 % intervals, and the gates."""
    series = _series(ledger)
    low, high = elo_span(
        (value for points in series.values() for facts in points.values() for value in _ends(facts)), _LEAST_SPAN
    )
    last = max(len(ledger.generations), 2)

    def x(number: int) -> float:
        return _LEFT + 20 + (number - 1) / (last - 1) * (_WIDTH - _LEFT - _RIGHT - 40)

    def y(elo: float) -> float:
        return _TOP + (high - min(max(elo, low), high)) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        text(_LEFT, 28, "Elo of each generation's net", size=16),
        text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 15, "generation", anchor="middle"),
    ]
    for tick in elo_ticks(low, high):
        parts.append(line(_LEFT, y(tick), _WIDTH - _RIGHT, y(tick), "#ddd" if tick else "#888"))
        parts.append(text(_LEFT - 8, y(tick) + 4, f"{tick:+.0f}" if tick else "0", anchor="end"))
    numbers = [one.number for one in ledger.generations]
    parts += [text(x(number), _HEIGHT - _BOTTOM + 20, str(number), anchor="middle") for number in numbers]
    for place, (name, points) in enumerate(series.items()):
        colour = COLOURS[place % len(COLOURS)]
        shift = (place - (len(series) - 1) / 2) * 4  # bars of several opponents stand side by side
        ends = {number: _ends(facts) for number, facts in points.items()}
        path = " ".join(f"{x(number) + shift:.1f},{y(elo):.1f}" for number, (elo, _, _) in ends.items())
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for number, (elo, least, most) in ends.items():
            at = x(number) + shift
            parts.append(line(at, y(least), at, y(most), colour))
            tip = f"generation {number} against {name}: {elo_text(points[number])}, {points[number]['games']} games"
            parts.append(spot(at, y(elo), elo, colour, tip))
        legend = _TOP + 10 + 22 * place
        parts.append(line(_WIDTH, legend, _WIDTH + 25, legend, colour, 2))
        parts.append(text(_WIDTH + 32, legend + 4, f"against {name}"))
    return document(_WIDTH + _LEGEND, _HEIGHT, parts)


def _series(ledger: Ledger) -> dict[str, dict[int, Mapping[str, Any]]]:
    """By opponent and generation the facts of a match."""
    found: dict[str, dict[int, Mapping[str, Any]]] = {}
    for one in ledger.generations:
        for step in one.steps:
            if step.kind in (Kind.GATE, Kind.MATCH):
                found.setdefault(step.opponent or _GATE, {})[one.number] = step.result
    return found


def _ends(facts: Mapping[str, Any]) -> tuple[float, float, float]:
    """Elo and its interval; infinite where a side won all."""
    swept = math.inf if facts["score"] > 0.5 else -math.inf
    elo, low, high = facts["elo"], facts["elo_low"], facts["elo_high"]
    return swept if elo is None else elo, -math.inf if low is None else low, math.inf if high is None else high
