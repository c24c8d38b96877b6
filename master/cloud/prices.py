"""List prices of machines, from a table that terraform uses too, and the cost of a fleet. No network access.

The table (``terraform/prices.json``) is part of the package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from master.cloud.agreed import ENDPOINTS

if TYPE_CHECKING:
    from master.config import FleetConfig

_PACKAGED = Path(__file__).with_name("prices.json")
_CHECKOUT = Path(__file__).parents[2] / "terraform" / "prices.json"
MEASURED: Final = 16
SIMULATED: Final = 256
"""Number of nodes up to which fleets were measured, and simulated (``python -m benchmarks.large_fleet``)."""


class PriceUnknown(Exception):
    """The table does not have a region; the text lists its regions."""


def vcpus(instance_type: str) -> int | None:
    """Virtual CPUs of a machine type of the families that Gougi uses, from the size in its name; None: the name does
    not say."""
    match = re.fullmatch(r"[a-z0-9-]+\.(?:(medium)|(large)|([0-9]*)xlarge)", instance_type)
    if match is None:
        return None
    if match[3] is None:
        return 1 if match[1] else 2
    return 4 * int(match[3] or 1)


def head_of(variables: Mapping[str, Any], nodes: int) -> str:
    """The head's type, by the rule of terraform/locals.tf."""
    return variables.get("head_instance_type") or ("c7i.xlarge" if nodes < 64 else "c7i.4xlarge")


def list_prices(types: Iterable[str], region: str, given: Mapping[str, float]) -> dict[str, float]:
    """On-demand prices by type, US dollars per hour; a type with unknown price is left out.

    Args:
        given: prices from the user, which take precedence.
    """
    per_vcpu = _table()["per_vcpu"]  # within a family AWS charges the same for each vCPU
    found = dict(given)
    for kind in types:
        price, size = per_vcpu.get(kind.split(".")[0], {}).get(region), vcpus(kind)
        if price and size:
            found.setdefault(kind, price * size)
    return found


def _table() -> dict[str, Any]:
    path = _PACKAGED if _PACKAGED.exists() else _CHECKOUT
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True, slots=True)
class Estimate:
    """``usd_per_hour``: as in terraform's output of that name (``head``, ``node``, ``beside``, ``all``)."""

    region: str
    head: str
    node: str
    """The most expensive of the requested types."""
    nodes: int
    usd_per_hour: Mapping[str, float | None]
    unpriced_types: tuple[str, ...]
    read: str
    """The day on which the table's prices were looked up."""

    def lines(self) -> list[str]:
        """A line for the head, the nodes, and the rest; prices are US dollars per hour."""
        usd = self.usd_per_hour
        return [
            f"a fleet in {self.region}, by the prices that came with gougi, read {self.read}",
            f"head    1 x {self.head:14} {_usd(usd['head'])}",
            f"nodes {self.nodes:3} x {self.node:14} {_usd(usd['node'], self.nodes)}",
            f"beside them (address, endpoints) {_usd(usd['beside'])}",
        ]


def estimate(settings: FleetConfig, nodes: int, region: str) -> Estimate:
    """The cost of ``nodes`` machines and their head in a region, at on-demand prices, as in terraform/cost.tf.

    Args:
        settings: the section [fleet]; its variables override the other settings, as in the root module.

    Raises:
        PriceUnknown: the table has no price for the region.
    """
    variables, table = settings.variables, _table()
    given = variables.get("usd_per_hour") or {}
    head_type = head_of(variables, nodes)
    node_types = tuple(variables.get("instance_types", settings.instance_types))
    prices = list_prices((head_type, *node_types), region, given)
    unpriced = tuple(sorted({head_type, *node_types} - prices.keys()))
    regions = sorted({region for of_family in table["per_vcpu"].values() for region in of_family})
    if unpriced and region not in regions:
        raise PriceUnknown(f"{region}: gougi has no prices for this region; it has prices for {' '.join(regions)}")
    head = prices.get(head_type)
    known = [prices[kind] for kind in node_types if kind in prices]
    node = max(known) if len(known) == len(node_types) else None
    endpoint = given.get("endpoint", table["interface_endpoint"].get(region, 0.0))
    beside = table["public_ipv4"] + endpoint * (0 if variables.get("network") else len(ENDPOINTS))
    whole = None if head is None or node is None else head + nodes * node + beside
    usd = {"head": head, "node": node, "beside": beside, "all": whole}
    dearest = max(node_types, key=lambda kind: prices.get(kind, 0.0))
    return Estimate(region, head_type, dearest, nodes, usd, unpriced, str(table["read"]))


def _usd(price: float | None, count: int = 1) -> str:
    if price is None:
        return "price not known"
    return f"{price * count:.2f}" if count == 1 else f"{price * count:.2f} ({price:.4f} each)"
