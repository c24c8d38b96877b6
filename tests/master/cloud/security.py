"""The security groups of a terraform plan, as rules for Linux's own packet filter on machines that stand for EC2's.

A group's rules name other groups, whose ids a plan does not know yet: the plan's configuration has the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_RULE = "aws_vpc_security_group_{}_rule"


@dataclass(frozen=True)
class Rule:
    """TCP. ``peer``: a group, a block of addresses, or ``endpoint`` for AWS's services inside the network."""

    group: str
    direction: str
    ports: tuple[int, int]
    peer: str


def rules(plan: Any) -> list[Rule]:
    """All rules of the module ``fleet`` in ``plan``."""
    configured = {resource["address"]: resource.get("expressions", {}) for resource in _resources(plan)}
    found = []
    for change in plan["resource_changes"]:
        for direction in ("ingress", "egress"):
            if change["type"] == _RULE.format(direction):
                after = change["change"]["after"]
                assert after["ip_protocol"] == "tcp"
                expressions = configured[change["address"].removeprefix("module.fleet.").partition("[")[0]]
                peer = after.get("cidr_ipv4") or ""
                if not peer:
                    peer = (_groups(expressions.get("referenced_security_group_id")) or ["endpoint"])[0]
                (group,) = _groups(expressions["security_group_id"])
                found.append(Rule(group, direction, (after["from_port"], after["to_port"]), peer))
    return found


def groups_of_machines(plan: Any) -> dict[str, list[str]]:
    """The security groups of the head and of the workers."""
    configured = {resource["address"]: resource.get("expressions", {}) for resource in _resources(plan)}
    return {
        "head": _groups(configured["aws_instance.head"]["vpc_security_group_ids"]),
        "worker": _groups(configured["aws_launch_template.worker"]["network_interfaces"][0]["security_groups"]),
    }


def packet_filter(rules: list[Rule], groups: list[str], members: Mapping[str, list[str]]) -> str:
    """Input for ``nft -f``: the traffic of a machine in ``groups``. ``members``: the addresses of each group."""
    lines = ["table inet machine {"]
    for hook, direction, side in (("input", "ingress", "saddr"), ("output", "egress", "daddr")):
        lines += [
            f"chain {hook} {{ type filter hook {hook} priority 0; policy drop;",
            f"{'iif' if hook == 'input' else 'oif'} lo accept",
            "ct state established,related accept",
        ]
        for rule in rules:
            if rule.group in groups and rule.direction == direction:
                peers = ", ".join(members.get(rule.peer, [rule.peer]))
                lines.append(f"ip {side} {{ {peers} }} tcp dport {rule.ports[0]}-{rule.ports[1]} accept")
        lines.append("}")
    return "\n".join([*lines, "}"])


def _resources(plan: Any) -> list[Any]:
    found: list[Any] = plan["configuration"]["root_module"]["module_calls"]["fleet"]["module"]["resources"]
    return found


def _groups(expression: Any) -> list[str]:
    """Names of the security groups that an expression refers to."""
    references = (expression or {}).get("references", ())
    names = [
        reference.split(".")[1].partition("[")[0] for reference in references if "aws_security_group." in reference
    ]
    return list(dict.fromkeys(names))
