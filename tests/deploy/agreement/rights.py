"""Permissions: what the roles and the ways to AWS allow, and what the machines' scripts and code ask for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from tests.deploy.agreement.tree import Tree, block, differs, quoted, value

_ON_HEAD: Final = ("keep.py", "drained.py", "prices.py")
"""Modules of master/cloud whose calls of the cloud the head makes."""
_COPIES: Final = re.compile(r'\bs3 (cp|sync)(?: --[a-z-]+(?: "\$FLEET_REGION")?)* (\S+) (\S+)')


def faults(tree: Tree) -> Iterator[str]:
    yield from _arns(tree)
    yield from _roles(tree)
    yield from _who_has_them(tree)
    yield from _ways(tree)
    asked = [*_of_scripts(tree), *_of_code(tree)]
    if len(asked) < 15:
        yield f"only {len(asked)} calls of AWS are found in scripts and code: the check has become blind"
    for role, action, on, who in asked:
        if not _allowed(tree, role, action, on):
            yield f"{who}: the {role} may not {action} on {on}"


def _arns(tree: Tree) -> Iterator[str]:
    text = tree.terraform("iam.tf") + tree.terraform("storage.tf") + tree.terraform("locals.tf")
    for name, wanted in tree.agreed.ARNS.items():
        yield from differs("terraform", name, value(text, name).strip('"'), wanted)


def _statements(text: str) -> dict[str, tuple[list[str], str]]:
    """Sid -> actions and resources, as they stand there."""
    found: dict[str, tuple[list[str], str]] = {}
    for part in re.split(r"(?=\bSid\s*=)", text)[1:]:
        sid = quoted(part)[0]
        actions = re.search(r"\bAction\s*=\s*(\[[^\]]*\]|\"[^\"]*\")", part)
        on = re.search(r"\bResource\s*=\s*(.*?)\s*\}?,?\s*$", part, re.MULTILINE)
        effect = value(part, "Effect") or ' "Allow"' * ('Effect = "Allow"' in part)
        if '"Allow"' in effect and actions and on:
            found[sid] = (quoted(actions[1]), on[1])
    return found


def _words(expression: str, prefixes: list[str]) -> str:
    """Resources in terraform's words -> in those of the table."""
    known = {
        '"*"': "*",
        "[local.bucket_arn]": "bucket",
        '[local.bucket_arn, "${local.bucket_arn}/*"]': "bucket *",
        "[local.token_arn]": "token",
        "[local.asg_arn]": "group",
        "local.password_arns": "password",
        "local.read_prefixes": " ".join(f"{prefix}/*" for prefix in prefixes),
    }
    if expression in known:
        return known[expression]
    if each := re.fullmatch(r'\[for prefix in \[(.*)\] : "\$\{local\.store_arn\}/\$\{prefix\}/\*"\]', expression):
        return " ".join(f"{prefix}/*" for prefix in quoted(each[1]))
    if one := re.fullmatch(r'\["\$\{local\.store_arn\}/([\w/]+)/\*"\]', expression):
        return f"{one[1]}/*"
    return expression


def _roles(tree: Tree) -> Iterator[str]:
    text = tree.terraform("iam.tf")
    read = re.search(r"read_prefixes\s*=\s*\[for prefix in \[(.*?)\]", text)
    prefixes = quoted(read[1]) if read else []
    of_all = _statements(block(text, "statements_of_all ="))
    for role in tree.agreed.ROLES:
        body = block(text, f"{role}_statements =")
        if "local.statements_of_all" not in body:
            yield f"terraform/iam.tf: {role}: has not what all have"
        has = {**of_all, **_statements(body)}
        agreed: Mapping[str, Any] = tree.agreed.PERMISSIONS[role]
        yield from differs("terraform/iam.tf", f"statements of the {role}", sorted(has), sorted(agreed))
        for sid, permission in agreed.items():
            if sid in has:
                actions, on = has[sid]
                where = f"terraform/iam.tf: {role}: {sid}"
                yield from differs(where, "Action", sorted(actions), sorted(permission.actions))
                yield from differs(where, "Resource", _words(on, prefixes), permission.on)


def _who_has_them(tree: Tree) -> Iterator[str]:
    text = tree.terraform("iam.tf")
    assume = value(text, "assume_ec2")
    for words in ('"ec2.amazonaws.com"', '"sts:AssumeRole"'):
        if words not in assume:
            yield f"terraform/iam.tf: assume_ec2: no {words}: no machine gets its role"
    for role in tree.agreed.ROLES:
        body = block(text, f'resource "aws_iam_role" "{role}"')
        yield from differs(
            "terraform/iam.tf", f"name of the {role}'s role", value(body, "name"), f'"${{var.name}}-{role}"'
        )
        yield from differs("terraform/iam.tf", f"{role}'s trust", value(body, "assume_role_policy"), "local.assume_ec2")
        body = block(text, f'resource "aws_iam_role_policy" "{role}"')
        yield from differs("terraform/iam.tf", f"{role}'s policy", value(body, "role"), f"aws_iam_role.{role}.id")
        if f"local.{role}_statements" not in value(body, "policy"):
            yield f"terraform/iam.tf: {role}'s policy: not its statements"
        body = block(text, f'resource "aws_iam_instance_profile" "{role}"')
        yield from differs("terraform/iam.tf", f"{role}'s profile", value(body, "role"), f"aws_iam_role.{role}.name")
    head = value(block(tree.terraform("head.tf"), 'resource "aws_instance" "head"'), "iam_instance_profile")
    yield from differs("terraform/head.tf", "iam_instance_profile", head, "aws_iam_instance_profile.head.name")
    worker = value(block(tree.terraform("workers.tf"), "iam_instance_profile"), "name")
    yield from differs("terraform/workers.tf", "iam_instance_profile", worker, "aws_iam_instance_profile.worker.name")


def _ways(tree: Tree) -> Iterator[str]:
    """The gateway to S3 with its policy, and the endpoints."""
    agreed, text = tree.agreed, tree.terraform("network.tf")
    gateway = block(text, 'resource "aws_vpc_endpoint" "s3"')
    yield from differs(
        "terraform/network.tf",
        "the gateway's service",
        value(gateway, "service_name"),
        '"com.amazonaws.${local.region}.s3"',
    )
    tables = value(gateway, "route_table_ids")
    yield from differs(
        "terraform/network.tf",
        "the gateway's ways",
        tables,
        "[aws_route_table.head[0].id, aws_route_table.workers[0].id]",
    )
    has = _statements(gateway)
    yield from differs("terraform/network.tf", "statements of the gateway", sorted(has), sorted(agreed.THROUGH_S3))
    repositories = '"arn:${local.partition}:s3:::' + agreed.REPOSITORIES.format(region="${local.region}") + '/*"'
    for sid, permission in agreed.THROUGH_S3.items():
        actions, on = has.get(sid, ([], ""))
        where = f"terraform/network.tf: {sid}"
        yield from differs(where, "Action", sorted(actions), sorted(permission.actions))
        said = permission.on if on == repositories and sid == "Packages" else _words(on, [])
        yield from differs(where, "Resource", said, permission.on)
    if gateway.count('Principal = "*"') + len(re.findall(r'Principal\s+= "\*"', gateway)) < len(has):
        yield "terraform/network.tf: a statement of the gateway is not for everybody who comes that way"
    through = {action for sid in agreed.THROUGH_S3 for action in agreed.THROUGH_S3[sid].actions}
    used = {action for role in agreed.PERMISSIONS.values() for each in role.values() for action in each.actions}
    for action in sorted(action for action in used if action.startswith("s3:")):
        if action not in through:
            yield f"terraform/network.tf: a role may {action}, and the gateway does not let it through"
    interface = block(text, 'resource "aws_vpc_endpoint" "interface"')
    found = quoted(value(interface, "for_each"))
    yield from differs("terraform/network.tf", "interface endpoints", found, list(agreed.ENDPOINTS))
    yield from differs(
        "terraform/network.tf", "names of the endpoints", value(interface, "private_dns_enabled"), "true"
    )
    workers = {action.split(":")[0] for each in agreed.PERMISSIONS["worker"].values() for action in each.actions}
    yield from differs(
        "PERMISSIONS", "services that a worker reaches", sorted(workers - {"s3"}), sorted(agreed.ENDPOINTS)
    )
    image = value(block(tree.terraform("variables.tf"), 'variable "image"'), "default")
    yield from differs(
        "terraform/variables.tf", "image, whose packages the gateway lets through", image, f'"{agreed.IMAGE}"'
    )


Asked = tuple[str, str, str, str]
"""Role, action, resource in the table's words, and who asks."""


def _of_scripts(tree: Tree) -> Iterator[Asked]:
    heads = {"end-fleet.sh", "keep-books.sh", "master.sh"}
    texts = {**tree.scripts, "machine.yaml.tftpl": tree.text("deploy/cloud-init/machine.yaml.tftpl")}
    for script, text in texts.items():
        text = text.replace("\\\n", " ")
        for role in ("head",) if script in heads else tree.agreed.ROLES:
            for service, verb in re.findall(r"\baws (autoscaling|ssm) ([a-z-]+)", text):
                action = f"{service}:{verb.title().replace('-', '')}"
                if (role, action) == ("worker", "ssm:PutParameter"):
                    continue  # `token_is_made`: the head alone
                on = "token" if service == "ssm" else "*" if verb.startswith("describe") else "group"
                yield role, action, on, script
                if 'parameter "$FLEET_PASSWORD_PARAMETER"' in text and role == "head" and verb == "get-parameter":
                    yield role, action, "password", script
            for verb, source, target in _COPIES.findall(text):
                up = not source.startswith('"s3://')
                place = (
                    (target if up else source)
                    .strip('"')
                    .removeprefix("s3://$FLEET_BUCKET/")
                    .removeprefix("$FLEET_NAME/")
                )
                key = "release/x" if place == "$FLEET_RELEASE" else f"{place.rstrip('/')}/x"
                yield role, "s3:PutObject" if up else "s3:GetObject", key, script
                if verb == "sync":
                    yield role, "s3:ListBucket", "bucket", script


def _of_code(tree: Tree) -> Iterator[Asked]:
    """By `Cloud`: which of its methods the head's modules call, and what these ask AWS for."""
    calls = _calls_of_cloud(tree)
    for module in _ON_HEAD:
        for method in sorted(set(re.findall(r"\b_?cloud\.(\w+)\(", tree.text(f"master/cloud/{module}")))):
            for service, operation in calls.get(method, ()):
                action = f"{service}:{operation.title().replace('_', '')}"
                alone = operation.startswith(("describe", "get"))
                yield "head", action, "*" if alone else "group", f"master/cloud/{module}: {method}"
    reports, ledger = (
        tree.constants("master/cloud/reports.py")["PREFIX"],
        tree.constants("master/cloud/costs.py")["KEY"],
    )
    kept = re.search(r'place = "(\w+)" if is_log\(key\) else "(\w+)"', tree.text("master/cloud/keep.py"))
    yield "worker", "s3:PutObject", f"{reports}i-1.json", "master/cloud/node_watch.py"
    for action in ("s3:PutObject", "s3:GetObject"):
        yield "head", action, str(ledger), "master/cloud/keep.py: ledger"
    yield "head", "s3:GetObject", f"{reports}i-1.json", "master/cloud/drained.py"
    for place in kept.groups() if kept else ("nowhere",):
        yield "head", "s3:PutObject", f"{place}/x", "master/cloud/keep.py: copies"
    yield "head", "s3:ListBucket", "bucket", "master/cloud/keep.py: ledger"


def _calls_of_cloud(tree: Tree) -> dict[str, set[tuple[str, str]]]:
    """Method of `Cloud` -> service and operation of each call of AWS in it."""
    module = ast.parse(tree.text("master/cloud/cloud.py"))
    (cloud,) = (node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "Cloud")
    found: dict[str, set[tuple[str, str]]] = {}
    for method in (node for node in cloud.body if isinstance(node, ast.FunctionDef)):
        text = ast.unparse(method)
        pages = re.findall(r"self\.service\('(\w+)'\)\.get_paginator\('(\w+)'\)", text)
        calls = re.findall(r"self\.service\('(\w+)'\)\.(?!get_paginator)(\w+)\(", text)
        found[method.name] = {*pages, *calls}
    return found


def _allowed(tree: Tree, role: str, action: str, on: str) -> bool:
    for permission in tree.agreed.PERMISSIONS[role].values():
        if action in permission.actions and any(fnmatchcase(on, each) for each in permission.on.split()):
            return True
    return False
