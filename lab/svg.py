"""Elements of pictures as SVG text, which any browser shows, for plots of the laboratory, tuning and training."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


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
