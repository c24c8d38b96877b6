"""Prices of machines: AWS's price list where it answers, else a table, one file for terraform and for us.

The table travels inside the package.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from master.cloud.aws import AwsError
from master.cloud.costs import Machine, Prices, assumed_price, on_demand_prices

if TYPE_CHECKING:
    from master.cloud.cloud import Cloud
    from master.config import FleetConfig

_PACKAGED = Path(__file__).with_name("prices.json")
_CHECKOUT = Path(__file__).parents[2] / "terraform" / "prices.json"
HEAD_TYPE: Final = "c7i.xlarge"
"""The head's where nothing else is said: the default of ``head_instance_type`` in terraform/variables.tf."""
_PATIENCE_S: Final = 3600.0
"""A price that AWS's list did not say is not asked for again for so long."""
_LONGEST_S: Final = 10.0
"""After so long the list is asked for no more prices for now, once it has failed."""


def prices(
    types: Iterable[str],
    region: str,
    given: Mapping[str, float] | None = None,
    spot: Mapping[tuple[str, str], float] | None = None,
    listed: Mapping[str, float] | None = None,
) -> Prices:
    """Prices of these types in a region.

    Args:
        given: on-demand prices that the user knows better, by type.
        spot: the market's, by type and zone, as AWS says now.
        listed: those of AWS's price list, by type; the table serves for the others.
    """
    table = _table()
    types, given, listed = set(types), given or {}, listed or {}
    known = on_demand_prices(table, types, region, {**listed, **given})
    sources = ["AWS's price list"] if types & listed.keys() - given.keys() else []
    if types & known.keys() - listed.keys() - given.keys() or not sources:
        sources.append(f"terraform/prices.json, read {table['read']}")
    source = f"on demand: {' and '.join(sources)}; spot: AWS, now"
    return Prices(known, spot or {}, source, {kind: assumed_price(table, kind) for kind in types - set(known)})


def beside(region: str, endpoints: int, given: Mapping[str, float]) -> float:
    """US dollars an hour of address and endpoints beside the machines, as terraform/cost.tf counts them.

    Args:
        endpoints: how many; where the price of one is not known in the region, they count as nothing.
        given: what the user knows better; ``endpoint`` is one's.
    """
    table = _table()
    each = given.get("endpoint", table["interface_endpoint"].get(region, 0.0))
    return float(table["public_ipv4"] + endpoints * each)


def table_date() -> str:
    """The day on which the prices of the table were read, such as ``2026-11-21``."""
    return str(_table()["read"])


def table_regions() -> list[str]:
    """Regions of which the table has the price of a type, sorted."""
    return sorted({region for regions in _table()["per_vcpu"].values() for region in regions})


def _table() -> dict[str, Any]:
    path = _PACKAGED if _PACKAGED.exists() else _CHECKOUT
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


class PriceBook:
    """Prices in one region. A price that AWS's list said is asked for once; what it does not say, the table may.

    Args:
        given: on-demand prices that the user knows better.
        kept: what the list said of old, which counts while it does not answer.
        clock: seconds that only go forward.
    """

    def __init__(
        self,
        cloud: Cloud,
        region: str,
        given: Mapping[str, float] | None = None,
        kept: Mapping[str, float] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cloud = cloud
        self._region = region
        self._given = given or {}
        self._kept = kept or {}
        self._clock = clock
        self._listed: dict[str, float] = {}
        self._not_before: dict[str, float] = {}
        self.trouble = ""
        """The reason why AWS's list did not answer when it was last asked; empty: it did."""

    def listed(self, types: Iterable[str]) -> dict[str, float]:
        """Prices of these types in AWS's list, of now or of an earlier look; a type without one is left out."""
        types = set(types)
        self._ask(sorted(types - self._listed.keys() - self._given.keys()))
        return {kind: usd for kind, usd in {**self._kept, **self._listed}.items() if kind in types}

    def prices(self, types: Iterable[str], machines: Iterable[Machine]) -> Prices:
        """Prices of these types, and the market's of the spot machines among those. Raises AwsError."""
        types = set(types)
        spot = self._cloud.spot_prices(machines)
        return prices(types, self._region, self._given, spot, self.listed(types))

    def _ask(self, kinds: Iterable[str]) -> None:
        began = self._clock()
        due = [kind for kind in kinds if began >= self._not_before.get(kind, began)]
        if due:
            self.trouble = ""
        self._not_before |= dict.fromkeys(due, began + _PATIENCE_S)
        for kind in due:
            if self.trouble and self._clock() - began >= _LONGEST_S:
                return
            try:
                usd = self._cloud.on_demand_price(kind, self._region)
            except AwsError as error:
                self.trouble = str(error)  # of one type: the list may well say the others
                continue
            if usd is not None:
                self._listed[kind] = usd
            elif kind in self._kept:
                self.trouble = f"AWS's price list: no price of {kind} any more"


@dataclass(frozen=True, slots=True)
class FleetTypes:
    """Types of machine. ``nodes``: the preferred one first."""

    head: str
    nodes: tuple[str, ...]

    @property
    def all(self) -> frozenset[str]:
        return frozenset((self.head, *self.nodes))


def types_of(settings: FleetConfig) -> FleetTypes:
    """The types as terraform will see them: ``variables`` stand over the other settings, as in the root module."""
    nodes = settings.variables.get("instance_types", settings.instance_types)
    return FleetTypes(settings.variables.get("head_instance_type", HEAD_TYPE), tuple(nodes))


def planned(
    settings: FleetConfig, region: str, listed: Mapping[str, float] | None = None
) -> tuple[float, tuple[str, ...]]:
    """The highest cost of an hour of the fleet that the settings describe, in US dollars, for a price cap.

    Args:
        listed: as `prices` has it.

    Returns:
        That, and the types whose prices are not known, for which a dear one is assumed.
    """
    types = types_of(settings)
    table = prices(types.all, region, settings.variables.get("usd_per_hour"), listed=listed)
    each = {**table.on_demand, **table.assumed}
    usd = each[types.head] + settings.nodes * max(each[kind] for kind in types.nodes)
    return usd, tuple(sorted(table.assumed))
