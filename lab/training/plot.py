"""Loss over a run as an SVG of its own: any browser shows it. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lab.svg import document, line, text

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 50, 60, 60
_LINES: Final = (("training_loss", "training", "#56b4e9"), ("validation_loss", "validation", "#d55e00"))
_TICKS: Final = (1, 1.5, 2, 3, 5, 7)


def plot(rows: Sequence[Mapping[str, Any]], title: str) -> str:
    """The SVG.

    Args:
        rows: of the log, as `lab.training.network.trainer.Row` has them; may be empty.
        title: stands above, as it is.
    """
    values = [row[name] for row in rows for name, _, _ in _LINES if row[name] > 0] or [0.01, 0.1]
    low, high = math.log(min(values)) - 0.03, math.log(max(values)) + 0.03
    last = max((row["positions"] for row in rows), default=1)

    def x(positions: float) -> float:
        return _LEFT + positions / last * (_WIDTH - _LEFT - _RIGHT)

    def y(loss: float) -> float:
        share = (high - math.log(loss)) / (high - low) if loss > 0 else 1.0
        return _TOP + share * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        text(_LEFT, 30, title, size=16),
        text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, "positions learned from", anchor="middle"),
    ]
    for tick in _ticks(low, high):
        parts.append(line(_LEFT, y(tick), _WIDTH - _RIGHT, y(tick), "#ddd"))
        parts.append(text(_LEFT - 8, y(tick) + 4, f"{tick:.4g}", anchor="end"))
    for quarter in range(5):
        at = last * quarter / 4
        parts.append(line(x(at), _HEIGHT - _BOTTOM, x(at), _HEIGHT - _BOTTOM + 5, "#888"))
        parts.append(text(x(at), _HEIGHT - _BOTTOM + 20, f"{at:,.0f}", anchor="middle"))
    whole = next((row["positions"] for row in rows if row["quantised"]), None)
    if whole is not None:
        parts.append(line(x(whole), _TOP, x(whole), _HEIGHT - _BOTTOM, "#888"))
        parts.append(text(x(whole) - 4, _TOP - 6, "in integers from here", anchor="end"))
    for place, (name, words, colour) in enumerate(_LINES):
        path = " ".join(f"{x(row['positions']):.1f},{y(row[name]):.1f}" for row in rows)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        left = _WIDTH - _RIGHT - 220 + 110 * place
        parts.append(line(left, 26, left + 22, 26, colour))
        parts.append(text(left + 28, 30, words))
    return document(_WIDTH, _HEIGHT, parts)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two logarithms."""
    decades = range(math.floor(low / math.log(10)), math.ceil(high / math.log(10)) + 1)
    return [tick * 10.0**ten for ten in decades for tick in _TICKS if low <= math.log(tick * 10.0**ten) <= high]
