"""The table of on-demand prices: one file for terraform and for us, which travels inside the package."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from master.fleet.costs import Prices, on_demand_prices

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
    return Prices(on_demand_prices(table, types, region, given or {}), spot or {}, source)
