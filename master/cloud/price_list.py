"""AWS's own price list ("AWS Price List Query API"): what to ask it for a type's price, and what it answers. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

REGION: Final = "us-east-1"
"""Region of the service, which is in a few regions only; it knows the prices of all."""
SERVICE: Final = "AmazonEC2"


def filters(instance_type: str, region: str) -> list[dict[str, str]]:
    """Filters of ``GetProducts``: this type in that region, on demand, Linux, nothing besides."""
    wanted = {
        "instanceType": instance_type,
        "regionCode": region,
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "tenancy": "Shared",
        "capacitystatus": "Used",
    }
    return [{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in wanted.items()]


def on_demand(answers: Iterable[str]) -> float | None:
    """US dollars an hour from the texts in ``PriceList``; None: they do not say, or not in one voice."""
    found = {usd for answer in answers for usd in _hourly(answer) if usd > 0}
    return found.pop() if len(found) == 1 else None


def _hourly(answer: str) -> Iterable[float]:
    try:
        product: dict[str, Any] = json.loads(answer)
        for term in product["terms"]["OnDemand"].values():
            for dimension in term["priceDimensions"].values():
                if dimension["unit"] == "Hrs":
                    yield float(dimension["pricePerUnit"]["USD"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return
