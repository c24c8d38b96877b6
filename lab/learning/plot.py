"""Elo by generation as an SVG. Pure."""

from __future__ import annotations

from lab.learning.ledger import Kind, Ledger
from lab.match.elo_plot import Spot, elo_plot
from lab.match.statistics import Strength


def plot(ledger: Ledger) -> str:
    """The SVG: a line for each opponent, and for the gates."""
    width = max(len(ledger.generations) - 1, 1)
    places = {one.number: (one.number - 1) / width for one in ledger.generations}
    series: dict[str, list[Spot]] = {}
    for one in ledger.generations:
        for step in one.steps:
            if step.kind in (Kind.GATE, Kind.MATCH):
                name = f"against {step.name or 'its teacher (gate)'}"
                strength = Strength.of_facts(step.result)
                tip = f"generation {one.number} {name}: {strength}, {step.result['games']} games"
                series.setdefault(name, []).append(Spot(places[one.number], strength, tip))
    labels = {str(number): at for number, at in places.items()}
    return elo_plot("Elo of each generation's net", "generation", labels, series)
