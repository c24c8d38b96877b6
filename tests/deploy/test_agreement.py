"""Terraform, units, scripts, docs and code say what one table says; and that each of many planted errors is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.deploy.agreement.tree import COPIED
from tests.deploy.agreement.whole import faults

ROOT = Path(__file__).parents[2]
UNIT = "deploy/systemd/gougi-{}.service"
SCRIPT = "deploy/scripts/{}.sh"
KEEP, WATCH, NODE, HEAD, MASTER, SETUP, WARM = (
    UNIT.format(name) for name in ("keep", "spot-watch", "node", "head", "master", "setup", "warm")
)


def test_all_agree() -> None:
    assert faults(ROOT) == []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of all that the checks look at."""
    ignored = shutil.ignore_patterns(".terraform*", "*.tfstate*", "__pycache__", "tests", "examples")
    for name in COPIED:
        source, target = ROOT / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=ignored)
        else:
            shutil.copy(source, target)
    return tmp_path


def plant(tree: Path, file: str, old: str, new: str) -> None:
    text = (tree / file).read_text()
    assert old in text, f"{file} has no {old!r} any more: the plant is out of date"
    (tree / file).write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        # The three that a fleet was lost by.
        (KEEP, "RestartPreventExitStatus=10\n", "", "gougi-keep.service: RestartPreventExitStatus"),
        (
            "terraform/iam.tf",
            '"autoscaling:CompleteLifecycleAction"',
            '"autoscaling:CompleteLifecycle"',
            "LetDrainedGo",
        ),
        ("terraform/network.tf", "al2023-repos-", "al2023-repo-", "network.tf: Packages: Resource"),
        # Units.
        (KEEP, "start gougi-end.service", "stop gougi-end.service", "gougi-keep.service: ExecStopPost"),
        (KEEP, "Before=", "OnFailure=gougi-end.service\nBefore=", "gougi-keep.service: OnFailure"),
        (KEEP, "Restart=always", "Restart=on-failure", "gougi-keep.service: Restart"),
        (KEEP, "RestartPrevent", "SuccessExitStatus=10\nRestartPrevent", "gougi-keep.service: SuccessExitStatus"),
        (KEEP, "gougi fleet keep", "gougi fleet kept", "gougi-keep.service: ExecStart"),
        (KEEP, "EnvironmentFile=/etc/gougi/fleet.env\n", "", "gougi-keep.service: EnvironmentFile"),
        (KEEP, "Before=gougi-master.service\n", "", "gougi-keep.service: Before"),
        (KEEP, "WantedBy=multi-user.target\n", "", "gougi-keep.service: WantedBy"),
        (WATCH, "SuccessExitStatus=10\n", "", "gougi-spot-watch.service: SuccessExitStatus"),
        (WATCH, '" != 10 ]', '" != 11 ]', "gougi-spot-watch.service: ExecStopPost"),
        (WATCH, "stop gougi-node.service", "stop gougi-nodes.service", "gougi-spot-watch.service: ExecStopPost"),
        (WATCH, "User=gougi\n", "User=root\n", "gougi-spot-watch.service: User"),
        (NODE, "User=gougi\n", "", "gougi-node.service: User"),
        (NODE, "ray.sh node ${FLEET_HEAD} ", "ray.sh node ", "gougi-node.service: ExecStart"),
        (NODE, "${FLEET_SEARCHERS}", "${FLEET_NODES}", "FLEET_NODES: nobody writes it"),
        (NODE, "scripts/drain.sh", "scripts/drains.sh", "drains.sh: no such program"),
        (NODE, "gougi-warm.service", "gougi-worn.service", "gougi-node.service: After"),
        (
            HEAD,
            "/opt/gougi/release/deploy/scripts/ray.sh head",
            "/opt/gougi/deploy/scripts/ray.sh head",
            "no program that is",
        ),
        (MASTER, "RestartPreventExitStatus=2\n", "", "gougi-master.service: RestartPreventExitStatus"),
        (MASTER, "SuccessExitStatus=130", "SuccessExitStatus=143", "gougi-master.service: SuccessExitStatus"),
        (SETUP, "fetch-secrets.sh\nExec", "fetch-secret.sh\nExec", "fetch-secret.sh: no such program"),
        (WARM, "Restart=on-failure\n", "", "gougi-warm.service: Restart"),
        ("deploy/systemd/gougi.tmpfiles.conf", "d /run/gougi/nodes 0750 gougi gougi\n", "", "make '/run/gougi/nodes'"),
        ("deploy/systemd/gougi.tmpfiles.conf", "/records 0750 gougi", "/records 0750 root", "tmpfiles.conf: owners"),
        ("deploy/systemd/ray.env", "/run/gougi/ray-token", "/run/gougi/token", "fetch-secrets.sh puts no token there"),
        ("deploy/Dockerfile", '["/opt/gougi/release/deploy/', '["/opt/gougi/deploy/', "container.sh: no such script"),
        ("deploy/Dockerfile", "/release /opt/gougi/venv", "/release /opt/gougi/env", "the environment's place"),
        # Who starts them.
        (SCRIPT.format("boot"), "gougi-keep.service ", "", "boot.sh: starts on a head"),
        (SCRIPT.format("boot"), " gougi-spot-watch.service", "", "boot.sh: starts on a node"),
        (SCRIPT.format("boot"), "enable --now", "start", "not enabled and started"),
        (SCRIPT.format("boot"), "nologin gougi", "nologin gouge", "boot.sh: useradd"),
        ("deploy/systemd/gougi-stop.timer", "timers.target", "multi-user.target", "gougi-stop.timer: WantedBy"),
        # Exit codes.
        (
            "master/commands/fleet_services.py",
            "return RELEASED if why else 0",
            "return 9 if why else 0",
            "keep does not end",
        ),
        ("master/commands/common.py", "INTERRUPTED = 130", "INTERRUPTED = 143", "common.py: INTERRUPTED"),
        ("master/cloud/agreed.py", "RELEASED: Final = 10", "RELEASED: Final = 11", "RestartPreventExitStatus: ['10']"),
        (
            "docs/reference/aws.md",
            "its exit code 10 starts",
            "its exit code 12 starts",
            "does not say what exit code 10 does",
        ),
        (
            "docs/how-to/aws.md",
            "ends with exit code 10, on",
            "ends with exit code 1, on",
            "exit code of keep and watch",
        ),
        # Ports.
        ("terraform/locals.tf", "to = 6390", "to = 6389", "locals.tf: fleet_ports"),
        ("terraform/locals.tf", "from = 32768", "from = 49152", "locals.tf: fleet_ports"),
        (
            "terraform/security.tf",
            "to_port                      = each.value.to",
            "to_port = each.value.from",
            "to_port",
        ),
        ("terraform/security.tf", "csa = var.csa_port", "csa = 4081", "out of the head"),
        ("terraform/security.tf", "from_port         = 443", "from_port         = 80", "from_port: '80'"),
        ("terraform/variables.tf", "= 4081", "= 4080", "variables.tf: csa_port"),
        ("terraform/workers.tf", "aws_security_group.fleet.id, ", "", "workers.tf: security groups"),
        (SCRIPT.format("ray"), "--node-manager-port 6380", "--node-manager-port 6480", "ray.sh: ports"),
        (SCRIPT.format("ray"), '"$2:6379"', '"$2:6378"', "ray.sh: the head's port"),
        (SCRIPT.format("healthcheck"), "node) port=6380", "node) port=6379", "healthcheck.sh: ports"),
        (SCRIPT.format("master"), "REPORT_PORT=6390", "REPORT_PORT=6391", "master.sh: ports"),
        (
            "docs/reference/aws.md",
            "the report port 6390",
            "the report port 6391",
            "docs/reference/aws.md: the report port",
        ),
        (
            "tests/deploy/agreement/table.py",
            "REPORT_PORT: Final = 6390",
            "REPORT_PORT: Final = 7000",
            "master.sh: ports",
        ),
        # Permissions, and the ways to what they allow.
        ("terraform/iam.tf", '"autoscaling:SetDesiredCapacity", ', "", "iam.tf: head: EndTheFleet: Action"),
        ("terraform/iam.tf", '"s3:ListBucket"', '"s3:ListBuckets"', "List: Action"),
        ("terraform/iam.tf", '"logs", "books"', '"log", "books"', "iam.tf: head: Keep: Resource"),
        ("terraform/iam.tf", "fleet/machines/*", "fleet/machine/*", "iam.tf: worker: Report: Resource"),
        ("terraform/iam.tf", ":autoScalingGroupName/", ":autoscalingGroupName/", "terraform: asg_arn"),
        ("terraform/iam.tf", '["release", "config", "books", "nets"]', '["config", "books", "nets"]', "Read: Resource"),
        ("terraform/iam.tf", 'Service = "ec2.amazonaws.com"', 'Service = "ecs.amazonaws.com"', "assume_ec2"),
        ("terraform/iam.tf", "local.worker_statements }", "local.statements_of_all }", "worker's policy"),
        (
            "terraform/head.tf",
            "aws_iam_instance_profile.head",
            "aws_iam_instance_profile.worker",
            "iam_instance_profile",
        ),
        ("terraform/network.tf", '["ssm", "ssmmessages"]', '["ssm"]', "network.tf: interface endpoints"),
        (
            "terraform/network.tf",
            '"s3:GetObject", "s3:PutObject", ',
            '"s3:GetObject", ',
            "network.tf: FleetBucket: Action",
        ),
        ("terraform/network.tf", ", aws_route_table.workers[0].id]", "]", "network.tf: the gateway's ways"),
        ("terraform/variables.tf", "/al2023-ami-kernel", "/al2-ami-kernel", "variables.tf: image"),
        (
            "master/cloud/cloud.py",
            "describe_spot_price_history",
            "describe_spot_fleet_requests",
            "DescribeSpotFleetRequests",
        ),
        ("master/cloud/reports.py", '"fleet/machines/"', '"machines/"', "may not s3:PutObject on machines/"),
        (SCRIPT.format("keep-books"), "/books/", "/book/", "may not s3:PutObject on book/"),
        (SCRIPT.format("end-fleet"), "set-desired-capacity", "update-auto-scaling-group", "UpdateAutoScalingGroup"),
        # Names.
        (
            "terraform/workers.tf",
            'name                   = "drain"',
            'name                   = "drained"',
            "hook: name",
        ),
        ("terraform/workers.tf", '"CONTINUE"', '"ABANDON"', "hook: default_result"),
        ("terraform/cost.tf", '= "stop"', '= "end"', "cost.tf: scheduled_action_name"),
        ("terraform/locals.tf", "gougi-fleet = var.name", "gougi = var.name", "locals.tf: tags"),
        ("terraform/storage.tf", '/config/master.env"', '/config/nodes.env"', "fetch-files.sh: fetches"),
        ("terraform/head.tf", 'role     = "head"', 'role     = "master"', "roles of the machines"),
        ("deploy/cloud-init/machine.yaml.tftpl", "FLEET_ASG=${asg}\n", "", "FLEET_ASG: nobody writes it"),
        ("master/commands/fleet_services.py", '"FLEET_ASG"', '"FLEET_GROUP"', "FLEET_GROUP: nobody writes it"),
        (
            "deploy/cloud-init/machine.yaml.tftpl",
            "$FLEET_BUCKET/$FLEET_RELEASE",
            "$FLEET_BUCKET/$FLEET_RELEASE_KEY",
            "FLEET_RELEASE_KEY: nobody writes it",
        ),
        ("deploy/cloud-init/machine.yaml.tftpl", "/gougi-first-boot", "/gougi-boot", "has become blind"),
        (
            "docs/reference/aws.md",
            "| `gougi-spot-watch` | workers",
            "| `gougi-spot-watch` | head",
            "docs/reference/aws.md: units",
        ),
    ],
)
def test_a_plant_is_found(tree: Path, file: str, old: str, new: str, said: str) -> None:
    plant(tree, file, old, new)
    found = faults(tree)
    assert any(said in fault for fault in found), found


def test_a_copy_without_a_plant_has_no_fault(tree: Path) -> None:
    assert faults(tree) == []


def test_a_unit_that_is_missing_and_one_too_many_are_found(tree: Path) -> None:
    (tree / KEEP).rename(tree / "deploy" / "systemd" / "gougi-kept.service")
    assert any(fault.startswith("deploy/systemd: units: ") for fault in faults(tree))


def test_a_script_that_cannot_be_run_is_found(tree: Path) -> None:
    (tree / SCRIPT.format("ray")).chmod(0o644)
    assert "deploy/systemd/gougi-node.service: ray.sh: no such program in deploy/scripts" in faults(tree)
