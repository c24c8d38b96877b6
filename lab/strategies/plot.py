"""Elo by number of nodes, a line for each strategy, as an SVG of its own: any browser shows it. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lab.match.elo_plot import Spot, elo_plot
from lab.strategies.report import PointResult


def plot(results: Sequence[PointResult], title: str) -> str:
    """The SVG, with a logarithmic scale of nodes.

    Args:
        results: as `lab.strategies.report.summarize` gives them; may be empty.
        title: the text above the plot, unchanged.
    """
    counts = sorted({result.point.nodes for result in results}) or [1]
    first, last = math.log2(counts[0]), math.log2(counts[-1])
    places = {count: (math.log2(count) - first) / (last - first) if last > first else 0.5 for count in counts}
    series: dict[str, list[Spot]] = {}
    for result in results:
        tip = f"{result.point}: {result.strength}, {result.tally.games} games"
        spot = Spot(places[result.point.nodes], result.strength, tip)
        series.setdefault(result.point.strategy, []).append(spot)
    return elo_plot(title, "nodes", {str(count): at for count, at in places.items()}, series)
