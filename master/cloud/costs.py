"""Costs of the fleet: prices an hour, and a ledger of what its machines have cost. Pure; times: seconds since 1970.

Machines are billed by the second from their launch on, at least a minute ("Amazon EC2 pricing"). Disks, addresses,
endpoints and traffic are not in the ledger; what stands beside the machines is in terraform's ``usd_per_hour``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

KEY: Final = "fleet/ledger.json"
"""Key of the ledger in the archive."""
_LEAST_S: Final = 60.0
_LARGEST: Final = 192
"""vCPUs of the largest machines of the families that Gougi runs on."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that runs. ``launched``: seconds since 1970."""

    id: str
    type: str
    zone: str
    spot: bool
    launched: float


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars an hour.

    ``on_demand``: by type. ``spot``: by type and zone, the market's price now; where it is not known, a spot machine
    counts at its on-demand price, which it never passes. ``source``: in words, with a date. ``assumed``: by type, what
    counts for a price cap where the price is not known.
    """

    on_demand: Mapping[str, float]
    spot: Mapping[tuple[str, str], float] = field(default_factory=dict)
    source: str = ""
    assumed: Mapping[str, float] = field(default_factory=dict)

    def of(self, machine: Machine) -> float | None:
        """None: not known."""
        on_demand = self.on_demand.get(machine.type)
        if not machine.spot:
            return on_demand
        return self.spot.get((machine.type, machine.zone), on_demand)

    def for_cap(self, machine: Machine) -> float:
        """The price that counts for a price cap."""
        known = self.of(machine)
        return self.assumed.get(machine.type, 0.0) if known is None else known


@dataclass(frozen=True, slots=True)
class Account:
    """The cost of one machine up to ``until``."""

    type: str
    spot: bool
    launched: float
    until: float
    usd: float


def vcpus(instance_type: str) -> int | None:
    """Virtual CPUs of a type of the families that Gougi runs on, by the size in its name; None: the name does not
    say."""
    match = re.fullmatch(r"[a-z0-9-]+\.(?:(medium)|(large)|([0-9]*)xlarge)", instance_type)
    if match is None:
        return None
    if match[3] is None:
        return 1 if match[1] else 2
    return 4 * int(match[3] or 1)


def on_demand_prices(
    table: Mapping[str, Any], types: Iterable[str], region: str, given: Mapping[str, float]
) -> dict[str, float]:
    """US dollars an hour by type; a type whose price is not known is left out.

    Args:
        table: ``terraform/prices.json``: within a family AWS asks the same for each vCPU.
        given: what the user knows better.
    """
    found = dict(given)
    for kind in types:
        per_vcpu = table["per_vcpu"].get(kind.split(".")[0], {}).get(region)
        size = vcpus(kind)
        if per_vcpu and size:
            found.setdefault(kind, per_vcpu * size)
    return found


def assumed_price(table: Mapping[str, Any], kind: str) -> float:
    """US dollars an hour for a type without a price: by the table's dearest vCPU, so that a cap ends early.

    Args:
        table: ``terraform/prices.json``.
    """
    dearest = max(price for regions in table["per_vcpu"].values() for price in regions.values())
    return float(dearest) * (vcpus(kind) or _LARGEST)


class LedgerError(ValueError):
    """Bytes are no ledger; the text says why."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """All machines that were seen. ``run_began``: since when the head runs this time.

    ``run_usd``: cost since then as it counts for a price cap (`Prices.for_cap`).
    """

    accounts: Mapping[str, Account] = field(default_factory=dict)
    run_began: float = 0.0
    run_usd: float = 0.0
    ended: str = ""
    """The reason why the fleet ended by itself; empty: it did not."""

    @property
    def usd(self) -> float:
        return sum(account.usd for account in self.accounts.values())

    def by_type(self) -> dict[tuple[str, bool], tuple[float, float]]:
        """(type, spot) -> machine hours and US dollars, the dearest first."""
        found: dict[tuple[str, bool], tuple[float, float]] = {}
        for account in self.accounts.values():
            key = (account.type, account.spot)
            hours, usd = found.get(key, (0.0, 0.0))
            found[key] = hours + (account.until - account.launched) / 3600, usd + account.usd
        return dict(sorted(found.items(), key=lambda entry: -entry[1][1]))

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def decode(data: bytes) -> Ledger:
    """The ledger in ``data``.

    Raises:
        LedgerError: there is none.
    """
    try:
        raw: dict[str, Any] = json.loads(data)
        accounts = {str(name): Account(**account) for name, account in raw.pop("accounts").items()}
        return Ledger(accounts, **raw)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LedgerError(f"no ledger: {type(error).__name__}: {error}"[:300]) from error


def observed(ledger: Ledger, machines: Iterable[Machine], prices: Prices, now: float, head_launched: float) -> Ledger:
    """The ledger after a look at the machines that run.

    A machine costs from its launch on, whenever it is first seen; one that was stopped and started has a new launch.
    The time between the last look at a machine and its end is not counted: at most what lies between two looks.

    Args:
        head_launched: when the head was started this time; another one than before begins a new run.
    """
    accounts = dict(ledger.accounts)
    run_usd = ledger.run_usd if head_launched == ledger.run_began else 0.0
    ended = ledger.ended if head_launched == ledger.run_began else ""
    for machine in machines:
        price = prices.of(machine) or 0.0  # where it is not known, the user is told instead of a guess
        key = machine.id if _same(accounts.get(machine.id), machine) else f"{machine.id}@{machine.launched:.0f}"
        known = accounts.get(key)
        since = known.until if known else machine.launched
        until = max(now, since, machine.launched + _LEAST_S)
        usd = (until - since) / 3600 * price
        run_usd += max(0.0, until - max(since, head_launched)) / 3600 * prices.for_cap(machine)
        before = known or Account(machine.type, machine.spot, machine.launched, machine.launched, 0.0)
        accounts[key] = replace(before, until=until, usd=before.usd + usd)
    return Ledger(accounts, head_launched, run_usd, ended)


def _same(account: Account | None, machine: Machine) -> bool:
    return account is None or account.launched == machine.launched
