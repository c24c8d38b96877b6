"""Elo by number of nodes, a line for each strategy, as an SVG of its own: any browser shows it. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from cluster.lab.report import PointResult, elo_text

_WIDTH, _HEIGHT = 640, 500
"""Without the legend."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 60, 60
_LETTER = 8
"""Pixels of a letter of the legend, at most."""
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c564b")
"""Okabe and Ito's, told apart by colour-blind eyes too; more lines begin anew, with dashes."""
_LEAST_SPAN = 100.0
_MOST_TICKS = 9


def plot(results: Sequence[PointResult], title: str) -> str:
    """The SVG. An Elo without an end stands at the edge, with an arrow; bars are 95 % intervals.

    Args:
        results: as `cluster.lab.report.summarize` gives them; may be empty.
        title: stands above, as it is.
    """
    low, high = _range(results)
    counts = sorted({result.point.nodes for result in results}) or [1]
    strategies = list(dict.fromkeys(result.point.strategy for result in results))
    legend_width = 50 + _LETTER * max((len(name) for name in strategies), default=0)
    width = max(_WIDTH + legend_width, _LEFT + 10 * len(title))

    def x(nodes: int) -> float:
        first, last = math.log2(counts[0]), math.log2(counts[-1])
        share = (math.log2(nodes) - first) / (last - first) if last > first else 0.5
        return _LEFT + 20 + share * (_WIDTH - _LEFT - _RIGHT - 40)

    def y(elo: float) -> float:
        return _TOP + (high - min(max(elo, low), high)) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" width="{width}" '
        f'height="{_HEIGHT}" font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
        _text(_LEFT, 30, title, size=16),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 15, "nodes", anchor="middle"),
        f'<text x="20" y="{_HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 20 {_HEIGHT / 2})">Elo</text>',
    ]
    for tick in _ticks(low, high):
        colour = "#888" if tick == 0 else "#ddd"
        parts.append(_line(_LEFT, y(tick), _WIDTH - _RIGHT, y(tick), colour, 1))
        parts.append(_text(_LEFT - 8, y(tick) + 4, f"{tick:+.0f}" if tick else "0", anchor="end"))
    for count in counts:
        parts.append(_line(x(count), _HEIGHT - _BOTTOM, x(count), _HEIGHT - _BOTTOM + 5, "#888", 1))
        parts.append(_text(x(count), _HEIGHT - _BOTTOM + 20, str(count), anchor="middle"))
    for index, name in enumerate(strategies):
        own = [result for result in results if result.point.strategy == name]
        colour = _COLOURS[index % len(_COLOURS)]
        dash = ' stroke-dasharray="6 4"' if index >= len(_COLOURS) else ""
        shift = (index - (len(strategies) - 1) / 2) * 4  # bars of several strategies stand side by side
        spots = [(x(result.point.nodes) + shift, y(result.strength.elo), result) for result in own]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py, _ in spots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        for px, py, result in spots:
            measured = result.strength
            parts.append(_line(px, y(measured.low), px, y(measured.high), colour, 1))
            parts.append(_spot(px, py, measured.elo, colour, _tip(result)))
        legend = _TOP + 10 + 22 * index
        parts.append(_line(_WIDTH, legend, _WIDTH + 25, legend, colour, 2))
        parts.append(_text(_WIDTH + 32, legend + 4, name))
    return "\n".join((*parts, "</svg>", ""))


def _range(results: Sequence[PointResult]) -> tuple[float, float]:
    """The least and the greatest Elo that the plot has room for; 0 is always in it."""
    known = [0.0]
    for result in results:
        measured = result.strength
        known += [value for value in (measured.elo, measured.low, measured.high) if math.isfinite(value)]
    low, high = min(known), max(known)
    room = max(0.05 * (high - low), (_LEAST_SPAN - (high - low)) / 2)
    return low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    step = next(s for s in (10, 20, 50, 100, 200, 500, 1000, 5000) if (high - low) / s <= _MOST_TICKS)
    return [float(tick * step) for tick in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _tip(result: PointResult) -> str:
    measured = result.strength
    return (
        f"{result.point}: {elo_text(measured.elo)} ({elo_text(measured.low)} to {elo_text(measured.high)}), "
        f"{result.tally.games} games"
    )


def _spot(x: float, y: float, elo: float, colour: str, tip: str) -> str:
    """A point; an arrow where the Elo has no end."""
    if math.isfinite(elo):
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{escape(tip)}</title></circle>'
    tall = -9 if elo > 0 else 9
    corners = f"{x - 5:.1f},{y:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + tall:.1f}"
    return f'<polygon points="{corners}" fill="{colour}"><title>{escape(tip)}</title></polygon>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, *, size: int = 13, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(text)}</text>'
