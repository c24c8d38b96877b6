"""Elo by number of nodes, a line for each strategy, as an SVG of its own: any browser shows it. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cluster.lab.report import PointResult, elo_text
from worker.svg import COLOURS, document, elo_span, elo_ticks, line, spot, text

_WIDTH, _HEIGHT = 640, 500
"""Size of the plot without the legend."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 60, 60
_LETTER = 8
"""Pixels of a letter of the legend, at most."""
_LEAST_SPAN = 100.0


def plot(results: Sequence[PointResult], title: str) -> str:
    """The SVG. An Elo without an end stands at the edge, with an arrow; bars are 95 % intervals.

    Args:
        results: as `cluster.lab.report.summarize` gives them; may be empty.
        title: the text above the plot, unchanged.
    """
    known = [value for one in results for value in (one.strength.elo, one.strength.low, one.strength.high)]
    low, high = elo_span(known, _LEAST_SPAN)
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
        text(_LEFT, 30, title, size=16),
        text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 15, "nodes", anchor="middle"),
        f'<text x="20" y="{_HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 20 {_HEIGHT / 2})">Elo</text>',
    ]
    for tick in elo_ticks(low, high):
        colour = "#888" if tick == 0 else "#ddd"
        parts.append(line(_LEFT, y(tick), _WIDTH - _RIGHT, y(tick), colour))
        parts.append(text(_LEFT - 8, y(tick) + 4, f"{tick:+.0f}" if tick else "0", anchor="end"))
    for count in counts:
        parts.append(line(x(count), _HEIGHT - _BOTTOM, x(count), _HEIGHT - _BOTTOM + 5, "#888"))
        parts.append(text(x(count), _HEIGHT - _BOTTOM + 20, str(count), anchor="middle"))
    for index, name in enumerate(strategies):
        own = [result for result in results if result.point.strategy == name]
        colour = COLOURS[index % len(COLOURS)]
        # More lines than colours begin anew, with dashes.
        dash = ' stroke-dasharray="6 4"' if index >= len(COLOURS) else ""
        shift = (index - (len(strategies) - 1) / 2) * 4  # bars of several strategies stand side by side
        spots = [(x(result.point.nodes) + shift, y(result.strength.elo), result) for result in own]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py, _ in spots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        for px, py, result in spots:
            measured = result.strength
            parts.append(line(px, y(measured.low), px, y(measured.high), colour))
            parts.append(spot(px, py, measured.elo, colour, _tip(result)))
        legend = _TOP + 10 + 22 * index
        parts.append(line(_WIDTH, legend, _WIDTH + 25, legend, colour, 2))
        parts.append(text(_WIDTH + 32, legend + 4, name))
    return document(width, _HEIGHT, parts)


def _tip(result: PointResult) -> str:
    measured = result.strength
    return (
        f"{result.point}: {elo_text(measured.elo)} ({elo_text(measured.low)} to {elo_text(measured.high)}), "
        f"{result.tally.games} games"
    )
