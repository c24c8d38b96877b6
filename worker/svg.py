"""Elements of pictures as SVG text, which any browser shows, for plots of the laboratory, tuning and training."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from typing import Final

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c564b")
"""Okabe and Ito's, told apart by colour-blind eyes too."""
_MOST_TICKS: Final = 9


def document(width: float, height: float, parts: Iterable[str]) -> str:
    """A whole picture on white.

    Args:
        width: of the picture, in pixels; so ``height``.
        parts: its elements, the lowest first.
    """
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" font-size="13">'
    )
    return "\n".join((head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>", ""))


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> str:
    """A straight line."""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width:g}"/>'


def text(x: float, y: float, words: str, *, size: int = 13, anchor: str = "start") -> str:
    """Words, as they are; ``y`` is their base line."""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'


def spot(x: float, y: float, value: float, colour: str, tip: str) -> str:
    """A point with a tool tip; an arrow up or down where the value has no end."""
    if math.isfinite(value):
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"><title>{escape(tip)}</title></circle>'
    tall = -9 if value > 0 else 9
    corners = f"{x - 5:.1f},{y:.1f} {x + 5:.1f},{y:.1f} {x:.1f},{y + tall:.1f}"
    return f'<polygon points="{corners}" fill="{colour}"><title>{escape(tip)}</title></polygon>'


def elo_span(values: Iterable[float], least: float) -> tuple[float, float]:
    """The least and the greatest Elo of a plot that holds 0 and the finite values, and spans ``least`` or more."""
    known = [0.0, *(value for value in values if math.isfinite(value))]
    low, high = min(known), max(known)
    room = max(0.05 * (high - low), (least - (high - low)) / 2)
    return low - room, high + room


def elo_ticks(low: float, high: float) -> list[float]:
    """Round numbers from ``low`` to ``high``."""
    step = next(s for s in (10, 20, 50, 100, 200, 500, 1000, 5000) if (high - low) / s <= _MOST_TICKS)
    return [float(tick * step) for tick in range(math.ceil(low / step), math.floor(high / step) + 1)]
