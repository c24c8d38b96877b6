"""The cost of a fleet an hour, by its settings and the table of prices alone: nobody is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from master.cloud.agreed import ENDPOINTS
from master.cloud.prices import beside, prices, table_date, types_of

if TYPE_CHECKING:
    from master.config import FleetConfig


@dataclass(frozen=True, slots=True)
class Estimate:
    """``usd_per_hour``: as terraform's output of that name has it (``head``, ``node``, ``beside``, ``all``)."""

    region: str
    head: str
    node: str
    """The dearest of the types that are asked for."""
    nodes: int
    usd_per_hour: Mapping[str, float | None]
    unpriced_types: tuple[str, ...]
    read: str
    """The day on which the table's prices were read."""

    def lines(self) -> list[str]:
        """A line for the head, the nodes, and what stands beside them; their prices are US dollars an hour."""
        usd = self.usd_per_hour
        return [
            f"a fleet in {self.region}, by the prices that came with gougi, read {self.read}",
            f"head    1 x {self.head:14} {_usd(usd['head'])}",
            f"nodes {self.nodes:3} x {self.node:14} {_usd(usd['node'], self.nodes)}",
            f"beside them (address, endpoints) {_usd(usd['beside'])}",
        ]


def estimate(settings: FleetConfig, nodes: int, region: str) -> Estimate:
    """The cost of ``nodes`` machines and their head in a region, at on-demand prices.

    Args:
        settings: the section [fleet]; prices in its variables stand over the table.
    """
    types, given = types_of(settings), settings.variables.get("usd_per_hour") or {}
    table = prices(types.all, region, given)
    head = table.on_demand.get(types.head)
    known = [table.on_demand.get(kind) for kind in types.nodes]
    node = None if None in known else max(usd for usd in known if usd is not None)
    dearest = max(types.nodes, key=lambda kind: table.on_demand.get(kind, 0.0))
    endpoints = 0 if settings.variables.get("network") else len(ENDPOINTS)
    extra = beside(region, endpoints, given)
    whole = None if head is None or node is None else head + nodes * node + extra
    usd = {"head": head, "node": node, "beside": extra, "all": whole}
    return Estimate(region, types.head, dearest, nodes, usd, tuple(sorted(table.assumed)), table_date())


def _usd(price: float | None, count: int = 1) -> str:
    if price is None:
        return "price not known"
    return f"{price * count:.2f}" if count == 1 else f"{price * count:.2f} ({price:.4f} each)"
