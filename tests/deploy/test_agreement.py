"""Terraform, units, scripts, docs and code of a fleet's machines agree: ports, units, exit codes, permissions, names.

The test reads them as text, because no other tool sees all of them.
"""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import pytest

from master.cloud import reports
from master.cloud.agreed import BUDGET, ENDPOINTS, HOOK, JOINED, RELEASED, ROLES, TAG
from master.commands.common import BAD_INPUT, INTERRUPTED

ROOT: Final = Path(__file__).parents[2]
SYSTEMD, SCRIPTS_AT = ROOT / "deploy" / "systemd", "/opt/gougi/release/deploy/scripts"
GOUGI: Final = "/opt/gougi/venv/bin/gougi"


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def without_comments(text: str) -> str:
    """Remove comments of bash and HCL: from a ``#`` at a line's beginning or after a blank to the line's end."""
    return re.sub(r"(^|(?<=\s))#(?=\s|!|$).*$", "", text, flags=re.MULTILINE)


TERRAFORM: Final = {path.stem: without_comments(path.read_text()) for path in (ROOT / "terraform").glob("*.tf")}
SCRIPTS: Final = {path.name: without_comments(path.read_text()) for path in (ROOT / "deploy/scripts").glob("*.sh")}
TEMPLATE: Final = text("deploy/cloud-init/machine.yaml.tftpl")


def block(text: str, head: str) -> str:
    """The text in the braces (or brackets) that ``head`` opens."""
    begin = text.index(head) + len(head)
    opening = next(at for at in range(begin, len(text)) if text[at] in "{[(")
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] in "{[(") - (text[at] in "}])")
        if not depth:
            return text[opening + 1 : at]
    raise AssertionError(f"{head}: not closed")


def value(body: str, name: str) -> str:
    """The value of an attribute in a block, on one line, as it is written; empty: it is not set."""
    found = re.search(rf"^\s*{re.escape(name)}\s*=\s*(.+?)\s*$", body, re.MULTILINE)
    return found[1] if found else ""


def quoted(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


# Units

Unit = dict[str, list[str]]


def _unit(path: Path) -> Unit:
    """Key -> its lines; the sections of our units have no key in common."""
    found: Unit = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, words = line.partition("=")
            found.setdefault(key, []).append(words)
    return found


UNITS: Final = {path.name: _unit(path) for kind in ("service", "timer") for path in SYSTEMD.glob(f"*.{kind}")}


OTHERS: Final = {
    "gougi-head.service": "gougi-ray",
    "gougi-keep.service": "gougi-keep",
    "gougi-records.service": "gougi-keep",
}
"""Users other than gougi: Ray's head, which runs the code of anybody with the token, and users with the machine's
role."""


def _words(unit: str, key: str) -> list[str]:
    return " ".join(UNITS[unit].get(key, [])).split()


def _starts(unit: str) -> set[str]:
    """The units that a unit starts: by Wants=, as a timer, or by its command."""
    lines = [line for key, found in UNITS[unit].items() if key.startswith("Exec") for line in found]
    at_end = re.findall(r"systemctl (?:--no-block )?start ([\w.-]+)", " ".join(lines))
    timed = [unit.replace(".timer", ".service")] if unit.endswith(".timer") else []
    return {other for other in (*_words(unit, "Wants"), *at_end, *timed) if other.startswith("gougi-")}


def _units_of(machine: str) -> set[str]:
    """The units that run on a machine: those that boot.sh starts, and those that they start."""
    lists = {"head": r"(?:head\)\s+units=|units\+=)\(([^)]*)\)", "node": r"node\)\s+units=\(([^)]*)\)"}
    left = {unit for found in re.findall(lists[machine], SCRIPTS["boot.sh"]) for unit in found.split()}
    reached = set[str]()
    while left:
        reached |= left
        left = {other for unit in left for other in _starts(unit)} - reached
    return reached


def test_every_unit_is_started_and_described() -> None:
    assert re.search(r'^systemctl enable --now --no-block "\$\{units\[@\]\}"$', SCRIPTS["boot.sh"], re.MULTILINE)
    head, node = _units_of("head"), _units_of("node")
    described = {
        name if "." in name else f"{name}.service": machine
        for name, machine in re.findall(
            r"^\| `(gougi-[\w.-]+)` \| (\w+) \|", text("docs/reference/aws.md"), re.MULTILINE
        )
    }
    where = {(True, True): "both", (True, False): "head", (False, True): "workers"}
    assert described == {unit: where[unit in head, unit in node] for unit in sorted(UNITS)}


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_a_unit_runs_an_existing_program_as_the_right_user(unit: str) -> None:
    lines = [line for key, found in UNITS[unit].items() if key.startswith("Exec") for line in found]
    for program in (line.split()[0].lstrip("-+!@:") for line in lines):
        if program.startswith(SCRIPTS_AT):
            script = ROOT / "deploy" / "scripts" / program.removeprefix(f"{SCRIPTS_AT}/")
            assert script.stat().st_mode & 0o111, script
        else:
            assert program in ("/bin/sh", "/usr/bin/pkill", "/usr/bin/systemctl", GOUGI)
    if unit.endswith(".service"):
        is_roots = (SYSTEMD / f"{unit}.d" / "root.conf").exists()
        assert UNITS[unit].get("User", []) == ([] if is_roots else [OTHERS.get(unit, "gougi")])
    if any(_words(unit, key) for key in ("ExecStart",)) and "oneshot" not in _words(unit, "Type"):
        assert _words(unit, "Restart") == ["always"] and _words(unit, "WantedBy") == ["multi-user.target"]
    assert "OnFailure" not in UNITS[unit]


def test_exit_codes() -> None:
    keep, watch, master = "gougi-keep.service", "gougi-spot-watch.service", "gougi-master.service"
    code = str(RELEASED)
    services = text("master/commands/fleet_services.py")
    assert "return RELEASED if watcher.run(" in services and "return RELEASED if why else 0" in services
    for unit in (keep, watch):
        assert _words(unit, "RestartPreventExitStatus") == [code]
        assert f'EXIT_STATUS" != {code} ]' in UNITS[unit]["ExecStopPost"][-1]
    assert _words(watch, "SuccessExitStatus") == [code] and _words(keep, "SuccessExitStatus") == []
    assert _words(master, "RestartPreventExitStatus") == [str(BAD_INPUT)]
    assert _words(master, "SuccessExitStatus") == [str(INTERRUPTED)]
    docs = text("docs/reference/aws.md")
    assert re.search(rf"^\| `gougi-keep` .*exit code {code} ", docs, re.MULTILINE)
    assert re.search(rf"^\| `gougi-master` .*exit code {BAD_INPUT}\b", docs, re.MULTILINE)
    said = re.findall(r"exit code (\d+), on which|machine go \(exit code (\d+)\)", text("docs/how-to/aws.md"))
    assert {one for pair in said for one in pair if one} == {code}


def test_only_users_that_need_the_machines_role_reach_the_metadata_service() -> None:
    """Otherwise code on a worker, a Ray task on the head, or an attack through a worker's answer could use the role."""
    closed = {unit for unit in UNITS if _words(unit, "IPAddressDeny") == ["169.254.169.254", "fd00:ec2::254"]}
    assert closed == {f"gougi-{name}.service" for name in ("books", "head", "master", "node", "warm")}


def test_rays_head_has_no_secret_but_its_token() -> None:
    """And no user of a unit that is closed speaks with AWS on the head."""
    assert _words("gougi-head.service", "LoadCredential") == ["ray-token:/run/gougi/ray-token"]
    assert _words("gougi-master.service", "LoadCredential") == ["csa-password:/run/gougi/csa-password"]
    assert re.findall(r"^keep (\S+) \S+ (\w+)$", SCRIPTS["fetch-secrets.sh"].replace("  ", ""), re.MULTILINE) == [
        ("ray-token", "gougi"),
        ("csa-password", "root"),
    ]
    groups = {unit: _words(unit, "SupplementaryGroups") for unit in UNITS}
    assert {unit: found for unit, found in groups.items() if found} == {
        "gougi-master.service": ["gougi-ray"],
        "gougi-keep.service": ["gougi"],
        "gougi-records.service": ["gougi"],
    }


def test_the_user_of_ray_owns_its_folder() -> None:
    """A worker's Ray uses the folder that the head's Ray has, and another user runs it there."""
    (folder,) = re.findall(r"--temp-dir \"\$\{RAY_FOLDER:-\$STATE/(\w+)\}\"", SCRIPTS["ray.sh"])
    for unit in ("gougi-head.service", "gougi-node.service"):
        assert _words(unit, "StateDirectory") == [f"gougi/{folder}"] and _words(unit, "StateDirectoryMode") == ["0750"]
    assert f"/{folder} " not in text("deploy/systemd/gougi.tmpfiles.conf")


def test_the_player_reaches_rays_head_of_another_user() -> None:
    """It connects by Ray's sockets, and Ray's driver looks for the raylet among the processes. (Found by
    `benchmarks.boot`: without either, it waits for a minute and reports that there is no cluster.)"""
    for unit, line in (("gougi-head", "UMask=0007"), ("gougi-master", "ProtectProc=default")):
        assert line in text(f"deploy/systemd/{unit}.service.d/ray.conf").splitlines()
    hardening = (SYSTEMD / "gougi-.service.d").iterdir()
    assert all(path.name < "ray.conf" for path in hardening), "systemd reads drop-ins by their names"


def test_the_nodes_outlive_their_raylet() -> None:
    assert _words("gougi-node.service", "KillMode") == ["process"]
    assert _words("gougi-node.service", "ExecStop") == [f"-{SCRIPTS_AT}/stop-nodes.sh"]


def test_packages_are_installed_by_their_hashes() -> None:
    (command,) = [
        each for each in re.sub(r"\\\n", "", SCRIPTS["bundle.sh"]).splitlines() if "requirements.lock" in each
    ]
    assert "--require-hashes" in command and "--no-deps" in command


def test_folders_and_their_owner() -> None:
    (users,) = re.findall(r"^for user in (.+); do$", SCRIPTS["install.sh"], re.MULTILINE)
    assert users.split() == ["gougi", *dict.fromkeys(OTHERS.values())]
    made = dict[str, str]()
    for line in text("deploy/systemd/gougi.tmpfiles.conf").splitlines():
        if line.startswith("d "):
            _, path, _, user, group = line.split()
            made[path] = f"{user}:{group}"
    places = dict(re.findall(r"^(\w+)=(/\S+)$", SCRIPTS["lib.sh"], re.MULTILINE))
    assert f"{places['VENV']}/bin/gougi" == GOUGI
    used = {f"{places['STATE']}/{name}" for name in ("nets", "books", "records", "kept")}
    ray = dict(line.split("=", 1) for line in text("deploy/systemd/ray.env").splitlines() if "=" in line)
    used |= {places["STATE"], places["RUN"], ray["GOUGI_CACHE_DIR"], ray["GOUGI_RUN_DIR"]}
    assert used == made.keys()
    # The owner of a folder can replace its files.
    others = {places["STATE"]: "root:root", places["RUN"]: "root:root"}
    assert made == dict.fromkeys(used, "gougi:gougi") | others
    assert ray["RAY_AUTH_TOKEN_PATH"].rpartition("/")[0] == places["RUN"]
    assert f"keep {ray['RAY_AUTH_TOKEN_PATH'].rpartition('/')[2]} " in SCRIPTS["fetch-secrets.sh"]
    image = text("deploy/Dockerfile")
    assert f"COPY venv {places['VENV']}" in image
    for script in re.findall(rf"{SCRIPTS_AT}/([\w-]+\.sh)", image):
        assert script in SCRIPTS


# Ports


def test_ports() -> None:
    ray = SCRIPTS["ray.sh"]
    ports = {name: int(port) for name, port in re.findall(r"--([a-z-]+-port) (\d+)", ray)}
    heads = {
        int(port) for pair in re.findall(r'--head --port (\d+)|--address "\$2:(\d+)"', ray) for port in pair if port
    }
    (gcs,) = heads
    master = SCRIPTS["master.sh"]
    assert re.findall(r'own_address\):(\d+)"', master) == [str(gcs)]
    (report,) = re.findall(r"GOUGI_CLUSTER_REPORT_PORT=(\d+)", master)
    health = {role: int(port) for role, port in re.findall(r"(head|node)\) port=(\d+)", SCRIPTS["healthcheck.sh"])}
    assert health == {"head": gcs, "node": ports["node-manager-port"]}
    let_through = {
        name: range(int(first), int(last) + 1)
        for name, first, last in re.findall(
            r"(\S+) += \{ from = (\d+), to = (\d+) \}", block(TERRAFORM["locals"], "fleet_ports =")
        )
    }
    assert let_through["ray-workers"] == range(ports.pop("min-worker-port"), ports.pop("max-worker-port") + 1)
    assert {gcs, int(report), *ports.values()} <= set(let_through["ray-and-reports"])
    assert let_through["table-sharing"] == range(32768, 61000)  # Linux's own range for a socket that asks for any port
    assert re.findall(r"the report port (\d+)", text("docs/reference/aws.md")) == [report]
    said = re.findall(r"ray start --head --port (\d+)|HEAD:(\d+)", text("docs/how-to/several-machines.md"))
    assert {int(port) for pair in said for port in pair if port} == {gcs}
    assert f"port {gcs}" in block(TERRAFORM["outputs"], 'output "head_private_ip"')
    csa = value(block(TERRAFORM["variables"], 'variable "csa_port"'), "default")
    assert value(text("deploy/gougi.toml"), "server").strip('"').endswith(f":{csa}")


# Permissions

COPIES: Final = re.compile(r'\bs3 (cp|sync)(?: --[a-z-]+(?: "\$FLEET_REGION")?)* (\S+) (\S+)')
HEADS_SCRIPTS: Final = {"end-fleet.sh", "keep-books.sh", "keep-records.sh", "master.sh"}
SESSION_MANAGER: Final = {
    ("ssm:UpdateInstanceInformation", "*"),
    *((f"ssmmessages:{verb}{kind}Channel", "*") for verb in ("Create", "Open") for kind in ("Control", "Data")),
}
"""The rights of Session Manager's agent: a shell without an open port."""


def _statements(text: str) -> dict[str, tuple[list[str], str]]:
    """Sid -> actions and resources, as written."""
    found: dict[str, tuple[list[str], str]] = {}
    for part in re.split(r"(?=\bSid\s*=)", text)[1:]:
        actions = re.search(r"\bAction\s*=\s*(\[[^\]]*\]|\"[^\"]*\")", part)
        on = re.search(r"\bResource\s*=\s*(.*?)\s*\}?,?\s*$", part, re.MULTILINE)
        assert actions and on
        found[quoted(part)[0]] = (quoted(actions[1]), on[1])
    return found


def _resources(expression: str) -> list[str]:
    """Terraform's expressions for resources -> kinds of them, and patterns for keys in the fleet's folder of the
    bucket."""
    read = quoted(re.findall(r"read_prefixes\s*=\s*\[for prefix in (\[.*?\])", TERRAFORM["iam"])[0])
    known = {
        '"*"': ["*"],
        "[local.bucket_arn]": ["bucket"],
        "[local.token_arn]": ["token"],
        "[local.asg_arn]": ["group"],
        "local.password_arns": ["password"],
        "local.read_prefixes": [f"{prefix}/*" for prefix in read],
    }
    if expression in known:
        return known[expression]
    if each := re.fullmatch(r'\[for prefix in \[(.*)\] : "\$\{local\.store_arn\}/\$\{prefix\}/\*"\]', expression):
        return [f"{prefix}/*" for prefix in quoted(each[1])]
    one = re.fullmatch(r'\["\$\{local\.store_arn\}/([\w/]+)/\*"\]', expression)
    assert one, expression
    return [f"{one[1]}/*"]


def _allowed(role: str) -> set[tuple[str, str]]:
    iam = TERRAFORM["iam"]
    statements = _statements(block(iam, "statements_of_all =")) | _statements(block(iam, f"{role}_statements ="))
    return {(action, on) for actions, where in statements.values() for action in actions for on in _resources(where)}


def _asked(role: str) -> set[tuple[str, str]]:
    """The requests to AWS of the scripts and the code on a machine of this role: action, and kind of resource or
    key."""
    found = set[tuple[str, str]]()
    for script, said in {**SCRIPTS, "machine.yaml.tftpl": TEMPLATE}.items():
        if script in HEADS_SCRIPTS and role == "worker":
            continue
        lines = re.sub(r"\s*\\\n\s*", " ", said)
        for service, verb in re.findall(r"\baws (autoscaling|ssm) ([a-z-]+)", lines):
            on = "token" if service == "ssm" else "*" if verb.startswith("describe") else "group"
            found.add((f"{service}:{verb.title().replace('-', '')}", on))
        for verb, source, target in COPIES.findall(lines):
            up = not source.startswith('"s3://')
            place = (target if up else source).strip('"').removeprefix("s3://$FLEET_BUCKET/")
            key = "release/x" if place == "$FLEET_RELEASE" else f"{place.removeprefix('$FLEET_NAME/').rstrip('/')}/x"
            found.add(("s3:PutObject" if up else "s3:GetObject", key))
            if verb == "sync":
                found.add(("s3:ListBucket", "bucket"))
    key = reports.key("i-1")
    if role == "worker":
        heads = {("ssm:PutParameter", "token"), ("s3:GetObject", "books/x")}  # the scripts ask for their role
        return found - heads | {("s3:PutObject", key)}
    found |= {("ssm:GetParameter", "password"), ("s3:GetObject", key)}
    for method in set(re.findall(r"\b_cloud\.(\w+)\(", text("master/cloud/keep.py"))):
        found |= _calls_of_cloud(method)
    return found


def _calls_of_cloud(method: str) -> set[tuple[str, str]]:
    """The AWS calls of a method of `Cloud`, and of its own methods that it calls."""
    module = ast.parse(text("master/cloud/cloud.py"))
    (function,) = (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name == method)
    body = ast.unparse(function)
    calls = re.findall(r"self\.service\('(\w+)'\)\.(\w+)\(", body)
    if own := re.findall(r"self\.(_\w+)\(", body):
        return set().union(*map(_calls_of_cloud, own))
    assert calls
    return {
        (f"{service}:{call.title().replace('_', '')}", "*" if call.startswith("describe") else "group")
        for service, call in calls
    }


@pytest.mark.parametrize("role", ROLES)
def test_a_machine_has_the_rights_it_needs_and_no_more(role: str) -> None:
    asked, allowed = _asked(role), _allowed(role)
    assert len(asked) > 6, "the check has become blind"
    refused = {(action, on) for action, on in asked if not any(action == a and fnmatchcase(on, b) for a, b in allowed)}
    assert refused == set()
    idle = {(action, on) for action, on in allowed if not any(action == a and fnmatchcase(b, on) for a, b in asked)}
    assert idle == SESSION_MANAGER


@pytest.mark.parametrize("role", ROLES)
def test_a_machine_has_its_role(role: str) -> None:
    iam = TERRAFORM["iam"]
    assert {"ec2.amazonaws.com", "sts:AssumeRole"} <= set(quoted(value(iam, "assume_ec2")))
    made = block(iam, f'resource "aws_iam_role" "{role}"')
    assert value(made, "name") == f'"${{var.name}}-{role}"' and value(made, "assume_role_policy") == "local.assume_ec2"
    policy = block(iam, f'resource "aws_iam_role_policy" "{role}"')
    assert value(policy, "role") == f"aws_iam_role.{role}.id"
    assert f"local.{role}_statements" in value(policy, "policy")
    profile = block(iam, f'resource "aws_iam_instance_profile" "{role}"')
    assert value(profile, "role") == f"aws_iam_role.{role}.name"
    where = {
        "head": value(block(TERRAFORM["head"], 'resource "aws_instance" "head"'), "iam_instance_profile"),
        "worker": value(block(TERRAFORM["workers"], "iam_instance_profile"), "name"),
    }
    assert where[role] == f"aws_iam_instance_profile.{role}.name"


def test_a_worker_has_a_way_to_all_that_it_may_do() -> None:
    network = TERRAFORM["network"]
    gateway = block(network, 'resource "aws_vpc_endpoint" "s3"')
    assert value(gateway, "route_table_ids") == "[aws_route_table.head[0].id, aws_route_table.workers[0].id]"
    through = _statements(gateway)
    assert through["FleetBucket"][1] == '[local.bucket_arn, "${local.bucket_arn}/*"]'
    # The first boot installs Python from this bucket: Amazon Linux 2023's, in any region.
    assert through["Packages"] == (["s3:GetObject"], '"arn:${local.partition}:s3:::al2023-repos-${local.region}-*/*"')
    image = quoted(value(block(TERRAFORM["variables"], 'variable "image"'), "default"))
    assert image == ["/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"]
    actions = {action for role in ROLES for action, _ in _allowed(role)}
    assert {action for action in actions if action.startswith("s3:")} == set(through["FleetBucket"][0])
    interface = block(network, 'resource "aws_vpc_endpoint" "interface"')
    assert quoted(value(interface, "for_each")) == list(ENDPOINTS)
    assert value(interface, "private_dns_enabled") == "true"
    services = {action.split(":")[0] for action, _ in _allowed("worker")}
    assert services - {"s3"} == set(ENDPOINTS)


# Names


def test_names() -> None:
    hook = block(TERRAFORM["workers"], 'resource "aws_autoscaling_lifecycle_hook" "drain"')
    assert quoted(value(hook, "name")) == [HOOK]
    hook = block(TERRAFORM["workers"], 'resource "aws_autoscaling_lifecycle_hook" "joined"')
    assert quoted(value(hook, "name")) == [JOINED]
    stop = block(TERRAFORM["cost"], 'resource "aws_autoscaling_schedule" "stop"')
    asked = set(re.findall(r"--scheduled-action-names? (\S+)", SCRIPTS["end-fleet.sh"]))
    assert asked == set(quoted(value(stop, "scheduled_action_name")))
    budget = block(TERRAFORM["cost"], 'resource "aws_budgets_budget" "month"')
    assert value(budget, "name") == f'"${{var.name}}-{BUDGET}"'
    assert value(TERRAFORM["locals"], "tags") == f"merge(var.tags, {{ {TAG} = var.name }})"
    assert f'format("user:{TAG}$%s", var.name)' in budget
    group = block(TERRAFORM["workers"], 'resource "aws_autoscaling_group" "workers"')
    assert value(group, "name") == "local.asg_name"


def test_facts_of_a_machine_that_are_read_are_written() -> None:
    env, script, first_boot = TEMPLATE.partition("/gougi-first-boot")
    assert script
    written = set(re.findall(r"^ +(FLEET_\w+)=", env, re.MULTILINE))
    units = "".join(path.read_text() for path in SYSTEMD.glob("*.service"))
    read = set(re.findall(r"\$\{?(FLEET_\w+)", "".join([*SCRIPTS.values(), units, first_boot])))
    read |= set(re.findall(r'envvar="(FLEET_\w+)"', text("master/commands/fleet_services.py")))
    assert read <= written
    common = set(re.findall(r"^ +(\w+) +=", block(TERRAFORM["head"], "machine_facts ="), re.MULTILINE))
    for file, role in (("head", "head"), ("workers", "node")):
        own = block(TERRAFORM[file], "merge(local.machine_facts,")
        given = common | set(re.findall(r"^ +(\w+) +=", own, re.MULTILINE))
        assert given == set(re.findall(r"\$\{(\w+)\}", TEMPLATE))
        assert value(own, "role") == f'"{role}"'


def test_machines_fetch_the_objects_that_terraform_puts() -> None:
    storage = TERRAFORM["storage"]
    objects = (block(storage, f'resource "aws_s3_object" "{name}"') for name in ("config", "master_env"))
    put = {value(each, "key").strip('"') for each in objects}
    assert 's3 cp "s3://$FLEET_BUCKET/$FLEET_NAME/config/" /etc/gougi/ --recursive' in SCRIPTS["fetch-files.sh"]
    assert put == {"${var.name}/config/gougi.toml", "${var.name}/config/master.env"}
    assert quoted(value(storage, "release_key")) == ["${var.name}/release/${local.release_sha}.tar"]
    content = value(block(storage, 'resource "aws_s3_object" "master_env"'), "content")
    assert re.findall(r"(GOUGI_\w+)=", content) == ["GOUGI_ENGINE_THREADS", "GOUGI_ENGINE_HASH_MB"]
