"""The changes of a terraform plan, for a person to judge. Pure: ``terraform show -json`` in ("JSON Output Format")."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

_ACTIONS: Final = {
    ("create",): "create",
    ("update",): "change",
    ("delete",): "destroy",
    ("delete", "create"): "replace",
    ("create", "delete"): "replace",
}
_SIGNS: Final = {"create": "+", "change": "~", "destroy": "-", "replace": "±"}


@dataclass(frozen=True, slots=True)
class Change:
    """One resource. ``action``: create, change, destroy or replace."""

    address: str
    type: str
    action: str
    fields: tuple[str, ...] = ()
    """Fields that change: ``field: before -> after``, where both are short and no secret."""


@dataclass(frozen=True, slots=True)
class FleetLocation:
    """The location of a fleet: what its end has to know when terraform's outputs are gone, or never came."""

    name: str
    region: str
    bucket: str
    bucket_is_own: bool
    """It was made with the fleet and goes with it."""
    zone: str = ""
    """The zone of all its machines; empty: its network was there before."""

    @property
    def store(self) -> str:
        """The fleet's folder of the bucket, which others may share: releases, records, ledger, all of it."""
        return f"s3://{self.bucket}/{self.name}"


@dataclass(frozen=True, slots=True)
class FleetPlan:
    changes: tuple[Change, ...]
    usd_per_hour: dict[str, float | None]
    """Cost of an hour after the plan, as the output ``fleet`` of terraform has it; empty: not known."""
    location: FleetLocation | None = None
    """Location of the fleet after the plan, from the same output; None: it goes, or the output does not say."""
    unpriced_types: tuple[str, ...] = ()
    """Types whose prices terraform does not know."""
    full_bucket_goes: bool = False
    """A bucket is destroyed with all that is in it (``bucket_force_destroy``)."""
    stop_after_hours: float | None = None
    """Hours after which the fleet ends by itself, from the same output; None: it does not say."""

    @property
    def unpriced(self) -> tuple[str, ...]:
        """``head``, ``node``: whose price terraform does not know."""
        return tuple(who for who in ("head", "node") if self.usd_per_hour and self.usd_per_hour.get(who) is None)

    @property
    def empty(self) -> bool:
        return not self.changes

    def beyond(self, other: FleetPlan) -> tuple[str, ...]:
        """Addresses that this plan touches and the other does not."""
        known = {change.address for change in other.changes}
        return tuple(change.address for change in self.changes if change.address not in known)

    def lines(self) -> list[str]:
        """A line for each resource that is touched, what is destroyed first."""
        order = ("destroy", "replace", "change", "create")
        found = []
        for change in sorted(self.changes, key=lambda change: (order.index(change.action), change.address)):
            fields = f"  ({', '.join(change.fields)})" if change.fields else ""
            found.append(f"{_SIGNS[change.action]} {change.action:8} {change.address}{fields}")
        return found

    def summary(self) -> str:
        """``37 to create, 1 to change``."""
        if self.empty:
            return "nothing to do"
        counts = Counter(change.action for change in self.changes)
        return ", ".join(f"{counts[action]} to {action}" for action in _SIGNS if counts[action])


def read_plan(raw: Any) -> FleetPlan:
    """The plan in the output of ``terraform show -json FILE``."""
    changes = []
    full_bucket_goes = False
    for resource in raw.get("resource_changes", ()):
        change = resource["change"]
        action = _ACTIONS.get(tuple(change["actions"]))
        if action is not None and resource.get("mode") == "managed":
            fields = _fields(change) if action == "change" else ()
            changes.append(Change(resource["address"], resource["type"], action, fields))
            if resource["type"] == "aws_s3_bucket" and action in ("destroy", "replace"):
                full_bucket_goes |= bool((change.get("before") or {}).get("force_destroy"))
    after = ((raw.get("output_changes") or {}).get("fleet") or {}).get("after") or {}
    after = after if isinstance(after, dict) else {}
    usd = after.get("usd_per_hour")
    usd = dict(usd) if isinstance(usd, dict) else {}
    types = tuple(str(kind) for kind in after.get("unpriced") or ())
    hours = after.get("stop_after_hours")
    hours = float(hours) if isinstance(hours, int | float) else None
    return FleetPlan(tuple(changes), usd, _location(after), types, full_bucket_goes, hours)


def _location(output: dict[str, Any]) -> FleetLocation | None:
    values = [output.get(name) for name in ("name", "region", "bucket", "bucket_is_own")]
    if None in values:
        return None
    zone = str(output.get("zone") or "")
    return FleetLocation(str(values[0]), str(values[1]), str(values[2]), bool(values[3]), zone)


def _fields(change: dict[str, Any]) -> tuple[str, ...]:
    before, after = change.get("before") or {}, change.get("after") or {}
    hidden = [change.get(f"{when}_sensitive") or {} for when in ("before", "after")]
    found = []
    for name, value in after.items():
        secret = any(isinstance(marks, dict) and marks.get(name) for marks in hidden)
        was = before.get(name)
        short = all(isinstance(each, int | float | str | bool | None) and len(str(each)) <= 40 for each in (was, value))
        if value != was and short and not secret:
            found.append(f"{name}: {was} -> {value}")
    return tuple(found[:6])
