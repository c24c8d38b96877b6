"""Names: of what terraform makes and others ask for, of facts of a machine, of files in the bucket."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.deploy.agreement.tree import Tree, block, differs, quoted, value


def faults(tree: Tree) -> Iterator[str]:
    yield from _made(tree)
    yield from _facts(tree)
    yield from _files(tree)


def _made(tree: Tree) -> Iterator[str]:
    agreed = tree.agreed
    hook = block(tree.terraform("workers.tf"), 'resource "aws_autoscaling_lifecycle_hook" "drain"')
    for name, wanted in (
        ("name", f'"{agreed.HOOK}"'),
        ("lifecycle_transition", '"autoscaling:EC2_INSTANCE_TERMINATING"'),
        ("heartbeat_timeout", str(agreed.HOOK_S)),
        ("default_result", '"CONTINUE"'),
    ):
        yield from differs("terraform/workers.tf: hook", name, value(hook, name), wanted)
    if "from master.cloud.agreed import HOOK\n" not in tree.text("master/cloud/drained.py"):
        yield "master/cloud/drained.py: has a hook of its own"
    cost = tree.terraform("cost.tf")
    action = value(block(cost, 'resource "aws_autoscaling_schedule" "stop"'), "scheduled_action_name")
    yield from differs("terraform/cost.tf", "scheduled_action_name", action, f'"{agreed.STOP_ACTION}"')
    asked = set(re.findall(r"--scheduled-action-names? (\S+)", tree.scripts["end-fleet.sh"]))
    yield from differs("deploy/scripts/end-fleet.sh", "the scheduled action", asked, {agreed.STOP_ACTION})
    budget = value(block(cost, 'resource "aws_budgets_budget" "month"'), "name")
    yield from differs("terraform/cost.tf", "the budget's name", budget, f'"${{var.name}}-{agreed.BUDGET}"')
    tags = value(tree.terraform("locals.tf"), "tags")
    yield from differs("terraform/locals.tf", "tags", tags, f"merge(var.tags, {{ {agreed.TAG} = var.name }})")
    if f'format("user:{agreed.TAG}$%s", var.name)' not in cost:
        yield f"terraform/cost.tf: the budget does not count what has the tag {agreed.TAG}"
    group = value(block(tree.terraform("workers.tf"), 'resource "aws_autoscaling_group" "workers"'), "name")
    yield from differs("terraform/workers.tf", "the group's name", group, "local.asg_name")


def _facts(tree: Tree) -> Iterator[str]:
    """``FLEET_…``: each that is read is written, of what terraform gives the template."""
    template = tree.text("deploy/cloud-init/machine.yaml.tftpl")
    env, script, first_boot = template.partition("/gougi-first-boot")
    if not script:
        yield "deploy/cloud-init/machine.yaml.tftpl: no script of the first boot: the check has become blind"
    written = set(re.findall(r"^ +(FLEET_\w+)=", env, re.MULTILINE))
    read = dict[str, str]()
    places = {f"deploy/scripts/{name}": text for name, text in tree.scripts.items()}
    places["deploy/cloud-init/machine.yaml.tftpl"] = first_boot
    for path in sorted((tree.root / "deploy" / "systemd").glob("*.service")):
        places[f"deploy/systemd/{path.name}"] = path.read_text(encoding="utf-8")
    for where, text in places.items():
        read |= dict.fromkeys(re.findall(r"\$\{?(FLEET_\w+)", text), where)
    code = "master/commands/fleet_services.py"
    read |= dict.fromkeys(re.findall(r'envvar="(FLEET_\w+)"', tree.text(code)), code)
    yield from (
        f"{read[name]}: {name}: nobody writes it to {tree.agreed.FACTS}" for name in sorted(read.keys() - written)
    )
    head, workers = tree.terraform("head.tf"), tree.terraform("workers.tf")
    common = set(re.findall(r"^ +(\w+) +=", block(head, "machine_facts ="), re.MULTILINE))
    used = set(re.findall(r"\$\{(\w+)\}", template))
    for where, text in (("head.tf", head), ("workers.tf", workers)):
        own = set(re.findall(r"^ +(\w+) +=", block(text, "merge(local.machine_facts,"), re.MULTILINE))
        yield from differs(f"terraform/{where}", "facts of the template", sorted(common | own), sorted(used))
    said = {
        file: value(block(text, "merge(local.machine_facts,"), "role")
        for file, text in (("head", head), ("node", workers))
    }
    yield from differs("terraform", "roles of the machines", said, {"head": '"head"', "node": '"node"'})


def _files(tree: Tree) -> Iterator[str]:
    """Compare the objects that terraform puts in the bucket with those that the machines fetch."""
    storage = tree.terraform("storage.tf")
    put = {
        value(block(storage, f'resource "aws_s3_object" "{name}"'), "key")
        .strip('"')
        .replace("${var.name}", "$FLEET_NAME")
        for name in ("config", "master_env")
    }
    fetched = set(re.findall(r'cp "s3://\$FLEET_BUCKET/(\$FLEET_NAME/config/[\w.]+)"', tree.scripts["fetch-files.sh"]))
    yield from differs("deploy/scripts/fetch-files.sh", "fetches", sorted(fetched), sorted(put))
    if quoted(value(storage, "release_key"))[:1] != ["${var.name}/release/${local.release_sha}.tar"]:
        yield f"terraform/storage.tf: release_key: {value(storage, 'release_key')}: not below the fleet's release/"
    content = value(block(storage, 'resource "aws_s3_object" "master_env"'), "content")
    names = set(re.findall(r"(GOUGI_\w+)=", content))
    yield from differs("terraform/storage.tf", "master.env", names, {"GOUGI_ENGINE_THREADS", "GOUGI_ENGINE_HASH_MB"})
