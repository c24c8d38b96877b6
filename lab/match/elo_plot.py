"""Elo over something (nodes, generations) as an SVG of its own: a line for each series, with 95 % intervals. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from lab.match.statistics import Strength
from lab.svg import document, line, text

_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c564b")
"""Okabe and Ito's, told apart by colour-blind eyes too."""
_WIDTH, _HEIGHT = 640, 500
"""Size of the plot without the legend."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 60, 60
_LETTER: Final = 8
"""Pixels of a letter of the legend, at most."""
_LEAST_SPAN: Final = 100.0
_MOST_TICKS: Final = 9


@dataclass(frozen=True, slots=True)
class Spot:
    """A point of a series."""

    at: float
    """The place from left (0) to right (1)."""
    strength: Strength
    tip: str
    """The text that is shown where the mouse points at it."""


def elo_plot(title: str, below: str, places: Mapping[str, float], series: Mapping[str, Sequence[Spot]]) -> str:
    """The SVG. An Elo without an end stands at the edge, with an arrow; bars are 95 % intervals.

    Args:
        title: the text above the plot, unchanged.
        below: the text under it: what is counted from left to right.
        places: the labels there, and where they stand, as `Spot.at`.
        series: by name; may be empty.
    """
    known = [spot.strength for spots in series.values() for spot in spots]
    low, high = _span(value for one in known for value in (one.elo, one.low, one.high))
    legend_width = 50 + _LETTER * max(map(len, series), default=0)

    def x(at: float) -> float:
        return _LEFT + 20 + at * (_WIDTH - _LEFT - _RIGHT - 40)

    def y(elo: float) -> float:
        return _TOP + (high - min(max(elo, low), high)) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        text(_LEFT, 30, title, size=16),
        text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 15, below, anchor="middle"),
        f'<text x="20" y="{_HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 20 {_HEIGHT / 2})">Elo</text>',
    ]
    for tick in _ticks(low, high):
        parts.append(line(_LEFT, y(tick), _WIDTH - _RIGHT, y(tick), "#ddd" if tick else "#888"))
        parts.append(text(_LEFT - 8, y(tick) + 4, f"{tick:+.0f}" if tick else "0", anchor="end"))
    for label, at in places.items():
        parts.append(line(x(at), _HEIGHT - _BOTTOM, x(at), _HEIGHT - _BOTTOM + 5, "#888"))
        parts.append(text(x(at), _HEIGHT - _BOTTOM + 20, label, anchor="middle"))
    for number, (name, spots) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        # More lines than colours begin anew, with dashes.
        dash = ' stroke-dasharray="6 4"' if number >= len(_COLOURS) else ""
        shift = (number - (len(series) - 1) / 2) * 4  # bars of several series stand side by side
        path = " ".join(f"{x(spot.at) + shift:.1f},{y(spot.strength.elo):.1f}" for spot in spots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        for spot in spots:
            px, found = x(spot.at) + shift, spot.strength
            parts.append(line(px, y(found.low), px, y(found.high), colour))
            parts.append(_mark(px, y(found.elo), found.elo, colour, spot.tip))
        legend = _TOP + 10 + 22 * number
        parts.append(line(_WIDTH, legend, _WIDTH + 25, legend, colour, 2))
        parts.append(text(_WIDTH + 32, legend + 4, name))
    return document(max(_WIDTH + legend_width, _LEFT + 10 * len(title)), _HEIGHT, parts)


def _mark(x: float, y: float, value: float, colour: str, tip: str) -> str:
    """A point with a tool tip; an arrow up or down where the value has no end."""
    if math.isfinite(value):
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{escape(tip)}</title></circle>'
    tall = -9 if value > 0 else 9
    corners = f"{x - 5:.1f},{y:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + tall:.1f}"
    return f'<polygon points="{corners}" fill="{colour}"><title>{escape(tip)}</title></polygon>'


def _span(values: Iterable[float]) -> tuple[float, float]:
    """The least and the greatest Elo of a plot that holds 0 and the finite values."""
    known = [0.0, *(value for value in values if math.isfinite(value))]
    low, high = min(known), max(known)
    room = max(0.05 * (high - low), (_LEAST_SPAN - (high - low)) / 2)
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from ``low`` to ``high``."""
    step = next(s for s in (10, 20, 50, 100, 200, 500, 1000, 5000) if (high - low) / s <= _MOST_TICKS)
    return [float(tick * step) for tick in range(math.ceil(low / step), math.floor(high / step) + 1)]
