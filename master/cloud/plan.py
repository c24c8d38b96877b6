"""The changes of a terraform plan, for the user to judge, and terraform's facts about the current fleet.

Pure. The input is ``terraform show -json`` ("JSON Output Format") and the output ``fleet``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from master.cloud.remains import Thing

_ACTIONS: Final = {
    ("create",): "create",
    ("update",): "change",
    ("delete",): "destroy",
    ("delete", "create"): "replace",
    ("create", "delete"): "replace",
}
_SIZES: Final = frozenset({"desired_capacity", "max_size", "suspended_processes"})
"""Fields of the workers' group that set the number of workers, and whether it starts any."""
_SIGNS: Final = {"create": "+", "change": "~", "destroy": "-", "replace": "±"}


@dataclass(frozen=True, slots=True)
class Change:
    """One resource. ``action``: create, change, destroy or replace."""

    address: str
    type: str
    action: str
    fields: tuple[str, ...] = ()
    """Fields that change: ``field: before -> after``, if both values are short and not secret."""
    changed: tuple[str, ...] = ()
    """Names of all fields that change."""

    @property
    def only_sizes(self) -> bool:
        """Whether it only changes the number of workers, starts a stopped head, or sets the fleet's clock."""
        match self.type:
            case "aws_autoscaling_group":
                return self.action == "change" and set(self.changed) <= _SIZES
            case "aws_ec2_instance_state" | "aws_autoscaling_schedule":
                return self.action != "destroy"
            case "terraform_data":
                return self.action != "destroy" and self.address.endswith(".clock")
        return False


@dataclass(frozen=True, slots=True)
class FleetLocation:
    """The location of a fleet: the facts that its end needs if terraform's outputs are gone or never existed."""

    name: str
    region: str
    bucket: str
    bucket_is_own: bool
    """Whether it was created with the fleet and is removed with it."""
    zone: str = ""
    """The zone of all its machines; empty: its network existed before."""
    release: str = ""
    """Name of the file in the fleet's folder which the machines installed; empty: the release came from elsewhere."""


@dataclass(frozen=True, slots=True)
class FleetPlan:
    changes: tuple[Change, ...]
    usd_per_hour: dict[str, float | None]
    """Cost per hour after the plan, from terraform's output ``fleet``; empty: unknown."""
    location: FleetLocation | None = None
    """Location of the fleet after the plan, from the same output; None: it is removed, or the output does not say."""
    unpriced_types: tuple[str, ...] = ()
    """Machine types whose prices terraform does not know."""
    full_bucket_goes: bool = False
    """Whether a bucket is destroyed with all its contents (``bucket_force_destroy``)."""
    nodes: int | None = None
    """The requested number of nodes; None: the fleet's end."""
    stop_after_hours: float | None = None
    """Hours after which the fleet ends by itself, from the same output; None: it does not say."""
    strays: tuple[Thing, ...] = ()
    """The fleet's resources at AWS that terraform does not know. They are removed first."""
    killed: str = ""
    """The command that left them."""

    @property
    def empty(self) -> bool:
        return not self.changes and not self.strays

    @property
    def more_than_sizes(self) -> tuple[str, ...]:
        """Addresses of changes that are unrelated to the number of nodes."""
        return tuple(change.address for change in self.changes if not change.only_sizes)

    def beyond(self, other: FleetPlan) -> tuple[str, ...]:
        """Addresses that this plan touches and the other does not."""
        known = {change.address for change in other.changes}
        return tuple(change.address for change in self.changes if change.address not in known)

    def lines(self) -> list[str]:
        """A line for each resource that changes, destroyed ones first."""
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
            changed = _changed(change) if action == "change" else ()
            fields = _fields(change, changed)
            changes.append(Change(resource["address"], resource["type"], action, fields, changed))
            if resource["type"] == "aws_s3_bucket" and action in ("destroy", "replace"):
                full_bucket_goes |= bool((change.get("before") or {}).get("force_destroy"))
    after = ((raw.get("output_changes") or {}).get("fleet") or {}).get("after") or {}
    after = after if isinstance(after, dict) else {}
    usd = after.get("usd_per_hour")
    usd = dict(usd) if isinstance(usd, dict) else {}
    types = tuple(str(kind) for kind in after.get("unpriced") or ())
    hours = after.get("stop_after_hours")
    hours = float(hours) if isinstance(hours, int | float) else None
    return FleetPlan(tuple(changes), usd, _location(after), types, full_bucket_goes, stop_after_hours=hours)


def _location(output: dict[str, Any]) -> FleetLocation | None:
    names: dict[str, Any] = {name: output.get(name) for name in ("name", "region", "bucket", "bucket_is_own")}
    return None if None in names.values() else FleetLocation(**names, zone=output.get("zone") or "")


def _changed(change: dict[str, Any]) -> tuple[str, ...]:
    """Names of the fields that change."""
    before, after = change.get("before") or {}, change.get("after") or {}
    unknown = {name for name, is_unknown in (change.get("after_unknown") or {}).items() if is_unknown}
    known = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return tuple(sorted(known | unknown))


def _fields(change: dict[str, Any], changed: tuple[str, ...]) -> tuple[str, ...]:
    before, after = change.get("before") or {}, change.get("after") or {}
    hidden = [change.get(f"{when}_sensitive") or {} for when in ("before", "after")]
    found = []
    for name in changed:
        secret = any(isinstance(marks, dict) and marks.get(name) for marks in hidden)
        values = before.get(name), after.get(name)
        short = all(isinstance(each, int | float | str | bool | None) and len(str(each)) <= 40 for each in values)
        if name in after and short and not secret:
            found.append("{}: {} -> {}".format(name, *values))
    return tuple(found[:6])


@dataclass(frozen=True, slots=True)
class Facts:
    """The fleet as terraform's output ``fleet`` describes it."""

    location: FleetLocation
    nodes: int
    group: str
    head: str
    session_command: str
    plays: bool
    """Whether the head runs a master; it does not without a password for a server."""


def read_facts(output: Mapping[str, Any]) -> Facts:
    """Read the output ``fleet``, which is the whole module.

    Raises:
        KeyError: a value is missing.
    """
    names = {name: output[name] for name in ("name", "region", "bucket", "bucket_is_own")}
    return Facts(
        location=FleetLocation(**names, zone=output.get("zone") or ""),
        nodes=int(output["nodes"]),
        group=output["asg_name"],
        head=output["head_instance_id"],
        session_command=output["session_command"],
        plays=output["parameters"]["csa_password"] is not None,
    )
