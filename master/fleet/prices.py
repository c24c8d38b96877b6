"""The table of on-demand prices: one file for terraform and for us, which travels inside the package."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from master.fleet.costs import Prices, assumed_price, on_demand_prices

if TYPE_CHECKING:
    from master.config import FleetConfig

_PACKAGED = Path(__file__).with_name("prices.json")
_CHECKOUT = Path(__file__).parents[2] / "terraform" / "prices.json"


def prices(
    types: Iterable[str],
    region: str,
    given: Mapping[str, float] | None = None,
    spot: Mapping[tuple[str, str], float] | None = None,
) -> Prices:
    """Prices of these types in a region.

    Args:
        given: on-demand prices that the user knows better, by type.
        spot: the market's, by type and zone, as AWS says now.
    """
    path = _PACKAGED if _PACKAGED.exists() else _CHECKOUT
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    source = f"on demand: terraform/prices.json, read {table['read']}; spot: AWS, now"
    types = set(types)
    known = on_demand_prices(table, types, region, given or {})
    return Prices(known, spot or {}, source, {kind: assumed_price(table, kind) for kind in types - set(known)})


def planned(settings: FleetConfig, region: str) -> tuple[float, tuple[str, ...]]:
    """What an hour of the fleet that the settings describe costs at most, in US dollars, for a price cap.

    Returns:
        That, and the types whose prices are not known, for which a dear one is assumed.
    """
    head = settings.variables.get("head_instance_type", settings.instance_types[0])
    table = prices({head, *settings.instance_types}, region, settings.variables.get("usd_per_hour"))
    each = {**table.on_demand, **table.assumed}
    usd = each[head] + settings.nodes * max(each[kind] for kind in settings.instance_types)
    return usd, tuple(sorted(table.assumed))
