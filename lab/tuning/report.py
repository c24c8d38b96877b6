"""The state of a run: facts in plain values, sparklines, and a plot of each parameter as one SVG. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, Final

from lab.tuning.run import TuningRun
from worker.svg import document, text

_SPARKS: Final = "▁▂▃▄▅▆▇█"
_COLUMNS: Final = 4
_CELL_WIDTH, _CELL_HEIGHT = 240, 110
_MARGIN_X, _MARGIN_Y = 12, 24
_TOP: Final = 40
_POINTS: Final = 120
"""Points of a plotted line, at most."""
_LEAST_SPAN: Final = 2.0
"""Steps from the lowest to the highest value of a plot, at least: less would make much of nothing."""


def facts(run: TuningRun) -> dict[str, Any]:
    """The run in plain values."""
    spsa, settings = run.spsa, run.settings
    last = max(0, min(spsa.taken, settings.spsa.iterations) - 1)
    return {
        "iterations": settings.spsa.iterations,
        "taken": spsa.taken,
        "games": run.games,
        "wins": run.wins,
        "losses": run.losses,
        "pace": settings.games.pace,
        "finished": run.finished,
        "signal": round(signal(run), 3),
        "parameters": [
            {
                "name": one.name,
                "start": one.start,
                "now": round(value, 3),
                "change": round(value - one.start, 3),
                "steps": round((value - one.start) / one.step, 3),
                "low": one.low,
                "high": one.high,
                "step": one.step,
                "perturbation": round(settings.spsa.perturbation(one, last), 3),
                "gain": round(settings.spsa.gain(one, last), 4),
                "signal": round(own, 2),
            }
            for one, value, own in zip(settings.spsa.parameters, spsa.theta, spsa.signals, strict=True)
        ],
    }


def signal(run: TuningRun) -> float:
    """The root of the mean square of the parameters' signals (`Spsa.signals`): near 1 where only chance decides.

    By chance it varies by `signal_error`.
    """
    signals = run.spsa.signals
    return math.sqrt(sum(one**2 for one in signals) / len(signals))


def signal_error(run: TuningRun) -> float:
    """The standard deviation of `signal` where there is nothing but chance."""
    return 1 / math.sqrt(2 * len(run.settings.spsa.parameters))


def sampled(run: TuningRun, place: int, points: int) -> list[float]:
    """The path of the parameter at ``place``: ``points`` values of it at most, the first and the last among them."""
    path = run.spsa.path
    count = min(points, len(path))
    if count < 2:
        return [path[-1][place]]
    return [path[i * (len(path) - 1) // (count - 1)][place] for i in range(count)]


def sparkline(values: Sequence[float], least_span: float) -> str:
    """Values as a row of blocks; the whole height is ``least_span`` or more."""
    low, high = _span(values, least_span)
    return "".join(_SPARKS[min(len(_SPARKS) - 1, int((value - low) / (high - low) * len(_SPARKS)))] for value in values)


def spark_of(run: TuningRun, place: int, width: int) -> str:
    """The sparkline of a parameter."""
    return sparkline(sampled(run, place, width), _LEAST_SPAN * run.settings.spsa.parameters[place].step)


def _span(values: Sequence[float], least: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    more = max(0.0, least - (high - low)) / 2
    return low - more, high + more


def plot(run: TuningRun, title: str) -> str:
    """The SVG: a small chart for each parameter, its start dashed, all at one scale of games from left to right.

    Args:
        title: the text above the report, unchanged.
    """
    parameters = run.settings.spsa.parameters
    rows = -(-len(parameters) // _COLUMNS)
    width, height = _COLUMNS * _CELL_WIDTH, _TOP + rows * _CELL_HEIGHT
    words = f"{title}: {run.spsa.taken:,} of {run.settings.spsa.iterations:,} iterations, {run.games:,} games"
    parts = [
        text(_MARGIN_X, 24, words, size=15),
    ]
    parts += [_chart(run, place) for place in range(len(parameters))]
    return document(width, height, parts)


def _chart(run: TuningRun, place: int) -> str:
    one = run.settings.spsa.parameters[place]
    values = sampled(run, place, _POINTS)
    low, high = _span([*values, one.start], _LEAST_SPAN * one.step)
    left = place % _COLUMNS * _CELL_WIDTH + _MARGIN_X
    top = _TOP + place // _COLUMNS * _CELL_HEIGHT + _MARGIN_Y
    wide, tall = _CELL_WIDTH - 2 * _MARGIN_X, _CELL_HEIGHT - _MARGIN_Y - _MARGIN_X
    reach = wide * run.spsa.taken / run.settings.spsa.iterations

    def y(value: float) -> float:
        return top + tall * (high - value) / (high - low)

    line = " ".join(
        f"{left + reach * i / max(1, len(values) - 1):.1f},{y(value):.1f}" for i, value in enumerate(values)
    )
    words = f"{one.name}  {one.start:g} → {values[-1]:.4g}"
    return "\n".join(
        [
            f'<rect x="{left}" y="{top}" width="{wide}" height="{tall}" fill="#f7f7f7" stroke="#cccccc"/>',
            text(left, top - 6, words, size=11),
            f'<line x1="{left}" y1="{y(one.start):.1f}" x2="{left + wide}" y2="{y(one.start):.1f}" '
            'stroke="#888888" stroke-dasharray="3 3"/>',
            f'<polyline points="{line}" fill="none" stroke="#0072b2" stroke-width="1.5">'
            f"<title>{escape(f'{one.name}: {one.low} to {one.high}, step {one.step:g}')}</title></polyline>",
        ]
    )
