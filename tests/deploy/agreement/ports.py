"""Ports: what Ray, the master and the checks listen on and ask for, and what is let through."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.deploy.agreement.tree import Tree, block, differs, value

_RULES = {
    # Resource of security.tf -> for_each or port, and who is on the other side.
    'ingress_rule" "fleet"': ("local.fleet_ports", "aws_security_group.fleet.id"),
    'egress_rule" "fleet"': ("local.fleet_ports", "aws_security_group.fleet.id"),
    'egress_rule" "head"': ("each.value", '"0.0.0.0/0"'),
    'egress_rule" "workers_s3"': ("HTTPS", "aws_vpc_endpoint.s3[0].prefix_list_id"),
    'egress_rule" "workers_endpoints"': ("HTTPS", "aws_security_group.endpoints[0].id"),
    'egress_rule" "workers_https"': ("HTTPS", '"0.0.0.0/0"'),
    'ingress_rule" "endpoints"': ("HTTPS", "aws_security_group.fleet.id"),
    'ingress_rule" "ssh"': ("SSH", "each.value"),
}
_OF = {  # whose rule it is, where it is not the group of the rule's name
    "workers_s3": "workers",
    "workers_endpoints": "workers",
    "workers_https": "workers",
    "ssh": "head",
}


def faults(tree: Tree) -> Iterator[str]:
    yield from _machine(tree)
    yield from _groups(tree)
    yield from _server(tree)
    yield from _docs(tree)


def _machine(tree: Tree) -> Iterator[str]:
    agreed, scripts = tree.agreed, tree.scripts
    ray = scripts["ray.sh"]
    ports = {name: int(port) for name, port in re.findall(r"--([a-z-]+-port) (\d+)", ray)}
    yield from differs("deploy/scripts/ray.sh", "ports", ports, dict(agreed.RAY_PORTS))
    gcs = [int(port) for port in re.findall(r'--head --port (\d+)|--address "\$2:(\d+)"', ray) for port in port if port]
    yield from differs(
        "deploy/scripts/ray.sh", "the head's port, as head and worker have it", gcs, [agreed.GCS_PORT] * 2
    )
    health = {role: int(port) for role, port in re.findall(r"(head|node)\) port=(\d+)", scripts["healthcheck.sh"])}
    wanted = {"head": agreed.GCS_PORT, "node": agreed.RAY_PORTS["node-manager-port"]}
    yield from differs("deploy/scripts/healthcheck.sh", "ports", health, wanted)
    master = scripts["master.sh"]
    found = [*re.findall(r'own_address\):(\d+)"', master), *re.findall(r"GOUGI_CLUSTER_REPORT_PORT=(\d+)", master)]
    yield from differs("deploy/scripts/master.sh", "ports", found, [str(agreed.GCS_PORT), str(agreed.REPORT_PORT)])


def _groups(tree: Tree) -> Iterator[str]:
    agreed = tree.agreed
    body = block(tree.terraform("locals.tf"), "fleet_ports =")
    found = {
        name: (int(first), int(last))
        for name, first, last in re.findall(r"(\S+) += \{ from = (\d+), to = (\d+) \}", body)
    }
    yield from differs("terraform/locals.tf", "fleet_ports", found, dict(agreed.OPEN_PORTS))
    listens = {agreed.GCS_PORT, agreed.REPORT_PORT, *agreed.RAY_PORTS.values()}
    shut = {port for port in listens if not any(first <= port <= last for first, last in agreed.OPEN_PORTS.values())}
    yield from (f"OPEN_PORTS: {port}: a machine listens there, and nobody is let through" for port in sorted(shut))
    security = tree.terraform("security.tf")
    kinds = re.findall(r'^resource "aws_vpc_security_group_(\w+" "\w+")', security, re.MULTILINE)
    yield from differs("terraform/security.tf", "rules", sorted(kinds), sorted(_RULES))
    number = {"HTTPS": str(agreed.HTTPS_PORT), "SSH": str(agreed.SSH_PORT)}
    for rule, (port, peer) in _RULES.items():
        body, name = block(security, f'resource "aws_vpc_security_group_{rule}'), rule.split('"')[2]
        where = f"terraform/security.tf: {rule}"
        first, last = ("each.value.from", "each.value.to") if port.startswith("local") else [number.get(port, port)] * 2
        yield from differs(where, "from_port", value(body, "from_port"), first)
        yield from differs(where, "to_port", value(body, "to_port"), last)
        yield from differs(where, "ip_protocol", value(body, "ip_protocol"), '"tcp"')
        if port.startswith("local"):
            yield from differs(where, "for_each", value(body, "for_each"), port)
        peers = [value(body, key) for key in ("cidr_ipv4", "referenced_security_group_id", "prefix_list_id")]
        yield from differs(where, "the other side", [each for each in peers if each], [peer])
        group = _OF.get(name, name)
        whose = value(body, "security_group_id").replace("[0]", "")
        yield from differs(where, "security_group_id", whose, f"aws_security_group.{group}.id")
    out = value(block(security, 'egress_rule" "head"'), "for_each")
    yield from differs(
        "terraform/security.tf", "out of the head", out, f"{{ https = {agreed.HTTPS_PORT}, csa = var.csa_port }}"
    )
    head = value(block(tree.terraform("head.tf"), 'resource "aws_instance" "head"'), "vpc_security_group_ids")
    worker = value(block(tree.terraform("workers.tf"), "network_interfaces"), "security_groups")
    for where, groups, own in (("head.tf", head, "head"), ("workers.tf", worker, "workers")):
        wanted = f"[aws_security_group.fleet.id, aws_security_group.{own}.id]"
        yield from differs(f"terraform/{where}", "security groups", groups, wanted)


def _server(tree: Tree) -> Iterator[str]:
    agreed = tree.agreed
    default = value(block(tree.terraform("variables.tf"), 'variable "csa_port"'), "default")
    yield from differs("terraform/variables.tf", "csa_port", default, str(agreed.CSA_PORT))
    server = value(tree.text("deploy/gougi.toml"), "server").strip('"')
    yield from differs("deploy/gougi.toml", "the server's port", server.partition(":")[2], str(agreed.CSA_PORT))


def _docs(tree: Tree) -> Iterator[str]:
    agreed = tree.agreed
    said = re.findall(r"the report port (\d+)", tree.text("docs/reference/aws.md"))
    yield from differs("docs/reference/aws.md", "the report port", said, [str(agreed.REPORT_PORT)])
    said = re.findall(r"ray start --head --port (\d+)|HEAD:(\d+)", tree.text("docs/how-to/several-machines.md"))
    ports = {int(port) for pair in said for port in pair if port}
    yield from differs("docs/how-to/several-machines.md", "the head's port", ports, {agreed.GCS_PORT})
    output = block(tree.terraform("outputs.tf"), 'output "head_private_ip"')
    yield from differs(
        "terraform/outputs.tf", "the head's port", re.findall(r"port (\d+)", output), [str(agreed.GCS_PORT)]
    )
