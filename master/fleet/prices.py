"""Prices of machines: AWS's price list where it answers, else a table, one file for terraform and for us.

The table travels inside the package.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from master.fleet.aws import AwsError
from master.fleet.costs import Machine, Prices, assumed_price, on_demand_prices

if TYPE_CHECKING:
    from master.config import FleetConfig
    from master.fleet.cloud import Cloud

_PACKAGED = Path(__file__).with_name("prices.json")
_CHECKOUT = Path(__file__).parents[2] / "terraform" / "prices.json"
_PATIENCE_S: Final = 3600.0
"""A price list that did not answer is left alone for so long."""


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
    path = _PACKAGED if _PACKAGED.exists() else _CHECKOUT
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    types, given, listed = set(types), given or {}, listed or {}
    known = on_demand_prices(table, types, region, {**listed, **given})
    sources = ["AWS's price list"] if types & listed.keys() - given.keys() else []
    if types & known.keys() - listed.keys() - given.keys() or not sources:
        sources.append(f"terraform/prices.json, read {table['read']}")
    source = f"on demand: {' and '.join(sources)}; spot: AWS, now"
    return Prices(known, spot or {}, source, {kind: assumed_price(table, kind) for kind in types - set(known)})


class PriceBook:
    """Prices in one region. A price of AWS's list is asked for once; what the list does not know, the table may.

    Args:
        given: on-demand prices that the user knows better.
    """

    def __init__(self, cloud: Cloud, region: str, given: Mapping[str, float] | None = None) -> None:
        self._cloud = cloud
        self._region = region
        self._given = given or {}
        self._listed: dict[str, float | None] = {}
        self._failed = float("-inf")

    def listed(self, types: Iterable[str]) -> dict[str, float]:
        """What AWS's price list says; empty where it may not be asked, or does not answer."""
        wanted = sorted(set(types) - self._listed.keys() - self._given.keys())
        if wanted and time.monotonic() - self._failed >= _PATIENCE_S:
            try:
                answer = self._cloud.on_demand_prices(wanted, self._region)
                self._listed |= {kind: answer.get(kind) for kind in wanted}
            except AwsError:
                self._failed = time.monotonic()  # `Prices.source` says that it is the table's price then
        return {kind: usd for kind, usd in self._listed.items() if usd is not None}

    def prices(self, types: Iterable[str], machines: Iterable[Machine]) -> Prices:
        """Of these types, and the market's of the spot machines among those. Raises AwsError."""
        types = set(types)
        spot = self._cloud.spot_prices(machines)
        return prices(types, self._region, self._given, spot, self.listed(types))


def types_of(settings: FleetConfig) -> set[str]:
    """The types of machine that the settings name."""
    return {settings.variables.get("head_instance_type", settings.instance_types[0]), *settings.instance_types}


def planned(
    settings: FleetConfig, region: str, listed: Mapping[str, float] | None = None
) -> tuple[float, tuple[str, ...]]:
    """What an hour of the fleet that the settings describe costs at most, in US dollars, for a price cap.

    Args:
        listed: as `prices` has it.

    Returns:
        That, and the types whose prices are not known, for which a dear one is assumed.
    """
    head = settings.variables.get("head_instance_type", settings.instance_types[0])
    table = prices(types_of(settings), region, settings.variables.get("usd_per_hour"), listed=listed)
    each = {**table.on_demand, **table.assumed}
    usd = each[head] + settings.nodes * max(each[kind] for kind in settings.instance_types)
    return usd, tuple(sorted(table.assumed))
